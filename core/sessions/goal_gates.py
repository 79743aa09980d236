"""What `/goal gate` does to a goal. Pure; see `core.sessions.goal_control`."""

from __future__ import annotations

from collections.abc import Sequence

from core.gates import wanted
from core.goals import texts
from core.goals.contract import AddGate, ListGates, RemoveGate
from core.goals.events import GatesChanged
from core.goals.goal import Goal, GoalStatus
from core.messages import Role
from core.rights import Right, may
from core.sessions.denial import deny
from core.sessions.lane import Change, Lane, Post
from core.sessions.machine import tell_goal


def change_gates(
    lane: Lane, goal: Goal, command: AddGate | ListGates | RemoveGate, by: Role
) -> Change:
    """Add, remove or list the commands that must succeed before the judge is asked."""
    had = goal.gates
    if isinstance(command, ListGates):
        return lane, (Post(listed(had)),)
    if not may(by, Right.CHANGE_GATES):
        return deny(lane, "Only owners may change a goal's gates.")
    if goal.status is GoalStatus.DONE:
        return lane, (Post(texts.DONE),)
    match command:
        case AddGate(text):
            if why := wanted.refused(text, had):
                return lane, (Post(why),)
            gates = (*had, text)
        case RemoveGate(number) if 1 <= number <= len(had):
            gates = had[: number - 1] + had[number:]
        case RemoveGate(number):
            return lane, (Post(f"There is no gate {number}. {listed(had)}"),)
    lane, effects = tell_goal(lane, GatesChanged(gates))
    return lane, (*effects, Post(listed(gates)))


def listed(gates: Sequence[str]) -> str:
    """A goal's gates, by the numbers that `/goal gate remove` takes."""
    if not gates:
        return "No gates. An owner can add one with /goal gate add <command>."
    lines = (f"{n}. {texts.brief(gate, 200)}" for n, gate in enumerate(gates, 1))
    return "Gates that must succeed before the judge is asked:\n" + "\n".join(lines)
