"""One lane as a pure function, held to its table and to what it promises by whatever happens."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.commands import Invocation
from core.goals.events import Judged, TimerFired, Verdict
from core.goals.goal import GoalStatus
from core.messages import Principal, Role, SessionId, TurnId
from core.sessions.control import obey
from core.sessions.facts import Order
from core.sessions.lane import (
    MAX_WAITING,
    Begin,
    Busy,
    CancelTurn,
    Change,
    Cut,
    Drop,
    Enqueue,
    Finish,
    Idle,
    Lane,
    LaneEffect,
    LaneEvent,
    Outcome,
    Post,
    Prio,
    Rest,
    Row,
    RowKind,
    Running,
    SessionEntered,
    Spoke,
    Stopping,
    SwitchSession,
    Turn,
    TurnEnded,
    Wake,
    WakeAt,
    WorkerReady,
)
from core.sessions.machine import EDGES, MAX_TRIES, QUEUE_FULL, advance
from tests.fakes.no_facts import KEY, NoFacts

ANNA = Principal("1", "Anna", Role.OWNER)
BELA = Principal("2", "Bela", Role.OWNER)
CORA = Principal("3", "Cora", Role.MEMBER)
EMPTY = Lane(key=KEY, session=SessionId(1))


def message(seq: int, by: Principal = ANNA) -> Row:
    """The head of a message."""
    return Row(seq=seq, kind=RowKind.MESSAGE, prio=Prio.PERSON, principal=by)


def spoke(lane: Lane, seq: int, busy: Busy = Busy.QUEUE) -> Lane:
    """The lane after a message."""
    return advance(lane, Spoke(message(seq), busy))[0]


def ready(turn: int, *, collect: bool = False, now: float = 0.0) -> WorkerReady:
    """A worker asks for a turn."""
    return WorkerReady(TurnId(turn), now, collect)


def running(lane: Lane) -> Turn:
    """The lane's running turn; there must be one."""
    assert isinstance(lane.phase, Running)
    return lane.phase.turn


def ended(turn: Turn, outcome: Outcome = Outcome.ANSWERED) -> TurnEnded:
    """The shell is done with it."""
    return TurnEnded(
        turn=turn.id, attempt=turn.attempt, outcome=outcome, seconds=1.0, reason="why"
    )


def order(lane: Lane, seq: int, name: str, argument: str = "", by: Principal = ANNA) -> Change:
    """A command is obeyed."""
    return obey(lane, Order(seq=seq, by=by, line=Invocation(name, argument), now=0.0), NoFacts())


def test_a_begun_turn_is_taken_up_again_under_a_new_attempt() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    lane, effects = advance(spoke(lane, 2), ready(9))
    turn = running(lane)
    assert effects == (Begin(turn),)
    assert (turn.id, turn.attempt, turn.tries) == (1, 2, 2)


def test_a_turn_that_is_cut_again_and_again_fails() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    for _ in range(MAX_TRIES - 1):
        lane, _ = advance(lane, ready(9))
    lane, effects = advance(lane, ready(9))
    assert isinstance(lane.phase, Idle)
    assert any(isinstance(e, Post) and e.text.startswith("⚠ This turn failed") for e in effects)


def test_an_old_attempts_last_word_is_ignored() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    old = running(lane)
    lane, _ = advance(lane, ready(9))
    assert advance(lane, ended(old)) == (lane, ())
    assert advance(EMPTY, ended(old)) == (EMPTY, ())


def test_a_stop_turns_every_ending_into_stopped() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    turn = running(lane)
    lane, effects = order(spoke(lane, 2), 3, "stop")
    assert CancelTurn(turn.id) in effects
    assert Drop((2,)) in effects
    assert lane.phase == Stopping(turn, Cut.STOPPED)
    lane, effects = advance(lane, ended(turn))
    assert Finish(turn, Outcome.STOPPED) in effects


def test_a_full_lane_refuses_in_words_and_keeps_what_waits() -> None:
    lane = EMPTY
    for seq in range(MAX_WAITING):
        lane = spoke(lane, seq)
    after, effects = advance(lane, Spoke(message(500), Busy.QUEUE))
    assert after == lane
    assert effects == (Drop((500,)), Post(QUEUE_FULL))


def test_an_interrupting_message_cuts_a_running_turn_only_once() -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    turn = running(lane)
    lane, effects = advance(lane, Spoke(message(2), Busy.INTERRUPT))
    assert CancelTurn(turn.id) in effects
    lane, effects = advance(lane, Spoke(message(3), Busy.INTERRUPT))
    assert effects == (Wake(),)
    lane, effects = advance(lane, ended(turn))
    assert Finish(turn, Outcome.INTERRUPTED) in effects


