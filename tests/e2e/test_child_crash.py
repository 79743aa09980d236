"""kill -9, again and again, of a real process with three children at work on a real file.

Run as a program this file is that process: it works turns that delegate to three children at the
same time, says on its standard output which write of which child it is about to make, and says
it again once the store has confirmed it. The tests kill it at any line. What a child is taken up
with in the next life must be what was confirmed, or that and the one write in flight.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from adapters.sqlite.database import FILE_NAME
from adapters.sqlite.store import RESERVE_NAME, SqliteStore
from core.agent.steps import Finished, Replied, Started, Step, StepWrite
from core.delegation.ports import ChildRef, ChildState
from core.ports import Reply, Usage
from core.sessions.arrivals import Arrival, Said
from core.sessions.lane import Outcome, Rest
from core.sessions.ports import Begun, CallUsage, Ending, TurnRef
from core.transcript import Receipt, ToolCall, ToolResult
from tests.e2e.test_store_crash import ANNA, LANE, STOP_INTAKE, Lives, WallClock, tell

HERE = Path(__file__)
PATHS = ("call_1.0", "call_1.1", "call_2.0/call_1.0")
WRITES = 12
USED = Usage(2, 0, 1, 0.5)


def asked(path: str, n: int) -> ToolCall:
    """The call of a child's step."""
    return ToolCall(f"c{n}", "terminal", f'{{"command": "{path} {n}"}}')


def result(path: str, n: int) -> ToolResult:
    """How it went."""
    return ToolResult(asked(path, n), f"{path} {n} is done", Receipt(True, "ok"))


def written(path: str, number: int) -> list[StepWrite]:
    """A child's writes by number: a reply with its call's start, then the call's end."""
    n = number // 2
    if number % 2:
        return [Finished(n, result(path, n))]
    return [Replied(n, Reply(path, (asked(path, n),), USED)), Started(n, f"c{n}")]


def expected(path: str, count: int) -> tuple[Step, ...]:
    """The trace after so many writes."""
    return tuple(
        Step(
            n=n,
            reply=Reply(path, (asked(path, n),), USED),
            started=frozenset({f"c{n}"}),
            results={f"c{n}": result(path, n)} if 2 * n + 1 < count else {},
        )
        for n in range((count + 1) // 2)
    )


def count_of(path: str, state: ChildState) -> int:
    """How many writes are stored, of which none may be cut, changed or doubled."""
    count = sum(1 + len(step.results) for step in state.steps)
    assert state.steps == expected(path, count)
    assert state.calls == len(state.steps)
    assert state.used == Usage(2 * state.calls, 0, state.calls, 0.5 * state.calls)
    assert state.kept == (f"{path} is over" if state.kept else "")
    return count


async def work(store: SqliteStore, ref: ChildRef) -> None:
    """A child from its last write to its end."""
    name, path = f"{ref.turn.turn} {ref.path}", ref.path
    state = await store.children.open_child(ref, "count")
    count = count_of(path, state)
    tell(f"opened {name} {count} {1 if state.kept else 0}")
    for number in range(count, WRITES):
        usage = [USED] if number % 2 == 0 else []
        spent = [CallUsage("small", used, "child") for used in usage]
        tell(f"writing {name} {number + 1}")
        await store.children.record_child(ref, written(path, number), used=usage, spent=spent)
        tell(f"wrote {name} {number + 1}")
    await store.children.keep_child(ref, f"{path} is over")
    tell(f"kept {name}")


async def live(folder: Path, seed: int, how: str) -> None:
    """One life of the process: turn after turn, or the one that was left."""
    store = SqliteStore(folder, clock=WallClock(), run=f"life {seed}")
    await store.open()
    n = 0
    while n == 0 or how != STOP_INTAKE:
        n += 1
        said = Arrival(LANE, f"tg:bot:{seed}:{n}", ANNA, Said({"text": "delegate it"}))
        begun, _ = await store.begin(LANE, now=0.0, collect=False)
        if isinstance(begun, Rest):
            await store.accept([said], cursor=None, now=0.0)
            begun, _ = await store.begin(LANE, now=0.0, collect=False)
        assert isinstance(begun, Begun)
        ref = TurnRef(LANE, begun.turn.id, begun.turn.attempt)
        async with asyncio.TaskGroup() as group:
            for path in PATHS:
                group.create_task(work(store, ChildRef(ref, path)), name=path)
        ending = Ending(outcome=Outcome.ANSWERED, seconds=0.0, answer="all is done")
        await store.end_turn(ref, ending, now=0.0, collect=False)
        tell(f"ended {ref.turn}")
    await store.close()


def check(lives: Lives) -> None:
    """What a child was taken up with is what was confirmed, or that and the write in flight."""
    confirmed: dict[str, int] = defaultdict(int)
    begun: dict[str, int] = defaultdict(int)
    kept: set[tuple[str, str]] = set()
    for line in lives.said:
        match line.split():
            case "opened", turn, path, number, over:
                name, count = f"{turn} {path}", int(number)
                assert confirmed[name] <= count <= begun[name], line
                assert over == "1" or (turn, path) not in kept, line
                confirmed[name] = begun[name] = count
            case "writing", turn, path, number:
                begun[f"{turn} {path}"] = int(number)
            case "wrote", turn, path, number:
                confirmed[f"{turn} {path}"] = int(number)
            case "kept", turn, path:
                kept.add((turn, path))
    check_books(lives.folder, confirmed, begun)


def check_books(folder: Path, confirmed: dict[str, int], begun: dict[str, int]) -> None:
    """Each call of a child was booked once; what the children had stored is gone."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as conn:
        for table in ("delegation", "delegation_step", "step"):
            assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        [(booked, purposes)] = conn.execute("SELECT count(*), max(purpose) FROM usage").fetchall()
    fewest, most = (sum((n + 1) // 2 for n in counts.values()) for counts in (confirmed, begun))
    assert fewest <= booked <= most
    assert purposes == "child"


def kill_again_and_again(folder: Path, kills: int, seed: int) -> None:
    """Many short lives, then one that ends its turn."""
    folder.mkdir(exist_ok=True)
    (folder / RESERVE_NAME).touch()
    lives = Lives(folder, random.Random(seed), program=HERE)
    for _ in range(kills):
        lives.live_and_die()
    lives.live_to_the_end()
    assert any(not line.endswith(" 0 0") for line in lives.of("opened")), "none was taken up"
    check(lives)


def test_children_go_on_where_they_were_however_often_the_process_is_killed(
    tmp_path: Path,
) -> None:
    kill_again_and_again(tmp_path, kills=8, seed=3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_kills_take_nothing_from_a_child(tmp_path: Path, seed: int) -> None:
    kill_again_and_again(tmp_path, kills=100, seed=seed)


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
