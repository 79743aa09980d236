"""The registry of runners at work, on runners that recite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.delegation.ports import AskPermission, ChildRef, Permission, RunnerEnd
from core.delegation.result import Status, Work
from core.delegation.runners import Errand, LiveRunners, Means
from core.delegation.waiting import Waits
from core.delegation.worker import Runner
from core.errors import Fenced, UserError
from core.escalations.desk import Asked
from core.escalations.record import Escalation
from core.messages import Address, PlatformName, Principal, Role, TurnId
from core.ports import ToolContext
from core.sessions.ports import TurnRef
from tests.fakes.desk import MemoryDesk

HERE = Address(PlatformName.TELEGRAM, "bot", "100")
BELA = Principal("2", "Bela", Role.MEMBER)


class Reciting:
    """Does what its task says: `ask`, `hang`, `break`, or just ends. `ended` are the tasks of
    those that were ended from outside."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.hanging = asyncio.Event()

    async def run(
        self,
        runner: Runner,
        task: str,
        context: ToolContext,
        *,
        permit: AskPermission,
        timeout_s: float,
    ) -> RunnerEnd:
        """See `Runners.run`."""
        self.begun.append(task)
        try:
            return await self._do(task, permit)
        except asyncio.CancelledError:
            self.ended.append(task)
            raise

    async def _do(self, task: str, permit: AskPermission) -> RunnerEnd:
        match task.split(maxsplit=1)[0]:
            case "ask":
                permitted = await permit(Permission("Build", "execute", "make"))
                return RunnerEnd(permitted.reason)
            case "hang":
                self.hanging.set()
                await asyncio.Event().wait()
            case "break":
                raise LookupError("a bug")
        return RunnerEnd("done")


class FencedDesk(MemoryDesk):
    """The turn has lost its lane."""

    async def ask(self, context: ToolContext, call: str, asked: Asked) -> Escalation:
        raise Fenced("another attempt has the turn")


def errand(
    task: str,
    *,
    child: int = 1,
    turn: int = 9,
    opened: bool = False,
    asked: int = 0,
    lacking: str = "",
) -> Errand:
    context = ToolContext(HERE, BELA, turn, Path("/nowhere"), lambda _: None)
    return Errand(
        id=child,
        ref=ChildRef(TurnRef(HERE.key, TurnId(turn), 1), f"call_{child}.0"),
        runner=Runner(command="agent", lacking=lacking),
        agent="agent",
        brief=task,
        call=f"call_{child}",
        context=context,
        opened=opened,
        asked=asked,
    )


@asynccontextmanager
async def registry() -> AsyncIterator[LiveRunners]:
    live = LiveRunners()
    async with asyncio.TaskGroup() as lives:
        life = lives.create_task(live.run())
        await asyncio.sleep(0)
        yield live
        life.cancel()


async def test_a_fault_of_one_run_is_raised_to_its_own_turn_alone() -> None:
    means = Means(Reciting(), MemoryDesk(), 30.0)
    async with registry() as live:
        assert isinstance(await live.work(errand("ask", child=1), means), Waits)
        with pytest.raises(LookupError):
            await live.work(errand("break", child=2), means)
        assert await live.work(errand("end", child=3), means) == Work(
            status=Status.OK, text="done"
        )


async def test_a_turn_that_lost_its_lane_ends_its_runner() -> None:
    runners = Reciting()
    async with registry() as live:
        with pytest.raises(Fenced):
            await live.work(errand("ask"), Means(runners, FencedDesk(), 30.0))
        assert runners.ended == ["ask"]


async def test_a_runner_that_lacks_something_is_not_begun() -> None:
    runners = Reciting()
    async with registry() as live:
        with pytest.raises(UserError, match="set KEY"):
            await live.work(errand("end", lacking="set KEY"), Means(runners, None, 30.0))
    assert runners.begun == []


async def test_closing_a_turn_ends_its_runs_and_no_others() -> None:
    runners = Reciting()
    means = Means(runners, MemoryDesk(), 30.0)
    async with registry() as live:
        for turn, task in ((9, "ask a"), (9, "ask b"), (8, "ask c")):
            await live.work(errand(task, child=len(runners.begun) + 1, turn=turn), means)
        await live.close_turn(9)
        assert sorted(runners.ended) == ["ask a", "ask b"]
        await live.close_turn(9)
        await live.close_turn(8)
        assert runners.ended[-1] == "ask c"


async def test_a_call_that_has_its_result_leaves_no_run_behind() -> None:
    runners = Reciting()
    means = Means(runners, MemoryDesk(), 30.0)
    async with registry() as live:
        await live.work(errand("ask a", child=1), means)
        await live.work(errand("ask b", child=11), means)
        await live.close_call(8, "call_1")
        assert runners.ended == []
        await live.close_call(9, "call_1")
        assert runners.ended == ["ask a"]


async def test_a_new_child_under_an_old_ones_id_has_a_run_of_its_own() -> None:
    runners = Reciting()
    means = Means(runners, MemoryDesk(), 30.0)
    async with registry() as live:
        await live.work(errand("ask"), means)
        assert await live.work(errand("end", turn=12), means) == Work(
            status=Status.OK, text="done"
        )
        assert runners.ended == ["ask"]


async def test_six_questions_are_one_too_many_and_the_last_is_refused() -> None:
    means = Means(Reciting(), MemoryDesk(), 30.0)
    async with registry() as live:
        for number in range(5):
            assert isinstance(await live.work(errand("ask", child=number), means), Waits)
        work = await live.work(errand("ask", child=5), means)
        assert isinstance(work, Work)
        assert "5 questions wait for a person in this chat already" in work.text


async def test_a_cancelled_call_ends_its_run_before_it_ends_itself() -> None:
    runners = Reciting()
    async with registry() as live:
        running = asyncio.create_task(live.work(errand("hang"), Means(runners, None, 30.0)))
        await runners.hanging.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert runners.ended == ["hang"]
