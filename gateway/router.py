"""From what adapters decoded to the inbox: who may, into which lane, as message or command.

This is the `Intake` that every adapter is given. It keeps nothing: what it accepts is in the
store when `accept` returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import structlog

from core import commands
from core.commands import Invocation
from core.errors import TransientError
from core.escalations import token
from core.escalations.routing import Push, Words
from core.messages import (
    Ack,
    Address,
    Duplicate,
    Inbound,
    LaneKey,
    Message,
    Moved,
    PlatformName,
    Press,
    Principal,
    Refused,
)
from core.people import Refusal
from core.ports import Clock
from core.sessions.arrivals import Arrival, Commanded, Pushed, Relocation, Said
from core.sessions.inputs import payload_of
from core.sessions.lane import Busy
from core.sessions.ports import Signals
from gateway.access import Access
from gateway.impatience import Impatience

log = structlog.get_logger(__name__)

CONFIRMED_S = 2.0
"""Platforms show a press as failed when it is not confirmed by then."""
MAX_MESSAGE = 100_000
"""The longest message taken, in characters."""
NOT_TAKEN = "⚠ This could not be taken: an internal error; the log has the details."
TOO_LONG = (
    "⚠ This message has {length:,} characters; at most {limit:,} are taken. Send it as a file."
)


@dataclass(frozen=True, slots=True)
class Shut:
    """Somebody without a right tried: to be written down, and mostly left without an answer."""

    out: Refusal


Sorted: TypeAlias = Arrival | Relocation | Refused | Shut


class Followed(Protocol):
    """Who acts on signals after a commit."""

    def follow(self, signals: Signals) -> None:
        """Wake, cancel, judge and deliver as the signals say."""
        ...

    def cut(self, lane: LaneKey) -> None:
        """End whatever turn runs in the lane."""
        ...


class Inbox(Protocol):
    """The part of the store that takes what comes in."""

    async def accept(
        self,
        arrivals: Sequence[Arrival | Relocation],
        *,
        cursor: tuple[str, str] | None,
        now: float,
        early: Callable[[Signals], None] | None = None,
    ) -> tuple[tuple[Ack, ...], Signals]:
        """See `Store.accept`."""
        ...

    async def cursor(self, source: str) -> str | None:
        """See `Store.cursor`."""
        ...


class Bystander(Protocol):
    """Who else must know what comes in, before it is stored."""

    def wrote(self, lane: LaneKey) -> None:
        """Somebody wrote in the lane's chat, to us or not."""
        ...

    async def moved(self, old: LaneKey, new: LaneKey) -> None:
        """A lane gets another key. Told again when the commit fails."""
        ...

    def unsaved(self, lane: LaneKey, reason: str) -> None:
        """What somebody wrote there is not stored, and is handed over again later."""
        ...


@dataclass(frozen=True, slots=True)
class LaneRules:
    """How messages become lanes: `per_user` gives each person of a group a lane."""

    busy: Busy = Busy.QUEUE
    per_user: bool = False


