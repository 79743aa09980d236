"""The run of a branch table, held to its table and its invariants by whatever may happen to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.branches import codec
from core.branches.events import (
    Answer,
    Approved,
    AskHuman,
    AskOverseer,
    Cancelled,
    CheckReport,
    ChildFailed,
    ChildReported,
    Chose,
    Declined,
    Effect,
    Event,
    Expired,
    Finish,
    HumanAnswered,
    IllegalTransition,
    NotDeliverable,
    OverseerFailed,
    OverseerSpoke,
    Patch,
    RepairChild,
    ReportChecked,
    Resolve,
    RunChild,
    ToHuman,
    Unusable,
    Validate,
    Validated,
    Word,
    Wrote,
)
from core.branches.machine import EDGES, advance, orders
from core.branches.people import MAX_ROUNDS
from core.branches.report import Accepted, Account, Checked, Quote, Repair, ToDefault
from core.branches.run import (
    Case,
    DecidedBy,
    Ended,
    Final,
    Overseeing,
    Run,
    Running,
    State,
    Status,
    Validating,
    WaitingHuman,
    status,
)
from core.branches.table import (
    DEFAULT,
    MAX_DEPTH,
    Condition,
    Escalate,
    Report,
    Route,
    Table,
)
from core.escalations.record import Kind
from core.transcript import Json
from tests.fakes.branch_tables import JSON_OBJECT, OVERSEER, YAML_LIST, read, table

T = TypeVar("T")
LIST, OBJECT = read(YAML_LIST), read(JSON_OBJECT)
SEEN = Quote("call_1", "Feature Y: ON", "curl")
ENDS = frozenset(status for status, after in EDGES.items() if not after)
REPORT: Json = {"action": "report"}
NEW = Condition("added", "It was renamed", (), (("", Report()),))


def account(label: str, *, quotes: tuple[Quote, ...] = (SEEN,)) -> Account:
    """What a child says of a branch."""
    return Account(
        label=label, observed="Saw it", expected="A toggle", tried=("Looked",), quotes=quotes
    )


def human(kind: str, **more: Json) -> Json:
    """A branch that asks a person."""
    asked: dict[str, Json] = {"kind": kind, **more}
    return {"action": "escalate", "tier": "human", "prompt": "May I, {branch}?", "human": asked}


def begun(of: Table) -> State:
    """A run whose first child works."""
    state, effects = advance(Validating("Check Y"), Validated(of))
    assert effects == (RunChild(1, of, ""),)
    return state


def run_of(state: State) -> Run:
    """The run under way; it must be one."""
    assert isinstance(state, Run)
    return state


def final_of(state: State) -> Final:
    """How it ended; it must have."""
    assert isinstance(state, Ended)
    return state.final


def after(state: State, *events: Event) -> tuple[State, tuple[Effect, ...]]:
    """The state after all of these, and the last one's orders."""
    effects: tuple[Effect, ...] = ()
    for event in events:
        state, effects = advance(state, event)
    return state, effects


def found(state: State, checked: Checked | str) -> State:
    """The state after its child reported, and what the report came to (a label: accepted)."""
    if isinstance(checked, str):
        checked = Accepted(account(checked))
    child = run_of(state).children
    state, _ = after(state, ChildReported(child, "{}"), ReportChecked(child, checked))
    return state


def said(state: State, word: Word) -> State:
    """The state after its overseer's reply."""
    state, _ = advance(state, OverseerSpoke(run_of(state).asked, word))
    return state


def answered(state: State, answer: Answer) -> State:
    """The state after a person's answer."""
    state, _ = advance(state, HumanAnswered(run_of(state).rounds, answer, "Anna"))
    return state


# The two tables of the spec, to each of their branches


def test_the_list_s_ok_is_resolved_by_the_child_with_its_evidence() -> None:
    state, effects = after(
        begun(LIST), ChildReported(1, "{}"), ReportChecked(1, Accepted(account("c1.ok")))
    )
    final = final_of(state)
    assert effects == (Finish(final),)
    assert final == Final(
        outcome=Status.RESOLVED,
        branch="c1.ok",
        summary="Saw it",
        quotes=(SEEN,),
        decided_by=DecidedBy.CHILD,
    )


