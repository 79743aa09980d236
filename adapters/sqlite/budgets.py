"""A goal's caps: what a model call may come to is checked and booked before it is made."""

from __future__ import annotations

import sqlite3
from math import ceil

from adapters.sqlite.intake import goal_spent
from core.goals import texts
from core.goals.goal import Goal
from core.messages import SessionId, TurnId
from core.ports import Usage
from core.sessions.ports import CapReached, Estimate, Reserved


def book(
    conn: sqlite3.Connection,
    goal: Goal,
    estimate: Estimate,
    *,
    seconds: float,
    whose: tuple[SessionId, TurnId | None, str, str],
    now: float,
) -> Reserved | CapReached | None:
    """Reserve a call's most against the caps of an active goal; None without caps on spending.

    `seconds` is what the running turn adds to the goal's time; `whose` are the call's session,
    turn, purpose and model.
    """
    budget = goal.budget
    worked = goal.seconds + seconds
    if budget.seconds is not None and worked > budget.seconds:
        return CapReached(_cap("time", f"time={ceil(2 * worked)}s"))
    if budget.tokens is None and budget.cost is None:
        return None
    session, turn, purpose, model = whose
    if budget.cost is not None and estimate.cost is None:
        return CapReached(texts.cost_cap_cannot_hold(model or "the judge"))
    spent = goal_spent(conn, goal.id)
    tokens, cost = spent.tokens + estimate.tokens, spent.cost + (estimate.cost or 0.0)
    if budget.tokens is not None and tokens > budget.tokens:
        return CapReached(_cap("token", f"tokens={2 * tokens}"))
    if budget.cost is not None and cost > budget.cost:
        return CapReached(_cap("cost", f"cost={ceil(200 * cost) / 100:g}"))
    found = conn.execute(
        "INSERT INTO usage (session, goal, turn, purpose, model, state, input, cached, output, "
        "cost, at) VALUES (?, ?, ?, ?, ?, 'reserved', ?, 0, ?, ?, ?) RETURNING id",
        (
            session,
            goal.id,
            turn,
            purpose,
            model,
            estimate.tokens - estimate.output,
            estimate.output,
            estimate.cost or 0.0,
            now,
        ),
    ).fetchone()
    return Reserved(found[0])


def settle(conn: sqlite3.Connection, reservation: int, usage: Usage) -> None:
    """What a booked call has used, in place of its most."""
    conn.execute(
        "UPDATE usage SET state = 'settled', input = ?, cached = ?, output = ?, cost = ? "
        "WHERE id = ? AND state = 'reserved'",
        (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.cost, reservation),
    )


def settle_cut(conn: sqlite3.Connection, goal: int, turn: TurnId) -> None:
    """A call that was cancelled in flight has been billed for its input, as far as is known.

    Of the price it keeps the input's share of the tokens, which is no less than the input's
    price where output is not the cheaper of the two.
    """
    conn.execute(
        "UPDATE usage SET state = 'settled', output = 0, "
        "cost = cost * input / max(1, input + output) "
        "WHERE goal = ? AND turn = ? AND state = 'reserved'",
        (goal, turn),
    )


def settle_lost(conn: sqlite3.Connection, goal: int, turn: TurnId) -> None:
    """What an earlier attempt had booked counts as spent: nobody knows how far it came."""
    conn.execute(
        "UPDATE usage SET state = 'settled' WHERE goal = ? AND turn = ? AND state = 'reserved'",
        (goal, turn),
    )


def _cap(which: str, example: str) -> str:
    """`example` is twice what this call would come to, so that whoever follows it gets on."""
    return (
        f"its {which} budget does not cover the next model call. An owner can raise it, for "
        f"example /goal budget {example}, then /goal resume."
    )
