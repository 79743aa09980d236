"""What a lane should do, said a second time and more plainly: the oracle of the store's machine.

It follows a lane by what people send and by what the chat is told, and foretells each next turn.
It knows no store and shares no code with the machines in `core`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from core.messages import Principal, Role
from core.sessions.lane import Rest, RowKind
from core.sessions.ports import Begun, OpenJudgement

BUDGET = 3


@dataclass(slots=True)
class Item:
    """Something a person asked for, waiting."""

    kind: RowKind
    text: str
    by: Principal
    more_until: float = 0.0
    steer: bool = False
    target: int | None = None


@dataclass(slots=True)
class Standing:
    """A session and how its goal stands. `pending` are the turns since the judge's last word,
    the newest of them is its open question, unless it is `settled` by a gate; `unverified` says
    that a gate has not passed it. `resting` says that the goal waits for a timer. `sent_back` are
    all reflections of the session."""

    id: int | None = None
    status: str = ""
    pending: list[int] = field(default_factory=list)
    used: int = 0
    budget: int = BUDGET
    setter: Role = Role.OWNER
    floor: Role = Role.OWNER
    drafted: bool = False
    resting: bool = False
    unverified: bool = False
    settled: bool = False
    heard: list[str] = field(default_factory=list)
    sent_back: list[str] = field(default_factory=list)

    @property
    def question(self) -> int | None:
        """The turn that the judge is to be asked about."""
        asks = self.pending and self.status == "active" and not self.settled
        return self.pending[-1] if asks else None

    def hear(self, role: Role) -> None:
        """Someone with this role speaks into the session."""
        if role is Role.MEMBER:
            self.floor = role
        if self.status == "blocked":
            self.status = "active"


@dataclass(slots=True)
class Work:
    """The begun turn. `cut` says that it was told to end, `sent_back` are its reflections, and
    `spoken` that a person's message entered it since the first of them."""

    id: int
    kind: RowKind
    role: Role
    items: list[Item]
    attempt: int = 1
    tries: int = 1
    cut: str = ""
    steps: int = 0
    open_call: bool = False
    sent_back: list[str] = field(default_factory=list)
    spoken: bool = False


