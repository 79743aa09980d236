"""Slack under the platforms' contract suite: by Socket Mode and by HTTP events.

The real slack-bolt and slack_sdk talk to the fake Slack through a cable, which may be cut; HTTP
events are posted through one.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from adapters.slack.adapter import SlackPlatform
from adapters.slack.encode import MAX_SECTION, units
from adapters.slack.options import EVENTS_PATH, Events, SlackOptions
from core.escalations.shown import BAR
from core.messages import Address, RemoteId
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
from tests.fakes import slack_world as world
from tests.fakes.intake import FakeIntake
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_delivery import Envelope
from tests.fakes.slack_faults import Fault, Lost, No, TooMany
from tests.fakes.slack_people import MENTION, at
from tests.fakes.slack_rig import RealClock, quick

PEOPLE = {Person.ANNA: world.ANNA, Person.BOB: world.BOB}
FOR_GOOD = 1_000_000
ASIDE = "slack-aside"

SOCKET = Traits(
    can=frozenset(Can) - {Can.REPLY},
    most=11_500,
    pinging=f"<!channel> <!here> <@{world.BOB.id}> <!subteam^S01> @everyone",
)
"""A reply is a thread of its own here, so none can be made within one."""
POSTED = replace(SOCKET, can=SOCKET.can - {Can.NOTICE})
"""Nobody here can know that Slack cannot reach us."""

T = TypeVar("T")


class SlackRig(PlatformRig):
    """One app; `listen` is the port for HTTP events, 0 for Socket Mode."""

    def __init__(self, fake: FakeSlack, cable: Cable, listen: int) -> None:
        self.traits = POSTED if listen else SOCKET
        self.intake = FakeIntake()
        self.home = at(fake.home)
        self.away = at(fake.world.direct(world.BOB))
        self._fake = fake
        self._cable = cable
        self._listen = listen
        self._life = Life()
        self._presses: dict[str, Envelope] = {}
        self.platform = self._built()

    async def start(self) -> None:
        self.platform = self._built()
        await self._life.begin(self.platform, self.intake)

    async def stop(self) -> None:
        await self._life.end()

    def _built(self) -> SlackPlatform:
        return SlackPlatform(
            self._options(), clock=RealClock(), hold=nullcontext, known=lambda *_: True
        )

    def _options(self) -> SlackOptions:
        options = quick(self._fake)
        if self._listen:
            secret = self._fake.delivery.signing_secret
            return replace(options, events=Events(signing_secret=secret, port=self._listen))
        return replace(options, base_url=f"http://127.0.0.1:{self._cable.port}/api/")

    # What people do

    async def say(
        self, place: Address, text: str, *, who: Person = Person.ANNA, addressed: bool = True
    ) -> RemoteId:
        channel = self._channel(place)
        called = addressed and channel.kind != "im" and not place.thread
        raw = f"{MENTION} {world.escape(text)}" if called else None
        seen = self._fake.say(
            text, user=PEOPLE[who], channel=channel, thread=place.thread, raw=raw
        )
        return RemoteId(seen.ts)

    async def command(self, place: Address, line: str, *, who: Person = Person.ANNA) -> None:
        self._fake.command(line, user=PEOPLE[who], channel=self._channel(place))

    async def press(
        self, place: Address, remote: RemoteId, label: str, *, who: Person = Person.ANNA
    ) -> str:
        envelope = self._fake.press(self._message(place, remote), label, user=PEOPLE[who])
        self._presses[envelope.id] = envelope
        return envelope.id

    async def toast(self, press: str) -> str:
        envelope = self._presses[press]
        await self._fake.wait_for(lambda: envelope.acked, self.traits.press_within_s)
        # What is said of a press is on its way before the press is acknowledged.
        asides = {task for task in asyncio.all_tasks() if task.get_name() == ASIDE}
        await asyncio.gather(*asides)
        answered = envelope.payload["response_url"].rpartition("/")[2]
        told = [body["text"] for name, body in self._fake.world.ephemerals if name == answered]
        return str(told[-1]) if told else ""

    async def alter(self, place: Address, remote: RemoteId, text: str) -> None:
        self._fake.edit(self._message(place, remote), text)

    async def upload(
        self,
        place: Address,
        name: str,
        content: bytes,
        *,
        caption: str = "",
        who: Person = Person.ANNA,
    ) -> RemoteId:
        seen = self._fake.upload(
            name, content, caption=caption, user=PEOPLE[who], channel=self._channel(place)
        )
        return RemoteId(seen.ts)

    async def room(self) -> Address:
        return at(self._fake.world.channel())

    async def thread(self, room: Address) -> Address:
        channel = self._channel(room)
        root = self._fake.world.post(channel, world.ANNA, "look", raw=f"{MENTION} look")
        return at(channel, root.ts)

    # Mishaps

    async def retell(self) -> None:
        self._fake.delivery.again(self._fake.last)

    async def garble(self) -> None:
        self._fake.bring_event({"type": "message", "channel": 7, "user": ["x"], "ts": None})

    async def cut_off(self) -> None:
        await self._cable.cut()

    async def let_in(self) -> None:
        await self._cable.mend()

    async def limit(self, place: Address, seconds: int, *, times: int = 1) -> None:
        self._plan("chat.postMessage", TooMany(seconds), place, times)

    async def lose_answer(self, place: Address) -> None:
        self._plan("chat.postMessage", Lost(), place)

    async def close_chat(self, place: Address) -> None:
        self._channel(place).archived = True

    async def refuse_markup(self, place: Address) -> None:
        self._plan("chat.postMessage", No("invalid_blocks"), place)

    async def refuse_marks(self, place: Address) -> None:
        self._plan("reactions.add", No("not_reactable"), place, FOR_GOOD)
        self._plan("assistant.threads.setStatus", No("not_allowed"), place, FOR_GOOD)

    def _plan(self, method: str, fault: Fault, place: Address, times: int = 1) -> None:
        self._fake.fault(method, fault, times=times, channel=self._channel(place))

    # What is seen

    def chat(self, place: Address) -> Sequence[Seen]:
        return [
            _seen(each)
            for each in self._fake.by_bot(self._channel(place))
            if each.thread == place.thread
        ]

    def progress(self, place: Address) -> str:
        return ([each.text for each in self.chat(place)] or [""])[-1]

    def mark(self, place: Address, remote: RemoteId) -> str:
        return " ".join(self._message(place, remote).reactions)

    async def until(self, predicate: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
        return await self._fake.wait_for(predicate, within_s)

    def _channel(self, place: Address) -> world.Channel:
        return self._fake.world.channels[place.chat]

    def _message(self, place: Address, remote: RemoteId) -> world.Seen:
        return self._channel(place).messages[remote]


def _seen(each: world.Seen) -> Seen:
    return Seen(
        remote=RemoteId(each.ts),
        text=_read(each),
        buttons=tuple(label for label, _ in each.buttons),
        file=each.file,
        content=each.content,
        edits=each.edits,
        formatted=each.formatted,
        pings=tuple(each.pings),
    )


def _read(each: world.Seen) -> str:
    """The text; a line of somebody's words that took several sections is one."""
    sections = [block["text"]["text"] for block in each.blocks if block["type"] == "section"]
    if not sections:
        return each.text
    made = sections[0]
    for before, section in pairwise(sections):
        cut = units(before) >= MAX_SECTION - 1 and section.startswith(BAR)
        made += section.removeprefix(BAR) if cut else f"\n{section}"
    return str(made)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def _opened(listen: int) -> AsyncIterator[PlatformRig]:
    async with AsyncExitStack() as stack:
        fake = await stack.enter_async_context(FakeSlack())
        cable = await stack.enter_async_context(Cable(listen or fake.port))
        if listen:
            fake.delivery.url = f"http://127.0.0.1:{cable.port}{EVENTS_PATH}"
        else:
            fake.public_port = cable.port
        rig = SlackRig(fake, cable, listen)
        stack.push_async_callback(rig.stop)
        await rig.start()
        yield rig


@asynccontextmanager
async def socket_mode(_: Path) -> AsyncIterator[PlatformRig]:
    """Socket Mode."""
    async with _opened(0) as rig:
        yield rig


@asynccontextmanager
async def http_events(_: Path) -> AsyncIterator[PlatformRig]:
    """HTTP events."""
    async with _opened(_free_port()) as rig:
        yield rig


RIGS: Mapping[str, Backend] = {
    "slack": Backend(socket_mode, SOCKET),
    "slack-events": Backend(http_events, POSTED),
}
