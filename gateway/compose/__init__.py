"""The composition root: the only place that names adapters.

One module a thing that may be left out, so that a run loads only the SDKs it needs; the command
line picks them. `run` is the entry.
"""