@pytest.mark.parametrize(
    ("label", "question"),
    [
        ("c1.not_found", "Could not find toggle — possibly renamed or removed"),
        ("c1.broken", "Toggle found but click failed — investigate"),
        (DEFAULT, "Unexpected state: Saw it"),
    ],
)
def test_the_list_s_overseer_branches_ask_an_overseer(label: str, question: str) -> None:
    state = found(begun(LIST), label)
    order = orders(state)
    assert isinstance(order, AskOverseer)
    assert (order.original, order.table, order.asked) == (LIST, LIST, 1)
    case = order.case
    assert (case.label, case.question, case.observed) == (label, question, "Saw it")
    assert (case.expected, case.tried, case.quotes) == ("A toggle", ("Looked",), (SEEN,))


def test_the_list_s_404_asks_a_person_whose_answer_one_new_child_carries_out() -> None:
    state = found(begun(LIST), "c2")
    order = orders(state)
    assert isinstance(order, AskHuman)
    assert order.question == "URL may be dead — verify or provide alternative"
    state = answered(state, Wrote("Try /v2"))
    assert orders(state) == RunChild(2, LIST, "Try /v2")
    assert final_of(found(state, "c1.ok")).outcome is Status.RESOLVED


def test_the_list_s_auth_gate_is_reported_in_the_table_s_words() -> None:
    final = final_of(found(begun(LIST), "c3"))
    assert (final.outcome, final.branch) == (Status.RESOLVED, "c3")
    assert final.summary == "Auth-gated — can't verify without credentials"


@pytest.mark.parametrize("label", ["c1.not_found", "c1.broken", DEFAULT])
def test_the_object_s_branches_but_ok_ask_an_overseer(label: str) -> None:
    state = found(begun(OBJECT), label)
    assert status(state) is Status.OVERSEER
    final = final_of(said(state, Resolve("c1.broken", "The click fails with 500.")))
    assert (final.outcome, final.branch) == (Status.RESOLVED, "c1.broken")
    assert (final.decided_by, final.escalations) == (DecidedBy.OVERSEER, 1)


def test_the_object_s_ok_is_resolved_by_the_child() -> None:
    assert final_of(found(begun(OBJECT), "c1.ok")).decided_by is DecidedBy.CHILD


# Validation


def test_a_new_run_is_validated_first() -> None:
    assert orders(Validating("g")) == Validate()


# The child and its report


def test_a_report_goes_back_once_and_then_to_the_default_branch() -> None:
    state, effects = after(
        begun(LIST), ChildReported(1, "{}"), ReportChecked(1, Repair(("no such call",)))
    )
    assert effects == (RepairChild(1, LIST, "", ("no such call",)),)
    state, effects = advance(state, ChildReported(1, '{"b": 2}'))
    assert effects == (CheckReport(1, LIST, '{"b": 2}', repaired=True),)
    again, _ = advance(state, ReportChecked(1, Repair(("still none",))))
    assert run_of(again).phase == Overseeing(
        Case(
            why="still none",
            label=DEFAULT,
            condition="none of the conditions",
            question="Unexpected state: (none)",
        )
    )


def test_low_confidence_follows_the_default_branch() -> None:
    unsure = ToDefault(account("c1.ok"), "the child was not sure of it")
    state = found(begun(LIST), unsure)
    order = orders(state)
    assert isinstance(order, AskOverseer)
    why = "the child was not sure of it; it leaned to c1.ok"
    assert (order.case.label, order.case.why) == (DEFAULT, why)
    only = table({"condition": "a", "branch": REPORT}, default={"action": "report"})
    final = final_of(found(begun(only), unsure))
    assert (final.outcome, final.branch, final.summary) == (Status.RESOLVED, DEFAULT, "Saw it")


@pytest.mark.parametrize("label", ["c9", DEFAULT, ""])
def test_a_child_leans_to_no_branch_that_the_table_does_not_have(label: str) -> None:
    state = found(begun(LIST), ToDefault(account(label), "twice of no use"))
    order = orders(state)
    assert isinstance(order, AskOverseer)
    assert order.case.why == "twice of no use"


