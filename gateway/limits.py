"""Limits round ports: how many calls a model gets at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from core.ports import Completion, Model, Request, Usage


class LimitedModel:
    """A `Model` that shares a number of slots with others; a slot is held only for the call.

    The wait for a slot counts toward the request's own deadline only once the call starts.
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
            return await self._model.complete(request, on_text)

    def price(self, usage: Usage) -> float:
        """See `Model.price`."""
        return self._model.price(usage)
