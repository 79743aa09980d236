"""Work that asks people, people who answer or say something else, and deaths, in any order, on a
real store: every question comes to one end, is told once, and nothing is left waiting for ever.

The seed is printed with a failure: `ASKING_SEED` plays that life again.
"""

from __future__ import annotations

import os
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.sqlite.store import SqliteStore
from core.goals.events import Verdict
from core.messages import LaneKey, PlatformName, Principal, Say
from core.ports import Usage
from core.sessions.lane import Rest
from core.sessions.outgoing import Amend, Outgoing
from core.sessions.ports import UsageOf
from tests.contracts.asking_rig import Card, card_of, push, words
from tests.contracts.backends import sqlite
from tests.contracts.store_rig import HERE, MEMBER, OWNER, SECOND_OWNER, THERE, Rig
from tests.e2e import asking_checks as checks
from tests.e2e.asking_life import Life, Whim
from tests.e2e.kill_autopsy import copied

LANES = {HERE.key: HERE, THERE.key: THERE}
LIVES = 12
ACTS = 150
ID = re.compile(r"E\d+")
LINES = (
    *("/stop", "/new", "/new", "/resume", "/resume #1", "/resume #2", "/pending", "/goal clear"),
    *("/goal paint it", "/goal paint it", "/goal pause", "/goal resume", "/goal wait 5m"),
)
PERSONS = (*[OWNER] * 6, SECOND_OWNER, MEMBER)
PASSES = (1.0, 20.0, 60.0, 1_000.0)


@dataclass(slots=True)
class World:
    """A chat or two, their people, and the program's lives among them."""

    rig: Rig
    rng: random.Random
    life: Life
    cards: list[tuple[LaneKey, Card]] = field(default_factory=list)
    did: list[str] = field(default_factory=list)

    @property
    def store(self) -> SqliteStore:
        """The store of this life."""
        return self.life.store

    def lane(self) -> LaneKey:
        """One of the lanes."""
        return self.rng.choice(tuple(LANES))

    # What happens

    async def act(self) -> None:
        """Anything."""
        acts = {
            self.work: 40,
            self.say: 5,
            self.order: 4,
            self.decide: 16,
            self.send: 20,
            self.judged: 5,
            self.pass_time: 3,
            self.crash: 4,
        }
        act = self.rng.choices(tuple(acts), tuple(acts.values()))[0]
        self.did.append(act.__name__)
        await act()

    async def work(self) -> None:
        """A lane makes some writes."""
        await self.life.work(self.lane(), self.rng.choice((1, 1, 2, 5)))

    async def say(self) -> None:
        """Somebody writes what is no answer, or may be one."""
        lane, by = self.lane(), self.rng.choice(PERSONS)
        text = self.rng.choice(("do it", "do it", "do it", "yes", "2"))
        await self.accept(words(self.rig, text, by=by, at=LANES[lane]))

    async def order(self) -> None:
        """Somebody gives a command."""
        line, by = self.rng.choice(LINES), self.rng.choice(PERSONS)
        self.did.append(line)
        await self.accept(self.rig.order(line, by, lane=self.lane()))

    async def accept(self, *arrivals: object) -> None:
        """A batch comes in."""
        await self.rig.accept(*arrivals)  # type: ignore[arg-type]
        self.heed()

    def heed(self) -> None:
        """Act on what the rig's commits have asked for."""
        while self.rig.signals:
            self.life.follow(self.rig.signals.pop(0))

    async def decide(self, by: Principal | None = None) -> None:
        """Somebody presses a card, replies to it, or answers it by a command."""
        if not self.cards:
            return
        lane, card = self.rng.choice(self.cards[-8:])
        by = by or self.rng.choice(PERSONS)
        here, id_ = LANES[lane], ID.search(card.text)
        assert id_ is not None
        way = self.rng.random()
        if way < 0.6 and card.buttons:
            label = self.rng.choice(tuple(card.buttons))
            await self.accept(push(self.rig, card, label, by=by, at=here))
        elif way < 0.8:
            text = self.rng.choice(("yes", "yes", "no", "1", "blue"))
            await self.accept(words(self.rig, text, by=by, at=here, to=card.remote))
        else:
            line = self.rng.choice(
                ("/approve {}", "/approve {}", "/deny {}", "/answer {} 1")
            ).format(id_[0])
            await self.accept(self.rig.order(line, by, lane=lane))

    async def send(self) -> None:
        """The head of an outbox goes out, is lost on its way, or is refused."""
        lane = self.lane()
        if lane not in self.life.deliver:
            return
        out = await self.store.next_outgoing(lane, now=self.rig.clock.now())
        if out is None:
            self.life.deliver.discard(lane)
            return
        fate = self.rng.random()
        if fate < 0.75:
            sent = self.rig.at(self.shown(lane, out))
            more, signals = await self.store.sent(out, sent)
            self.life.follow(signals)
            if not more:
                self.life.deliver.discard(lane)
        elif fate < 0.85:
            self.shown(lane, out)
            await self.store.unsent(out, doubtful=True)
        elif fate < 0.9:
            self.shown(lane, out)
            await self.crash()
        elif fate < 0.97:
            await self.store.unsent(out, doubtful=False)
        else:
            self.life.follow(await self.store.dead(out, "refused"))

    def shown(self, lane: LaneKey, out: Outgoing) -> str:
        """It is in the chat; the message's id."""
        if isinstance(out.what, Amend):
            return out.what.remote
        remote = self.rig.at(str(next(self.rig._remotes))).remote
        if isinstance(out.what, Say) and out.what.text.startswith("✋"):
            self.cards.append((lane, card_of(remote, out.what)))
        return remote

    async def judged(self) -> None:
        """The judge gives its word where it is asked."""
        for lane in tuple(self.life.judge):
            self.life.judge.discard(lane)
            asked = await self.store.open_judgement(lane)
            if asked is None:
                continue
            word = Verdict(done=self.life.model.ending or self.rng.random() < 0.2, reason="so")
            spent = UsageOf(
                session=asked.session,
                goal=asked.goal.id,
                purpose="goal_judge",
                model="judge",
                usage=Usage(1, 0, 1),
            )
            now = self.rig.clock.now()
            self.life.follow(await self.store.judged(lane, asked, word, spent, now=now))

    async def pass_time(self) -> None:
        """Time passes, and what is due comes."""
        self.rig.clock.wall += self.rng.choice(PASSES)
        await self.fire()

    async def fire(self) -> None:
        """What is due comes."""
        while (timer := await self.store.next_timer()) and timer.due <= self.rig.clock.now():
            self.life.follow(await self.store.fire(timer))

    async def crash(self) -> None:
        """The program dies between two writes, and comes back; some of what people did meanwhile
        comes first."""
        await self.life.die()
        await self.rig.reopen()
        self.life = lived(self.rig, self.life.model, self.life.started)
        for _ in range(self.rng.choice((0, 0, 1, 2))):
            await self.rng.choice((self.decide, self.say, self.order))()
        self.life.follow(await self.store.reopen(PlatformName.TELEGRAM))
        found = await self.store.unfinished()
        self.life.woken |= found.lanes
        self.life.deliver |= found.outbox
        for lane in found.goals:
            self.life.follow(await self.store.enter_session(lane))
            self.life.woken.add(lane)

    # Its end

    async def settle(self) -> None:
        """Nothing new is asked, all cards go out, owners answer, and goals are reached."""
        self.life.model.ending = True
        for round_ in range(40):
            for lane in LANES:
                while lane in self.life.deliver:
                    await self.send()
                while await self.life.work(lane, 50):
                    pass
            await self.judged()
            self.rig.clock.wall += 90_000.0
            await self.fire()
            if round_ == 20:
                await self.clear()
        for lane in LANES:
            found, _ = await self.store.begin(lane, now=self.rig.clock.now(), collect=False)
            assert found == Rest(None), (lane, found)

    async def clear(self) -> None:
        """End the goals of all sessions: a paused one's answers are kept for ever."""
        with copied(self.rig.folder) as conn:
            (last,) = conn.execute("SELECT max(id) FROM session").fetchone()
        orders = [f"/resume #{session}" for session in range(1, last + 1)]
        for lane in LANES:
            for line in ("/status", *orders):
                for one in (line, "/goal clear"):
                    await self.accept(self.rig.order(one, OWNER, lane=lane))
                    while await self.life.work(lane, 50):
                        pass