def test_a_default_that_asks_for_evidence_is_never_reported_without() -> None:
    strict = table(
        {"condition": "a", "branch": REPORT}, default={"action": "report_with_evidence"}
    )
    state = found(begun(strict), ToDefault(None, "no report"))
    assert status(state) is Status.OVERSEER
    assert status(found(begun(strict), ToDefault(account("c1"), "unsure"))) is Status.RESOLVED


@pytest.mark.parametrize(
    ("default", "depth", "expected"),
    [
        (OVERSEER, 2, Status.OVERSEER),
        (OVERSEER, 0, Status.WAITING_HUMAN),
        (REPORT, 1, Status.OVERSEER),
        (human("approve"), 2, Status.WAITING_HUMAN),
    ],
)
def test_a_child_without_a_report_is_looked_at_by_whom_the_default_names(
    default: Json, depth: int, expected: Status
) -> None:
    of = table({"condition": "a", "branch": REPORT}, default=default, depth=depth)
    state, _ = advance(begun(of), ChildFailed(1, "no steps are left"))
    assert status(state) is expected
    phase = run_of(state).phase
    assert isinstance(phase, Overseeing | WaitingHuman)
    assert phase.case.why == "the child came to no report: no steps are left"


def test_a_report_beyond_all_measure_is_kept_in_part_only() -> None:
    state, _ = advance(begun(LIST), ChildReported(1, "x" * 1_000_000))
    assert len(codec.dump(state)) < 100_000


# The overseer


def test_depth_0_goes_straight_to_the_person() -> None:
    of = replace(OBJECT, depth=0)
    state = found(begun(of), "c1.broken")
    order = orders(state)
    assert isinstance(order, AskHuman)
    assert order.question == "Saw it"


def test_a_patch_starts_a_new_child_on_the_longer_table_and_depth_is_used_up() -> None:
    state = begun(replace(LIST, depth=1))
    state = said(found(state, DEFAULT), Patch((NEW,)))
    run = run_of(state)
    assert run.table.labels == (*LIST.labels[:-1], "added", DEFAULT)
    assert orders(state) == RunChild(2, run.table, "")
    assert run.original == replace(LIST, depth=1)
    assert status(found(state, DEFAULT)) is Status.WAITING_HUMAN


def test_a_repeated_table_goes_to_the_person() -> None:
    again = replace(LIST.conditions[2], id="again")
    state = said(found(begun(LIST), DEFAULT), Patch((again,)))
    phase = run_of(state).phase
    assert isinstance(phase, WaitingHuman)
    assert phase.case.why == "the overseer's table was tried before"
    assert run_of(state).children == 1


def test_a_bad_patch_is_asked_for_anew_and_the_second_goes_to_the_person() -> None:
    state = said(found(begun(LIST), DEFAULT), Unusable("no JSON"))
    order = orders(state)
    assert isinstance(order, AskOverseer)
    assert (order.asked, order.complaint) == (2, "no JSON")
    state = said(state, Patch(LIST.conditions[:1]))
    assert status(state) is Status.WAITING_HUMAN
    assert run_of(state).overseers == 1


def test_bad_patches_are_counted_over_the_whole_run() -> None:
    state = said(found(begun(LIST), DEFAULT), Unusable("no JSON"))
    state = found(said(state, Patch((NEW,))), DEFAULT)
    assert status(state) is Status.OVERSEER
    assert status(said(state, Unusable("no JSON"))) is Status.WAITING_HUMAN


def test_an_overseer_that_cannot_be_asked_leaves_it_to_the_person() -> None:
    state = found(begun(LIST), DEFAULT)
    state, _ = advance(state, OverseerFailed(1, "the key is missing"))
    phase = run_of(state).phase
    assert isinstance(phase, WaitingHuman)
    assert phase.case.why == "no overseer could be asked: the key is missing"


def test_an_overseer_s_question_comes_after_the_table_s() -> None:
    state = said(found(begun(LIST), "c1.broken"), ToHuman("Is staging meant?"))
    order = orders(state)
    assert isinstance(order, AskHuman)
    assert order.question == "Toggle found but click failed — investigate\nIs staging meant?"


