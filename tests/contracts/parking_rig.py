"""What the suites of turns that wait for a person share: a turn whose calls ask, and answers."""

from __future__ import annotations

from collections.abc import Collection

from core.agent.steps import Finished, Replied, Started
from core.escalations.desk import Asked
from core.escalations.record import Kind, Purpose
from core.messages import Handled, LaneKey
from core.sessions.lane import Outcome, Rest, RowKind
from core.sessions.ports import Begun, Ending
from core.transcript import ToolCall
from tests.contracts.asking_rig import put
from tests.contracts.store_rig import LANE, Rig, answered, ref, reply, result

WAITS = "waiting for {id}; the answer comes as a message"


def asks(name: str) -> ToolCall:
    """A call that asks a person."""
    return ToolCall(name, "ask", f'{{"question": "May I, {name}?"}}')


def question(name: str) -> Asked:
    """What that call asks."""
    return Asked(key=name, kind=Kind.APPROVE, purpose=Purpose.ASK, question=f"May I, {name}?")


async def wait(
    rig: Rig,
    begun: Begun,
    *names: str,
    n: int = 0,
    done: Collection[str] = (),
    behind: Collection[str] = (),
    seconds: float = 1.0,
    lane: LaneKey = LANE,
) -> Begun | Rest:
    """A step whose calls all ask but those that are `done`, with calls behind them that were not
    begun; then the turn waits. Their cards are sent."""
    calls = [asks(name) for name in names]
    begins = [Started(n, call.id) for call in calls]
    ends = [Finished(n, result(call)) for call in calls if call.id in done]
    made = Replied(n, reply(*calls, *map(asks, behind), tokens=10))
    await rig.store.record(ref(begun, lane), [made, *begins])
    for name in names:
        if name not in done:
            await put(rig, begun, question(name), lane=lane)
    if ends:
        await rig.store.record(ref(begun, lane), ends)
    return await park(rig, begun, seconds=seconds, lane=lane)


async def park(
    rig: Rig, begun: Begun, *, seconds: float = 1.0, lane: LaneKey = LANE
) -> Begun | Rest:
    """The turn waits; cards are sent."""
    next_ = await rig.end(begun, Ending(outcome=Outcome.PARKED, seconds=seconds), lane)
    await rig.heard(lane)
    return next_


async def waiting(rig: Rig, *names: str, text: str = "deploy it") -> Begun:
    """A person's turn that waits."""
    await rig.say(text)
    begun = await rig.turn()
    assert isinstance(await wait(rig, begun, *(names or ("a",))), Rest)
    return begun


async def approve(rig: Rig, id_: str = "E1", lane: LaneKey = LANE) -> None:
    """A person says yes."""
    (ack,) = await rig.accept(rig.order(f"/approve {id_}", lane=lane))
    assert isinstance(ack, Handled), ack


async def tell_work(rig: Rig, begun: Begun, name: str, lane: LaneKey = LANE) -> None:
    """The call hears what became of its question, and ends."""
    assert not (await put(rig, begun, question(name), lane=lane)).live
    assert await rig.store.apply(ref(begun, lane), name)


async def between(rig: Rig, text: str = "and you?") -> None:
    """A person's message is answered while something waits."""
    await rig.say(text)
    begun = await rig.turn()
    assert begun.turn.kind is RowKind.MESSAGE
    assert isinstance(await rig.end(begun, answered()), Rest)


async def goes_on(rig: Rig, of: Begun, lane: LaneKey = LANE) -> Begun:
    """The turn that an answer begins for what was set aside."""
    begun = await rig.turn(lane)
    assert begun.turn.kind is RowKind.ANSWER
    assert begun.turn.session == of.turn.session
    assert (begun.turn.principal, begun.turn.goal) == (of.turn.principal, of.turn.goal)
    return begun


async def rests(rig: Rig) -> bool:
    """Whether nothing is left to do once all is sent."""
    await rig.heard()
    return await rig.store.at_rest(LANE)
