"""What a turn leaves in its session's transcript, built from its stored trace. Pure.

Providers refuse a history with open calls, so a call without a result gets one here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.agent.steps import Step, TurnInput
from core.agent.trace import replay
from core.agent.transcript import Assistant, Entry, Result, User

CUT_OFF = "cut off: the turn was ended before this call gave a result; its outcome is unknown"


@dataclass(frozen=True, slots=True)
class Closed:
    """The entries to append, and the last checkpoint among them: the entries before `folded`
    read as `summary` from now on (None when the turn folded nothing)."""

    entries: tuple[Entry, ...]
    folded: int | None = None
    summary: str = ""


def close(inputs: tuple[User, ...], steps: Sequence[Step], answer: str) -> Closed:
    """The turn's entries with its answer, "" when it gave none."""
    unfolded = tuple(replace(step, folded="") for step in steps)
    trace = replay(_input(inputs, unfolded))
    entries = list(trace.messages)
    entries.extend(Result(call.id, CUT_OFF) for call in trace.waiting)
    if answer:
        entries.append(Assistant(answer))
    last = max((step for step in steps if step.folded), key=lambda s: s.n, default=None)
    if last is None:
        return Closed(tuple(entries))
    before = tuple(step for step in unfolded if step.n < last.n)
    return Closed(tuple(entries), len(replay(_input(inputs, before)).messages), last.folded)


def _input(inputs: tuple[User, ...], steps: tuple[Step, ...]) -> TurnInput:
    return TurnInput(turn=0, history=(), inputs=inputs, steps=steps)
