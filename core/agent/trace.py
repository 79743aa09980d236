"""What a running turn has come to, replayed from its step writes.

Pure. The loop feeds every committed write in here and recovery feeds the stored ones through
the same function, so a request after a restart is the one that would have been sent without it.
It decides nothing and may not call a model, a tool or the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import TypeVar, assert_never

from core.agent.prompts import OURS
from core.agent.steps import (
    Bounced,
    Finished,
    Folded,
    Injected,
    Replied,
    Started,
    Step,
    StepWrite,
    TurnInput,
)
from core.transcript import Assistant, Entry, Result, ToolCall, ToolResult, User

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The turn before its next model call or tool call.

    `entries` is what the turn adds to the session's transcript: its inputs and all that came
    since; `fold` says how many of them a summary replaces, with the whole history, and is that
    summary. `n` is the step being worked, `calls` its calls, `waiting` those without a result,
    `cut` whether the output limit ended its reply, `results` all results of the turn. `injected`
    entered before this step, `heard` before earlier ones. `counted` is the provider's own count of
    the last step's tokens, 0 when unknown; `folded_at` the step of the last fold, -1 for none.
    `bounces` counts how often an answer was sent back, `returned` is the last such answer and how
    many results there were then; `spoken` says that people's words have entered since the first.
    """

    history: tuple[Entry, ...]
    entries: tuple[Entry, ...]
    fold: tuple[int, str] | None = None
    n: int = 0
    calls: tuple[ToolCall, ...] = ()
    waiting: tuple[ToolCall, ...] = ()
    cut: bool = False
    started: frozenset[str] = frozenset()
    results: tuple[ToolResult, ...] = ()
    injected: tuple[User, ...] = ()
    heard: tuple[User, ...] = ()
    counted: int = 0
    folded_at: int = -1
    bounces: int = 0
    returned: tuple[str, int] | None = None
    spoken: bool = False

    @property
    def messages(self) -> tuple[Entry, ...]:
        """The conversation as the next request shows it."""
        if self.fold is None:
            return self.history + self.entries
        count, summary = self.fold
        return (User(summary), *self.entries[count:])

    def closed(
        self, text: str, notes: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[Entry, ...]:
        """The entries with its note, or else `text`, as the result of every open call: providers
        refuse a history that leaves calls open."""
        return self.entries + tuple(
            Result(call.id, notes.get(call.id, text)) for call in self.waiting
        )


def replay(start: TurnInput, counted: int = 0) -> Trace:
    """The trace of a turn with all that an earlier attempt had stored.

    `counted` is the provider's count of the history, 0 when unknown.
    """
    fresh = Trace(history=start.history, entries=start.inputs, counted=counted)
    steps = sorted(start.steps, key=lambda step: step.n)
    return reduce(advance, (write for step in steps for write in _writes(step)), fresh)


def advance(trace: Trace, write: StepWrite) -> Trace:
    """The trace after one more write."""
    match write:
        case Injected(_, message):
            return replace(
                trace,
                entries=(*trace.entries, message),
                injected=(*trace.injected, message),
                spoken=trace.spoken or (trace.bounces > 0 and message.text not in OURS),
            )
        case Bounced(_, message):
            return _bounced(trace, message)
        case Folded(n, summary):
            # The store keeps no order between a step's fold and what entered before that step,
            # so what entered always comes after the summary.
            count = len(trace.entries) - len(trace.injected)
            return replace(trace, fold=(count, summary), counted=0, folded_at=n)
        case Replied(_, reply):
            entered = replace(
                trace,
                entries=(*trace.entries, Assistant(reply.text, reply.calls)),
                calls=reply.calls,
                waiting=reply.calls,
                cut=reply.cut,
                counted=reply.usage.input_tokens + reply.usage.output_tokens,
            )
            return entered if reply.calls else _next_step(entered)
        case Started(_, call_id):
            return replace(trace, started=trace.started | {call_id})
        case Finished(_, result):
            return _finished(trace, result)
        case _:
            assert_never(write)


def _bounced(trace: Trace, message: User) -> Trace:
    answer = trace.entries[-1] if trace.entries else None
    text = answer.text if isinstance(answer, Assistant) else ""
    return replace(
        trace,
        entries=(*trace.entries, message),
        injected=(*trace.injected, message),
        bounces=trace.bounces + 1,
        returned=(text, len(trace.results)),
    )


def _finished(trace: Trace, result: ToolResult) -> Trace:
    """The results of a step stand in the order of its calls, however they came: one that had to
    wait for a person comes after those behind it."""
    ids = [call.id for call in trace.calls]
    behind = trace.calls[ids.index(result.call.id) + 1 :]
    later = len(behind) - sum(call in trace.waiting for call in behind)
    after = replace(
        trace,
        entries=_inserted(trace.entries, Result(result.call.id, result.text), later),
        waiting=tuple(call for call in trace.waiting if call.id != result.call.id),
        results=_inserted(trace.results, result, later),
    )
    return after if after.waiting else _next_step(after)


def _inserted(row: tuple[T, ...], one: T, later: int) -> tuple[T, ...]:
    """The row with one more before its last `later`."""
    at = len(row) - later
    return (*row[:at], one, *row[at:])


def _next_step(trace: Trace) -> Trace:
    return replace(
        trace,
        n=trace.n + 1,
        calls=(),
        started=frozenset(),
        injected=(),
        heard=trace.heard + trace.injected,
    )


def _writes(step: Step) -> Iterator[StepWrite]:
    if step.folded:
        yield Folded(step.n, step.folded)
    if step.bounced is not None:
        yield Bounced(step.n, step.bounced)
    for message in step.injected:
        yield Injected(step.n, message)
    if step.reply is None:
        return
    yield Replied(step.n, step.reply)
    for call in step.reply.calls:
        if call.id in step.started:
            yield Started(step.n, call.id)
        if call.id in step.results:
            yield Finished(step.n, step.results[call.id])