@dataclass(slots=True)
class LaneModel:
    """The lane as it should be; `gates` are the lines on what gates did in its newest turn."""

    collect: bool
    sessions: list[Standing] = field(default_factory=lambda: [Standing()])
    current: int = 0
    queue: list[Item] = field(default_factory=list)
    work: Work | None = None
    last_turn: int = 0
    gates: list[str] = field(default_factory=list)

    @property
    def here(self) -> Standing:
        """The current session."""
        return self.sessions[self.current]

    @property
    def idle(self) -> bool:
        """Whether a goal may be set."""
        return self.work is None and not self.queue

    @property
    def switching(self) -> bool:
        """Whether what is said now is for another session."""
        return any(item.kind is RowKind.SWITCH for item in self.queue)

    @property
    def then(self) -> int | None:
        """The session once the waiting switches are made, None for a new one."""
        switches = [item.target for item in self.queue if item.kind is RowKind.SWITCH]
        return switches[-1] if switches else self.current

    # People

    def spoke(self, item: Item, *, interrupts: bool) -> None:
        """A message was taken."""
        if not self.switching:
            self.here.hear(item.by.role)
        self.queue.append(item)
        if interrupts and self.work is not None and not self.work.cut:
            self.work.cut = "interrupted"

    def asked_to_stop(self) -> None:
        """/stop took effect."""
        self.queue.clear()
        if self.work is not None:
            self.work.cut = "stopped"

    # The chat

    def told(self, text: str, by: Principal | None = None) -> None:
        """The chat was told this; a goal's changes are known by their exact words."""
        here = self.here
        if text.startswith("✦"):
            self._switched()
        elif text.startswith("⊙ Goal set"):
            role = by.role if by else Role.OWNER
            self.sessions[self.current] = Standing(
                here.id,
                "active",
                setter=role,
                floor=role,
                heard=here.heard,
                sent_back=here.sent_back,
                drafted=here.drafted,
            )
        elif text.startswith("▶ Goal resumed"):
            here.status, here.used, here.resting = "active", 0, False
            here.pending.clear()
            here.floor = by.role if by else Role.OWNER
        elif text.startswith(("⏲ Goal waits", "↻")):
            if not text.endswith(": as you asked"):
                here.pending.clear()  # it was the judge who spoke
            here.resting = text.startswith("⏲")
            self._forget_kickoff()
        else:
            self._left(text)

    def _left(self, text: str) -> None:
        words = {
            "⏸ Goal paused": "paused",
            "⏹ Stopped. Goal paused": "paused",
            "✗ Goal cleared": "cleared",
            "✓ Goal achieved": "done",
            "⛔ Goal blocked": "blocked",
        }
        for start, status in words.items():
            if text.startswith(start):
                assert status != "done" or not self.here.unverified, "achieved and not verified"
                self.here.status = status
                self.here.resting = False
                self.here.pending.clear()
                self._forget_kickoff()

    def _forget_kickoff(self) -> None:
        self.queue = [item for item in self.queue if item.kind is not RowKind.KICKOFF]

    def _switched(self) -> None:
        item = self.queue.pop(0)
        assert item.kind is RowKind.SWITCH, "a switch that nobody asked for, or too early"
        if item.target is None:
            self.sessions.append(Standing())
            self.current = len(self.sessions) - 1
        else:
            self.current = item.target

    # The worker

    def sent_back(self, reflection: str) -> None:
        """The begun turn's answer has bounced."""
        work = self.work
        assert work is not None
        work.tries = 0
        work.steps += 1
        work.sent_back.append(reflection)
        self.here.sent_back.append(reflection)

    def left(self, outcome: str, *, unverified: bool = False, settled: bool = False) -> None:
        """The begun turn has ended like this, before anything that follows from it."""
        work, here = self.work, self.here
        assert work is not None
        outcome = work.cut or outcome
        if outcome == "capped" and work.kind is RowKind.MESSAGE:
            work.tries -= 1  # it goes on at once, free of the goal's caps
            return
        self.work = None
        if work.kind is RowKind.DRAFT:
            return
        if outcome != "stopped" and work.kind is not RowKind.MESSAGE:
            here.used += 1
        if outcome in {"answered", "interrupted"} and here.status == "active":
            here.pending.append(work.id)
            here.unverified, here.settled = unverified, settled
            here.resting = False

    def claimable(self) -> list[Item]:
        """The waiting items that the next turn answers together."""
        claimed = self.queue[:1]
        if not claimed or claimed[0].kind is not RowKind.MESSAGE:
            return claimed
        for item in self.queue[1:]:
            rest = claimed[-1].more_until and item.by.id == claimed[0].by.id
            alike = self.collect and item.by.role is claimed[0].by.role
            if item.kind is not RowKind.MESSAGE or not (rest or alike):
                break
            claimed.append(item)
        return claimed

    def began(self, begun: Begun) -> None:
        """A turn was begun; it must be the one that is due."""
        turn = begun.turn
        if self.work is not None:
            assert (turn.id, turn.attempt) == (self.work.id, self.work.attempt + 1), "L2"
            self.work.attempt, self.work.tries = turn.attempt, self.work.tries + 1
            return
        assert turn.id > self.last_turn
        self.last_turn = turn.id
        claimed = self.claimable()
        here = self.here
        assert here.id in {None, turn.session}, "begun in another session"
        here.id = turn.session
        if claimed:
            self._began_asked(begun, claimed)
        else:
            assert turn.kind is RowKind.CONTINUATION, "L1: nobody asked for this turn"
        if turn.kind in {RowKind.CONTINUATION, RowKind.KICKOFF}:
            lowest = Role.MEMBER if Role.MEMBER in {here.setter, here.floor} else Role.OWNER
            assert turn.principal.role is lowest, "a goal's turn with too many rights"
        if turn.kind in {RowKind.CONTINUATION, RowKind.KICKOFF}:
            assert here.status == "active", "L4: a goal that was left runs"
            assert not here.pending, "a goal runs on before its judge or a gate has spoken"
            assert here.used < here.budget, "G3: a turn beyond the budget"
            assert not here.resting, "a goal goes on before its rest is over"
        self.work = Work(turn.id, turn.kind, turn.principal.role, claimed)
        if turn.kind is not RowKind.DRAFT:
            self.gates = []

    def _began_asked(self, begun: Begun, claimed: list[Item]) -> None:
        turn = begun.turn
        assert turn.kind is claimed[0].kind, "L3: a person's word does not go first"
        del self.queue[: len(claimed)]
        if turn.kind is not RowKind.KICKOFF:
            assert {item.by.role for item in claimed} == {turn.principal.role}, "roles are mixed"
        if turn.kind is RowKind.MESSAGE:
            assert [m.text for m in begun.inputs] == [item.text for item in claimed], "L1"
            self.here.hear(turn.principal.role)
            self.here.heard += [item.text for item in claimed]

    def rested(self, rest: Rest, now: float) -> None:
        """Nothing could be begun; then nothing may be due."""
        assert self.work is None, "L5: a begun turn is not taken up"
        claimed = self.claimable()
        if claimed:
            assert claimed[-1].more_until, "L5: a person waits for nothing"
            assert claimed[0].more_until > now, "L5: a split message waits too long"
            assert rest.until == claimed[0].more_until

    def asked(self, asked: OpenJudgement | None) -> None:
        """What the store holds for the judge; it must be the open question, whole."""
        question = self.here.question if self.work is None else None
        if asked is None:
            assert question is None, "G5: an open question is not asked"
            return
        assert asked.id == question
        judgement = asked.goal.judgement
        assert judgement is not None
        assert list(judgement.turns) == self.here.pending, "G1: a turn is judged twice or never"

    def takes(self, asked: OpenJudgement) -> bool:
        """Whether a word on this question has an effect now."""
        if self.work is not None or self.here.id != asked.session:
            return False
        return self.here.question == asked.id
