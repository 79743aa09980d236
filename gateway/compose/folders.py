"""The console's lanes: one a folder that a chat was started in, so that each folder keeps its own
conversation and goal. Pure; names no adapter, so that a run without a console loads none.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from core.messages import Address, LaneKey, PlatformName

MAIN_CHAT = Address(PlatformName.CONSOLE, "local", "main")
"""The chat that belongs to no folder; a folder's begins with a slash."""


def address_of(folder: Path | None) -> Address:
    """Where the chat in a resolved folder takes place; None for the one of no folder."""
    if folder is None:
        return MAIN_CHAT
    return replace(MAIN_CHAT, chat=quote(os.fsencode(folder), safe="/"))


def folder_of(lane: LaneKey) -> Path | None:
    """The folder that a lane was started in; None for a lane that has none."""
    address = Address.of(lane)
    if address.platform is not PlatformName.CONSOLE or not address.chat.startswith("/"):
        return None
    return Path(os.fsdecode(unquote_to_bytes(address.chat)))
