"""Discord under the platforms' contract suite.

The real discord.py talks to the fake Discord, its gateway through a cable that may be cut.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from simcord.backend.models import User

from adapters.discord.adapter import DiscordPlatform
from adapters.discord.encode import units
from adapters.discord.options import MenuEntry
from core.commands import COMMANDS, read
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
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.discord_people import Shown
from tests.fakes.discord_rest import is_formatted
from tests.fakes.discord_rig import Crowd, RealClock, at, quick
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_faults import Lost, Status, TooMany

FOR_GOOD = 1_000_000
MENU = [MenuEntry(spec.name, spec.summary, spec.words) for spec in COMMANDS]
TRAITS = Traits(can=frozenset(Can), most=2000, size=units, pinging="@everyone and <@1> or <@&2>")

T = TypeVar("T")


def channel_of(place: Address) -> int:
    """The channel or thread that the address means."""
    return int(place.thread or place.chat)


class DiscordRig(PlatformRig):
    """One bot in one fake Discord."""

    def __init__(self, fake: FakeDiscord, cable: Cable, folder: Path) -> None:
        self.traits = TRAITS
        self.intake = FakeIntake()
        self.home = at(fake, fake.direct(fake.anna))
        self.away = at(fake, fake.direct(fake.bob))
        self._fake = fake
        self._cable = cable
        self._folder = folder
        self._life = Life()
        self.platform = self._built()
        fake.gateway.url = self._gateway_url

    @property
    def _gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self._cable.port}/gateway"

    async def start(self) -> None:
        self.platform = self._built()
        await self._life.begin(self.platform, self.intake)

    async def stop(self) -> None:
        await self._life.end()

    def _built(self) -> DiscordPlatform:
        return DiscordPlatform(
            replace(quick(self._fake), gateway_url=self._gateway_url),
            commands=MENU,
            people=Crowd((self._fake.anna.id, self._fake.bob.id)),
            clock=RealClock(),
            state_dir=self._folder,
            hold=nullcontext,
        )

    def _user(self, who: Person) -> User:
        return {Person.ANNA: self._fake.anna, Person.BOB: self._fake.bob}[who]

    # What people do

    async def say(
        self, place: Address, text: str, *, who: Person = Person.ANNA, addressed: bool = True
    ) -> RemoteId:
        private = place in {self.home, self.away}
        called = addressed and not (private or place.thread or text.startswith("/"))
        written = f"{self._fake.call()} {text}" if called else text
        said = self._fake.say(written, user=self._user(who), channel=channel_of(place))
        return RemoteId(str(said.id))

    async def command(self, place: Address, line: str, *, who: Person = Person.ANNA) -> None:
        given = read(line)
        assert given is not None
        self._fake.command(
            given.name, given.argument, user=self._user(who), channel=channel_of(place)
        )

    async def reply(
        self, place: Address, remote: RemoteId, text: str, *, who: Person = Person.ANNA
    ) -> RemoteId:
        said = self._fake.say(
            text, user=self._user(who), channel=channel_of(place), reply_to=int(remote)
        )
        return RemoteId(str(said.id))

    async def press(
        self, place: Address, remote: RemoteId, label: str, *, who: Person = Person.ANNA
    ) -> str:
        pressed = self._fake.press(channel_of(place), int(remote), label, user=self._user(who))
        return str(pressed.id)

    async def toast(self, press: str) -> str:
        record = self._fake.backend.interactions[int(press)]
        await self._fake.wait_for(lambda: record.responded, self.traits.press_within_s)
        if record.message_id in {None, record.source_message_id}:
            return ""
        found = self._fake.backend.messages[record.channel_id][record.message_id or 0]
        return found.content

    async def alter(self, place: Address, remote: RemoteId, text: str) -> None:
        self._fake.alter(self._fake.backend.get_message(channel_of(place), int(remote)), text)

    async def upload(
        self,
        place: Address,
        name: str,
        content: bytes,
        *,
        caption: str = "",
        who: Person = Person.ANNA,
    ) -> RemoteId:
        said = self._fake.say(
            caption, user=self._user(who), channel=channel_of(place), files=((name, content),)
        )
        return RemoteId(str(said.id))

    async def room(self) -> Address:
        return at(self._fake, self._fake.channel())

    async def thread(self, room: Address) -> Address:
        return at(self._fake, self._fake.thread(int(room.chat)))

    # Mishaps

    async def retell(self) -> None:
        self._fake.gateway.again()

    async def garble(self) -> None:
        self._fake.gateway.push("MESSAGE_CREATE", {"id": "x", "channel_id": None})

    async def cut_off(self) -> None:
        await self._cable.cut()

    async def let_in(self) -> None:
        await self._cable.mend()

    async def limit(self, place: Address, seconds: int, *, times: int = 1) -> None:
        self._fake.fault("send", TooMany(seconds), times=times, chat=channel_of(place))

    async def lose_answer(self, place: Address) -> None:
        self._fake.fault("send", Lost(), chat=channel_of(place))

    async def close_chat(self, place: Address) -> None:
        refusal = Status(403, "Cannot send messages to this user")
        self._fake.fault("send", refusal, times=FOR_GOOD, chat=channel_of(place))

    async def refuse_markup(self, place: Address) -> None:
        self._fake.rest.formatted_refused.add(channel_of(place))

    async def refuse_marks(self, place: Address) -> None:
        for kind in ("react", "typing"):
            refusal = Status(403, "Missing Permissions")
            self._fake.fault(kind, refusal, times=FOR_GOOD, chat=channel_of(place))

    # What is seen

    def chat(self, place: Address) -> Sequence[Seen]:
        return [
            self._seen(channel_of(place), each)
            for each in self._fake.shown(channel_of(place))
            if not each.ephemeral
        ]

    def progress(self, place: Address) -> str:
        return ([each.text for each in self.chat(place)] or [""])[-1]

    def mark(self, place: Address, remote: RemoteId) -> str:
        return " ".join(self._fake.reactions(channel_of(place), int(remote)))

    async def until(self, predicate: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
        return await self._fake.wait_for(predicate, within_s)

    def _seen(self, channel: int, each: Shown) -> Seen:
        name, content = each.files[0] if each.files else ("", b"")
        changes = [
            call
            for call in self._fake.called("edit")
            if call.outcome == "ok" and call.asked.parts[-1] == str(each.id)
        ]
        return Seen(
            remote=RemoteId(str(each.id)),
            text=each.text,
            buttons=each.buttons,
            file=name,
            content=content,
            edits=len(changes),
            reply_to=str(each.reply_to) if each.reply_to else "",
            formatted=is_formatted(each.raw),
            pings=tuple(map(str, each.pings)),
        )


@asynccontextmanager
async def discord(folder: Path) -> AsyncIterator[PlatformRig]:
    """Opened and connected."""
    async with AsyncExitStack() as stack:
        fake = await stack.enter_async_context(FakeDiscord())
        cable = await stack.enter_async_context(Cable(fake.port))
        rig = DiscordRig(fake, cable, folder)
        stack.push_async_callback(rig.stop)
        await rig.start()
        yield rig


RIGS: Mapping[str, Backend] = {"discord": Backend(discord, TRAITS)}
