"""What the suites of questions to people share: work that asks, its card in the chat, and the ways
in which people answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.agent.steps import Replied, Started
from core.escalations.desk import Asked
from core.escalations.record import NO_MESSAGE, Escalation, Fact, Kind, Label, Purpose
from core.escalations.routing import Push, Words
from core.messages import Ack, Address, LaneKey, Principal, RemoteId, Say
from core.sessions.arrivals import Arrival, Pushed, Said
from core.sessions.conversation import Question
from core.sessions.lane import Outcome, Rest
from core.sessions.outgoing import Amend
from core.sessions.ports import Begun, Ending
from core.transcript import ToolCall
from tests.contracts.backends import archive_of
from tests.contracts.store_rig import HERE, LANE, OWNER, Rig, ref, reply

RM = (Fact(Label.COMMAND, "rm -rf /srv/data"),)
COLOURS = ("Red", "Green", "Blue")
ASK = Asked(key="call-1", kind=Kind.APPROVE, purpose=Purpose.ASK, question="Shall I deploy?")
DANGER = Asked(key="call-1", kind=Kind.APPROVE, purpose=Purpose.COMMAND, facts=RM)
CHOICE = Asked(
    key="call-1", kind=Kind.CHOOSE, purpose=Purpose.ASK, question="Which?", options=COLOURS
)
TEXT = Asked(key="call-1", kind=Kind.TEXT, purpose=Purpose.ASK, question="What is its name?")


@dataclass(frozen=True, slots=True)
class Card:
    """A card as the chat shows it."""

    remote: RemoteId
    text: str
    buttons: Mapping[str, str] = field(default_factory=dict)
    """What each button carries, by its label."""


def card_of(remote: RemoteId, say: Say) -> Card:
    """A message with its buttons."""
    return Card(remote, say.text, {button.label: button.command for button in say.buttons})


async def working(rig: Rig, lane: LaneKey = LANE, by: Principal = OWNER) -> Begun:
    """A turn in which work may ask."""
    await rig.accept(rig.message("deploy it", by, lane=lane))
    return await rig.turn(lane)


async def put(
    rig: Rig, begun: Begun, asked: Asked = ASK, *, lane: LaneKey = LANE, call: str = ""
) -> Escalation:
    """The turn asks; the call that asks has the question's key unless said."""
    found, signals = await rig.store.ask(
        ref(begun, lane), call or asked.key, asked, begun.turn.principal
    )
    rig.signals.append(signals)
    assert isinstance(found, Escalation), found
    return found


async def park(rig: Rig, begun: Begun, *calls: str, lane: LaneKey = LANE) -> Begun | Rest:
    """The turn waits for its calls; the next turn of its lane, if there is one."""
    asked = [ToolCall(id_, "ask", "{}") for id_ in calls or ("call-1",)]
    await rig.store.record(
        ref(begun, lane), [Replied(0, reply(*asked)), *(Started(0, one.id) for one in asked)]
    )
    return await rig.end(begun, Ending(outcome=Outcome.PARKED, seconds=1.0), lane)


async def sent(rig: Rig, lane: LaneKey = LANE) -> list[Card]:
    """Send what waits; the cards among it."""
    shown = await rig.shown(lane)
    return [
        card_of(remote, what) for remote, what in shown if isinstance(what, Say) and what.buttons
    ]


async def edits(rig: Rig, lane: LaneKey = LANE) -> dict[RemoteId, Say]:
    """Send what waits; the edits among it, by message."""
    shown = await rig.shown(lane)
    return {remote: what.say for remote, what in shown if isinstance(what, Amend)}


async def parked(rig: Rig, asked: Asked = ASK, *, by: Principal = OWNER) -> Card:
    """Work that has asked and waits, with its card in the chat for a second."""
    begun = await working(rig, by=by)
    await put(rig, begun, asked)
    assert isinstance(await park(rig, begun, asked.key), Rest)
    (card,) = await sent(rig)
    rig.clock.wall += 1
    return card


def push(
    rig: Rig,
    card: Card,
    label: str = "Approve",
    *,
    by: Principal = OWNER,
    at: Address = HERE,
    remote: str = "",
) -> Arrival:
    """A press on a card's button."""
    pushed = Push(
        by=by, address=at, data=card.buttons[label], remote=RemoteId(remote or card.remote)
    )
    dedupe = rig.message("").dedupe
    return Arrival(at.key, dedupe, by, Pushed(pushed, rig.clock.now()))


async def press(
    rig: Rig,
    card: Card,
    label: str = "Approve",
    *,
    by: Principal = OWNER,
    at: Address = HERE,
    remote: str = "",
) -> Ack:
    """The same, accepted."""
    return (await rig.accept(push(rig, card, label, by=by, at=at, remote=remote)))[0]


def words(
    rig: Rig,
    text: str,
    *,
    by: Principal = OWNER,
    at: Address = HERE,
    to: RemoteId = NO_MESSAGE,
    private: bool = True,
) -> Arrival:
    """A message that may be an answer."""
    said = Words(
        by=by,
        address=at,
        text=text,
        sent_at=rig.clock.now(),
        private=private,
        replies_to=to,
    )
    plain = rig.message(text, by, lane=at.key)
    return Arrival(at.key, plain.dedupe, by, Said({"text": text}, words=said))


async def speak(
    rig: Rig,
    text: str,
    *,
    by: Principal = OWNER,
    at: Address = HERE,
    to: RemoteId = NO_MESSAGE,
    private: bool = True,
) -> Ack:
    """The same, accepted."""
    return (await rig.accept(words(rig, text, by=by, at=at, to=to, private=private)))[0]


async def questions(rig: Rig, lane: LaneKey = LANE) -> dict[str, Question]:
    """What was asked in a lane, by id."""
    return {one.id: one for one in await archive_of(rig.store).questions(lane)}


async def states(rig: Rig, lane: LaneKey = LANE) -> dict[str, str]:
    """How each question of a lane stands."""
    return {id_: one.state for id_, one in (await questions(rig, lane)).items()}


async def trail(rig: Rig, id_: str = "E1", lane: LaneKey = LANE) -> list[str]:
    """What happened to a question."""
    return [line.what for line in (await questions(rig, lane))[id_].trail]