class Router:
    """The one way in."""

    def __init__(
        self,
        store: Inbox,
        access: Access,
        lanes: Followed,
        clock: Clock,
        rules: LaneRules,
        bystander: Bystander | None = None,
    ) -> None:
        self._store = store
        self._access = access
        self._lanes = lanes
        self._clock = clock
        self._rules = rules
        self._bystander = bystander
        self._impatient = Impatience(clock)
        self._caught_up: dict[PlatformName, asyncio.Event] = {}

    async def accept(
        self, batch: Sequence[Inbound], *, cursor: tuple[str, str] | None = None
    ) -> tuple[Ack, ...]:
        """See `Intake.accept`."""
        sorted_out = [self._impatient.once(self._sort(inbound)) for inbound in batch]
        arrivals = [item for item in sorted_out if isinstance(item, Arrival | Relocation)]
        for item in arrivals:
            if isinstance(item, Relocation) and self._bystander is not None:
                await self._bystander.moved(item.old, item.new)
        acks: Iterable[Ack] = ()
        if arrivals or cursor is not None:
            acks = await self._store_all(arrivals, cursor)
        stored = iter(acks)
        refused = iter(await self._refuse(sorted_out))
        return tuple(
            next(stored)
            if isinstance(item, Arrival | Relocation)
            else next(refused)
            if isinstance(item, Shut)
            else item
            for item in sorted_out
        )

    async def _refuse(self, sorted_out: Sequence[Sorted | Duplicate]) -> list[Refused]:
        """Write the batch's refusals down; a disk that takes none must not hold the rest up."""
        shut = [item.out for item in sorted_out if isinstance(item, Shut)]
        if not shut:
            return []
        for refusal in shut:
            where, person = f"{refusal.platform} {refusal.chat}", refusal.person
            log.warning("refused", what=refusal.what, chat=where, person=person)
        try:
            told = await self._access.refuse(shut, now=self._clock.now())
        except TransientError as error:
            log.error("refusals_not_written", error=str(error), refusals=len(shut))
            told = ("",) * len(shut)
        return [Refused(text) for text in told]

    async def _store_all(
        self, arrivals: Sequence[Arrival | Relocation], cursor: tuple[str, str] | None
    ) -> tuple[Ack, ...]:
        started = self._clock.monotonic()
        try:
            acks, _ = await self._store.accept(
                arrivals, cursor=cursor, now=self._clock.now(), early=self._lanes.follow
            )
        except TransientError as error:
            self._unsaved(arrivals, str(error))
            raise
        except Exception:  # the border of a receive loop: one arrival must not hold up the rest
            log.exception("batch_not_taken", arrivals=len(arrivals))
            return await self._one_by_one(arrivals, cursor)
        if self._clock.monotonic() - started > CONFIRMED_S:
            self._impatient.remember(arrivals)
        return acks

    def _unsaved(self, arrivals: Sequence[Arrival | Relocation], reason: str) -> None:
        """What was not stored comes again; a /stop is not made to wait for that."""
        self._impatient.remember(arrivals)
        for arrival in arrivals:
            if not isinstance(arrival, Arrival):
                continue
            if isinstance(arrival.what, Commanded) and arrival.what.line.name == "stop":
                self._lanes.cut(arrival.lane)
            if self._bystander is not None:
                self._bystander.unsaved(arrival.lane, reason)

    async def _one_by_one(
        self, arrivals: Sequence[Arrival | Relocation], cursor: tuple[str, str] | None
    ) -> tuple[Ack, ...]:
        """Take what can be taken; the platform would hand the same batch over for ever."""
        acks: list[Ack] = []
        for arrival in arrivals:
            try:
                taken, _ = await self._store.accept(
                    [arrival], cursor=None, now=self._clock.now(), early=self._lanes.follow
                )
                acks.extend(taken)
            except TransientError:
                raise
            except Exception:  # as above; the person is told, the log has the details
                log.exception("arrival_not_taken", dedupe=arrival.dedupe)
                acks.append(Refused(NOT_TAKEN))
        if cursor is not None:
            await self._store.accept((), cursor=cursor, now=self._clock.now())
        return tuple(acks)

    async def cursor(self, source: str) -> str | None:
        """See `Intake.cursor`."""
        return await self._store.cursor(source)

    def caught_up(self, platform: PlatformName) -> None:
        """See `Intake.caught_up`."""
        self.backlog(platform).set()

    def backlog(self, platform: PlatformName) -> asyncio.Event:
        """Set once the platform's first backlog has been accepted."""
        return self._caught_up.setdefault(platform, asyncio.Event())

    def _sort(self, inbound: Inbound) -> Sorted:
        match inbound:
            case Moved(dedupe=dedupe, old=old, new=new):
                return Relocation(dedupe, old.key, new.key)
            case Press():
                return self._press(inbound)
            case Message():
                return self._message(inbound)

    def _press(self, press: Press) -> Arrival | Refused | Shut:
        lane = self._lane(press.address, press.sender.id, private=press.private)
        principal = self._access.admit(press.sender, press.address)
        if principal is None:
            return Shut(_refusal(press, lane))
        if token.is_ours(press.command):
            push = Push(
                by=principal, address=press.address, data=press.command, remote=press.remote
            )
            return Arrival(lane, press.dedupe, principal, Pushed(push, press.sent_at))
        line = commands.read(press.command)
        if line is None:
            log.warning("press_not_read", chat=press.address.chat, person=press.sender.id)
            return Refused("")
        return Arrival(lane, press.dedupe, principal, Commanded(line, press.sent_at))

    def _message(self, message: Message) -> Arrival | Refused | Shut:
        lane = self._lane(message.address, message.sender.id, private=message.private)
        if self._bystander is not None:
            self._bystander.wrote(lane)
        if not message.addressed:
            return Refused("")
        principal = self._access.admit(message.sender, message.address)
        if principal is None:
            return Shut(_refusal(message, lane))
        if len(message.text) > MAX_MESSAGE:
            return Refused(TOO_LONG.format(length=len(message.text), limit=MAX_MESSAGE))
        return self._read(message, lane, principal)

    def _read(self, message: Message, lane: LaneKey, principal: Principal) -> Arrival:
        line = commands.read(message.text)
        busy = self._rules.busy
        text = message.text
        if line is not None and line.name in {"queue", "steer"} and line.argument:
            busy, text, line = Busy(line.name), line.argument, None
        if line is not None:
            what = Commanded(_started(line), message.sent_at)
            return Arrival(lane, message.dedupe, principal, what)
        if message.attachments and busy is Busy.STEER:
            busy = Busy.QUEUE  # files are fetched when a turn begins
        payload = payload_of(
            message, text=text, shared=not (message.private or self._rules.per_user)
        )
        words = _words(message, principal) if text == message.text else None
        said = Said(payload, busy, message.may_continue, words)
        return Arrival(lane, message.dedupe, principal, said)

    def _lane(self, address: Address, person: str, *, private: bool) -> LaneKey:
        per_user = self._rules.per_user and not private
        return (replace(address, user=person) if per_user else address).key


def _refusal(inbound: Message | Press, lane: LaneKey) -> Refusal:
    spoke = isinstance(inbound, Message)
    return Refusal(
        platform=inbound.address.platform,
        person=inbound.sender.id,
        name=inbound.sender.name,
        chat=inbound.address.chat,
        lane=lane,
        what="message" if spoke else "press",
        may_pair=spoke and inbound.private,
    )


def _words(message: Message, by: Principal) -> Words:
    """A message as a possible answer to a question."""
    return Words(
        by=by,
        address=message.address,
        text=message.text,
        sent_at=message.sent_at,
        private=message.private,
        replies_to=message.replies_to,
        bare=not message.attachments and not message.may_continue,
    )


def _started(line: Invocation) -> Invocation:
    """Telegram's own first command opens the help."""
    return Invocation("help", "") if line.name == "start" else line
