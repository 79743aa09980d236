"""Whose words or press count as the answer to which escalation. Pure.

A press counts on the card's own message, a reply on the card it replies to, a command by its id,
and a plain message only where nothing else can be meant. Everything else is no answer, or is
refused with the reason. `advance` holds who may answer, and that only the first counts, once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from core.escalations import texts, token, words
from core.escalations.commands import Order, Verb
from core.escalations.record import (
    NO_MESSAGE,
    Answer,
    Approved,
    Chose,
    Denied,
    Escalation,
    Kind,
    State,
    Wrote,
    place,
)
from core.escalations.token import Act, Pressed
from core.messages import Address, Principal, RemoteId


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A person's message that is no command. `sent_at` is the platform's time, `replies_to` the
    message it replies to. `bare` is false when more than words came with it, such as a file."""

    by: Principal
    address: Address
    text: str
    sent_at: float
    private: bool
    replies_to: RemoteId = NO_MESSAGE
    bare: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A press on a button of a card; `remote` is the message that carries it."""

    by: Principal
    address: Address
    data: str
    remote: RemoteId


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known of one place: its escalations, those that are over included as long as a
    card of theirs may be answered, and the bot's last message there ("" while one is on its
    way, or nothing is known)."""

    escalations: tuple[Escalation, ...] = ()
    last: RemoteId = NO_MESSAGE

    @property
    def live(self) -> tuple[Escalation, ...]:
        """Those that wait for an answer or for their card."""
        return tuple(one for one in self.escalations if one.live)

    def numbered(self, number: int) -> Escalation | None:
        """The one with that number."""
        return next((one for one in self.escalations if one.number == number), None)


# What comes of it.


@dataclass(frozen=True, slots=True)
class Resolved:
    """It is the answer. `adopts` is a message to take as a copy of the card first (`CardAdopted`),
    `echo` what to tell the person beside the confirmation."""

    escalation: Escalation
    answer: Answer
    adopts: RemoteId = NO_MESSAGE
    echo: str = ""


@dataclass(frozen=True, slots=True)
class Postponed:
    """It was a press on Later; `adopts` as in `Resolved`."""

    escalation: Escalation
    adopts: RemoteId = NO_MESSAGE


@dataclass(frozen=True, slots=True)
class NotAnAnswer:
    """It is a message like any other. `note` tells a person who may have meant it as an answer
    that it was not taken as one, "" where nobody can have."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """It may be the answer to several, so it is none; `text` lists them."""

    ids: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """It does not count; the person alone is told why. `audit` says that it is written down, and
    `escalation` whose trail it belongs to."""

    text: str
    escalation: Escalation | None = None
    audit: bool = False


Resolution: TypeAlias = Resolved | Postponed | NotAnAnswer | Ambiguous | Refused


def press(push: Push, scene: Scene) -> Resolution:
    """What a press on a card's button means. The scene is of the place where it was pressed, and
    holds the escalation that the token's hash was found with, wherever that is pinned."""
    pressed = token.decode(push.data)
    escalation = _owner(pressed, scene)
    if pressed is None or escalation is None:
        return Refused(texts.UNKNOWN_BUTTON)
    others = (one for one in scene.escalations if one is not escalation)
    elsewhere = place(push.address) != place(escalation.address)
    if elsewhere or not push.remote or any(one.shown_in(push.remote) for one in others):
        return Refused(texts.ELSEWHERE, escalation, audit=True)
    adopts = NO_MESSAGE if escalation.shown_in(push.remote) else push.remote
    if not escalation.admits(push.by):
        return Refused(texts.not_yours(escalation), escalation, audit=True)
    if pressed.what is Act.LATER:
        return Postponed(escalation, adopts)
    answer = _meant(escalation, pressed.what)
    if answer is None:
        return Refused(texts.UNKNOWN_BUTTON, escalation, audit=True)
    return Resolved(escalation, answer, adopts)


def _owner(pressed: Pressed | None, scene: Scene) -> Escalation | None:
    if pressed is None:
        return None
    named = [one for one in scene.escalations if token.matches(pressed.token, one.tokens)]
    return named[0] if named else None


def _meant(escalation: Escalation, what: Act | int) -> Answer | None:
    match what:
        case Act.APPROVE if escalation.kind is Kind.APPROVE:
            return Approved()
        case Act.DENY if escalation.kind is Kind.APPROVE:
            return Denied()
        case int(index) if escalation.kind is Kind.CHOOSE and index < len(escalation.options):
            return Chose(index, escalation.options[index])
        case _:
            return None


def message(said: Words, scene: Scene) -> Resolution:
    """What a message that is no command means: a reply to a card answers that one, also when it
    is not the newest; a plain one must leave no doubt."""
    if not said.replies_to or _just_stands(said, scene):
        return _plain(said, scene) if said.bare else NotAnAnswer()
    shown = (one for one in scene.escalations if one.shown_in(said.replies_to))
    escalation = next(shown, None)
    return _reply(said, escalation) if escalation else NotAnAnswer()


def _just_stands(said: Words, scene: Scene) -> bool:
    """Whether it replies to no more than the first message of the thread where it stands: a reply
    is meant only where that is a card and nothing was asked further down."""
    here, root = place(said.address), said.replies_to
    asked = any(place(one.address) == here for one in scene.live)
    begun = any(one.shown_in(root) for one in scene.escalations)
    return root == here.thread and (asked or not begun)


