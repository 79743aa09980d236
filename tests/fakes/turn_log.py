"""A turn log in memory that holds the loop to the order of writes a store relies on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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
from core.errors import Fenced
from core.ports import Model, Request, Usage
from core.transcript import User


class Killed(BaseException):
    """The process died here."""


class MemoryTurnLog:
    """Keeps a turn's steps as a store would.

    `dies_at` kills the commit of that number (from 0), after it was made when `dies_after` is
    true, else before. `fence()` makes every later write raise `Fenced`.
    """

    def __init__(
        self,
        steps: Iterable[Step] = (),
        *,
        dies_at: int | None = None,
        dies_after: bool = False,
        allowed_calls: int | None = None,
    ) -> None:
        self._steps = {step.n: step for step in steps}
        self._dies_at = dies_at
        self._dies_after = dies_after
        self._allowed = allowed_calls
        self._fenced = False
        self._steered: list[User] = []
        self.commits: list[tuple[StepWrite, ...]] = []
        self.allowances = 0
        self.settled: list[tuple[str, Usage]] = []
        self._asked: str | None = None
        self._together: tuple[StepWrite, ...] = ()

    async def record(self, *writes: StepWrite) -> None:
        """Commit the writes together."""
        if self._fenced:
            raise Fenced("the turn was stopped")
        dying = self._dies_at == len(self.commits)
        if dying and not self._dies_after:
            raise Killed
        before = dict(self._steps)
        self._together = writes
        try:
            for write in writes:
                self._put(write)
        except AssertionError:
            self._steps = before
            raise
        self.commits.append(writes)
        if dying:
            raise Killed

    async def steered(self) -> tuple[User, ...]:
        """What was steered and is not recorded yet."""
        return tuple(self._steered)

    async def allowance(self, model: Model, request: Request, counted: int) -> str:
        """The sentence of a cap once the allowed calls are used."""
        assert self._asked is None, "a call is settled before the next one"
        if self._allowed is not None and self.allowances >= self._allowed:
            return "The token budget is used up. Raise it with /goal budget tokens=N."
        self.allowances += 1
        self._asked = model.name
        return ""

    async def settle(self, usage: Usage) -> None:
        """Count what the allowed call used."""
        assert self._asked is not None, "only a call that was allowed has returned"
        self.settled.append((self._asked, usage))
        self._asked = None

    def steer(self, text: str) -> None:
        """A person writes while the turn runs."""
        self._steered.append(User(text))

    def fence(self) -> None:
        """The turn loses its lane."""
        self._fenced = True

    def resumed(self, start: TurnInput) -> TurnInput:
        """The input of the next attempt."""
        return replace(start, steps=self.steps)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is stored, in order."""
        return tuple(self._steps[n] for n in sorted(self._steps))

    @property
    def writes(self) -> list[StepWrite]:
        """All committed writes, flat."""
        return [write for commit in self.commits for write in commit]

    def _bounces(self, n: int) -> bool:
        """Whether the answer of a step is sent back in the same commit."""
        return any(isinstance(write, Bounced) and write.n == n + 1 for write in self._together)

    def _put(self, write: StepWrite) -> None:
        step = self._steps.get(write.n) or Step(n=write.n)
        assert write.n in {len(self._steps), len(self._steps) - 1}, "steps are written in order"
        match write:
            case Injected(_, message):
                assert step.reply is None, "nothing enters a step that was answered"
                self._steered = [steered for steered in self._steered if steered is not message]
                step = replace(step, injected=(*step.injected, message))
            case Bounced(_, message):
                assert step.reply is None, "a reflection comes before the next reply"
                step = replace(step, bounced=message)
            case Folded(_, summary):
                assert step.reply is None, "a checkpoint comes before its step"
                assert not step.folded, "a step is folded once"
                step = replace(step, folded=summary)
            case Replied(_, reply):
                assert step.reply is None, "a step has one reply"
                ids = [call.id for call in reply.calls]
                assert ids or self._bounces(write.n), "a final answer is no step"
                assert len(set(ids)) == len(ids), "call ids are unique in a step"
                step = replace(step, reply=reply)
            case Started(_, call_id):
                assert step.reply is not None
                assert call_id in {call.id for call in step.reply.calls}
                assert call_id not in step.started, "a call starts once"
                step = replace(step, started=step.started | {call_id})
            case Finished(_, result):
                assert result.call.id in step.started, "a call starts before it ends"
                assert result.call.id not in step.results, "a call ends once"
                step = replace(step, results={**step.results, result.call.id: result})
        self._steps[write.n] = step
