"""A running turn's line to the store: its `TurnLog`."""

from __future__ import annotations

from core.agent.sizes import request_size
from core.agent.steps import Injected, StepWrite
from core.ports import Clock, Model, Request, Usage
from core.sessions.ports import Begun, CallUsage, CapReached, Estimate, Reserved, Store, TurnRef
from core.transcript import User


class StoredLog:
    """Writes steps under the turn's fence, and reserves each call against the goal's caps.

    A call with a reservation is settled under it as soon as it has returned; what any other has
    used is in `spent` until the next `record`, or the turn's end, keeps it.
    """

    def __init__(self, store: Store, ref: TurnRef, begun: Begun, clock: Clock) -> None:
        self._store = store
        self._ref = ref
        self._clock = clock
        self._started = clock.monotonic()
        self._bound = begun.bound
        self._offered: tuple[int, ...] = ()
        self._model = ""
        self._reservation: int | None = None
        self.spent: tuple[CallUsage, ...] = ()

    async def record(self, *writes: StepWrite) -> None:
        """See `TurnLog.record`."""
        injected = any(isinstance(write, Injected) for write in writes)
        claim = self._offered if injected else ()
        await self._store.record(self._ref, writes, spent=self.spent, claim=claim)
        self.spent = ()
        if injected:
            self._offered = ()

    async def steered(self) -> tuple[User, ...]:
        """See `TurnLog.steered`."""
        found = await self._store.steered(self._ref)
        self._offered = tuple(item.seq for item in found)
        return tuple(item.message for item in found)

    async def allowance(self, model: Model, request: Request, counted: int) -> str:
        """See `TurnLog.allowance`.

        A session whose goal is over, or that has none, gets no caps in mid-turn: a new goal is
        refused until the turn has ended.
        """
        self._model, self._reservation = model.name, None
        if not self._bound:
            return ""
        size = request_size(request, counted)
        most = Usage(size, 0, request.max_tokens or model.max_output_tokens)
        answer = await self._store.reserve(
            self._ref,
            model.name,
            Estimate(size + most.output_tokens, model.price(most), most.output_tokens),
            seconds=self._clock.monotonic() - self._started,
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
        if self._reservation is not None:
            await self._store.settle(self._reservation, usage)
        elif usage != Usage():
            self.spent += (CallUsage(self._model, usage),)
        self._reservation = None
