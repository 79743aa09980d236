"""Drives one lane as a store would: what tests of the lane's machine have in common."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from core.commands import Invocation
from core.goals import machine as goals
from core.goals.events import Judged, TimerFired, Verdict
from core.goals.goal import Slot
from core.messages import Principal, Role, SessionId, TurnId
from core.sessions.control import obey
from core.sessions.facts import Order
from core.sessions.lane import (
    Begin,
    Busy,
    CallJudge,
    Change,
    Done,
    Drop,
    Enqueue,
    Finish,
    Idle,
    Lane,
    LaneEffect,
    LaneEvent,
    Outcome,
    Park,
    Prio,
    Report,
    Rest,
    Row,
    RowKind,
    Running,
    SessionEntered,
    SetAside,
    Spoke,
    SwitchSession,
    Turn,
    TurnEnded,
    Withdraw,
    WorkerReady,
)
from core.sessions.machine import EDGES, advance
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


def order(
    lane: Lane,
    seq: int,
    name: str,
    argument: str = "",
    by: Principal = ANNA,
    *,
    waits: bool = False,
) -> Change:
    """A command is obeyed; `waits` says that something was asked."""
    given = Order(seq=seq, by=by, line=Invocation(name, argument), now=0.0)
    return obey(lane, given, NoFacts(waits=waits))


@dataclass(slots=True)
class Question:
    """What a turn asked people. `of` is whose answer it is, `row` the row of its answer; `told`
    counts how often its work has gone on with it."""

    by: Turn
    of: TurnId
    row: int = 0
    over: bool = False
    told: int = 0

    @property
    def open(self) -> bool:
        """Whether nobody has answered."""
        return not self.row and not self.over


@dataclass(slots=True)
class Shell:
    """Carries the orders out as a store would, and watches over what they may be."""

    lane: Lane = EMPTY
    seq: int = 0
    turns: int = 0
    asked: tuple[int, ...] = ()
    begun: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    sessions: int = 2
    slots: dict[SessionId, Slot] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    parked: set[TurnId] = field(default_factory=set)
    aside: set[TurnId] = field(default_factory=set)
    called: set[tuple[int, int, int]] = field(default_factory=set)
    effects: tuple[LaneEffect, ...] = ()

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
                waits = any(not one.over for one in self.questions)
                self.carry(before, *order(before, self.seq, name, argument, by, waits=waits))
            case ("ready", _, bool() as collect, int() as now):
                self.do(ready(self.turns + 1, collect=collect, now=float(now)))
            case ("end", _, Outcome() as outcome, int() as behind):
                self.end(outcome, behind)
            case ("round", _, _, _):
                self.happen(("ready", None, False, 9))
                self.happen(("end", None, Outcome.ANSWERED, 0))
                self.do(ready(self.turns + 1))
                self.happen(("judge", False, False, 0.0))
            case ("park", _, _, _):
                self.happen(("ready", None, False, 9))
                self.end(Outcome.PARKED, 0)
            case ("ask", _, _, _):
                self.ask()
            case ("answer", _, _, int() as which):
                self.answer(which)
            case _:
                self.stir(drawn)

    def end(self, outcome: Outcome, behind: int) -> None:
        """The begun turn ends, or an older attempt of it; what parks has asked something."""
        if isinstance(self.lane.phase, Idle):
            return
        turn = self.lane.phase.turn
        if outcome is Outcome.PARKED:
            if turn.kind is RowKind.DRAFT:
                return
            if not any(one.of == turn.id and not one.told for one in self.waiting_ones):
                self.ask()
        self.do(ended(replace(turn, attempt=turn.attempt - behind % 2), outcome))

    @property
    def waiting_ones(self) -> list[Question]:
        """The questions whose work has yet to go on."""
        return [one for one in self.questions if not one.over]

    def ask(self) -> None:
        """The running turn puts a question to people."""
        if isinstance(self.lane.phase, Running) and running(self.lane).kind is not RowKind.DRAFT:
            turn = running(self.lane)
            self.questions.append(Question(turn, turn.id))
            self.refresh()

    def answer(self, which: int) -> None:
        """A person answers one of the open questions."""
        open_ = [one for one in self.questions if one.open]
        if not open_:
            return
        one = open_[which % len(open_)]
        self.seq += 1
        one.row = self.seq
        row = Row(
            seq=self.seq,
            kind=RowKind.ANSWER,
            prio=Prio.ANSWER,
            principal=one.by.principal,
            target=one.by.session,
            goal=one.by.goal,
            of=one.of,
        )
        self.lane = self.lane.joined_by(row)
        self.refresh()

    def stir(self, drawn: tuple[str, object, object, object]) -> None:
        """A judge's word, a timer, a start."""
        slot = self.lane.slot
        match drawn:
            case ("judge", bool() as done, bool() as blocked, float() as wait_s):
                if slot.goal and slot.goal.judgement:
                    id_ = slot.goal.judgement.id
                    word = Verdict(done=done, reason="r", blocked=blocked, wait_s=wait_s)
                    if (slot.goal.id, slot.generation, id_) in self.called:
                        self.do(Judged(slot.goal.id, slot.generation, id_, word, 0.0))
            case ("timer", _, _, _):
                if slot.goal:
                    self.do(TimerFired(slot.goal.id, slot.generation))
            case _:
                self.do(SessionEntered())

    def do(self, event: LaneEvent) -> None:
        """Let an event happen."""
        before = self.lane
        self.carry(before, *advance(before, event))

    def carry(self, before: Lane, after: Lane, effects: tuple[LaneEffect, ...]) -> None:
        """Carry the orders out, each of which must make sense."""
        old, new = type(before.phase), type(after.phase)
        if after.phase != before.phase:
            assert new in EDGES[old], "a change of phase that the table lacks"
        assert after.stop_seq >= before.stop_seq
        assert after.slot.generation >= before.slot.generation
        self.lane, self.effects = after, effects
        for effect in effects:
            self.carry_one(before, effect)
        self.refresh()
        assert list(self.lane.waiting) == sorted(self.lane.waiting, key=lambda row: row.order)
        if any(isinstance(e, SwitchSession) and e.target is not None for e in effects):
            self.do(SessionEntered())

    def carry_one(self, before: Lane, effect: LaneEffect) -> None:
        """One order."""
        match effect:
            case Enqueue():
                self.enqueue(effect)
            case Begin(turn):
                self.begin(before, turn)
            case Drop(seqs) | Done(seqs):
                assert not set(seqs) & {row.seq for row in self.lane.waiting}
                if isinstance(effect, Drop):
                    self.dropped += seqs
            case SwitchSession(row=row_seq, target=target):
                assert row_seq not in {row.seq for row in self.lane.waiting}
                self.switch(target)
            case Rest(until):
                assert isinstance(self.lane.phase, Idle)
                assert until is not None or not self.lane.people, "L5: a person waits for nothing"
            case CallJudge():
                goal = self.lane.slot.active
                assert goal is not None
                assert goal.judgement is not None
                assert not before.asking, "a judge is asked while a question is open"
                self.called.add((goal.id, self.lane.slot.generation, goal.judgement.id))
            case Park() | SetAside() | Finish() | Withdraw():
                self.leave(effect)
            case Report(session, end):
                assert session != self.lane.session, "the goal here is told by the lane"
                self.slots[session], _ = goals.advance(self.slots[session], end)
            case _:
                pass

    def enqueue(self, effect: Enqueue) -> None:
        """One more row."""
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
        self.lane = self.lane.joined_by(row)

    def switch(self, target: SessionId | None) -> None:
        """Another session is current; each has its own goal."""
        assert isinstance(self.lane.phase, Idle), "a session is left in mid-turn"
        assert self.lane.parked is None, "a turn that waits is left in mid-air"
        self.slots[self.lane.session] = self.lane.slot
        if target is None:
            self.sessions += 1
            target = SessionId(self.sessions)
        slot = self.slots.get(target, Slot())
        self.lane = replace(self.lane, session=target, slot=slot)

    def leave(self, effect: Park | SetAside | Finish | Withdraw) -> None:
        """A turn waits, is set aside, or is over, and with it what it asked."""
        match effect:
            case Park(turn):
                self.parked.add(turn.id)
            case SetAside(turn):
                assert turn.id in self.parked, "only what waits is set aside"
                self.parked.discard(turn.id)
                self.aside.add(turn.id)
            case Finish(turn, _):
                self.forget({turn.id})
            case Withdraw(_, _, goal):
                kept = self.parked | self.aside
                gone = {
                    one.of
                    for one in self.waiting_ones
                    if one.of in kept and goal in {None, one.by.goal}
                }
                self.forget(gone)
                for one in self.waiting_ones:
                    one.over |= goal in {None, one.by.goal}

    def forget(self, turns: set[TurnId]) -> None:
        """Turns are over: nothing that they asked is told any more."""
        self.parked -= turns
        self.aside -= turns
        for one in self.waiting_ones:
            one.over |= one.of in turns
        over = {one.row for one in self.questions if one.over}
        waiting = tuple(row for row in self.lane.waiting if row.seq not in over)
        self.lane = replace(self.lane, waiting=waiting)

    def refresh(self) -> None:
        """What a store would read anew."""
        here = self.lane.session
        asking = any(one.open and one.by.session == here for one in self.questions)
        self.slots[here] = self.lane.slot
        waiting = tuple(replace(row, held=self.holds(row)) for row in self.lane.waiting)
        self.lane = replace(self.lane, asking=asking, waiting=waiting)

    def holds(self, row: Row) -> bool:
        """Whether an answer is for a goal of another session that does not go on."""
        if row.target in {None, self.lane.session} or row.goal is None:
            return False
        goal = self.slots.get(row.target or self.lane.session, Slot()).active
        return row.kind is RowKind.ANSWER and (goal is None or goal.id != row.goal)

    def begin(self, before: Lane, turn: Turn) -> None:
        """A turn begins, or goes on."""
        if turn.attempt > 1:
            self.go_on(before, turn)
            return
        assert isinstance(before.phase, Idle), "L2: two turns at once"
        self.turns += 1
        assert turn.id == self.turns
        people = [row.seq for row in before.people]
        if turn.kind in {RowKind.CONTINUATION, RowKind.ANSWER}:
            assert not people, "L3: it goes before a person"
        else:
            assert list(turn.rows) == people[: len(turn.rows)], "L1: out of order"
        if turn.kind is RowKind.ANSWER:
            self.begin_answer(before, turn)
        else:
            assert turn.session == self.lane.session
        if turn.goal is not None:
            self.check_goal(before, turn)
        if turn.kind is not RowKind.DRAFT and turn.session == self.lane.session:
            assert self.lane.parked is None, "two turns are open in one transcript"
        self.begun += turn.rows

    def go_on(self, before: Lane, turn: Turn) -> None:
        """The same turn under a new attempt: after a restart, or its question was answered."""
        if not isinstance(before.phase, Idle):
            assert running(before).id == turn.id, "L2: two turns at once"
            return
        assert before.parked is not None
        principal = self.rights(turn, turn.principal)
        assert turn == replace(
            before.parked, principal=principal, attempt=before.parked.attempt + 1, tries=1
        )
        assert not before.people, "L3: it goes before a person"
        answered = [one for one in self.waiting_ones if one.of == turn.id and one.row]
        assert answered, "a turn goes on before anybody has answered"
        self.check_goal(before, turn)
        self.parked.discard(turn.id)
        self.tell(answered)

    def begin_answer(self, before: Lane, turn: Turn) -> None:
        """One call of a turn that was set aside goes on."""
        (one,) = [one for one in self.waiting_ones if one.row in turn.rows]
        assert one.of in self.aside, "nothing waits for this answer"
        assert (turn.session, turn.goal) == (one.by.session, one.by.goal)
        assert turn.principal == self.rights(turn, one.by.principal)
        old, one.of = one.of, turn.id
        self.tell([one])
        if not any(other.of == old for other in self.waiting_ones):
            self.aside.discard(old)

    def rights(self, turn: Turn, asked: Principal) -> Principal:
        """Whose rights a turn goes on with: the goal's as it is now, else those it asked with."""
        goal = self.lane.slot.active
        return goal.rights if goal and goal.id == turn.goal else asked

    def tell(self, answered: list[Question]) -> None:
        """The work is told; what stands ready to tell it again goes."""
        for one in answered:
            one.told += 1
            one.over = True
        self.forget(set())

    def check_goal(self, before: Lane, turn: Turn) -> None:
        """Nothing of a goal runs that may not."""
        if turn.goal is None:
            return
        goal = self.slots[turn.session].active
        assert goal is not None, "L4: a goal that was left runs"
        assert turn.goal == goal.id
        if turn.kind is RowKind.ANSWER or turn.attempt > 1:
            return
        assert turn.kind is not RowKind.CONTINUATION or not before.asking, "a question is open"
        assert goal.judgement is None, "a goal runs before its judge has spoken"
        assert goal.turns < goal.budget.turns, "G3: a turn beyond the budget"
