"""Several pieces of work at the same time, of which none outlives the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TypeVar

T = TypeVar("T")


async def together(work: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """The results, in the order of the work. What one of them raises ends the others first, and
    is raised as it is: the first of them, where several fail."""
    pieces = list(work)
    if len(pieces) == 1:
        return [await pieces[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(piece) for piece in pieces]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
