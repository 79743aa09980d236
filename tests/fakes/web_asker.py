"""Questions to a person in a web chat, without a bot: asks, decides by what is pressed, and keeps
what the store would tell of it. Cards, answers and decisions are the core's own."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from adapters.web.decode import SENDER, address_of
from core.escalations import card, commands, routing, texts
from core.escalations.commands import Order, Verb
from core.escalations.events import Answered, Audit, CardSent, EscalationEvent, LaterPressed
from core.escalations.machine import advance
from core.escalations.record import Escalation, Kind
from core.escalations.routing import Postponed, Push, Resolved, Scene
from core.messages import (
    Ack,
    Button,
    Handled,
    Inbound,
    Press,
    Principal,
    Queued,
    Refused,
    RemoteId,
    Role,
    Say,
)
from core.sessions.conversation import Posted, Question, TrailLine
from tests.fakes.escalated import secret
from tests.fakes.web_served import Served

YOU = Principal(SENDER.id, SENDER.name, Role.OWNER)


class Asker:
    """Asks in one chat. What was pressed is in the intake; `edits` are what follows from it."""

    def __init__(self, served: Served, chat: str) -> None:
        self.address = address_of(chat)
        self.edits: list[asyncio.Task[None]] = []
        self._served = served
        self._open: dict[int, Escalation] = {}
        self._trails: dict[int, list[TrailLine]] = {}
        served.intake.acks = self._ack

    async def ask(self, escalation: Escalation) -> RemoteId:
        """Send the card of one; the message that shows it."""
        one = self._pinned(escalation)
        said = self._card(one)
        sent = await self._served.platform.send(self.address, said)
        self._became(one, CardSent(sent.remote, sent.at), sent.at)
        return sent.remote

    def asked_before(self, escalation: Escalation, remote: RemoteId, at: float) -> None:
        """One whose card an earlier process sent: the store tells its buttons as commands."""
        one = self._pinned(escalation)
        said = replace(self._card(one), buttons=_by_command(one))
        line = Posted(remote=remote, what=said, at=at)
        self._served.past.lines[self.address.key].append(line)
        self._became(one, CardSent(remote, at), at)

    def decide(self, number: int, event: Answered) -> None:
        """Somebody answers elsewhere, such as by a command."""
        self._became(self._open[number], event, event.at)
        self._edit(self._open[number])

    async def done(self) -> None:
        """Returns once every decision is shown."""
        await asyncio.gather(*self.edits)

    def _pinned(self, escalation: Escalation) -> Escalation:
        return replace(escalation, address=self.address, requester=YOU)

    def _card(self, one: Escalation) -> Say:
        said = card.ask(one, secret(one.number), one.created, self._served.platform.room)
        assert isinstance(said, Say)
        return said

    def _ack(self, inbound: Inbound) -> Ack:
        if not isinstance(inbound, Press):
            return Queued(0)
        scene = Scene(tuple(self._open.values()))
        match _meant(inbound, scene):
            case Resolved(one, answer):
                self.decide(one.number, Answered(YOU, answer, inbound.sent_at))
                return Handled(texts.taken(self._open[one.number]))
            case Postponed(one):
                self._became(one, LaterPressed(YOU, inbound.sent_at), inbound.sent_at)
                return Handled(texts.quieted(self._open[one.number]))
            case refused:
                return Refused(getattr(refused, "text", ""))

    def _edit(self, one: Escalation) -> None:
        said = card.decided(one, self._served.platform.room)
        for copy in one.copies:
            work = self._served.platform.edit(self.address, copy.remote, said)
            self.edits.append(asyncio.create_task(work, name="asker-edit"))

    def _became(self, one: Escalation, event: EscalationEvent, at: float) -> None:
        after, effects = advance(one, event)
        self._open[one.number] = after
        trail = self._trails.setdefault(one.number, [])
        for effect in effects:
            if isinstance(effect, Audit):
                who = effect.by.name if effect.by else ""
                trail.append(TrailLine(at, effect.what, who, effect.detail))
        newest = sorted(self._open.values(), key=lambda each: -each.number)
        self._served.past.asked[self.address.key] = tuple(map(self._told, newest))

    def _told(self, one: Escalation) -> Question:
        return Question(
            id=one.id,
            text=one.exact[0].text if one.exact else one.question,
            how=texts.how_to(one),
            state=one.state,
            until=one.until,
            outcome="" if one.live else texts.decision(one),
            buttons=_by_command(one) if one.live else (),
            trail=tuple(self._trails[one.number]),
            remotes=tuple(copy.remote for copy in one.copies),
        )


def _by_command(one: Escalation) -> tuple[Button, ...]:
    match one.kind:
        case Kind.APPROVE:
            return (Button("Approve", f"/approve {one.id}"), Button("Deny", f"/deny {one.id}"))
        case Kind.CHOOSE:
            options = enumerate(one.options, 1)
            return tuple(Button(f"{n}. {text}", f"/answer {one.id} {n}") for n, text in options)
        case Kind.TEXT:
            return ()


def _meant(press: Press, scene: Scene) -> routing.Resolution:
    if not press.command.startswith("/"):
        return routing.press(_pushed(press), scene)
    name, _, argument = press.command.removeprefix("/").partition(" ")
    order = commands.read(Verb(name), argument)
    assert isinstance(order, Order)
    return routing.command(order, YOU, scene, press.sent_at)


def _pushed(press: Press) -> Push:
    return Push(by=YOU, address=press.address, data=press.command, remote=press.remote)
