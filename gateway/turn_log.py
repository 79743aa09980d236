"""A running turn's line to the store: its `TurnLog`."""

from __future__ import annotations

from core.agent.steps import Injected, Replied, StepWrite
from core.agent.transcript import User
from core.ports import Clock, Model, Usage
from core.sessions.ports import Begun, CapReached, Estimate, Reserved, Store, TurnRef

FIRST_GUESS = 2_000
"""Tokens that a session's first request is taken to have."""


class StoredLog:
    """Writes steps under the turn's fence, and reserves each call against the goal's caps."""

    def __init__(
        self, store: Store, ref: TurnRef, begun: Begun, model: Model, clock: Clock
    ) -> None:
        self._store = store
        self._ref = ref
        self._model = model
        self._clock = clock
        self._started = clock.monotonic()
        self._has_goal = begun.goal is not None
        self._size = begun.counted or FIRST_GUESS
        self._offered: tuple[int, ...] = ()
        self.reservation: int | None = None

    async def record(self, *writes: StepWrite) -> None:
        """See `TurnLog.record`."""
        injected = any(isinstance(write, Injected) for write in writes)
        replied = next((w.reply for w in writes if isinstance(w, Replied)), None)
        await self._store.record(
            self._ref,
            writes,
            model=self._model.name,
            claim=self._offered if injected else (),
            reservation=self.reservation if replied else None,
        )
        if injected:
            self._offered = ()
        if replied:
            self.reservation = None
            self._size = replied.usage.input_tokens + replied.usage.output_tokens

    async def steered(self) -> tuple[User, ...]:
        """See `TurnLog.steered`; the claim is made by the `record` of what was read."""
        found = await self._store.steered(self._ref)
        self._offered = tuple(item.seq for item in found)
        return tuple(item.message for item in found)

    async def allowance(self) -> str:
        """See `TurnLog.allowance`. A turn that began without a goal has no caps: one that is
        set meanwhile is refused until the turn has ended."""
        if not self._has_goal or self.reservation is not None:
            return ""
        most = Usage(self._size, 0, self._model.max_output_tokens)
        estimate = Estimate(most.input_tokens + most.output_tokens, self._model.price(most))
        answer = await self._store.reserve(
            self._ref,
            self._model.name,
            estimate,
            seconds=self._clock.monotonic() - self._started,
        )
        match answer:
            case CapReached(reason):
                return reason
            case Reserved(id_):
                self.reservation = id_
                return ""
            case None:
                return ""
