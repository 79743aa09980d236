"""Who runs this process."""

from __future__ import annotations

import getpass


def user_name() -> str:
    """Who sits here, "" where the system has no name for them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's arbitrary uid has no entry; KeyError until 3.12
        return ""
