"""What is noted of the calls of a folder, and that the log hears of every gate that ran."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.gates.chain import Standing
from core.gates.gate import GateEvent
from core.gates.keeper import Critic
from core.gates.wanted import Wanted
from core.messages import Address, PlatformName, Principal, Role
from core.ports import Completion, Model, Request, ToolContext
from gateway.gatehouse import Gatehouse, KeptRecord, TurnParts
from tests.contracts.backends import gates_of, sqlite
from tests.contracts.store_rig import LANE, HeldClock, Rig
from tests.fakes.gates import ScriptedCommands
from tests.fakes.scripted_model import ScriptedModel

CHECKS = '["pytest -q"]'
CONTEXT = ToolContext(
    Address(PlatformName.TELEGRAM, "bot", "1"),
    Principal("1", "Anna", Role.OWNER),
    1,
    Path("/srv/site"),
    progress=lambda _: None,
)


def inside(folder: str) -> ToolContext:
    """A call of another chat, in that folder."""
    return replace(CONTEXT, address=replace(CONTEXT.address, chat="2"), workspace=Path(folder))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = await Rig.start(sqlite, tmp_path)
    yield rig
    await rig.store.close()


@pytest.fixture
def record(store: Rig) -> KeptRecord:
    return KeptRecord(gates_of(store.store))


@pytest.mark.parametrize("folder", ["/srv/site", "/srv/site/src/app", "/srv"])
async def test_a_call_in_the_folder_above_or_below_it_is_at_work_there(
    record: KeptRecord, folder: str
) -> None:
    before = record.quiet(CONTEXT)
    async with record.running(inside(folder), "run"):
        assert record.quiet(CONTEXT) is None
        await record.passed(CONTEXT, CHECKS)
        assert not await record.unchanged(CONTEXT, CHECKS)
    assert record.quiet(CONTEXT) not in {None, before}
    async with record.running(inside(folder), "write_file"):
        pass
    assert not await record.unchanged(CONTEXT, CHECKS)


@pytest.mark.parametrize(
    ("folder", "tool"), [("/srv/site2", "run"), ("/srv/app", "run"), ("/srv/site", "read_file")]
)
async def test_a_call_elsewhere_or_one_that_only_reads_is_not(
    record: KeptRecord, folder: str, tool: str
) -> None:
    await record.passed(CONTEXT, CHECKS)
    before = record.quiet(CONTEXT)
    async with record.running(inside(folder), tool):
        assert record.quiet(CONTEXT) == before
    assert record.quiet(CONTEXT) == before
    assert await record.unchanged(CONTEXT, CHECKS)


async def ask(model: Model, request: Request) -> Completion:
    """Without any books."""
    return await model.complete(request)


async def test_the_log_has_a_line_for_each_gate_that_ran(store: Rig) -> None:
    await store.say("write it")
    turn = (await store.turn()).turn
    events: list[GateEvent] = []
    critic = Critic(model=ScriptedModel([]))
    gates = gates_of(store.store)
    house = Gatehouse(Wanted(verify=("lint",)), critic, 2, ScriptedCommands(), gates, HeldClock())
    context = replace(CONTEXT, address=Address.of(LANE), turn=turn.id)
    keeper = house.keeper(
        TurnParts(context=context, task=lambda: "write it", ask=ask, emit=events.append)
    )
    with capture_logs() as logs:
        await keeper.judge("It is written.", (), Standing(bounces=1))
    assert logs == [
        {
            "event": "gate",
            "log_level": "info",
            "lane": LANE,
            "turn": turn.id,
            "gate": "verify",
            "result": "passed",
            "reason": "lint",
            "bounce": 1,
            "budget": 2,
            "ms": 0,
        }
    ]
    assert [event.result for event in events] == ["passed"]
