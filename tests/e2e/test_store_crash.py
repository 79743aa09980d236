"""kill -9, again and again, of a real process that accepts, works and sends on a real file.

Run as a program this file is that process: it takes messages from a made-up platform, works each
in steps with a tool call, sends the answers, and says on its standard output what it has done,
each time only after the store has said so. The tests kill it at any line and look at what it
said in all its lives, and at the file.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.sqlite.database import FILE_NAME
from adapters.sqlite.store import RESERVE_NAME, SqliteStore
from core.agent.steps import Finished, Replied, Started
from core.messages import Address, PlatformName, Principal, RemoteId, Role, Say
from core.ports import Reply, Sent
from core.sessions.arrivals import Arrival, Said
from core.sessions.lane import Outcome, Rest
from core.sessions.outgoing import Outgoing
from core.sessions.ports import Begun, Ending, TurnRef
from core.transcript import Receipt, ToolCall, ToolResult

HERE = Path(__file__)
SOURCE = "tg:bot"
LANE = Address(PlatformName.TELEGRAM, "bot", "1").key
ANNA = Principal("1", "Anna", Role.OWNER)
STEPS = 2
STOP_INTAKE = "finish"


class WallClock:
    """Some time; nothing here depends on it."""

    def now(self) -> float:
        """See `Clock.now`."""
        return 1_700_000_000.0

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return 0.0


def tell(line: str) -> None:
    """One line, out of this process before anything else happens."""
    os.write(1, f"{line}\n".encode())


async def take_in(store: SqliteStore, dice: random.Random) -> None:
    """A platform that goes on from the position that was committed last, and repeats itself."""
    n = int(await store.cursor(SOURCE) or 0)
    while True:
        first = max(1, n + 1 - dice.randrange(3))
        n += dice.randint(1, 4)
        batch = [
            Arrival(LANE, f"tg:bot:{m}", ANNA, Said({"text": f"m{m}"}))
            for m in range(first, n + 1)
        ]
        acks, _ = await store.accept(batch, cursor=(SOURCE, str(n)), now=0.0)
        tell(f"accepted {n}")
        waiting = max((getattr(ack, "behind", 0) for ack in acks), default=0)
        while waiting > 20 and (await store.unfinished()).lanes:
            await asyncio.sleep(0.005)  # a platform that is slower than its bot
            waiting -= 1


async def work(store: SqliteStore, *, finish: bool) -> None:
    """The lane's worker; with `finish` it ends when nothing is left."""
    next_: Begun | Rest = Rest(None)
    while True:
        if isinstance(next_, Rest):
            next_, _ = await store.begin(LANE, now=0.0, collect=False)
        if isinstance(next_, Rest):
            if finish:
                return
            await asyncio.sleep(0.002)
            continue
        next_ = await one_turn(store, next_)


async def one_turn(store: SqliteStore, begun: Begun) -> Begun | Rest:
    """A turn from its last stored step to its answer."""
    ref = TurnRef(LANE, begun.turn.id, begun.turn.attempt)
    done = {step.n: step for step in begun.steps}
    for n in range(STEPS):
        call = ToolCall(f"c{n}", "terminal", "{}")
        step = done.get(n)
        if step is not None and call.id in step.results:
            continue
        if step is not None and call.id in step.started:
            tell(f"interrupted {ref.turn} {n}")
        else:
            await store.record(ref, [Replied(n, Reply("", (call,))), Started(n, call.id)])
            tell(f"ran {ref.turn} {n}")
        await store.record(ref, [Finished(n, ToolResult(call, "ok", Receipt(True, "ok")))])
    answer = "answer " + "+".join(message.text for message in begun.inputs)
    ending = Ending(outcome=Outcome.ANSWERED, seconds=0.0, answer=answer, posts=(Say(answer),))
    next_, _ = await store.end_turn(ref, ending, now=0.0, collect=False)
    return next_


