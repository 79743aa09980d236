"""What a command does to a lane and its goal, decided inside the accept transaction. Pure.

Control never waits behind a turn: `obey` is given the lane as it stands in that commit and
answers with the new lane and the orders. What it reads beside the lane comes through `Facts`.
"""

from __future__ import annotations

from dataclasses import replace

from core import commands
from core.goals import texts
from core.goals.contract import read_goal, read_subgoal
from core.goals.events import GoalPaused
from core.goals.goal import GoalStatus
from core.messages import Address, Principal, Role, SessionId
from core.sessions.facts import Facts, Order, SessionFact
from core.sessions.goal_control import obey_goal, status
from core.sessions.lane import (
    CancelTurn,
    Change,
    Cut,
    Drop,
    Enqueue,
    Idle,
    Lane,
    LaneEffect,
    Post,
    Prio,
    RowKind,
    Running,
    Stopping,
    Wake,
)
from core.sessions.machine import feel


def obey(lane: Lane, order: Order, facts: Facts) -> Change:
    """Carry out one command line; an unknown one gets the nearest suggested."""
    spec = commands.BY_NAME.get(order.line.name)
    if spec is None:
        return lane, (Post(commands.unknown(order.line.name)),)
    if spec.role is Role.OWNER and order.by.role is not Role.OWNER:
        return lane, (Post(f"Only owners may use /{spec.name}."),)
    match spec.name:
        case "goal":
            return obey_goal(lane, order, read_goal(order.line.argument), facts)
        case "subgoal":
            return obey_goal(lane, order, read_subgoal(order.line.argument), facts)
        case "stop":
            return _stop(lane, order)
        case "new":
            return _switch(lane, order, None)
        case "resume":
            return _resume(lane, order, facts)
        case _:
            return lane, (Post(_answer(lane, order, facts, spec.name)),)


def _answer(lane: Lane, order: Order, facts: Facts, name: str) -> str:
    """The commands that only tell."""
    match name:
        case "sessions":
            return _sessions(lane, facts.sessions())
        case "status":
            return _status(lane, order, facts)
        case "whoami":
            return _whoami(lane, order.by)
        case "help":
            return commands.help_text(order.by.role)
        case _:
            return f"Usage: {'; '.join(commands.BY_NAME[name].usage)}"


def _stop(lane: Lane, order: Order) -> Change:
    """Cancel the running turn and the rows before the command, and pause the goal."""
    messages = lane.messages
    dropped = tuple(row.seq for row in lane.waiting if row.seq < order.seq)
    goal = lane.slot.active
    running = not isinstance(lane.phase, Idle)
    effects: list[LaneEffect] = [Drop(dropped)] if dropped else []
    waiting = tuple(row for row in lane.waiting if row.seq not in dropped)
    lane = replace(lane, stop_seq=order.seq, waiting=waiting)
    if not (running or dropped or goal):
        return lane, (Post("Nothing is running here."),)
    if isinstance(lane.phase, Running | Stopping):
        turn = lane.phase.turn
        lane = replace(lane, phase=Stopping(turn, Cut.STOPPED))
        effects.append(CancelTurn(turn.id))
    if goal is not None:
        lane, paused = feel(lane, GoalPaused(""))
        effects.extend(paused)
    effects.append(Post(texts.stopped(messages, goal=goal is not None)))
    return lane, tuple(effects)


def _switch(lane: Lane, order: Order, target: SessionId | None) -> Change:
    row = Enqueue(
        kind=RowKind.SWITCH,
        prio=Prio.PERSON,
        principal=order.by,
        dedupe=f"switch:{order.seq}",
        payload={},
        target=target,
    )
    return lane, (row, Wake())


def _resume(lane: Lane, order: Order, facts: Facts) -> Change:
    sessions = facts.sessions()
    here = _session_then(lane)
    others = [fact for fact in sessions if fact.id != here]
    wanted = order.line.argument
    if not wanted and others:
        return _switch(lane, order, others[0].id)
    if len(wanted) <= 2 and wanted.isdecimal() and 1 <= int(wanted) <= len(sessions):
        chosen = sessions[int(wanted) - 1].id
        if chosen == here:
            return lane, (Post("You are in that session already."),)
        return _switch(lane, order, chosen)
    return lane, (Post(f"There is no such session. {_sessions(lane, sessions)}"),)


def _session_then(lane: Lane) -> SessionId | None:
    """The session of the lane once the switches that wait are made, None for a new one."""
    switches = [row.target for row in lane.waiting if row.kind is RowKind.SWITCH]
    return switches[-1] if switches else lane.session


def _sessions(lane: Lane, sessions: tuple[SessionFact, ...]) -> str:
    lines = ["Sessions of this chat, newest first (/resume N goes to one):"]
    for number, fact in enumerate(sessions, 1):
        here = " ← here" if fact.id == lane.session else ""
        goal = f" · goal {fact.goal}" if fact.goal else ""
        title = texts.brief(fact.title, 60) or "(empty)"
        lines.append(f"{number}. {title} · {fact.turns} turns{goal}{here}")
    return "\n".join(lines)


def _status(lane: Lane, order: Order, facts: Facts) -> str:
    what = "A turn is running" if not isinstance(lane.phase, Idle) else "No turn is running"
    lines = [f"{what}; {lane.messages} messages wait."]
    goal = lane.slot.goal
    if goal is not None and goal.status is not GoalStatus.CLEARED:
        lines.append(status(lane, goal, facts.spent(goal.id), order.now))
    return "\n".join(lines)


def _whoami(lane: Lane, by: Principal) -> str:
    address = Address.of(lane.key)
    where = f"chat {address.chat}" + (f", thread {address.thread}" if address.thread else "")
    return f"You are {by.name or 'someone'} (id {by.id}), {by.role.value}, in {where}."
