"""The benchmark: `python -m bench` measures the program against bare baselines in one run.

It starts the real program and the baselines as processes of their own, on the fakes of `tests`,
and prints ratios. Nothing in `core`, `adapters` or `gateway` may import it.
"""