def test_an_overseer_cannot_resolve_what_the_table_leaves_to_a_person() -> None:
    state = said(found(begun(LIST), DEFAULT), Resolve("c2", "It is dead, go on."))
    order = orders(state)
    assert isinstance(order, AskHuman)
    assert order.question == "URL may be dead — verify or provide alternative"
    assert order.case.label == "c2"


def test_an_overseer_cannot_resolve_with_evidence_that_nobody_has() -> None:
    bare = Accepted(account(DEFAULT, quotes=()))
    state = said(found(begun(LIST), bare), Resolve("c1.ok", "It is there."))
    assert status(state) is Status.OVERSEER
    assert run_of(state).bad_words == 1
    shown = said(found(begun(LIST), DEFAULT), Resolve("c1.ok", "It is there."))
    assert final_of(shown).quotes == (SEEN,)


# People


def asked(kind: str, **more: Json) -> State:
    """A run that asks a person so."""
    return found(begun(table({"condition": "a", "branch": human(kind, **more)})), "c1")


def test_a_yes_resolves_and_a_no_declines() -> None:
    order = orders(asked("approve"))
    assert isinstance(order, AskHuman)
    assert order.question == "May I, c1?"
    final = final_of(answered(asked("approve"), Approved()))
    assert (final.outcome, final.branch) == (Status.RESOLVED, "c1")
    assert (final.decided_by, final.person) == (DecidedBy.HUMAN, "Anna")
    final = final_of(answered(asked("approve"), Declined("not today")))
    assert (final.outcome, final.reason) == (Status.DECLINED, "not today")


def test_a_choice_resolves_with_the_option() -> None:
    final = final_of(answered(asked("choose", options=["old", "new"]), Chose("new")))
    assert (final.outcome, final.summary) == (Status.RESOLVED, "a person chose: new")


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("approve", Chose("yes")),
        ("text", Approved()),
        ("choose", Approved()),
        ("choose", Chose("other")),
    ],
)
def test_an_answer_of_another_kind_is_illegal_and_changes_nothing(
    kind: str, answer: Answer
) -> None:
    options: dict[str, Json] = {"options": ["old", "new"]} if kind == "choose" else {}
    state = asked(kind, **options)
    with pytest.raises(IllegalTransition):
        answered(state, answer)
    assert status(state) is Status.WAITING_HUMAN


def test_nobody_s_answer_is_unanswered_or_the_end_and_never_a_yes() -> None:
    denied, _ = advance(asked("approve", on_timeout="deny"), Expired(1))
    assert (final_of(denied).outcome, final_of(denied).aborts) == (Status.UNANSWERED, False)
    aborted, _ = advance(asked("approve"), Expired(1))
    assert (final_of(aborted).outcome, final_of(aborted).aborts) == (Status.CANCELLED, True)
    for ended in (denied, aborted):
        assert advance(ended, HumanAnswered(1, Approved(), "Anna")) == (ended, ())


def test_a_question_that_reaches_nobody_is_undeliverable() -> None:
    state, effects = advance(asked("text"), NotDeliverable(1, "the chat is gone"))
    assert (final_of(state).outcome, final_of(state).reason) == (
        Status.UNDELIVERABLE,
        "the chat is gone",
    )
    assert effects == (Finish(final_of(state)),)


def test_a_person_is_asked_at_most_twice() -> None:
    state = asked("text")
    for _ in range(MAX_ROUNDS - 1):
        state = found(answered(state, Wrote("try again")), "c1")
        assert status(state) is Status.WAITING_HUMAN
    final = final_of(found(answered(state, Wrote("try again")), "c1"))
    assert final.outcome is Status.CANCELLED
    assert final.reason.startswith("a person was asked 2 times")
    assert final.escalations == 2


# Stops, late events, restarts


def test_a_stop_ends_a_run_that_asks_a_person() -> None:
    state, effects = advance(asked("text"), Cancelled("/stop"))
    final = final_of(state)
    assert effects == (Finish(final),)
    assert (final.outcome, final.reason, final.aborts) == (Status.CANCELLED, "/stop", False)