def test_a_stop_overrules_an_interruption_along_the_table() -> None:
    shell = Shell()
    shell.happen(("say", ANNA, Busy.QUEUE, False))
    shell.happen(("ready", None, False, 0))
    shell.happen(("say", ANNA, Busy.INTERRUPT, False))
    shell.happen(("order", ANNA, ("stop", ""), None))
    assert isinstance(shell.lane.phase, Stopping)
    assert shell.lane.phase.why is Cut.STOPPED


def test_a_cap_that_is_reached_in_a_persons_turn_pauses_the_goal_and_lets_the_turn_go_on() -> None:
    lane, _ = order(EMPTY, 1, "goal", "Write")
    lane, _ = advance(spoke(lane, 2), ready(1))
    turn = running(lane)
    lane, effects = advance(lane, ended(turn, Outcome.CAPPED))
    again = replace(turn, attempt=2)
    assert effects[0] == Begin(again)
    assert [e.text for e in effects if isinstance(e, Post)] == ["⏸ Goal paused: why"]
    assert not [e for e in effects if isinstance(e, Finish)]
    assert running(lane) == again
    lane, effects = advance(lane, ended(again))
    assert Finish(again, Outcome.ANSWERED) in effects
    assert lane.slot.goal is not None
    assert lane.slot.goal.status is GoalStatus.PAUSED


def test_a_cap_that_is_reached_in_the_goals_own_turn_ends_it() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("ready", None, False, 0))
    turn = running(shell.lane)
    lane, effects = advance(shell.lane, ended(turn, Outcome.CAPPED))
    assert isinstance(lane.phase, Idle)
    assert Finish(turn, Outcome.CAPPED) in effects
    assert [e.text for e in effects if isinstance(e, Post)] == ["⏸ Goal paused: why"]


def test_a_switch_waits_behind_the_messages_before_it() -> None:
    lane, effects = order(spoke(EMPTY, 1), 2, "new")
    (row,) = [e for e in effects if isinstance(e, Enqueue)]
    assert (row.kind, row.prio, row.target) == (RowKind.SWITCH, Prio.PERSON, None)
    lane, effects = order(lane, 3, "resume")
    (row,) = [e for e in effects if isinstance(e, Enqueue)]
    assert row.target == 2


@pytest.mark.parametrize("name", ["status", "whoami", "help", "sessions", "queue", "gaol"])
def test_a_command_that_only_tells_changes_nothing(name: str) -> None:
    lane, _ = advance(spoke(EMPTY, 1), ready(1))
    after, effects = order(lane, 2, name)
    assert after == lane
    assert [type(effect) for effect in effects] == [Post]


def test_a_member_may_not_change_a_budget() -> None:
    lane, _ = order(EMPTY, 1, "goal", "Write")
    after, effects = order(lane, 2, "goal", "budget turns=99", CORA)
    assert after == lane
    [told] = effects
    assert isinstance(told, Post)
    assert told.text == "Only owners may change a goal's budget."


def test_a_gate_does_not_replace_the_goal() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("round", None, None, None))
    shell.happen(("order", ANNA, ("goal", "pause"), None))
    after, effects = order(shell.lane, 9, "goal", "gate add pytest -q")
    assert after == shell.lane
    assert [type(effect) for effect in effects] == [Post]


@pytest.mark.parametrize("argument", ["no tabs", "remove 1", "clear"])
def test_whoever_changes_the_criteria_lowers_the_goals_rights(argument: str) -> None:
    lane, _ = order(EMPTY, 1, "goal", "Write")
    lane, _ = order(lane, 2, "subgoal", "short lines")
    assert lane.slot.goal is not None
    assert lane.slot.goal.floor is Role.OWNER
    lane, _ = order(lane, 3, "subgoal", argument, CORA)
    assert lane.slot.goal is not None
    assert lane.slot.goal.floor is Role.MEMBER


def test_a_criterion_lowers_the_rights_of_a_kickoff_that_waits() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("order", CORA, ("subgoal", "no tabs"), None))
    shell.happen(("ready", None, False, 0))
    assert running(shell.lane).principal == replace(ANNA, role=Role.MEMBER)


def let_out(shell: Shell) -> None:
    """The goal's turn ends unworked, as who set the goal may no longer use the bot."""
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("ready", None, False, 0))
    shell.happen(("end", None, Outcome.REVOKED, 0))


def test_a_member_cannot_take_up_the_goal_of_someone_who_was_let_out() -> None:
    shell = Shell()
    let_out(shell)
    after, effects = order(shell.lane, 9, "goal", "resume", CORA)
    assert after == shell.lane
    [told] = effects
    assert isinstance(told, Post)
    assert told.text.startswith("Only an owner can take up this goal: Anna, who set it,")


