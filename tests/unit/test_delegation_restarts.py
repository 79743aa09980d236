"""A branch table's run that is cut at any write goes on where it stood, and does nothing twice."""

from __future__ import annotations

import pytest

from core.branches import codec
from core.branches.run import Ended, Run, Status, status
from core.delegation.duty import SENT_BACK
from core.delegation.kept import Kept
from core.escalations.record import Chose, Wrote
from core.ports import Ran, Reply, Request, Waiting
from core.transcript import Json, User
from tests.fakes.branch_tables import OPUS, TINY
from tests.fakes.memory_children import MemoryChildren
from tests.fakes.scripted_model import calls
from tests.fakes.table_rig import (
    CALL,
    TableRig,
    decides,
    looks,
    quote,
    refused,
    reports,
    results_in,
    told,
)
from tests.fakes.turn_log import Killed

ASK: Json = {
    "action": "escalate",
    "tier": "human",
    "prompt": "Red or blue?",
    "human": {"kind": "choose", "options": ["Red", "Blue"]},
}
TABLE: Json = {
    "conditions": [
        {"condition": "It is on", "branch": {"action": "report_with_evidence"}},
        {"condition": "It has two colours", "branch": ASK},
    ],
    "default": {"action": "escalate", "tier": "overseer"},
}
PATCH = decides("patch", conditions=[{"condition": "Off", "branch": {"action": "report"}}])
OWN = f"{CALL}.0"
FORGED = reports("c1", evidence=quote("Feature Y: OFF"))
UNTIL_DONE = 12


def child(request: Request) -> Reply:
    """Touches once, looks until it has seen, then reports: the first child forges and gives up,
    the next one finds what a person must decide."""
    results = results_in(request)
    (brief,) = (entry.text for entry in request.messages[:1] if isinstance(entry, User))
    if not results:
        return calls(("touch", '{"at": "x"}'), ids="t")
    if not any("Feature Y" in result for result in results):
        return looks(ids=f"c{len(results)}_")
    if "Off" in brief:
        return reports("c2")
    mended = any("could not be used" in result for result in results)
    return reports("__default__") if mended else FORGED


async def process(rig: TableRig) -> Ran | None:
    """One life of the process; None when it was killed."""
    try:
        return await rig.delegate(TABLE)
    except Killed:
        return None


async def drive(rig: TableRig) -> dict[str, Json]:
    """Process after process until there is a result, with a person who answers."""
    for _ in range(UNTIL_DONE):
        ran = await process(rig)
        if isinstance(ran, Waiting):
            rig.desk.answer(Chose(1, "Blue"))
        elif ran is not None:
            return told(ran)
    raise AssertionError("it never ends")


def rigged(store: MemoryChildren) -> TableRig:
    rig = TableRig(store=store)
    rig.child(always=child)
    rig.overseer(always=PATCH)
    return rig


def run_of(store: MemoryChildren) -> Kept:
    return Kept.load(store.rows[OWN].kept)


async def writes_of_a_whole_run() -> int:
    store = MemoryChildren()
    await drive(rigged(store))
    return store.writes


async def test_a_run_passes_through_every_status_that_waits_for_something() -> None:
    seen: list[Status] = []
    for at in range(await writes_of_a_whole_run()):
        store = MemoryChildren(dies_at=at, dies_after=True)
        assert await process(rigged(store)) is None or store.writes
        if OWN in store.rows and (stored := run_of(store).table):
            where = status(codec.load(stored))
            seen += [where] if where not in seen else []
    assert seen == [Status.RUNNING, Status.CHECKING, Status.OVERSEER, Status.WAITING_HUMAN]