def test_what_comes_late_changes_nothing() -> None:
    second = said(found(begun(LIST), DEFAULT), Patch((NEW,)))
    late: list[Event] = [
        ChildReported(1, "{}"),
        ChildFailed(1, "gone"),
        ReportChecked(1, Accepted(account("c1.ok"))),
        OverseerSpoke(1, Resolve("", "done")),
        OverseerFailed(1, "slow"),
    ]
    for event in late:
        assert advance(second, event) == (second, ())


def test_an_overseer_s_first_reply_does_not_count_for_its_second_question() -> None:
    state = said(found(begun(LIST), DEFAULT), Unusable("no JSON"))
    for event in (OverseerSpoke(1, Resolve("", "done")), OverseerFailed(1, "slow")):
        assert advance(state, event) == (state, ())


def test_what_becomes_of_the_first_question_does_not_count_for_the_second() -> None:
    state = found(answered(asked("text"), Wrote("try again")), "c1")
    assert run_of(state).rounds == 2
    late: list[Event] = [
        Expired(1),
        NotDeliverable(1, "gone"),
        HumanAnswered(1, Declined(), "Bela"),
        HumanAnswered(1, Wrote("something else"), "Bela"),
    ]
    for event in late:
        assert advance(state, event) == (state, ())


def test_a_second_report_waits_for_nothing() -> None:
    state, _ = advance(begun(LIST), ChildReported(1, "{}"))
    assert advance(state, ChildReported(1, "other")) == (state, ())
    assert advance(state, ChildFailed(1, "ended")) == (state, ())


@pytest.mark.parametrize(
    "event",
    [
        ReportChecked(1, Accepted(account("c1.ok"))),
        ChildReported(2, "{}"),
        ChildFailed(0, "x"),
        OverseerSpoke(1, Resolve("", "done")),
        HumanAnswered(1, Approved(), "Anna"),
        Expired(1),
        Validated(LIST),
    ],
)
def test_what_was_never_asked_for_is_illegal(event: Event) -> None:
    with pytest.raises(IllegalTransition):
        advance(begun(LIST), event)


def test_a_label_that_the_table_does_not_have_is_the_checker_s_bug() -> None:
    state, _ = advance(begun(LIST), ChildReported(1, "{}"))
    with pytest.raises(IllegalTransition):
        advance(state, ReportChecked(1, Accepted(account("c9"))))


def test_a_stored_run_of_another_form_is_refused() -> None:
    stored = json.loads(codec.dump(begun(LIST)))
    broken: list[object] = [
        {**stored, "form": 99},
        {**stored, "table": 1},
        {**stored, "phase": None},
        [],
    ]
    for spoilt in broken:
        with pytest.raises(ValueError, match="branch run"):
            codec.load(json.dumps(spoilt))


# Whatever may happen

