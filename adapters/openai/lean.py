"""Loads the SDK without its second transport; imported before anything else of this package.

The SDK loads aiohttp wherever that is installed, for a client that is not used here: a fifth of
its loading time, and 7 MB. It goes without where the module cannot be imported.
"""

from __future__ import annotations

import importlib
import sys

UNUSED = "openai._vendor.httpx_aiohttp"

if "openai" not in sys.modules:
    vars(sys)["modules"][UNUSED] = None  # how Python says "not to be found"
    try:
        importlib.import_module("openai")
    finally:
        del sys.modules[UNUSED]
