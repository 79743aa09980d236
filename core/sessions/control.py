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
from core.messages import SessionId
from core.rights import Right, may
from core.sessions import reports
from core.sessions.answer_control import ANSWERS
from core.sessions.denial import deny
from core.sessions.facts import Facts, Order
from core.sessions.gate_control import GATES
from core.sessions.goal_control import obey_goal
from core.sessions.house_control import HOUSE
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
    Withdraw,
)
from core.sessions.machine import tell_goal

TABLE = {**HOUSE, **ANSWERS, **GATES}
"""The commands that other modules carry out, by name."""


def obey(lane: Lane, order: Order, facts: Facts) -> Change:
    """Carry out one command line; an unknown one gets the nearest suggested."""
    spec = commands.BY_NAME.get(order.line.name)
    if spec is None:
        return lane, (Post(commands.unknown(order.line.name, order.by.role)),)
    if not may(order.by.role, spec.right):
        return deny(lane, f"Only owners may use /{spec.name}.")
    if act := TABLE.get(spec.name):
        return act(lane, order, facts)
    match spec.name:
        case "goal":
            return obey_goal(lane, order, read_goal(order.line.argument), facts)
        case "subgoal":
            return obey_goal(lane, order, read_subgoal(order.line.argument), facts)
        case "stop":
            return _stop(lane, order, facts)
        case "new":
            return _switch(lane, order, None)
        case "resume":
            return _resume(lane, order, facts)
        case "sessions":
            return _sessions(lane, order, facts)
        case _:
            return lane, (Post(_answer(lane, order, facts, spec.name)),)


def _answer(lane: Lane, order: Order, facts: Facts, name: str) -> str:
    """The commands that only tell."""
    match name:
        case "status":
            return reports.status_of(lane, order, facts)
        case "usage":
            return reports.usage(lane, order.by.role, facts.used())
        case "whoami":
            return reports.whoami(lane, order.by)
        case "help":
            return commands.help_text(order.by.role)
        case _:
            return f"Usage: {'; '.join(commands.BY_NAME[name].usage)}"


def _sessions(lane: Lane, order: Order, facts: Facts) -> Change:
    match order.line.argument:
        case "":
            text = reports.sessions(lane, facts.sessions())
        case "all" if not may(order.by.role, Right.SEE_ALL_SESSIONS):
            return deny(lane, "Only owners may see other chats' sessions.")
        case "all":
            text = reports.all_sessions(lane, facts.all_sessions())
        case _:
            text = "Usage: /sessions, or /sessions all (owners)"
    return lane, (Post(text),)


def _stop(lane: Lane, order: Order, facts: Facts) -> Change:
    """Cancel the running turn, the rows before the command and what people were asked, and pause
    the goal."""
    messages = lane.messages
    dropped = tuple(row.seq for row in lane.waiting if row.seq < order.seq)
    goal = lane.slot.active
    running = not isinstance(lane.phase, Idle)
    effects: list[LaneEffect] = [Drop(dropped)] if dropped else []
    waiting = tuple(row for row in lane.waiting if row.seq not in dropped)
    asked = lane.parked is not None or facts.asked()
    lane = replace(lane, stop_seq=order.seq, waiting=waiting, parked=None, asking=False)
    if not (running or dropped or goal or asked):
        return lane, (Post("Nothing is running here."),)
    if asked:
        effects.append(Withdraw("it was stopped", order.by))
    if isinstance(lane.phase, Running | Stopping):
        turn = lane.phase.turn
        lane = replace(lane, phase=Stopping(turn, Cut.STOPPED))
        effects.append(CancelTurn(turn.id))
    if goal is not None:
        lane, paused = tell_goal(lane, GoalPaused(""))
        effects.extend(paused)
    taken_back = [one.id for one in facts.scene().live if one.address.key == lane.key]
    effects.append(Post(texts.stopped(messages, goal=goal is not None, asked=taken_back)))
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
    wanted = order.line.argument
    if wanted.startswith("#"):
        return _fetch(lane, order, facts, wanted[1:])
    sessions = facts.sessions()
    here = _session_then(lane)
    others = [fact for fact in sessions if fact.id != here]
    if not wanted and others:
        return _switch(lane, order, others[0].id)
    if len(wanted) <= 2 and wanted.isdecimal() and 1 <= int(wanted) <= len(sessions):
        return _go_to(lane, order, sessions[int(wanted) - 1].id)
    listed = reports.sessions(lane, sessions)
    return lane, (Post(f"There is no such session. {listed}"),)


def _go_to(lane: Lane, order: Order, chosen: SessionId) -> Change:
    if chosen == _session_then(lane):
        return lane, (Post("You are in that session already."),)
    return _switch(lane, order, chosen)


def _fetch(lane: Lane, order: Order, facts: Facts, number: str) -> Change:
    """Go to a session by its number, from whatever chat; the store refuses it where another
    lane works on it."""
    small = number.isdecimal() and len(number) <= 15
    found = facts.session(int(number)) if small else None
    if found is not None and found.lane == lane.key:
        return _go_to(lane, order, found.id)
    if not may(order.by.role, Right.SEE_ALL_SESSIONS):
        return deny(lane, "Only owners may fetch another chat's session.")
    if found is None:
        return lane, (Post("There is no such session. /sessions all lists them."),)
    return _switch(lane, order, found.id)


def _session_then(lane: Lane) -> SessionId | None:
    """The session of the lane once the switches that wait are made, None for a new one."""
    switches = [row.target for row in lane.waiting if row.kind is RowKind.SWITCH]
    return switches[-1] if switches else lane.session