@pytest.mark.parametrize("dies_after", [False, True], ids=["before", "after"])
async def test_a_run_that_is_cut_at_any_write_ends_as_if_it_had_not_been(
    *, dies_after: bool
) -> None:
    whole = await drive(rigged(MemoryChildren()))
    for at in range(await writes_of_a_whole_run()):
        store = MemoryChildren(dies_at=at, dies_after=dies_after)
        rig = rigged(store)
        result = await drive(rig)
        told_alike = ("status", "outcome", "branch", "summary", "decided_by", "escalations")
        assert [result[key] for key in told_alike] == [whole[key] for key in told_alike], at
        assert list(store.rows) == [OWN, f"{OWN}#1", f"{OWN}#2"], at
        assert rig.desk.applied == [f"{OWN}!1"], at
        assert len(rig.desk.cards) == 1, at
        assert len(rig.touched) <= 2, "each child touches once, or hears that nobody knows"
        ends = [
            result.receipt.summary
            for step in store.rows[f"{OWN}#1"].log.steps
            for result in step.results.values()
        ]
        assert ends.count(SENT_BACK) == 1, at
        state = codec.load(run_of(store).table)
        assert isinstance(state, Ended), at
        overseers = len(rig.models.overseers["opus"].requests)
        assert overseers - len([c for c in store.spent if c.purpose == "overseer"]) <= 1, at


async def test_counters_are_stored_before_what_they_count_is_done() -> None:
    for at in range(await writes_of_a_whole_run()):
        store = MemoryChildren(dies_at=at)
        rig = rigged(store)
        await process(rig)
        stored = run_of(store).table if OWN in store.rows else ""
        state = codec.load(stored) if stored else None
        counts = (
            (state.children, state.overseers, state.rounds)
            if isinstance(state, Run)
            else (0, 0, 0)
        )
        assert len(store.rows) - 1 <= counts[0], at
        assert len(rig.models.overseers["opus"].requests) <= counts[1], at
        assert len(rig.desk.cards) <= counts[2], at


async def test_an_end_that_is_stored_is_told_again_and_nothing_runs() -> None:
    rig = rigged(MemoryChildren())
    whole = await drive(rig)
    asked = len(rig.models.children["tiny"].requests)
    assert told(await rig.delegate(TABLE)) == whole
    assert len(rig.models.children["tiny"].requests) == asked
    assert len(rig.models.overseers["opus"].requests) == 1


async def test_an_answer_that_was_applied_before_the_cut_still_counts() -> None:
    rig = rigged(MemoryChildren())
    await process(rig)
    rig.desk.answer(Chose(0, "Red"))
    rig.desk.apply_all()
    result = told(await rig.delegate(TABLE))
    assert result["summary"] == "a person chose: Red"


async def test_a_waiting_run_goes_on_by_changed_settings_with_the_models_that_are_left() -> None:
    own: Json = {"action": "escalate", "tier": "human", "prompt": "Where is it?"}
    named = {**TABLE, "conditions": [{"condition": "Gone", "branch": own}]}  # type: ignore[dict-item]
    given = {**named, "escalation_model": "sonnet"}
    before = TableRig()
    before.child(reports("c1"))
    await before.waiting(given)
    before.desk.answer(Wrote("Below v2"))
    after = TableRig(store=before.store, catalogue=(OPUS, TINY))
    after.attempt, after.desk = before.attempt, before.desk
    after.child(reports("__default__"))
    after.overseer(decides("resolve", branch="", summary="It is below v2."), on="opus")
    afresh = await after.run({"goal": "Check Y", "branch_table": given}, "call_2")
    assert "there is no model 'sonnet'" in refused(afresh)
    result = await after.result(given)
    assert (result["outcome"], result["summary"]) == ("resolved", "It is below v2.")
    assert "Below v2" in str(after.models.children["tiny"].requests[0].messages)


async def test_a_child_that_is_cut_again_and_again_is_the_overseers_matter() -> None:
    def dies(_: Request) -> Reply:
        raise Killed

    rig = TableRig()
    rig.child(always=dies)
    rig.overseer(decides("resolve", branch="", summary="It dies."))
    for _ in range(3):
        assert await process(rig) is None
    result = told(await rig.delegate(TABLE))
    assert (result["summary"], result["decided_by"]) == ("It dies.", "overseer")
    assert "begun 3 times" in str(rig.models.overseers["opus"].requests[0].messages)