def test_an_owner_takes_up_the_goal_of_someone_who_was_let_out() -> None:
    shell = Shell()
    let_out(shell)
    shell.happen(("order", BELA, ("goal", "resume"), None))
    shell.happen(("ready", None, False, 0))
    assert running(shell.lane).principal == BELA


def test_only_messages_are_counted_as_waiting_messages() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("order", ANNA, ("new", ""), None))
    shell.happen(("say", ANNA, Busy.QUEUE, False))
    _, effects = order(shell.lane, 9, "status")
    (told,) = effects
    assert isinstance(told, Post)
    assert told.text.startswith("No turn is running; 1 message waits.")
    _, effects = order(shell.lane, 10, "stop")
    assert effects[-1] == Post("⏹ Stopped. Goal paused; 1 waiting messages dropped.")


def test_resuming_in_a_rest_takes_its_timer_away() -> None:
    shell = Shell()
    shell.happen(("order", ANNA, ("goal", "Write"), None))
    shell.happen(("ready", None, False, 0))
    shell.happen(("end", None, Outcome.ANSWERED, 0))
    shell.happen(("order", ANNA, ("goal", "wait 5m"), None))
    _, effects = order(shell.lane, 9, "goal", "resume")
    assert WakeAt(None) in effects


PEOPLE = st.sampled_from([ANNA, BELA, CORA])
ORDERS = st.sampled_from(
    [
        ("goal", "Write"),
        ("goal", "pause"),
        ("goal", "resume"),
        ("goal", "clear"),
        ("goal", "wait 5m"),
        ("goal", "budget turns=1"),
        ("goal", "draft a poem"),
        ("subgoal", "no tabs"),
        ("stop", ""),
        ("new", ""),
        ("resume", ""),
        ("status", ""),
    ]
)
HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), PEOPLE, st.sampled_from(Busy), st.booleans()),
        st.tuples(st.just("order"), PEOPLE, ORDERS, st.none()),
        st.tuples(st.just("ready"), st.none(), st.booleans(), st.integers(0, 9)),
        st.tuples(st.just("end"), st.none(), st.sampled_from(Outcome), st.integers(0, 3)),
        st.tuples(st.just("judge"), st.booleans(), st.booleans(), st.sampled_from([0.0, 60.0])),
        st.tuples(st.just("round"), st.none(), st.none(), st.none()),
        st.tuples(st.just("timer"), st.none(), st.none(), st.none()),
        st.tuples(st.just("enter"), st.none(), st.none(), st.none()),
    ),
    max_size=40,
)