def _reply(said: Words, escalation: Escalation) -> Resolution:
    if not _reaches(said.address, escalation):
        return NotAnAnswer()
    over = not escalation.live
    answer = words.read(escalation, said.text) if said.bare else None
    if answer is None:
        waits = not over and escalation.admits(said.by)
        return NotAnAnswer(texts.still_open([escalation]) if waits else "")
    if over and isinstance(answer, Wrote):
        return NotAnAnswer()  # talk about what was asked
    if not escalation.admits(said.by):
        return Refused(texts.not_yours(escalation), escalation, audit=True)
    if over:
        return Refused(texts.late(escalation), escalation, audit=True)
    return Resolved(escalation, answer)


def _reaches(address: Address, escalation: Escalation) -> bool:
    """Whether a message stands in the pinned place, or in a thread right under the card: on some
    platforms that is what a reply looks like."""
    pinned, here = place(escalation.address), place(address)
    if here == pinned:
        return True
    same_chat = (here.platform, here.account, here.chat) == (
        pinned.platform,
        pinned.account,
        pinned.chat,
    )
    return same_chat and not pinned.thread and escalation.shown_in(RemoteId(here.thread))


def _plain(said: Words, scene: Scene) -> Resolution:
    """A message without an address. One whose card is on its way counts as open: the person may
    see it already."""
    own = tuple(
        one
        for one in scene.live
        if one.admits(said.by) and place(one.address) == place(said.address)
    )
    read = [(one, answer) for one in own if (answer := _read_plain(said, one)) is not None]
    if not any(_follows(said, one, scene.last) for one in own):
        return _passed_over(said, read)
    if not read:
        return NotAnAnswer()
    if len(own) == 1:
        ((escalation, answer),) = read
        echo = texts.echo(escalation, answer.text) if isinstance(answer, Wrote) else ""
        return Resolved(escalation, answer, echo=echo)
    if all(isinstance(answer, Wrote) for _, answer in read):
        return NotAnAnswer()  # any text could be one: refusing would end all talk
    return Ambiguous(tuple(one.id for one in own), texts.say_which(own))


def _passed_over(said: Words, read: Sequence[tuple[Escalation, Answer]]) -> NotAnAnswer:
    """What would be an answer if it followed its card. Any text could be one to an open question,
    and what was said before a card was there was no answer to it."""
    meant = [
        one
        for one, answer in read
        if not isinstance(answer, Wrote) and one.sent is not None and said.sent_at > one.sent
    ]
    return NotAnAnswer(texts.still_open(meant) if meant else "")


def _read_plain(said: Words, escalation: Escalation) -> Answer | None:
    if escalation.kind is Kind.TEXT and not said.private:
        return None
    return words.read(escalation, said.text)


def _follows(said: Words, escalation: Escalation, last: RemoteId) -> bool:
    """Whether the card was there before the message, and nothing of ours came after it."""
    sent = escalation.sent
    if escalation.state is not State.OPEN or sent is None or not last:
        return False
    return said.sent_at > sent and escalation.shown_in(last)


def command(order: Order, by: Principal, scene: Scene, sent_at: float) -> Resolution:
    """What /approve, /deny and /answer mean in a place. `sent_at` is the platform's time: a
    command without an id means nothing that was shown only after it."""
    found = _addressed(order, by, scene)
    if not isinstance(found, _Target):
        return found
    escalation = found.escalation
    if not escalation.admits(by):
        return Refused(texts.not_yours(escalation), escalation, audit=True)
    if not escalation.live:
        return Refused(texts.late(escalation), escalation, audit=True)
    sent = escalation.sent
    if sent is None:
        return Refused(texts.not_shown_yet(escalation), escalation)
    answer = _ordered(order.verb, escalation, found.rest)
    if answer is None or not (found.named or sent_at > sent):
        return Refused(texts.say_how(escalation), escalation)
    return Resolved(escalation, answer)


@dataclass(frozen=True, slots=True)
class _Target:
    escalation: Escalation
    rest: str
    named: bool = False


def _addressed(order: Order, by: Principal, scene: Scene) -> _Target | Ambiguous | Refused:
    """Which escalation a command is for, and what is left of its argument. A bare number that is
    no id there is the answer's first word."""
    live = scene.live
    if order.number is not None:
        named = scene.numbered(order.number)
        followed = bool(order.rest) or order.verb is Verb.DENY
        if named is not None and (order.sure or (named.live and followed)):
            return _Target(named, order.rest, named=True)
        if order.sure:
            return Refused(texts.unknown_id(order.number, live))
    match [one for one in live if one.admits(by)] or live:
        case []:
            return Refused(texts.NOTHING_OPEN)
        case [one]:
            return _Target(one, order.whole if order.number is not None else order.rest)
        case several:
            return Ambiguous(tuple(one.id for one in several), texts.say_which(several))


def _ordered(verb: Verb, escalation: Escalation, rest: str) -> Answer | None:
    match verb:
        case Verb.APPROVE:
            return Approved() if escalation.kind is Kind.APPROVE else None
        case Verb.DENY:
            written = words.written(rest)
            return Denied(written.text if written else "")
        case Verb.ANSWER:
            return words.read(escalation, rest)
