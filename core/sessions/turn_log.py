"""A running turn's line to the store: its `TurnLog`, and the books of its model calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from core.agent.sizes import request_size
from core.agent.steps import Injected, StepWrite
from core.errors import PursuitError
from core.ports import Clock, Completion, FailureKind, Model, ModelFailure, Request, Usage
from core.sessions.ports import (
    Begun,
    CallUsage,
    CapReached,
    Caps,
    Estimate,
    Reserved,
    Store,
    TurnRef,
)
from core.transcript import User

REFUSED = "The goal's limits do not allow this call: {reason}"


@dataclass(frozen=True, slots=True)
class Unwritten:
    """What no write has kept yet: of each call its usage, and what no reservation has booked."""

    used: tuple[Usage, ...]
    spent: tuple[CallUsage, ...]


class Books:
    """The books of model calls that are made one after the other within a turn.

    Each call is reserved against the goal's caps before it is made and settled as soon as it has
    returned; what one without a reservation has used is in `spent` until a write keeps it. A
    call that is given up in flight keeps its reservation: the turn's end settles it. Without
    `caps` nothing is reserved. `started` is the monotonic time at which the turn's attempt began,
    for its age is what a cap on time counts; None for now. Agents that work at the same time have
    books of their own, over the same caps.
    """

    def __init__(
        self,
        caps: Caps | None,
        ref: TurnRef,
        clock: Clock,
        *,
        purpose: str = "agent",
        started: float | None = None,
    ) -> None:
        self._caps = caps
        self._ref = ref
        self._clock = clock
        self._purpose = purpose
        self._started = clock.monotonic() if started is None else started
        self._model = ""
        self._reservation: int | None = None
        self._used: tuple[Usage, ...] = ()
        self.spent: tuple[CallUsage, ...] = ()

    async def allowance(self, model: Model, request: Request, counted: int) -> str:
        """See `TurnLog.allowance`."""
        self._model, self._reservation = model.name, None
        if self._caps is None:
            return ""
        size = request_size(request, counted)
        most = Usage(size, 0, request.max_tokens or model.max_output_tokens)
        answer = await self._caps.reserve(
            self._ref,
            model.name,
            Estimate(size + most.output_tokens, model.price(most), most.output_tokens),
            seconds=self._clock.monotonic() - self._started,
            purpose=self._purpose,
        )
        match answer:
            case CapReached(reason):
                return reason
            case Reserved(id_):
                self._reservation = id_
                return ""
            case None:
                return ""

    async def settle(self, usage: Usage) -> None:
        """See `TurnLog.settle`."""
        self._used += (usage,)
        if self._reservation is not None and self._caps is not None:
            await self._caps.settle(self._reservation, usage)
        elif usage != Usage():
            self.spent += (CallUsage(self._model, usage, self._purpose),)
        self._reservation = None

    async def ask(self, model: Model, request: Request) -> Completion:
        """Make one call that stands by itself. One that no cap covers is a permanent failure with
        the sentence for it, and was not made. Raises `Fenced` when the turn has lost its lane."""
        if reason := await self.allowance(model, request, 0):
            return ModelFailure(FailureKind.PERMANENT, REFUSED.format(reason=reason))
        completion = await model.complete(request)
        await self.settle(completion.usage)
        return completion

    @contextmanager
    def hand_over(self) -> Iterator[Unwritten]:
        """What the write inside is to keep. One that failed has kept nothing; one whose caller
        was cancelled stands all the same."""
        unwritten = Unwritten(self._used, self.spent)
        self._used, self.spent = (), ()
        try:
            yield unwritten
        except PursuitError:
            self._used = unwritten.used + self._used
            self.spent = unwritten.spent + self.spent
            raise


class StoredLog:
    """Writes steps under the turn's fence, and reserves each call against the goal's caps.

    A session whose goal is over, or that has none, gets no caps in mid-turn: a new goal is
    refused until the turn has ended.
    """

    def __init__(self, store: Store, ref: TurnRef, begun: Begun, clock: Clock) -> None:
        self._store = store
        self._ref = ref
        self._caps = store if begun.bound else None
        self._clock = clock
        self._started = clock.monotonic()
        self._books = self._new_books("agent")
        self._others: list[Books] = []
        self._offered: Sequence[int] = ()
        self.heard: tuple[User, ...] = tuple(m for step in begun.steps for m in step.injected)
        """What entered the turn since it began: people's messages and the host's own."""

    def _new_books(self, purpose: str) -> Books:
        return Books(self._caps, self._ref, self._clock, purpose=purpose, started=self._started)

    def books(self, purpose: str) -> Books:
        """Books for other calls of the turn than its agent's; its steps keep what they hold."""
        self._others.append(made := self._new_books(purpose))
        return made

    @property
    def spent(self) -> tuple[CallUsage, ...]:
        """What calls without a reservation have used since the last `record`."""
        return tuple(call for books in (self._books, *self._others) for call in books.spent)

    async def record(self, *writes: StepWrite) -> None:
        """See `TurnLog.record`."""
        injected = any(isinstance(write, Injected) for write in writes)
        claim = self._offered if injected else ()
        with ExitStack() as kept:
            all_ = (self._books, *self._others)
            unwritten = [kept.enter_context(books.hand_over()) for books in all_]
            spent = tuple(call for one in unwritten for call in one.spent)
            await self._store.record(self._ref, writes, spent=spent, claim=claim)
        if injected:
            self._offered = ()
        self.heard += tuple(write.message for write in writes if isinstance(write, Injected))

    async def steered(self) -> tuple[User, ...]:
        """See `TurnLog.steered`."""
        found = await self._store.steered(self._ref)
        self._offered = tuple(item.seq for item in found)
        return tuple(item.message for item in found)

    async def allowance(self, model: Model, request: Request, counted: int) -> str:
        """See `TurnLog.allowance`."""
        return await self._books.allowance(model, request, counted)

    async def settle(self, usage: Usage) -> None:
        """See `TurnLog.settle`."""
        await self._books.settle(usage)
