"""Limits round ports: how many calls a model gets at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from core.ports import Completion, FailureKind, Model, ModelFailure, Request, Usage

GRACE_S = 0.5
"""How long after its deadline a model may still say why it has no answer."""


class LimitedModel:
    """A `Model` that shares a number of slots with others; a slot is held only for the call.

    The request's own deadline starts when the slot is had: no wait for one counts toward it. The
    model keeps it itself and knows what went wrong before it; one that does not is cut off.
    """

    def __init__(self, model: Model, slots: asyncio.Semaphore) -> None:
        self.name = model.name
        self.context_tokens = model.context_tokens
        self.max_output_tokens = model.max_output_tokens
        self._model = model
        self._slots = slots

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """See `Model.complete`."""
        async with self._slots:
            try:
                async with asyncio.timeout(_late(request.deadline_s)) as limit:
                    return await self._model.complete(request, on_text)
            except TimeoutError:
                if not limit.expired():
                    raise
                return ModelFailure(
                    FailureKind.TRANSIENT,
                    f"{self.name} did not finish its answer within {request.deadline_s:g} s",
                )

    def price(self, usage: Usage) -> float | None:
        """See `Model.price`."""
        return self._model.price(usage)


def _late(deadline_s: float | None) -> float | None:
    return None if deadline_s is None else deadline_s + GRACE_S
