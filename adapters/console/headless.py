"""One task without a chat: says what it was given, line by line, and ends when all is done.

It shows nothing itself: what the bot says goes to `hear`, and questions to a person, where there
is one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adapters.console.encode import MOST, decision, is_decision, is_question, parts, shown
from core.errors import PermanentError
from core.messages import (
    Ack,
    Address,
    Attachment,
    Button,
    Inbound,
    Message,
    Outbound,
    PlatformName,
    Press,
    Refused,
    RemoteId,
    Say,
    Sender,
)
from core.ports import Clock, Health, Intake, Mark, Sent
from core.sessions.conversation import Question
from core.splitting import Room

NOBODY = "There is no terminal here, so nobody can be asked."
_YES, _NO = frozenset({"y", "yes"}), frozenset({"n", "no"})


class Person(Protocol):
    """Who is asked."""

    async def answer(self, question: Question, choices: Sequence[str]) -> str | None:
        """What they say to a question that they were shown, None when they have left. `choices`
        are what can be chosen, by number or name; () where words are wanted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What is said, each line when what came of the one before is at rest, and where. `run_id`
    differs at every start of the process."""

    address: Address
    run_id: str
    lines: Sequence[str]
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the errand is carried out in: `idle` returns when the lane has nothing left to do,
    `questions` are those of the lane that wait for an answer, the newest first. `hear` takes what
    the bot says, `finished` is told when all is done, before the program ends. `until` is entered
    for the errand, and leaves it when it has to end before its time."""

    clock: Clock
    idle: Callable[[], Awaitable[None]]
    questions: Callable[[], Awaitable[Sequence[Question]]]
    hear: Callable[[Outbound], None]
    finished: Callable[[], Awaitable[None]]
    until: Callable[[], AbstractAsyncContextManager[None]]
    person: Person | None = None


class HeadlessPlatform:
    """A `Platform` that is its own only user. Without a person every card is refused, so that the
    work goes on with a question that could not be asked."""

    name = PlatformName.CONSOLE
    repeats_s = 0.0

    def __init__(self, errand: Errand, around: Surroundings) -> None:
        self._errand = errand
        self._around = around
        self._heard = 0
        self._said = 0
        self._cards: dict[RemoteId, Say] = {}
        self._decided: set[str] = set()

    async def run(self, intake: Intake) -> None:
        """Say each line and see it through; returns when all is done, or is to be left."""
        intake.caught_up(self.name)
        async with self._around.until():
            for line in self._errand.lines:
                await self._hand_over(intake, self._message(line))
                await self._see_through(intake)
            await self._around.finished()

    def health(self) -> Health:
        """There is nothing that could be down."""
        return Health(ok=True, silent_s=0.0, detail="a task is worked on")

    def parts(self, text: str) -> tuple[Outbound, ...]:
        """One message of any length."""
        return parts(text)

    @property
    def room(self) -> Room:
        """As the terminal chat's."""
        return Room(MOST)

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """Pass a message on. Raises PermanentError for a card that nobody could answer."""
        self._said += 1
        remote = RemoteId(f"{self._errand.run_id}:{self._said}")
        if isinstance(what, Say):
            if is_question(what):
                if self._around.person is None:
                    raise PermanentError(NOBODY)
                self._cards[remote] = what
            what = shown(what)
            self._tell(what)
        else:
            self._around.hear(what)
        return Sent(remote, self._around.clock.now())

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Tell what became of a question; other edits are news of what is told anyway."""
        card = self._cards.get(remote)
        if card is not None and (line := decision(card, shown(what))):
            del self._cards[remote]
            self._tell(Say(line))

    def _tell(self, said: Say) -> None:
        """A question's decision is told by its card and in answer to a command; once is enough."""
        if is_decision(said.text):
            if said.text in self._decided:
                return
            self._decided.add(said.text)
        self._around.hear(said)

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Progress is told by the turn's events."""
        return None

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """There is nothing to mark."""

    async def download(self, attachment: Attachment, to: Path) -> None:
        """Nobody sends files here."""
        raise PermanentError("No file was sent.")

    async def _see_through(self, intake: Intake) -> None:
        """Wait until the lane is at rest, and get the answers that it waits for."""
        person = self._around.person
        while True:
            await self._around.idle()
            waiting = await self._around.questions()
            if person is None or not waiting:
                return
            question = waiting[-1]
            said = await person.answer(question, [b.label for b in question.buttons])
            if said is None:
                return
            reply = self._reply(question, said.strip())
            if reply is not None:
                await self._hand_over(intake, reply)

    def _reply(self, question: Question, said: str) -> Inbound | None:
        """The press that an answer is, or the command for words; None for what is neither."""
        if not said:
            return None
        if not question.buttons:
            return self._message(f"/answer {question.id} {said}")
        button = _chosen(question.buttons, said.casefold())
        if button is None or not question.remotes:
            return None
        return Press(
            address=self._errand.address,
            dedupe=self._key(),
            sender=self._sender,
            command=button.command,
            remote=question.remotes[-1],
            sent_at=self._around.clock.now(),
        )

    def _message(self, text: str) -> Message:
        key = self._key()
        return Message(
            address=self._errand.address,
            dedupe=key,
            sender=self._sender,
            text=text,
            remote=RemoteId(key),
            sent_at=self._around.clock.now(),
        )

    @property
    def _sender(self) -> Sender:
        return Sender("local", self._errand.user)

    def _key(self) -> str:
        self._heard += 1
        return f"console:{self._errand.run_id}:{self._heard}"

    async def _hand_over(self, intake: Intake, value: Inbound) -> None:
        acks: tuple[Ack, ...] = await intake.accept((value,))
        for ack in acks:
            if isinstance(ack, Refused):
                self._around.hear(shown(Say(ack.text or "Not taken.")))


def _chosen(buttons: Sequence[Button], said: str) -> Button | None:
    """The button of that number or name; a plain yes or no where these are the choices."""
    if said.isascii() and said.isdigit() and 1 <= int(said) <= len(buttons):
        return buttons[int(said) - 1]
    for button in buttons:
        if said == button.label.casefold() or said in _words(button):
            return button
    return None


def _words(button: Button) -> frozenset[str]:
    """What says the same as that button."""
    match button.command.partition(" ")[0]:
        case "/approve":
            return _YES
        case "/deny":
            return _NO
        case _:
            return frozenset()
