"""The web chat under the platforms' contract suite: the real server, and a browser that behaves.

The browser comes through a cable, which may be cut. What was sent is remembered beside the
adapter, as the outbox remembers it: the next adapter reads it back.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from adapters.web.adapter import WebPlatform
from adapters.web.decode import address_of
from adapters.web.options import WebOptions
from adapters.web.parts import MOST
from core.messages import Address, Outbound, RemoteId
from core.ports import Sent
from core.sessions.conversation import Posted
from gateway.access import Access, Door
from tests.contracts.cable import Cable
from tests.contracts.platform_life import Life
from tests.contracts.platform_rig import (
    WITHIN_S,
    Backend,
    Can,
    Person,
    PlatformRig,
    Seen,
    Traits,
)
from tests.fakes.intake import FakeIntake
from tests.fakes.people import MemoryPeople
from tests.fakes.telegram_rig import RealClock
from tests.fakes.web_browser import FakeBrowser, Item
from tests.fakes.web_past import FakePast

TOKEN = "a token of the contract suite"
TRAITS = Traits(
    can=frozenset(
        {
            Can.PRESS,
            Can.KEEP,
            Can.TOAST,
            Can.REPLY,
            Can.TWO_CHATS,
            Can.UPLOAD,
            Can.RETELL,
            Can.GARBLE,
            Can.WAIT,
            Can.CUT,
            Can.EDIT,
            Can.PROGRESS,
            Can.SAVE_LATE,
            Can.BE_REFUSED,
        }
    ),
    most=MOST,
)

T = TypeVar("T")


class Watching(WebPlatform):
    """The adapter, and beside it the outbox that keeps what was sent. A send returns when an
    open page shows it, as the suite looks at it then."""

    past: FakePast
    browser: FakeBrowser

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        sent = await super().send(address, what)
        remote = sent.remote
        line = Posted(remote=remote, what=what, at=sent.at)
        self.past.lines[address.key].append(line)
        window = self.browser.windows[address.chat]
        await self.browser.until(lambda: f"bot:{remote}" in window.items or not window.reading)
        return sent


class WebRig(PlatformRig):
    """One server and one browser, which stays open from life to life."""

    traits = TRAITS

    def __init__(self, folder: Path, port: int, browser: FakeBrowser, cable: Cable) -> None:
        self.intake = FakeIntake()
        self.home = address_of("annaschat")
        self.away = address_of("bobschat")
        self._folder = folder
        self._port = port
        self._browser = browser
        self._cable = cable
        self._life = Life()
        self._past = FakePast()
        self.platform = self._built()

    async def start(self) -> None:
        self.platform = self._built()
        await self._life.begin(self.platform, self.intake)

    async def stop(self) -> None:
        await self._life.end()

    def _built(self) -> WebPlatform:
        options = WebOptions(
            token=TOKEN, folder=self._folder, announce=_unheard, port=self._port, close_s=0.2
        )
        clock = RealClock()
        door = Door(Access({}, MemoryPeople()), clock, "login")
        platform = Watching(options, past=self._past, clock=clock, door=door)
        platform.past, platform.browser = self._past, self._browser
        return platform

    # What people do

    async def say(
        self, place: Address, text: str, *, who: Person = Person.ANNA, addressed: bool = True
    ) -> RemoteId:
        return RemoteId(self._browser.say(place.chat, text))

    async def reply(
        self, place: Address, remote: RemoteId, text: str, *, who: Person = Person.ANNA
    ) -> RemoteId:
        return RemoteId(self._browser.say(place.chat, text, reply=remote))

    async def command(self, place: Address, line: str, *, who: Person = Person.ANNA) -> None:
        self._browser.say(place.chat, line)

    async def press(
        self, place: Address, remote: RemoteId, label: str, *, who: Person = Person.ANNA
    ) -> str:
        item = self._browser.windows[place.chat].items[f"bot:{remote}"]
        command = next(b["command"] for b in item.what["buttons"] if b["label"] == label)
        return self._browser.press(place.chat, remote, command)

    async def toast(self, press: str) -> str:
        return await self._browser.toast(press, self.traits.press_within_s)

    async def upload(
        self,
        place: Address,
        name: str,
        content: bytes,
        *,
        caption: str = "",
        who: Person = Person.ANNA,
    ) -> RemoteId:
        file = await self._browser.upload(place.chat, name, content)
        return RemoteId(self._browser.say(place.chat, caption, file))

    # Mishaps

    async def retell(self) -> None:
        path, body = self._browser.sent[-1]
        await self.until(lambda: self._browser.windows[self.home.chat].reading)
        await self._browser.post(path, body)

    async def garble(self) -> None:
        garbled: tuple[object, ...] = ({"id": 7, "text": None, "files": "x"}, [], {"id": "x" * 20})
        for body in garbled:
            status, _ = await self._browser.post(f"/api/chats/{self.home.chat}/messages", body)
            assert status == 400

    async def cut_off(self) -> None:
        await self._cable.cut()

    async def let_in(self) -> None:
        await self._cable.mend()

    # What is seen

    def chat(self, place: Address) -> Sequence[Seen]:
        window = self._browser.windows[place.chat]
        told = [Seen(remote=RemoteId(""), text=error) for error in window.errors]
        return [_seen(item) for item in window.by("bot")] + told

    def progress(self, place: Address) -> str:
        return str(self._browser.windows[place.chat].activity.get("text", ""))

    async def until(self, predicate: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
        return await self._browser.until(predicate, within_s)


def _unheard(_: str) -> None:
    """Nobody waits for the address: the suite knows it."""


def _seen(item: Item) -> Seen:
    what = item.what
    return Seen(
        remote=RemoteId(what["id"]),
        text=item.text,
        buttons=tuple(button["label"] for button in what.get("buttons") or ()),
        file=what.get("saved_as", ""),
        content=item.content,
        edits=item.edits,
        reply_to=what.get("reply", ""),
        formatted=what["kind"] == "answer",
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def page(folder: Path) -> AsyncIterator[PlatformRig]:
    """A browser with both chats open."""
    port = _free_port()
    async with Cable(port) as cable:
        browser = FakeBrowser(f"http://127.0.0.1:{cable.port}", TOKEN)
        rig = WebRig(folder, port, browser, cable)
        await rig.start()
        try:
            async with browser:
                for place in (rig.home, rig.away):
                    await browser.open(place.chat)
                yield rig
        finally:
            await rig.stop()


RIGS: Mapping[str, Backend] = {"web": Backend(page, TRAITS)}
