"""Telegram under the platforms' contract suite: by polling and by webhook.

The real python-telegram-bot talks to the fake Bot API through a cable, which may be cut; a
webhook is called through one.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from adapters.telegram.adapter import TelegramPlatform
from adapters.telegram.decode import units
from adapters.telegram.options import TelegramOptions, Webhook
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
from tests.fakes import telegram_world as world
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_faults import Lost, Status, TooMany
from tests.fakes.telegram_people import detected
from tests.fakes.telegram_rig import MENU, RealClock, at, quick
from tests.fakes.telegram_world import Obj

PEOPLE = {Person.ANNA: world.ANNA, Person.BOB: world.BOB}
FOR_GOOD = 1_000_000

POLLED = Traits(
    can=frozenset(Can),
    most=4096,
    size=units,
    pinging="@everyone and @bob, [Anna](tg://user?id=1001)",
)
HOOKED = replace(POLLED, can=POLLED.can - {Can.NOTICE})
"""Nobody here can know that Telegram cannot reach us."""

T = TypeVar("T")


class TelegramRig(PlatformRig):
    """One bot; `listen` is the webhook's own port, 0 for polling."""

    def __init__(self, fake: FakeTelegram, cable: Cable, listen: int) -> None:
        self.traits = HOOKED if listen else POLLED
        self.intake = FakeIntake()
        self.home = at(fake, fake.meet(world.ANNA))
        self.away = at(fake, fake.meet(world.BOB))
        self._fake = fake
        self._cable = cable
        self._listen = listen
        self._life = Life()
        self.platform = self._built()

    async def start(self) -> None:
        self.platform = self._built()
        await self._life.begin(self.platform, self.intake)

    async def stop(self) -> None:
        await self._life.end()

    def _built(self) -> TelegramPlatform:
        return TelegramPlatform(
            self._options(), commands=MENU, clock=RealClock(), hold=nullcontext
        )

    def _options(self) -> TelegramOptions:
        options = quick(self._fake)
        if self._listen:
            url = f"http://127.0.0.1:{self._cable.port}/hook"
            return replace(options, webhook=Webhook(url=url, port=self._listen, secret="s3cret"))
        base = f"http://127.0.0.1:{self._cable.port}"
        return replace(options, base_url=f"{base}/bot", base_file_url=f"{base}/file/bot")

    # What people do

    async def say(
        self, place: Address, text: str, *, who: Person = Person.ANNA, addressed: bool = True
    ) -> RemoteId:
        called = addressed and int(place.chat) < 0 and not text.startswith("/")
        written = f"@{self._fake.bot.username} {text}" if called else text
        seen = self._fake.say(
            written, user=PEOPLE[who], chat=int(place.chat), topic=int(place.thread or 0)
        )
        return RemoteId(str(seen.id))

    async def command(self, place: Address, line: str, *, who: Person = Person.ANNA) -> None:
        await self.say(place, line, who=who)

    async def reply(
        self, place: Address, remote: RemoteId, text: str, *, who: Person = Person.ANNA
    ) -> RemoteId:
        seen = self._fake.say(
            text,
            user=PEOPLE[who],
            chat=int(place.chat),
            topic=int(place.thread or 0),
            reply_to=self._message(place, remote),
        )
        return RemoteId(str(seen.id))

    async def press(
        self, place: Address, remote: RemoteId, label: str, *, who: Person = Person.ANNA
    ) -> str:
        return self._fake.press(self._message(place, remote), label, user=PEOPLE[who])

    async def toast(self, press: str) -> str:
        return await self._fake.toast(press, self.traits.press_within_s)

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
            name, content, caption=caption, user=PEOPLE[who], chat=int(place.chat)
        )
        return RemoteId(str(seen.id))

    async def room(self) -> Address:
        return at(self._fake, self._fake.group(forum=True))

    async def thread(self, room: Address) -> Address:
        return at(self._fake, int(room.chat), self._fake.topic(int(room.chat)))

    # Mishaps

    async def retell(self) -> None:
        self._fake.redeliver(max(self._fake.world.history))

    async def garble(self) -> None:
        self._fake.push({"message": {"message_id": "x", "date": "never", "chat": 7}})

    async def cut_off(self) -> None:
        await self._cable.cut()

    async def let_in(self) -> None:
        await self._cable.mend()

    async def limit(self, place: Address, seconds: int, *, times: int = 1) -> None:
        self._plan("sendMessage", TooMany(seconds), place, times)

    async def lose_answer(self, place: Address) -> None:
        self._plan("sendMessage", Lost(), place)

    async def close_chat(self, place: Address) -> None:
        self._fake.world.chats[int(place.chat)].blocked = True

    async def refuse_markup(self, place: Address) -> None:
        text = "Bad Request: can't parse entities: nobody knows why"
        self._plan("sendMessage", Status(400, text), place)

    async def refuse_marks(self, place: Address) -> None:
        refusal = Status(400, "Bad Request: REACTION_INVALID")
        self._plan("setMessageReaction", refusal, place, FOR_GOOD)
        self._plan("sendChatAction", Status(403, "Forbidden"), place, FOR_GOOD)

    def _plan(
        self, method: str, fault: Lost | Status | TooMany, place: Address, times: int = 1
    ) -> None:
        self._fake.fault(method, fault, times=times, chat=int(place.chat))

    # What is seen

    def chat(self, place: Address) -> Sequence[Seen]:
        thread = int(place.thread or 0)
        return [
            _seen(each) for each in self._fake.by_bot(int(place.chat)) if each.thread == thread
        ]

    def progress(self, place: Address) -> str:
        chat = int(place.chat)
        texts = [text for shown, _, text in self._fake.world.drafts if shown == chat]
        return (texts or [each.text for each in self.chat(place)] or [""])[-1]

    def mark(self, place: Address, remote: RemoteId) -> str:
        return self._message(place, remote).reaction

    async def until(self, predicate: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
        return await self._fake.wait_for(predicate, within_s)

    def _message(self, place: Address, remote: RemoteId) -> world.Seen:
        return self._fake.world.chats[int(place.chat)].messages[int(remote)]


def _seen(each: world.Seen) -> Seen:
    return Seen(
        remote=RemoteId(str(each.id)),
        text=each.text,
        buttons=tuple(label for label, _ in each.buttons),
        file=each.document,
        content=each.content,
        edits=each.edits,
        reply_to=str(each.reply_to) if each.reply_to else "",
        formatted=bool(each.entities),
        pings=_pinged(each),
    )


def _pinged(each: world.Seen) -> tuple[str, ...]:
    """Whom Telegram notifies: @names outside of code, and people linked by their id."""
    linked = [str(e["user"]) for e in each.entities if e["type"] == "text_mention"]
    linked += [e["url"] for e in each.entities if str(e.get("url", "")).startswith("tg://user")]
    code = [e for e in each.entities if e["type"] in {"code", "pre"}]
    named = [e for e in detected(each.text) if e["type"] == "mention" and not _inside(e, code)]
    return (*linked, *(_part(each.text, e) for e in named))


def _part(text: str, entity: Obj) -> str:
    start, end = entity["offset"], entity["offset"] + entity["length"]
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def _inside(entity: Obj, others: list[Obj]) -> bool:
    start = entity["offset"]
    return any(o["offset"] <= start < o["offset"] + o["length"] for o in others)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def _opened(listen: int) -> AsyncIterator[PlatformRig]:
    async with AsyncExitStack() as stack:
        fake = await stack.enter_async_context(FakeTelegram())
        cable = await stack.enter_async_context(Cable(listen or fake.port))
        rig = TelegramRig(fake, cable, listen)
        stack.push_async_callback(rig.stop)
        await rig.start()
        yield rig


@asynccontextmanager
async def polling(_: Path) -> AsyncIterator[PlatformRig]:
    """Long polling."""
    async with _opened(0) as rig:
        yield rig


@asynccontextmanager
async def webhook(_: Path) -> AsyncIterator[PlatformRig]:
    """By webhook."""
    async with _opened(_free_port()) as rig:
        yield rig


RIGS: Mapping[str, Backend] = {
    "telegram": Backend(polling, POLLED),
    "telegram-webhook": Backend(webhook, HOOKED),
}
