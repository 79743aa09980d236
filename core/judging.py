"""How a judge, or an overseer, is waited for, and what it is when it gives no word."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field

from core.fence import one_line
from core.ports import Completion, ModelFailure, Reply, Usage

PATIENCE_S = 3_600.0
"""How long a call may wait for its turn at the model; only a model that is stuck takes so long."""
WHY_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Silence:
    """There is no reply: why, and what the call used."""

    why: str
    usage: Usage = field(default_factory=Usage)


async def reply_of(
    call: Awaitable[Completion],
    timeout_s: float,
    patience_s: float = PATIENCE_S,
    *,
    who: str = "the judge",
    what: str = "verdict",
) -> Reply | Silence:
    """Wait for a judge's call. `timeout_s` bounds the call itself and is the model's to keep:
    waiting for a model that others use is no fault of the judge. `who` is asked for `what`."""
    try:
        async with asyncio.timeout(timeout_s + patience_s):
            said = await call
    except TimeoutError:
        waited = f"{timeout_s:g} s, and {patience_s / 60:g} minutes of waiting for its turn"
        return Silence(f"{who} gave no {what} in time ({waited})")
    if isinstance(said, ModelFailure):
        return Silence(f"{who} failed: {one_line(said.message, WHY_LIMIT)}", said.usage)
    return said