HUMANS: list[Json] = [
    human("approve"),
    human("text", on_timeout="deny"),
    human("choose", options=["a", "b"]),
]
BRANCHES: st.SearchStrategy[Json] = st.sampled_from(
    [REPORT, {"action": "report_with_evidence"}, OVERSEER, *HUMANS]
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A table of one to three conditions."""
    branches = draw(st.lists(BRANCHES, min_size=1, max_size=3))
    listed: list[Json] = [
        {"condition": f"case {n}", "branch": branch} for n, branch in enumerate(branches)
    ]
    return table(*listed, default=draw(BRANCHES), depth=draw(st.integers(0, MAX_DEPTH)))


class Dice:
    """Picks by a number that Hypothesis drew: cheaper than a draw for every choice."""

    def __init__(self, seed: int) -> None:
        self._left = seed

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        self._left, at = divmod(self._left, len(options))
        return options[at]


def any_check(run: Run, dice: Dice) -> Checked:
    """What a report may come to."""
    label = dice.pick(run.table.labels)
    choice = run.table.find(label)
    strict = choice is not None and choice.branch == Report(with_evidence=True)
    bare = account(label, quotes=() if label == DEFAULT or not strict else (SEEN,))
    kept = dice.pick((account(label), bare))
    comes_to: tuple[Checked, ...] = (
        Accepted(kept),
        Repair(("bad",)),
        ToDefault(kept, "low"),
        ToDefault(None, "bad"),
    )
    return dice.pick(comes_to)


ASKING = Condition("human", "x", (), (("", Escalate(Route.HUMAN)),))


def any_word(run: Run, dice: Dice) -> Word:
    """What an overseer may say, attacks among it."""
    count = len(run.table.conditions)
    words: tuple[Word, ...] = (
        Patch((replace(NEW, id=f"n{count}", text=f"new {count}"),)),
        Patch((replace(NEW, id=f"n{count}", text=f"new {count}"),)),
        Resolve(dice.pick(("", "c99", *run.table.labels)), "so it is"),
        Patch((replace(run.table.conditions[0], id=f"n{count}"),)),
        Patch(run.table.conditions[:1]),
        Patch(tuple(replace(NEW, id=f"m{n}", text=f"m {n}") for n in range(24))),
        Patch((ASKING,)),
        Patch(()),
        ToHuman("what now?"),
        Unusable("no JSON"),
    )
    return dice.pick(words)


ANSWERS: tuple[Answer, ...] = (
    Wrote("go"),
    Wrote(" "),
    Approved(),
    Declined("no"),
    Chose("a"),
    Chose("z"),
)


def any_event(state: State, of: Table, dice: Dice) -> Event:
    """Something that may happen, in time or late or never ordered; mostly in time."""
    if not isinstance(state, Run):
        others: tuple[Event, ...] = (Validated(of), Cancelled("stop"), Expired(1))
        return dice.pick(others)
    late = dice.pick((0, 0, 0, 0, 1, -1))
    child, ask, turn = (n - late for n in (state.children, state.asked, state.rounds))
    happenings: dict[Status, tuple[Event, ...]] = {
        Status.RUNNING: (ChildReported(child, "{}"), ChildFailed(child, "gone")),
        Status.CHECKING: (ReportChecked(child, any_check(state, dice)),),
        Status.OVERSEER: (
            OverseerSpoke(ask, any_word(state, dice)),
            OverseerSpoke(ask, any_word(state, dice)),
            OverseerFailed(ask, "down"),
        ),
        Status.WAITING_HUMAN: (
            HumanAnswered(turn, dice.pick(ANSWERS), "Anna"),
            HumanAnswered(turn, dice.pick(ANSWERS), "Anna"),
            Expired(turn),
            NotDeliverable(turn, "gone"),
        ),
    }
    strange = dice.pick((status(state),) * 8 + tuple(happenings))
    return dice.pick((*happenings[strange] * 4, Cancelled("stop")))


def most_effects(depth: int) -> int:
    """The most orders that a run can give: each child is begun, mended once and checked twice."""
    children = 1 + depth + MAX_ROUNDS
    return 4 * children + (depth + 1) + MAX_ROUNDS + 1


@settings(deadline=None)
@given(tables(), st.lists(st.integers(0, 2**48), min_size=5, max_size=30))
def test_a_run_keeps_to_its_edges_and_its_bounds_and_survives_a_restart_anywhere(
    of: Table, script: list[int]
) -> None:
    state, effects = advance(Validating("g"), Validated(of))
    given_orders = list(effects)
    for seed in script:
        event = any_event(state, of, Dice(seed))
        try:
            then, effects = advance(state, event)
        except IllegalTransition:
            continue
        assert status(then) is status(state) or status(then) in EDGES[status(state)]
        assert bool(effects) == (then is not state)
        if effects:
            restored = codec.load(codec.dump(then))
            assert restored == then
            assert effects[-1] == orders(restored)
        hold_to_bounds(state, event, then, of)
        given_orders.extend(effects)
        state = then
    assert len(given_orders) <= most_effects(of.depth)
    assert sum(isinstance(order, Finish) for order in given_orders) <= 1


def hold_to_bounds(before: State, event: Event, then: State, of: Table) -> None:
    """What is true of every step."""
    if isinstance(before, Ended):
        assert then == before
    if isinstance(event, Expired | NotDeliverable) and then is not before:
        assert status(then) in {Status.UNANSWERED, Status.CANCELLED, Status.UNDELIVERABLE}
    if isinstance(then, Run):
        assert then.overseers <= of.depth
        assert then.rounds <= MAX_ROUNDS
        assert then.children <= 1 + then.overseers + then.rounds
        assert len(then.table.conditions) <= 24
        assert then.original == of
        assert then.table.conditions[: len(of.conditions)] == of.conditions
        assert (then.table.default, then.table.depth) == (of.default, of.depth)
        added = then.table.conditions[len(of.conditions) :]
        assert ASKING not in added
    if isinstance(before, Run) and isinstance(then, Run):
        counts = ("children", "overseers", "bad_words", "rounds")
        assert all(getattr(before, name) <= getattr(then, name) for name in counts)
        assert then.seen[: len(before.seen)] == before.seen
    if status(then) is Status.RESOLVED and isinstance(before, Run):
        choice = before.table.find(final_of(then).branch)
        if choice and isinstance(choice.branch, Report) and choice.branch.with_evidence:
            assert final_of(then).quotes


def way_on(state: State) -> Event:
    """An event that can always come, the one that keeps a run alive the longest."""
    order = orders(state)
    match order:
        case RunChild(child) | RepairChild(child):
            return ChildReported(child, "{}")
        case CheckReport(child, _, _, repaired):
            return ReportChecked(child, ToDefault(None, "bad") if repaired else Repair(("bad",)))
        case AskOverseer(asked=n):
            number = len(run_of(state).table.conditions)
            added = replace(NEW, id=f"n{number}", text=f"new {number}")
            return OverseerSpoke(n, Patch((added,)))
        case AskHuman(round=n, case=case):
            return HumanAnswered(n, LONGEST[case.human.kind], "Anna")
        case _:
            raise AssertionError(order)


LONGEST: dict[Kind, Answer] = {
    Kind.APPROVE: Approved(),
    Kind.CHOOSE: Chose("a"),
    Kind.TEXT: Wrote("go on"),
}


@given(tables())
def test_every_run_ends_even_on_its_longest_way(of: Table) -> None:
    state, count = begun(of), 1
    while not isinstance(state, Ended):
        state, effects = advance(state, way_on(state))
        assert effects  # what was ordered moves it on: there is no dead end
        count += len(effects)
        assert count <= most_effects(of.depth)
    assert status(state) in ENDS


def test_from_every_open_status_an_end_can_be_reached_and_from_no_end_anything() -> None:
    reaching = set(ENDS)
    for _ in EDGES:
        reaching |= {status for status, targets in EDGES.items() if targets & reaching}
    assert reaching == set(Status)
    assert EDGES.keys() == set(Status)
    open_ = {Status.RUNNING, Status.CHECKING, Status.OVERSEER, Status.WAITING_HUMAN}
    assert all(Status.CANCELLED in EDGES[status] for status in open_)
    assert {status for status in EDGES if Status.UNANSWERED in EDGES[status]} == {
        Status.WAITING_HUMAN
    }


def test_a_validating_run_and_an_ended_one_are_stored_as_they_are() -> None:
    ended = Ended(
        Final(
            outcome=Status.DECLINED,
            branch="c1",
            quotes=(SEEN,),
            decided_by=DecidedBy.HUMAN,
            person="Anna",
            escalations=3,
            reason="no",
            aborts=True,
        )
    )
    for state in (Validating("Check Y"), ended, begun(LIST)):
        assert codec.load(codec.dump(state)) == state


def test_a_run_that_works_on_an_answer_keeps_it_through_a_repair_and_a_restart() -> None:
    state = answered(asked("text"), Wrote("Try /v2"))
    state, _ = after(state, ChildReported(2, "{}"), ReportChecked(2, Repair(("bad",))))
    restored = run_of(codec.load(codec.dump(state)))
    assert (restored.phase, restored.instruction) == (Running(("bad",)), "Try /v2")
    assert orders(restored) == RepairChild(2, restored.table, "Try /v2", ("bad",))


def test_an_answer_holds_for_the_overseer_and_for_the_child_after_its_patch() -> None:
    state = found(answered(found(begun(LIST), "c2"), Wrote("Try /v2")), DEFAULT)
    order = orders(state)
    assert isinstance(order, AskOverseer)
    assert order.instruction == "Try /v2"
    state = said(state, Patch((NEW,)))
    assert orders(state) == RunChild(3, run_of(state).table, "Try /v2")
    state = answered(found(state, "c2"), Wrote("Try /v3"))
    assert orders(state) == RunChild(4, run_of(state).table, "Try /v3")
