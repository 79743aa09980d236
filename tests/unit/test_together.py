"""Work done at the same time: none outlives the others, and what fails is raised as itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import pytest

from core.agent.together import together
from core.errors import Fenced


class Killed(BaseException):
    """Not an Exception, as a cancellation is not."""


async def value(number: int, *after: asyncio.Event) -> int:
    for event in after:
        await event.wait()
    return number


async def failing(error: BaseException, *after: asyncio.Event) -> int:
    for event in after:
        await event.wait()
    raise error


class Waiting:
    """Work that never ends by itself and says how it was ended."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = False

    async def run(self) -> int:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return 0


async def test_nothing_to_do_gives_nothing() -> None:
    nothing: list[Coroutine[object, object, int]] = []
    assert await together(nothing) == []


async def test_one_piece_runs_in_the_task_that_asks() -> None:
    async def task() -> asyncio.Task[object] | None:
        return asyncio.current_task()

    assert await together([task()]) == [asyncio.current_task()]


async def test_all_begin_before_any_ends() -> None:
    meeting = asyncio.Barrier(3)

    async def meet(number: int) -> int:
        await meeting.wait()
        return number

    assert await together(map(meet, range(3))) == [0, 1, 2]


async def test_results_stand_in_the_order_of_the_work_whatever_ends_first() -> None:
    ended: list[str] = []
    last = asyncio.Event()

    async def slow() -> str:
        await last.wait()
        ended.append("slow")
        return "slow"

    async def quick() -> str:
        ended.append("quick")
        last.set()
        return "quick"

    assert await together([slow(), quick()]) == ["slow", "quick"]
    assert ended == ["quick", "slow"]


@pytest.mark.parametrize("error", [Fenced("the turn was stopped"), ValueError("x"), Killed()])
async def test_what_one_raises_ends_the_others_and_surfaces_as_itself(
    error: BaseException,
) -> None:
    waiting = Waiting()
    with pytest.raises(type(error)) as caught:
        await together([waiting.run(), failing(error, waiting.begun), waiting.run()])
    assert caught.value is error
    assert waiting.cancelled


async def test_one_alone_fails_as_itself() -> None:
    error = Fenced("the turn was stopped")
    with pytest.raises(Fenced) as caught:
        await together([failing(error)])
    assert caught.value is error


async def test_of_several_failures_the_first_surfaces() -> None:
    first, second = ValueError("first"), ValueError("second")

    async def fails_while_ending() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            raise second

    with pytest.raises(ValueError, match="first") as caught:
        await together([fails_while_ending(), failing(first)])
    assert caught.value is first


async def test_a_group_that_one_raises_is_not_taken_apart() -> None:
    error = ExceptionGroup("two", [ValueError("a"), ValueError("b")])
    with pytest.raises(ExceptionGroup) as caught:
        await together([failing(error), value(1)])
    assert caught.value is error


async def test_cancelling_reaches_all_of_them_before_it_is_over() -> None:
    works = [Waiting(), Waiting()]
    async with asyncio.TaskGroup() as group:
        whole = group.create_task(together(work.run() for work in works), name="whole")
        for work in works:
            await work.begun.wait()
        whole.cancel()
    assert whole.cancelled()
    assert [work.cancelled for work in works] == [True, True]
