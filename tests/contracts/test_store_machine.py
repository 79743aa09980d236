"""The `Store` contract by property: people, a worker, a judge, timers and crashes in any order,
against a plain model of the lane. It holds L1-L5 and G1-G5 of the design, and what gates
rely on: the bounces of a turn only add up, outlive the process, and are no other turn's; no goal
is achieved on an answer that a gate has not passed."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from core.agent.steps import (
    Bounced,
    Finished,
    Injected,
    Replied,
    Started,
    StepWrite,
    TurnInput,
)
from core.agent.trace import replay
from core.errors import Fenced
from core.gates.chain import Blocked, Unverified
from core.gates.gate import Gate, GateEvent
from core.goals.contract import Budget, SetGoal
from core.goals.events import Unavailable, Unreadable, Verdict, Word
from core.goals.texts import TURN_RUNNING
from core.messages import Ack, Duplicate, Handled, Principal, Queued, Say, SessionId
from core.sessions.arrivals import Arrival
from core.sessions.lane import Busy, Outcome, Rest, RowKind
from core.sessions.ports import Begun, Ending, OpenJudgement, Timer, TurnRef
from core.sessions.reports import GATES_SHOWN
from core.transcript import User
from tests.contracts.backends import gates_of, sqlite
from tests.contracts.lane_model import BUDGET, Item, LaneModel
from tests.contracts.store_rig import (
    LANE,
    MEMBER,
    OWNER,
    SECOND_OWNER,
    Rig,
    call,
    ref,
    reply,
    result,
)

T = TypeVar("T")

SPLIT_WAIT_S = 1.0
BUSY_ACTS = 30
BUSY_MIX = {"people": 30, "worker": 40, "judge": 15, "crash": 8, "go on": 4}
PERSONS = (OWNER, OWNER, SECOND_OWNER, MEMBER)
PEOPLE = st.sampled_from(PERSONS)
BUSY = (Busy.QUEUE, Busy.QUEUE, Busy.STEER, Busy.INTERRUPT)
MORE = (*[False] * 9, True)
SAID = st.tuples(PEOPLE, st.sampled_from(BUSY), st.sampled_from(MORE))
LINES = (
    "/goal Write four files",
    "/goal Write four files",
    "/goal Write four files",
    "/goal Write a poem",
    "/goal pause",
    "/goal pause",
    "/goal resume",
    "/goal resume",
    "/goal clear",
    "/goal resume",
    "/goal resume",
    "/goal wait 5m",
    "/goal wait 5m",
    "/goal draft a song",
    "/goal accept",
    "/goal budget turns=1",
    "/goal budget turns=1",
    "/goal budget turns=4",
    "/goal",
    "/subgoal no tabs",
    "/subgoal clear",
    "/stop",
    "/new",
    "/resume",
    "/resume 2",
    "/status",
)
WORDS: tuple[Word, ...] = (
    Verdict(done=False, reason="two are missing"),
    Verdict(done=False, reason="one is missing"),
    Verdict(done=True, reason="all is there"),
    Verdict(done=False, reason="no key", blocked=True),
    Verdict(done=False, reason="it builds", wait_s=120),
    Unreadable("the reply was no JSON"),
    Unavailable("timed out"),
)
OUTCOMES = ("answered", "answered", "answered", "failed", "capped", "stopped")
PEOPLES_ACTS = (*["say"] * 8, *["order"] * 8, "batch", "redeliver")
WORKERS_ACTS = ("step", "step", "steer", "look", "bounce", "bounce", "end", "end", "late")
BOUNCES = 9
RULINGS: tuple[Unverified | Blocked | None, ...] = (
    *[None] * 4,
    Unverified(Gate.VERIFY, "`make` ended with exit code 2", shown="No rule"),
    Unverified(Gate.CRITIC, "the critic failed", unavailable=True),
    Blocked(Gate.CRITIC, "there is no such server"),
)
JUDGES_ACTS = ("word", "word", "ask", "late", "late", "fire", "time", "time")
WAITS = (0.5, 2.0, 400.0)


class StoreMachine(RuleBasedStateMachine):
    """One lane and all that can happen to it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        shm = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(dir=shm if shm.is_dir() else None))
        self.rig = self.run(Rig.start(sqlite, self.folder, Budget(turns=BUDGET)))
        self.model = LaneModel(collect=False)
        self.begun: Begun | None = None
        self.cut_off: TurnRef | None = None
        self.stale: list[TurnRef] = []
        self.sent: list[Arrival] = []
        self.questions: list[OpenJudgement] = []
        self.words = 0
        self.expected: list[str] = []
        self.answers: list[str] = []

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Wait for the store."""
        return self.loop.run(work)

    def teardown(self) -> None:
        """Let everything come to its end, then look at what became of it."""
        try:
            self.settle()
            self.look_back()
        finally:
            self.run(self.rig.store.close())
            self.loop.close()
            shutil.rmtree(self.folder)

    @initialize(collect=st.booleans(), goal=st.booleans(), by=PEOPLE)
    def configure(self, collect: bool, goal: bool, by: Principal) -> None:
        """`lanes.collect` is chosen once; many a story begins with a goal."""
        self.model.collect = self.rig.collect = collect
        if goal:
            self.order("/goal Write four files", by)
            self.begin()

    # What may happen next; grouped, so that no story lacks a worker or a judge.

    @rule(
        act=st.sampled_from(
            ["say", "say", "say", "order", "order", "order", "batch", "redeliver"]
        ),
        said=SAID,
        line=st.sampled_from(LINES),
        which=st.integers(0, 100),
    )
    def people_do(
        self, act: str, said: tuple[Principal, Busy, bool], line: str, which: int
    ) -> None:
        """Someone writes, gives a command, or the platform repeats itself."""
        match act:
            case "say":
                self.say(said)
            case "order":
                self.order(line, said[0])
            case "batch":
                self.batch(said[0], OWNER)
            case _ if self.sent:
                self.redeliver(which)

    @rule(
        act=st.sampled_from(WORKERS_ACTS),
        outcome=st.sampled_from(OUTCOMES),
        ruling=st.sampled_from(RULINGS),
        finish=st.booleans(),
        which=st.integers(0, 20),
    )
    def a_worker_does(
        self,
        act: str,
        outcome: str,
        ruling: Unverified | Blocked | None,
        finish: bool,
        which: int,
    ) -> None:
        """The lane's worker begins a turn, or goes on with it; or an old one writes late."""
        if act == "late" and self.stale:
            self.write_late(which)
        elif self.begun is None:
            self.begin()
        elif act == "step":
            self.step(finish)
        elif act == "steer":
            self.read_steered()
        elif act == "look":
            self.look("passed")
        elif act == "bounce":
            self.bounce()
        elif act == "end":
            self.end(outcome, ruling)

    @rule(
        act=st.sampled_from(JUDGES_ACTS),
        word=st.sampled_from(WORDS),
        which=st.integers(0, 20),
        seconds=st.sampled_from(WAITS),
    )
    def a_judge_does(self, act: str, word: Word, which: int, seconds: float) -> None:
        """The judge is asked, answers at once, late or again; time passes; a timer is due."""
        match act:
            case "word":
                self.judge(word)
            case "ask":
                self.ask()
            case "late" if self.questions:
                self.judge_late(word, which)
            case "fire":
                self.fire()
            case _:
                self.time_passes(seconds)

    @rule(twice=st.booleans(), take_up=st.booleans())
    def the_process_dies(self, twice: bool, take_up: bool) -> None:
        """A crash, and perhaps a worker that comes at once."""
        self.crash(twice)
        if take_up:
            self.begin()

    @rule(dice=st.randoms(use_true_random=True))
    def a_busy_while(self, dice: random.Random) -> None:
        """Much at once, mixed by weights of our own: an example's rules alone are too few."""
        if self.model.here.status != "active" and dice.random() < 0.6:
            self.go_on(2)
            self.order("/goal Write four files", dice.choice(PERSONS))
        for drawn in dice.choices(list(BUSY_MIX), list(BUSY_MIX.values()), k=BUSY_ACTS):
            who = drawn
            if self.model.idle and self.model.here.status != "active":
                who = "people"  # a worker would find nothing
            match who:
                case "people":
                    said = (dice.choice(PERSONS), dice.choice(BUSY), dice.choice(MORE))
                    act, line = dice.choice(PEOPLES_ACTS), dice.choice(LINES)
                    self.people_do(act, said, line, dice.randrange(100))
                case "worker":
                    act, outcome = dice.choice(WORKERS_ACTS), dice.choice(OUTCOMES)
                    ruling, finish = dice.choice(RULINGS), dice.random() < 0.5
                    self.a_worker_does(act, outcome, ruling, finish, dice.randrange(9))
                case "judge":
                    act, word = dice.choice(JUDGES_ACTS), dice.choice(WORDS)
                    self.a_judge_does(act, word, dice.randrange(4), dice.choice(WAITS))
                case "crash":
                    self.the_process_dies(dice.random() < 0.2, dice.random() < 0.6)
                case _:
                    self.go_on(dice.randint(1, 3))

    @rule(rounds=st.integers(1, 4))
    def nobody_disturbs(self, rounds: int) -> None:
        """The goal goes on by itself for a while."""
        self.go_on(rounds)

    # People

    def listen(self, by: Principal | None = None) -> list[str]:
        """What the chat is told now."""
        said = self.run(self.rig.heard())
        for text in said:
            if text.startswith("answer "):
                self.answers.append(text)
            else:
                self.model.told(text, by)
        return said

    def give(self, arrival: Arrival) -> Ack:
        """One arrival in a batch of its own."""
        self.sent.append(arrival)
        return self.run(self.rig.accept(arrival))[0]

    def say(self, said: tuple[Principal, Busy, bool]) -> None:
        """A person writes."""
        by, busy, more = said
        self.words += 1
        text = f"message {self.words}"
        behind = len(self.model.queue) + (self.model.work is not None)
        ack = self.give(self.rig.message(text, by, busy=busy, more=more))
        assert ack == Queued(behind)
        until = self.rig.clock.wall + SPLIT_WAIT_S if more else 0.0
        item = Item(RowKind.MESSAGE, text, by, until, steer=busy is Busy.STEER)
        self.model.spoke(item, interrupts=busy is Busy.INTERRUPT)
        self.listen()

    def order(self, line: str, by: Principal) -> None:
        """A person gives a command."""
        model = self.model
        idle = model.idle
        dropped = sum(item.kind is RowKind.MESSAGE for item in model.queue)
        ack = self.give(self.rig.order(line, by))
        assert isinstance(ack, Handled)
        if line == "/stop":
            if "Goal paused" in ack.text:
                assert ack.text == f"⏹ Stopped. Goal paused; {dropped} waiting messages dropped."
            model.asked_to_stop()
        said = self.listen(by)
        if line == "/status":
            rows = [row for text in said for row in text.splitlines()]
            gates = [row.partition(" (")[0] for row in rows if row.startswith("[verify] ")]
            assert gates == model.gates[-GATES_SHOWN:], "what gates did is lost, or told elsewhere"
        if line.startswith(("/new", "/resume")):
            self.switch(line, by, ack)
        else:
            self.command(line, by, ack, idle=idle)

    def switch(self, line: str, by: Principal, ack: Handled) -> None:
        """/new and /resume wait their turn."""
        target, known, then = None, len(self.model.sessions), self.model.then
        if line == "/resume":
            others = [n for n in range(known) if n != then]
            target = others[-1] if others else None
        elif line == "/resume 2":
            target = known - 2 if known > 1 and known - 2 != then else None
        if line != "/new" and target is None:
            assert ack.text
            return
        assert ack.text == ""
        self.model.queue.append(Item(RowKind.SWITCH, line, by, target=target))

    def command(self, line: str, by: Principal, ack: Handled, *, idle: bool) -> None:
        """What a goal's command adds to the queue or changes without a word of its own."""
        model = self.model
        sets = line in {"/goal Write four files", "/goal Write a poem"} or (
            line == "/goal accept" and model.here.drafted
        )
        if sets or line.startswith("/goal draft"):
            assert (ack.text == TURN_RUNNING) is not idle, "a goal is set in mid-run, or refused"
        if sets and idle:
            model.queue.append(Item(RowKind.KICKOFF, "", by))
        elif line.startswith("/goal draft") and idle:
            model.queue.append(Item(RowKind.DRAFT, "a song", by))
        elif ack.text.startswith("Budget: "):
            model.here.budget = int(line[-1])
        elif ack.text.startswith(("Criteria that", "No criteria")) and by.role is MEMBER.role:
            model.here.floor = MEMBER.role

    def redeliver(self, which: int) -> None:
        """The platform sends something again."""
        again = self.sent[-1 - which % len(self.sent)]
        assert self.run(self.rig.accept(again)) == (Duplicate(),)
        assert self.listen() == []

    def batch(self, before: Principal, by: Principal) -> None:
        """[A, /stop, B] in one transaction drops A and answers B."""
        first, second = f"message {self.words + 1}", f"message {self.words + 2}"
        self.words += 2
        batch = [
            self.rig.message(first, before),
            self.rig.order("/stop", by),
            self.rig.message(second, by),
        ]
        self.sent += batch
        self.run(self.rig.accept(*batch))
        self.model.spoke(Item(RowKind.MESSAGE, first, before), interrupts=False)
        self.model.asked_to_stop()
        self.listen(by)
        self.model.spoke(Item(RowKind.MESSAGE, second, by), interrupts=False)

    def time_passes(self, seconds: float) -> None:
        """Nothing happens for a while."""
        self.rig.clock.wall += seconds

    # The worker

    def follow(self, next_: Begun | Rest) -> None:
        """What the store gave must be what was due."""
        self.listen()
        match next_:
            case Begun():
                self.model.began(next_)
                self.begun = next_
                self.check_steps(next_)
            case Rest():
                self.begun = None
                self.model.rested(next_, self.rig.clock.wall)
                self.check_goal()

    def check_steps(self, begun: Begun) -> None:
        """A turn that is taken up shows all that was recorded of it."""
        work = self.model.work
        assert work is not None
        assert sum(step.reply is not None for step in begun.steps) == work.steps
        opened = [s for s in begun.steps for c in s.started if c not in s.results]
        assert bool(opened) is work.open_call
        bounced = [step.bounced.text for step in begun.steps if step.bounced]
        assert bounced == work.sent_back, "bounces are lost, or those of another turn"
        start = TurnInput(turn=work.id, history=(), inputs=begun.inputs, steps=begun.steps)
        trace = replay(start)
        assert (trace.bounces, trace.spoken) == (len(work.sent_back), work.spoken)

    def check_goal(self) -> None:
        """G5: an active goal in a lane at rest has an open question or a rest with a timer."""
        asked = self.run(self.rig.store.open_judgement(LANE))
        self.model.asked(asked)
        if self.model.here.status == "active" and asked is None and not self.model.queue:
            timer = self.run(self.rig.store.next_timer())
            assert timer is not None, "G5: an active goal waits for nothing"
            assert isinstance(timer, Timer)
            assert timer.lane == LANE

    def begin(self) -> None:
        """A worker asks for the lane's next turn."""
        work = self.model.work
        next_ = self.run(self.rig.begin())
        if self.cut_off is not None:
            self.stale.append(self.cut_off)
            self.cut_off = None
        if work is not None and (work.cut or work.tries >= 3):
            self.model.left("failed")
        self.follow(next_)

    def step(self, finish: bool) -> None:
        """The model asks for a call; it may run to its end."""
        work = self.model.work
        assert work is not None
        assert self.begun is not None
        writes: list[StepWrite] = []
        n = work.steps - work.open_call
        if not work.open_call:
            writes += [Replied(n, reply(call(n))), Started(n, call(n).id)]
        if work.open_call or finish:
            writes.append(Finished(n, result(call(n))))
        if work.cut:
            with pytest.raises(Fenced):
                self.run(self.rig.store.record(ref(self.begun), writes))
            return
        self.run(self.rig.store.record(ref(self.begun), writes))
        work.tries = 0
        work.steps += not work.open_call
        work.open_call = not work.open_call and not finish

    def read_steered(self) -> None:
        """The running turn reads what was steered into it."""
        model, work, begun = self.model, self.model.work, self.begun
        assert work is not None
        assert begun is not None
        if work.cut or work.open_call or work.kind is RowKind.DRAFT:
            return
        found = self.run(self.rig.store.steered(ref(begun)))
        due: list[Item] = []
        for item in model.queue:
            if item.kind is RowKind.SWITCH:
                break
            if item.steer and item.by.role is work.role:
                due.append(item)
        assert [steered.message.text for steered in found] == [item.text for item in due]
        if not found:
            return
        writes = [Injected(work.steps, steered.message) for steered in found]
        claim = [steered.seq for steered in found]
        self.run(self.rig.store.record(ref(begun), writes, claim=claim))
        model.queue = [item for item in model.queue if item not in due]
        model.here.heard += [item.text for item in due]
        work.spoken |= bool(work.sent_back)

    def look(self, found: str) -> None:
        """A gate looks at an answer; what it found is kept before anything follows from it."""
        work, gates = self.model.work, self.model.gates
        assert work is not None
        if work.kind is RowKind.DRAFT:
            return
        event = GateEvent(
            gate=Gate.VERIFY,
            result=found,
            reason=f"look {len(gates)}",
            bounce=len(work.sent_back),
            budget=BOUNCES,
            ms=0,
        )
        self.run(gates_of(self.rig.store).note(work.id, event))
        gates.append(f"[verify] {found}: {event.reason}")

    def bounce(self) -> None:
        """An answer is sent back; a crash may come before that is kept."""
        work, begun = self.model.work, self.begun
        assert work is not None
        assert begun is not None
        if work.open_call or work.kind is RowKind.DRAFT:
            return
        self.look("failed")
        reflection = f"[Check verify: {work.id}.{len(work.sent_back) + 1}]"
        n = work.steps
        writes: list[StepWrite] = [
            Replied(n, reply(text=f"try {n}")),
            Bounced(n + 1, User(reflection)),
        ]
        if work.cut:
            with pytest.raises(Fenced):
                self.run(self.rig.store.record(ref(begun), writes))
            return
        self.run(self.rig.store.record(ref(begun), writes))
        self.model.sent_back(reflection)

    def end(self, outcome: str, ruling: Unverified | Blocked | None = None) -> None:
        """The turn is left, however it was told to end."""
        work, begun = self.model.work, self.begun
        assert work is not None
        assert begun is not None
        text = f"answer {work.id}"
        drafts = work.kind is RowKind.DRAFT and outcome == "answered" and not work.cut
        ending = Ending(
            outcome=Outcome(outcome),
            seconds=1.0,
            answer=text if outcome == "answered" else "",
            posts=(Say(text),) if outcome == "answered" else (),
            reason="the key was refused",
            draft=SetGoal("Write a song") if drafts else None,
            ruling=ruling,
        )
        if outcome == "answered" and not work.cut:
            self.expected.append(text)
        self.model.here.drafted |= drafts
        cut_short = outcome in {"failed", "capped"} and not work.cut
        failing = cut_short and work.kind is not RowKind.DRAFT
        was_active = self.model.here.status == "active"
        session = self.model.here
        self.stale.append(ref(begun))
        next_ = self.run(self.rig.end(begun, ending))
        settled = isinstance(ruling, Blocked) or (ruling is not None and not ruling.unavailable)
        self.model.left(outcome, unverified=ruling is not None, settled=settled)
        self.follow(next_)
        if failing and was_active:
            assert session.status != "active", "G2: a failed turn does not pause its goal"

    def write_late(self, which: int) -> None:
        """An attempt that has lost its lane writes again."""
        late = self.stale[-1 - which % len(self.stale)]
        ending = Ending(outcome=Outcome.ANSWERED, seconds=1.0, answer="late", posts=(Say("late"),))
        with pytest.raises(Fenced):
            self.run(self.rig.store.record(late, [Injected(0, User("late"))]))
        with pytest.raises(Fenced):
            self.run(self.rig.store.end_turn(late, ending, now=0.0, collect=False))
        assert self.listen() == []

    def go_on(self, rounds: int) -> None:
        """Undisturbed work: turns are answered, and the judge wants more."""
        for _ in range(rounds):
            if self.begun is None:
                self.begin()
            if self.begun is not None:
                self.end("answered")
            self.judge(Verdict(done=False, reason="two are missing"))

    # The judge and the timers

    def judge(self, word: Word) -> None:
        """The judge is asked what is open, and says a word at once."""
        asked = self.run(self.rig.store.open_judgement(LANE))
        if asked is None:
            return
        self.model.asked(asked)
        self.questions.append(asked)
        self.say_word(word, asked)

    def ask(self) -> None:
        """The judge is asked, and will answer later."""
        asked = self.run(self.rig.store.open_judgement(LANE))
        if asked is not None:
            self.questions.append(asked)

    def judge_late(self, word: Word, which: int) -> None:
        """The judge says a word on a question of earlier, perhaps once more."""
        self.say_word(word, self.questions[-1 - which % len(self.questions)])

    def say_word(self, word: Word, asked: OpenJudgement) -> None:
        """A word has an effect exactly while its question is open and nothing runs."""
        takes = self.model.takes(asked)
        self.run(self.rig.judge(word, asked))
        said = self.listen()
        assert bool(said) is takes, "G1: a late or repeated word is applied, or one is lost"
        if takes:
            assert self.model.here.question is None

    def fire(self) -> None:
        """The first timer is due."""
        timer = self.run(self.rig.store.next_timer())
        if timer is not None:
            self.rig.clock.wall = max(self.rig.clock.wall, timer.due)
            self.run(self.rig.store.fire(timer))
            self.model.here.resting = False
            self.listen()

    # Crashes

    def crash(self, again: bool) -> None:
        """The process dies and starts again, perhaps before it could take anything up."""
        if self.begun is not None:
            self.cut_off = ref(self.begun)
        self.begun = None
        if again:
            self.run(self.rig.reopen())
        self.run(self.rig.restart())
        self.listen()
        if self.model.gates:
            self.order("/status", OWNER)

    # The end

    def work_is_due(self) -> bool:
        """Whether a worker finds something to begin."""
        self.begin()
        return self.begun is not None

    def settle(self) -> None:
        """With a judge that always says done, every lane comes to rest by itself."""
        for _ in range(300):
            if self.begun is not None:
                self.end("answered")
            elif self.work_is_due():
                continue
            elif self.model.queue:
                self.time_passes(2.0)
            elif self.run(self.rig.store.open_judgement(LANE)) is not None:
                self.judge(Verdict(done=True, reason="all is there"))
            elif self.run(self.rig.store.next_timer()) is not None:
                self.fire()
            else:
                assert self.run(self.rig.store.at_rest(LANE))
                return
        pytest.fail("L5: the lane never comes to rest")

    def look_back(self) -> None:
        """Every answer went out once; every message that was taken stands in its transcript."""
        assert self.answers == self.expected
        for session in self.model.sessions:
            if session.id is None:
                continue
            history = self.run(self.rig.store.history(SessionId(session.id)))
            said = [entry.text for entry in history if isinstance(entry, User)]
            assert [text for text in said if text.startswith("message ")] == session.heard
            assert [text for text in said if text.startswith("[Check ")] == session.sent_back


QUICK = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
SOAK = settings(QUICK, max_examples=3_000, stateful_step_count=50)


def test_a_lane_keeps_its_promises_whatever_happens() -> None:
    run_state_machine_as_test(StoreMachine, settings=QUICK)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_lane_keeps_its_promises_for_a_long_time() -> None:
    run_state_machine_as_test(StoreMachine, settings=SOAK)
