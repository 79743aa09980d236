"""The places where people are asked: a chat of two and a shared thread on each platform, on its
fake in this process.

A place carries words and presses in, and tells what it shows: to all, and to one person alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from core.messages import PlatformName
from gateway.compose.setup import PlatformMaker

T = TypeVar("T")
WITHIN_S = 30.0


class Who(Enum):
    """The people; only the first three are owners, and nobody has let Sam in."""

    ANNA = "Anna"
    OLA = "Ola"
    OLE = "Ole"
    MIA = "Mia"
    SAM = "Sam"


OWNERS = (Who.ANNA, Who.OLA, Who.OLE)


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as it stands now; `buttons` are label and data, `pings` whatever in it
    calls somebody."""

    id: str
    text: str
    buttons: tuple[tuple[str, str], ...] = ()
    pings: tuple[str, ...] = ()
    edits: int = 0

    @property
    def labels(self) -> tuple[str, ...]:
        """The words on its buttons."""
        return tuple(label for label, _ in self.buttons)


class Place(ABC):
    """Where a conversation is, and a second place, of the same people, to compare with."""

    platform: PlatformName
    maker: PlatformMaker
    private: bool

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, object]:
        """The platform's own section of the configuration."""

    @abstractmethod
    def id_of(self, who: Who) -> int | str:
        """A person's id, as `access` takes it."""

    @abstractmethod
    def call(self, who: Who, name: str) -> None:
        """Let a person be called otherwise."""

    @abstractmethod
    def lives(self) -> int:
        """How often the bot has connected."""

    @abstractmethod
    def say(self, text: str, who: Who = Who.ANNA, reply_to: str = "") -> None:
        """A person speaks to the bot."""

    @abstractmethod
    def order(self, line: str, who: Who = Who.ANNA) -> Callable[[], str]:
        """A person gives a command; what it was answered with to them alone, "" for nothing."""

    @abstractmethod
    def shown(self) -> list[Shown]:
        """The bot's messages in the place, in order."""

    @abstractmethod
    def elsewhere(self) -> list[str]:
        """The bot's texts in all other places."""

    @abstractmethod
    def press(self, on: Shown, label: str, who: Who = Who.ANNA) -> Callable[[], str | None]:
        """A person presses a button; what they alone are told, None as long as it is not known.
        "" is nothing at all."""

    @abstractmethod
    def press_abroad(self, on: Shown, label: str) -> Callable[[], str | None]:
        """Anna presses a button with the same data on a message of the bot in another chat."""

    @abstractmethod
    async def wait_for(self, true: Callable[[], T | None]) -> T:
        """The first true value."""

    def asides(self) -> list[str]:
        """What people were told alone in answer to what they said."""
        return []

    # What follows from those

    async def heard(self, *texts: str) -> Shown:
        """Wait for the bot's messages with these texts, in order; the last of them, as it is
        now."""

        def found() -> Shown | None:
            rest = iter(self.shown())
            last = None
            for words in texts:
                last = next((one for one in rest if words in one.text), None)
                if last is None:
                    return None
            return last

        try:
            return await self.wait_for(found)
        except AssertionError as error:
            raise AssertionError(f"{texts} not in {self.texts()}") from error

    def texts(self) -> list[str]:
        """The bot's texts in the place."""
        return [one.text for one in self.shown()]

    async def told(self, answer: Callable[[], str | None]) -> str:
        """What a press was answered with."""
        (text,) = await self.wait_for(lambda: None if (it := answer()) is None else (it,))
        return text