async def send(store: SqliteStore, *, finish: bool) -> None:
    """The lane's delivery."""
    while True:
        out = await store.next_outgoing(LANE, now=0.0)
        if out is None:
            if finish:
                return
            await asyncio.sleep(0.002)
            continue
        tell(said_of(out))
        await store.sent(out, Sent(RemoteId(str(out.id)), 0.0))


def said_of(out: Outgoing) -> str:
    """How a message shows up on the platform."""
    assert isinstance(out.what, Say)
    return f"{'repeat' if out.doubtful else 'sent'} {out.what.text}"


async def live(folder: Path, seed: int, how: str) -> None:
    """One life of the process."""
    store = SqliteStore(folder, clock=WallClock(), run=f"life {seed}")
    await store.open()
    finish = how == STOP_INTAKE
    if finish:
        await work(store, finish=True)
        await send(store, finish=True)
    else:
        async with asyncio.TaskGroup() as group:
            group.create_task(take_in(store, random.Random(seed)), name="intake")
            group.create_task(work(store, finish=False), name="worker")
            group.create_task(send(store, finish=False), name="delivery")
    await store.close()


@dataclass(slots=True)
class Lives:
    """A process that is killed and started again on one folder; `program` is its file."""

    folder: Path
    dice: random.Random
    program: Path = HERE
    said: list[str] = field(default_factory=list)
    lives: int = 0

    def start(self, how: str) -> subprocess.Popen[str]:
        """Begin a life."""
        self.lives += 1
        return subprocess.Popen(
            [sys.executable, str(self.program), str(self.folder), str(self.lives), how],
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE.parents[2],
            env={**os.environ, "PYTHONPATH": str(HERE.parents[2])},
        )

    def live_and_die(self) -> None:
        """A life that ends by kill -9 behind some line."""
        with self.start("on") as process:
            assert process.stdout is not None
            for _ in range(self.dice.randint(1, 60)):
                self.said.append(process.stdout.readline().rstrip())
            process.send_signal(signal.SIGKILL)
            self.said += process.stdout.read().splitlines()
        assert process.returncode == -signal.SIGKILL
        self.check_file()

    def live_to_the_end(self) -> None:
        """A last life that works off what is left."""
        process = self.start(STOP_INTAKE)
        rest, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        self.said += rest.splitlines()
        self.check_file()

    def check_file(self) -> None:
        """The file is whole after every death."""
        conn = sqlite3.connect(self.folder / FILE_NAME)
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        conn.close()

    def of(self, *kinds: str) -> list[str]:
        """The lines of these kinds, without their kind, in order."""
        pairs = (line.split(" ", 1) for line in self.said)
        return [rest for kind, rest in pairs if kind in kinds]


def check(lives: Lives) -> None:
    """What was promised in any life was kept over all of them."""
    accepted = max(int(n) for n in lives.of("accepted"))
    sent = lives.of("sent", "repeat")
    answers = [text for text in sent if text.startswith("answer ")]
    failed = [text for text in sent if text.startswith("⚠")]
    first_seen = list(dict.fromkeys(answers))
    numbers = [int(text.removeprefix("answer m")) for text in first_seen]
    assert numbers == sorted(numbers), "answered out of order"
    missing = set(range(1, accepted + 1)) - set(numbers)
    assert len(missing) <= len(failed), f"lost: {missing}"
    once = Counter(text for text in lives.of("sent") if text in answers)
    assert max(once.values()) == 1, "an answer came twice without a mark"
    ran = Counter(lives.of("ran"))
    assert max(ran.values()) == 1, "a tool ran twice unnoticed"


def kill_again_and_again(folder: Path, kills: int, seed: int) -> None:
    """Many short lives, then a whole one."""
    folder.mkdir(exist_ok=True)
    (folder / RESERVE_NAME).touch()
    lives = Lives(folder, random.Random(seed))
    for _ in range(kills):
        lives.live_and_die()
    lives.live_to_the_end()
    check(lives)


def test_nothing_acknowledged_is_lost_however_often_the_process_is_killed(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, kills=10, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_kills_lose_nothing(tmp_path: Path, seed: int) -> None:
    kill_again_and_again(tmp_path, kills=100, seed=seed)


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
