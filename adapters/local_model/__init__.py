"""The embedded default model: fetching its file and serving it on loopback.

Nothing here is imported by another adapter, and nothing here imports the native library: only
the child process does, so that a native crash or its memory never belongs to the gateway.
"""

from __future__ import annotations
