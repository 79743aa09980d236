"""What the commands say that only tell: `/sessions`, `/status`, `/usage`, `/whoami`. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.gates.gate import Gate, GateEvent, Rejected, told, word
from core.goals import texts
from core.goals.goal import GoalStatus
from core.messages import Address, LaneKey, Principal, Role
from core.rights import Right, may
from core.sessions.facts import Facts, ModelSpent, Order, SessionFact, Used
from core.sessions.goal_control import status
from core.sessions.lane import Idle, Lane

GATES_SHOWN = 6
REJECTED = frozenset(word(gate, Rejected("")) for gate in Gate)
"""The words of the gates for an answer that does not pass."""


def sessions(lane: Lane, found: Sequence[SessionFact]) -> str:
    """A chat's own sessions, by the numbers that `/resume` takes."""
    lines = ["Sessions of this chat, newest first (/resume N goes to one):"]
    for number, fact in enumerate(found, 1):
        here = " ← here" if fact.id == lane.session else ""
        lines.append(f"{number}. {_session(fact)}{here}")
    return "\n".join(lines)


def all_sessions(lane: Lane, found: Sequence[SessionFact]) -> str:
    """The sessions of all chats, by their own numbers."""
    lines = ["Sessions of all chats, newest first (/resume #N brings one here):"]
    for fact in found:
        here = " ← here" if fact.id == lane.session else ""
        lines.append(f"#{fact.id} {place(fact.lane)} · {_session(fact)}{here}")
    return "\n".join(lines)


def _session(fact: SessionFact) -> str:
    goal = f" · goal {fact.goal}" if fact.goal else ""
    title = texts.brief(fact.title, 60) or "(empty)"
    return f"{title} · {texts.counted(fact.turns, 'turn')}{goal}"


def place(lane: LaneKey) -> str:
    """A lane's chat in a few words."""
    address = Address.of(lane)
    parts = [f"{address.platform} {address.chat}"]
    parts += [f"thread {address.thread}"] if address.thread else []
    parts += [f"user {address.user}"] if address.user else []
    return ", ".join(parts)


def status_of(lane: Lane, order: Order, facts: Facts) -> str:
    """The answer to `/status`."""
    what = "A turn is running" if not isinstance(lane.phase, Idle) else "No turn is running"
    lines = [f"{what}; {_waiting(lane.messages)}."]
    if asked := [one.id for one in facts.scene().live]:
        lines.append(f"Waiting for an answer: {', '.join(asked)} (/pending shows what).")
    goal = lane.slot.goal
    if goal is not None and goal.status is not GoalStatus.CLEARED:
        lines.append(status(lane, goal, facts.spent(goal.id), order.now))
    lines.extend(gate_lines(facts.gate_events()))
    return "\n".join(lines)


def _waiting(messages: int) -> str:
    match messages:
        case 0:
            return "no message waits"
        case 1:
            return "1 message waits"
        case _:
            return f"{messages} messages wait"


def gate_lines(events: Sequence[GateEvent]) -> list[str]:
    """What gates did in a turn, the latest last; none for none."""
    if not events:
        return []
    left_out = len(events) - GATES_SHOWN
    head = [f"… {left_out} more"] if left_out > 0 else []
    bounces = events[-1].bounce
    shown = [
        f"{told(event)} ({_bounced(event, bounces)}{event.ms / 1000:.1f}s)"
        for event in events[-GATES_SHOWN:]
    ]
    return ["Gates of the last turn:", *head, *shown]


def _bounced(event: GateEvent, bounces: int) -> str:
    """Whether a rejected answer was sent back to the agent; `bounces` of the turn were so far."""
    if event.result not in REJECTED:
        return ""
    if event.bounce < bounces:
        return f"sent back, {event.bounce + 1} of {event.budget}, "
    return "" if event.bounce < event.budget else "not sent back any more, "


def usage(lane: Lane, role: Role, used: Used) -> str:
    """The answer to `/usage`; what other chats spent is for those who may see their sessions."""
    blocks = [_spent("This session", used.session)]
    goal = lane.slot.goal
    if goal is not None and goal.status is not GoalStatus.CLEARED:
        blocks.append(_spent("Its goal", used.goal))
    blocks.append(_spent("Today, in this chat", used.here))
    if may(role, Right.SEE_ALL_SESSIONS):
        blocks.append(_spent("Today, in all chats", used.everywhere))
    return "\n".join(blocks)


def _spent(what: str, by_model: Sequence[ModelSpent]) -> str:
    if not by_model:
        return f"{what}: nothing yet"
    tokens = sum(one.input + one.output for one in by_model)
    cost = sum(one.cost for one in by_model)
    lines = [f"{what}: {tokens:,} tokens{texts.and_cost(cost)}"]
    for one in by_model:
        cached = f" ({one.cached:,} cached)" if one.cached else ""
        name, price = one.model or "reserved", texts.and_cost(one.cost)
        lines.append(f"· {name}: {one.input:,} in{cached}, {one.output:,} out{price}")
    return "\n".join(lines)


def whoami(lane: Lane, by: Principal) -> str:
    """The answer to `/whoami`."""
    address = Address.of(lane.key)
    where = f"chat {address.chat}" + (f", thread {address.thread}" if address.thread else "")
    return f"You are {by.name or 'someone'} (id {by.id}), {by.role.value}, in {where}."
