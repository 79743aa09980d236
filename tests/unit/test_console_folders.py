"""Each folder's chat is a lane of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.messages import Address, LaneKey, PlatformName
from gateway.compose.folders import MAIN_CHAT, address_of, folder_of


@pytest.mark.parametrize(
    "name", ["/", "/home/ann/a project", "/a|b|c", "/100%/%2F", "/ü", "/\udcff"]
)
def test_a_folders_lane_says_which_folder_it_is(name: str) -> None:
    address = address_of(Path(name))
    assert Address.of(address.key) == address
    assert folder_of(address.key) == Path(name)


def test_only_a_folders_chat_has_a_folder() -> None:
    assert address_of(None) == MAIN_CHAT
    assert folder_of(MAIN_CHAT.key) is None
    assert folder_of(LaneKey("telegram|1|/etc||")) is None


def test_two_folders_are_two_lanes() -> None:
    assert address_of(Path("/a")).key != address_of(Path("/b")).key
    assert address_of(Path("/a")).platform is PlatformName.CONSOLE