@dataclass(slots=True)
class Shell:
    """Carries the orders out as a store would, and watches over what they may be."""

    lane: Lane = EMPTY
    seq: int = 0
    turns: int = 0
    asked: tuple[int, ...] = ()
    begun: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()

    def happen(self, drawn: tuple[str, object, object, object]) -> None:
        """One happening."""
        match drawn:
            case ("say", Principal() as by, Busy() as busy, bool() as more):
                self.seq += 1
                self.asked += (self.seq,)
                row = replace(message(self.seq, by), more=more, not_before=5.0 if more else 0.0)
                self.do(Spoke(row, busy))
            case ("order", Principal() as by, (str() as name, str() as argument), _):
                self.seq += 1
                before = self.lane
                after, effects = order(before, self.seq, name, argument, by)
                self.carry(before, after, effects)
            case ("ready", _, bool() as collect, int() as now):
                self.do(ready(self.turns + 1, collect=collect, now=float(now)))
            case ("end", _, Outcome() as outcome, int() as behind):
                if not isinstance(self.lane.phase, Idle):
                    turn = self.lane.phase.turn
                    self.do(ended(replace(turn, attempt=turn.attempt - behind % 2), outcome))
            case ("round", _, _, _):
                self.happen(("ready", None, False, 9))
                self.happen(("end", None, Outcome.ANSWERED, 0))
                self.happen(("judge", False, False, 0.0))
            case _:
                self.stir(drawn)

    def stir(self, drawn: tuple[str, object, object, object]) -> None:
        """A judge's word, a timer, a start."""
        slot = self.lane.slot
        match drawn:
            case ("judge", bool() as done, bool() as blocked, float() as wait_s):
                if slot.goal and slot.goal.judgement:
                    word = Verdict(done=done, reason="r", blocked=blocked, wait_s=wait_s)
                    id_ = slot.goal.judgement.id
                    self.do(Judged(slot.goal.id, slot.generation, id_, word, 0.0))
            case ("timer", _, _, _):
                if slot.goal:
                    self.do(TimerFired(slot.goal.id, slot.generation))
            case _:
                self.do(SessionEntered())

    def do(self, event: LaneEvent) -> None:
        """Let an event happen."""
        before = self.lane
        after, effects = advance(before, event)
        self.carry(before, after, effects)

    def carry(self, before: Lane, after: Lane, effects: tuple[LaneEffect, ...]) -> None:
        """Carry the orders out, each of which must make sense."""
        old, new = type(before.phase), type(after.phase)
        if after.phase != before.phase:
            assert new in EDGES[old], "a change of phase that the table lacks"
        assert after.stop_seq >= before.stop_seq
        assert after.slot.generation >= before.slot.generation
        self.lane = after
        for effect in effects:
            self.carry_one(before, effect)
        assert list(self.lane.waiting) == sorted(
            self.lane.waiting, key=lambda row: (row.prio, row.seq)
        )

    def carry_one(self, before: Lane, effect: LaneEffect) -> None:
        """One order."""
        match effect:
            case Enqueue():
                self.seq += 1
                row = Row(
                    seq=self.seq,
                    kind=effect.kind,
                    prio=effect.prio,
                    principal=effect.principal,
                    target=effect.target,
                    goal=effect.goal,
                    generation=effect.generation,
                )
                waiting = sorted((*self.lane.waiting, row), key=lambda r: (r.prio, r.seq))
                self.lane = replace(self.lane, waiting=tuple(waiting))
            case Begin(turn):
                self.begin(before, turn)
            case Drop(seqs):
                self.dropped += seqs
                assert not set(seqs) & {row.seq for row in self.lane.waiting}
            case SwitchSession(row=row_seq, target=target):
                assert isinstance(self.lane.phase, Idle), "a session is left in mid-turn"
                assert row_seq not in {row.seq for row in self.lane.waiting}
                self.lane = replace(self.lane, session=target or SessionId(self.lane.session + 1))
            case Rest(until):
                assert isinstance(self.lane.phase, Idle)
                assert until is not None or not self.lane.people, "L5: a person waits for nothing"
            case _:
                pass

    def begin(self, before: Lane, turn: Turn) -> None:
        """A turn begins, or goes on."""
        if turn.attempt > 1:
            assert running(before).id == turn.id, "L2: two turns at once"
            return
        assert isinstance(before.phase, Idle), "L2: two turns at once"
        self.turns += 1
        assert turn.id == self.turns
        people = [row.seq for row in before.people]
        if turn.kind is RowKind.CONTINUATION:
            assert not people, "L3: a continuation goes before a person"
        else:
            assert list(turn.rows) == people[: len(turn.rows)], "L1: out of order"
        if turn.goal is not None:
            goal = self.lane.slot.active
            assert goal is not None, "L4: a goal that was left runs"
            assert goal.judgement is None, "a goal runs before its judge has spoken"
            assert turn.goal == goal.id
            assert goal.turns < goal.budget.turns, "G3: a turn beyond the budget"
        self.begun += turn.rows


@given(HAPPENINGS)
def test_a_lane_keeps_its_promises(drawn: list[tuple[str, object, object, object]]) -> None:
    shell = Shell()
    for one in drawn:
        shell.happen(one)
    messages = [seq for seq in shell.begun if seq in shell.asked]
    assert messages == sorted(set(messages)), "L1: answered in another order, or twice"
    waiting = {row.seq for row in shell.lane.people}
    assert set(shell.asked) <= {*shell.begun, *shell.dropped, *waiting}, "a message is lost"


@given(HAPPENINGS)
def test_a_lane_left_alone_comes_to_rest(
    drawn: list[tuple[str, object, object, object]],
) -> None:
    shell = Shell()
    for one in drawn:
        shell.happen(one)
    for _ in range(4 * len(drawn) + 20):
        goal = shell.lane.slot.active
        if not isinstance(shell.lane.phase, Idle):
            shell.happen(("end", None, Outcome.ANSWERED, 0))
        elif shell.lane.waiting and not (goal and goal.judgement and not shell.lane.people):
            shell.happen(("ready", None, False, 9))
        elif goal and goal.judgement:
            shell.happen(("judge", True, False, 0.0))
        elif goal and goal.wait_until is not None:
            shell.happen(("timer", None, None, None))
        else:
            break
    assert isinstance(shell.lane.phase, Idle)
    assert not shell.lane.waiting
    final = shell.lane.slot.goal
    assert final is None or final.status is not GoalStatus.ACTIVE, "G5: the goal stalls"


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(HAPPENINGS)
def test_a_lane_keeps_its_promises_for_a_long_time(
    drawn: list[tuple[str, object, object, object]],
) -> None:
    test_a_lane_keeps_its_promises.hypothesis.inner_test(drawn)  # type: ignore[attr-defined]
    test_a_lane_left_alone_comes_to_rest.hypothesis.inner_test(drawn)  # type: ignore[attr-defined]
