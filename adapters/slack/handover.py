"""Hands what came in to the intake, and says how Slack is to be answered.

Shared by Socket Mode and HTTP events. Slack is told that it has been taken only after the
commit; what it brings again has the same key. It never drops what can be read, and steps over
what cannot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeAlias

from adapters.slack.asides import Asides
from adapters.slack.decode import MALFORMED, Kind, Me, Received, decode, is_private
from adapters.slack.encode import aside
from adapters.slack.lines import Lines
from adapters.slack.people import People
from adapters.slack.places import Places
from adapters.slack.threads import Threads
from core.errors import TransientError
from core.escalations import token
from core.messages import Ack, Handled, LaneKey, Message, Press, Queued, Refused
from core.ports import Clock, Intake
from core.transcript import Json

ON_ITS_WAY_S = 3.0
"""Slack brings a command once and waits so long for its answer."""
SAVING = "saving…"
SAVED = "Saved."
ELSEWHERE = "I am not in this channel; the answer comes in our direct messages."
UNSAVED = "⚠ This could not be saved ({reason}). Send it again, please."

log = logging.getLogger(__name__)

Known: TypeAlias = Callable[[str, str], bool]
"""Whether a person has any right in a chat."""


class Status(IntEnum):
    """The HTTP status that stands for what became of a request."""

    TAKEN = 200
    UNSAVED = 503
    """The intake failed; hand the same over again, before anything newer."""
    UNDECIDED = 504
    """Slack has to be asked something and does not answer now: it shall bring this again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What Slack gets at once: a status, and a message for the person, {} for none."""

    status: Status = Status.TAKEN
    body: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Unsaved:
    """The intake could not save it."""

    reason: str


Outcome: TypeAlias = Ack | Unsaved


class Handover:
    """One per connection; its tasks live in the caller's group."""

    def __init__(  # noqa: PLR0913 - wiring, all keyword-only
        self,
        *,
        intake: Intake,
        known: Known,
        me: Me,
        people: People,
        places: Places,
        threads: Threads,
        asides: Asides,
        clock: Clock,
        saving_s: float,
        group: asyncio.TaskGroup,
    ) -> None:
        self._intake = intake
        self._known = known
        self._me = me
        self._people = people
        self._places = places
        self._threads = threads
        self._asides = asides
        self._clock = clock
        self._saving_s = saving_s
        self._group = group
        self._lines = Lines()
        self.malformed = 0
        """Requests stepped over since the start."""

    async def take(self, body: Mapping[str, Json]) -> Answer:
        """Save what a request brings; returns when Slack may be answered."""
        try:
            received = decode(body, self._me)
        except MALFORMED as err:
            self.step_over(err)
            return Answer()
        if received is None:
            return Answer()
        match received:
            case Received(kind=Kind.EVENT, inbound=Message() as message):
                return await self._take_in_order(message)
            case Received(kind=Kind.COMMAND, inbound=Message() as command):
                return await self._take_command(received, command)
            case _:
                return await self._take_in_time(received)

    def place_in_line(self, body: Mapping[str, Json]) -> tuple[LaneKey, bool] | None:
        """The lane of the message that an event brings, and whether Slack has to be asked about
        it first; None for what is no message."""
        try:
            received = decode(body, self._me)
        except MALFORMED:
            return None  # `take` steps over it
        if received is None or not isinstance(received.inbound, Message):
            return None
        message, where = received.inbound, received.inbound.address
        asks = self._is_unclear(message) and not self._threads.knows(where.chat, where.thread)
        return where.key, asks

    def step_over(self, err: Exception) -> None:
        """Count and log something that cannot be read."""
        self.malformed += 1
        log.warning(
            "stepping over a request that cannot be read (%s); %d so far",
            type(err).__name__,
            self.malformed,
        )

    async def _take_in_order(self, message: Message) -> Answer:
        async with self._lines.turn(message.address.key, message.dedupe) as is_next:
            if not is_next:
                return Answer(Status.UNDECIDED)
            answer = await self._take_message(message)
            if answer.status is Status.UNDECIDED:
                self._lines.hold(message.address.key, message.dedupe)
            return answer

    async def _take_message(self, message: Message) -> Answer:
        try:
            message = await self._decided(message)
        except TransientError as err:
            log.warning("whether a message is for us is not known yet: %s", err)
            return Answer(Status.UNDECIDED)
        outcome = await self._accept(message)
        if isinstance(outcome, Unsaved):
            return Answer(Status.UNSAVED)
        if isinstance(outcome, Refused):
            if outcome.text:
                self._spawn(self._asides.tell(message, outcome.text), "refusal")
        elif message.addressed and isinstance(outcome, Queued | Handled) and not message.private:
            self._threads.join(message.address.chat, message.address.thread)
        return Answer()

    async def _decided(self, message: Message) -> Message:
        """The message with what only Slack can tell: whether its thread is ours, the name."""
        where = message.address
        if self._is_unclear(message):
            heard = await self._threads.hears(
                where.chat, where.thread, message.sender.id, self._me
            )
            message = replace(message, addressed=heard)
        if not message.addressed or not (message.private or self._is_known(message)):
            return message
        name = await self._people.name(message.sender.id)
        return replace(message, sender=replace(message.sender, name=name))

    def _is_unclear(self, message: Message) -> bool:
        """Whether only Slack can tell if it is for us. A stranger's is not, whatever the
        thread: nothing is asked on their behalf."""
        return not message.addressed and bool(message.address.thread) and self._is_known(message)

    def _is_known(self, inbound: Message | Press) -> bool:
        return self._known(inbound.sender.id, inbound.address.chat)

    async def _take_command(self, received: Received, command: Message) -> Answer:
        # Slack does not say when a command was given, and one may not mean what came after it.
        command = replace(command, sent_at=self._clock.now() - ON_ITS_WAY_S)
        received, where = replace(received, inbound=command), command.address
        if not self._is_known(command):
            # Other people's direct messages have commands too: private are only those with us.
            private = command.private and await self._places.has(where.chat)
            command = replace(command, private=private)
            return await self._take_in_time(replace(received, inbound=command))
        chat = await self._places.of(where.chat, command.sender.id)
        if not chat or chat == where.chat:
            return await self._take_in_time(received)
        command = replace(command, address=replace(where, chat=chat), private=is_private(chat))
        return await self._take_in_time(replace(received, inbound=command, moved=True))

    async def _take_in_time(self, received: Received) -> Answer:
        """Save a command or a press; past `saving_s` it is answered before its fate is known."""
        received = replace(received, inbound=self._named(received.inbound))
        task = self._group.create_task(self._accept(received.inbound), name="slack-accept")
        done, _ = await asyncio.wait({task}, timeout=self._saving_s)
        if done:
            return self._answered(received, task.result())
        self._spawn(self._confirm(received, task), "confirm")
        if not self._is_known(received.inbound):
            return Answer()
        if received.kind is Kind.COMMAND:
            return Answer(body=aside(SAVING, threaded=False))
        self._reply(received, SAVING)
        return Answer()

    def _named(self, inbound: Message | Press) -> Message | Press:
        """With the name that messages of theirs bear: commands and presses carry the handle."""
        name = self._people.remembered(inbound.sender.id)
        return replace(inbound, sender=replace(inbound.sender, name=name)) if name else inbound

    async def _accept(self, inbound: Message | Press) -> Outcome:
        try:
            [ack] = await self._intake.accept([inbound])
        except TransientError as err:
            log.warning("what came in is not saved: %s", err)
            return Unsaved(str(err))
        return ack

    def _answered(self, received: Received, outcome: Outcome) -> Answer:
        text = _bad_news(outcome)
        if received.kind is Kind.PRESS:
            if text := text or _done(received, outcome):
                self._reply(received, text)
            return Answer()
        if text:
            return Answer(body=aside(text, threaded=False))
        if isinstance(outcome, Refused):
            return Answer()
        if received.moved:
            return Answer(body=aside(ELSEWHERE, threaded=False))
        if received.inbound.private:
            return Answer()
        # Everybody in the channel sees what was asked for.
        return Answer(body={"response_type": "in_channel"})

    async def _confirm(self, received: Received, task: asyncio.Task[Outcome]) -> None:
        await asyncio.wait({task})
        outcome = task.result()
        text = _bad_news(outcome)
        if not text and isinstance(outcome, Refused):
            return  # a stranger is told nothing
        if not text and isinstance(outcome, Handled):
            text = outcome.text
        self._reply(received, text or SAVED)

    def _reply(self, received: Received, text: str) -> None:
        """Say something to the one who gave a command or pressed a button."""
        told = self._asides.tell(received.inbound, text, received.answer_url)
        self._spawn(told, "aside")

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> None:
        self._group.create_task(work, name=f"slack-{name}")


def _bad_news(outcome: Outcome) -> str:
    match outcome:
        case Unsaved(reason):
            return UNSAVED.format(reason=reason)
        case Refused(text):
            return text
        case _:
            return ""


def _done(received: Received, outcome: Outcome) -> str:
    """What a press on a question to a person came to; what other buttons do is said in the
    chat."""
    press = received.inbound
    if isinstance(press, Press) and token.is_ours(press.command) and isinstance(outcome, Handled):
        return outcome.text
    return ""
