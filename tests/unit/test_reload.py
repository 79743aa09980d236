"""When an edited configuration counts as written, and which ones are not put into effect."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.reload import locked_out, settled
from gateway.settings import Settings


class Writer:
    """Somebody who writes a file bit by bit: one each time that its reader pauses."""

    def __init__(self, file: Path, *bits: str) -> None:
        self.pauses = 0
        self._file = file
        self._bits: Iterator[str] = iter(bits)

    async def pause(self) -> None:
        """Write the next bit."""
        self.pauses += 1
        bit = next(self._bits, None)
        if bit is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(bit)


async def test_a_file_is_read_once_nobody_writes_it_any_more(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("")
    writer = Writer(file, "access:\n", "  telegram: {owners: [1]}\n")
    found = await settled(file, writer.pause)
    assert found == hashlib.sha256(b"access:\n  telegram: {owners: [1]}\n").digest()
    assert writer.pauses == 3


async def test_a_file_that_is_gone_is_not_read(tmp_path: Path) -> None:
    assert await settled(tmp_path / "c.yaml", Writer(tmp_path / "other").pause) is None


def settings(*, enabled: bool = True, **access: object) -> Settings:
    """With Telegram, and who may talk there."""
    return Settings.model_validate(
        {"platforms": {"telegram": {"enabled": enabled}}, "access": {"telegram": access}}
    )


@pytest.mark.parametrize("new", [Settings(), settings(), settings(enabled=False, chats=[-5])])
def test_a_running_platform_keeps_somebody_who_may_talk(new: Settings) -> None:
    [problem] = locked_out(settings(owners=[1]), new)
    assert str(problem).startswith("access.telegram: nobody could talk to telegram any more")


@pytest.mark.parametrize(
    "new", [settings(owners=[2]), settings(members=[2]), settings(pairing=True)]
)
def test_others_may_take_the_place_of_those_who_talked(new: Settings) -> None:
    assert locked_out(settings(owners=[1]), new) == []


def test_a_platform_that_does_not_run_needs_nobody() -> None:
    assert locked_out(settings(enabled=False), Settings()) == []