def lived(rig: Rig, model: Whim, started: Counter[str]) -> Life:
    """A new life on the rig's store."""
    store = rig.store
    assert isinstance(store, SqliteStore)
    return Life(store, rig.clock, model, started)


async def live_and_check(folder: Path, seed: int) -> Counter[str]:
    """One world from its beginning to its end; what there was of it."""
    rng = random.Random(seed)
    rig = await Rig.start(sqlite, folder)
    world = World(rig, rng, lived(rig, Whim(rng), Counter()))
    try:
        for lane in LANES:
            await world.accept(rig.message("do it", OWNER, lane=lane))
        for _ in range(ACTS):
            await world.act()
        await world.settle()
        await world.life.die()
    except BaseException:
        sys.stdout.write(f"\nASKING_SEED={seed}, after {' '.join(world.did[-40:])}\n")
        raise
    finally:
        await rig.store.close()
    twice = [key for key, count in world.life.started.items() if count > 1]
    assert not twice, (seed, twice)
    with copied(folder) as conn:
        checks.check_rest(conn)
        checks.check_ends(conn)
        checks.check_transcripts(conn)
        checks.check_told(conn)
        found = conn.execute("SELECT what, count(*) FROM escalation_event GROUP BY what")
        return Counter(dict(found.fetchall())) + Counter(ran=len(world.life.started))


def seeds(count: int) -> list[int]:
    """Seeds to try."""
    if given := os.environ.get("ASKING_SEED"):
        return [int(given)]
    return [random.randrange(10**6) for _ in range(count)]


async def test_whatever_happens_each_question_ends_once_and_nothing_hangs(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds(LIVES):
        seen += await live_and_check(tmp_path / str(seed), seed)
    assert seen["ran"]
    sys.stdout.write(f"\n{dict(seen)}\n")


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_a_thousand_lives_end_well(tmp_path: Path) -> None:
    for seed in seeds(1000):
        await live_and_check(tmp_path / str(seed), seed)
