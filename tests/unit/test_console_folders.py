"""Each folder's chat is a lane of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adapters.console.adapter import ConsoleOptions, ConsolePlatform
from core.messages import Address, LaneKey, PlatformName
from gateway.compose.folders import MAIN_CHAT, address_of, folder_of
from gateway.platforms import Platforms
from tests.fakes.console_front import HandClock, HandFront


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


async def _never() -> None:
    await asyncio.Event().wait()


def test_a_folders_console_is_reached_at_its_own_address_alone(tmp_path: Path) -> None:
    here, there = address_of(tmp_path / "here"), address_of(tmp_path / "there")
    front = HandFront()
    options = ConsoleOptions(address=here, run_id="r1", files=tmp_path)
    console = ConsolePlatform(options, front=front, clock=HandClock(), idle=_never)
    platforms = Platforms()
    platforms.add(console, only=here)
    assert platforms.at(here) is console
    assert platforms.at(there) is None
    assert platforms.at(Address(PlatformName.TELEGRAM, "1", "5")) is None
