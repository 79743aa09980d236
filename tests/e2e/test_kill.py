"""kill -9 loses nothing: the program is killed at every kind of point under load, and checked.

The program runs in a process of its own on the real SQLite file, with real commands in the real
sandbox; Telegram and the models are fakes in this process, which hear of each call in time to
kill at exactly that moment. The seed is printed (pytest shows it with a failure, or with -rP):
`KILL_SEED` makes the same plan again, and `KILL_ROUNDS` says how often each aim is in it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.e2e import kill_checks as checks
from tests.e2e.kill_aims import AIMS, TALK, Aim, Killer, plan
from tests.e2e.kill_autopsy import copied, leftovers
from tests.e2e.kill_people import Chat, interrupt, join, press_on, pursue, talk
from tests.e2e.kill_stage import Stage, stage
from tests.e2e.kill_world import Moment
from tests.fakes.telegram_world import Person

QUEUED = (talk, talk, pursue, pursue, pursue, interrupt, interrupt, join)
COLLECTED = (press_on, press_on, press_on, pursue, pursue, join)
INTERRUPTED = (press_on, press_on, press_on, press_on)
ROUNDS = 6
SETTLED_S = 60.0

# An upload that a kill cuts leaves the fake's server with a file it does not close.
pytestmark = pytest.mark.filterwarnings("ignore:Unclosed file <tempfile:ResourceWarning")


Life: TypeAlias = Callable[[Chat], Coroutine[None, None, None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """One run: its stage, its killer, its chats and what their people do."""

    on: Stage
    killer: Killer
    chats: tuple[Chat, ...]
    lives: tuple[Life, ...]


@pytest.fixture(autouse=True)
def quiet_server(caplog: pytest.LogCaptureFixture) -> None:
    """aiohttp's server reports each caller that is killed in mid-request."""
    caplog.set_level("CRITICAL", "aiohttp.server")


@pytest.mark.timeout(400)
async def test_a_hundred_kills_under_load_lose_nothing(tmp_path: Path) -> None:
    rounds = int(os.environ.get("KILL_ROUNDS", ROUNDS))
    rng = _seeded()
    await _kill_and_check(tmp_path, QUEUED, plan(rounds, rng, AIMS), rng)


async def test_kills_lose_nothing_where_messages_are_collected(tmp_path: Path) -> None:
    rng = _seeded()
    await _kill_and_check(tmp_path, COLLECTED, plan(1, rng, TALK), rng, {"collect": True})


async def test_kills_lose_nothing_where_messages_interrupt(tmp_path: Path) -> None:
    rng = _seeded()
    aims = [aim for aim in TALK if "goal" not in aim.name and "judge" not in aim.name]
    await _kill_and_check(tmp_path, INTERRUPTED, plan(1, rng, aims), rng, {"busy": "interrupt"})


@pytest.mark.soak
@pytest.mark.parametrize("run", range(10))
async def test_a_thousand_kills_under_load_lose_nothing(run: int, tmp_path: Path) -> None:
    rng = _seeded()
    await _kill_and_check(tmp_path, QUEUED, plan(ROUNDS, rng, AIMS), rng)


def _seeded() -> random.Random:
    seed = int(os.environ.get("KILL_SEED", random.randrange(10**6)))
    sys.stdout.write(f"\nKILL_SEED={seed}\n")
    return random.Random(seed)


async def _kill_and_check(
    folder: Path,
    lives: tuple[Life, ...],
    aims: list[Aim],
    rng: random.Random,
    lanes: Mapping[str, object] | None = None,
) -> None:
    began = time.monotonic()
    persons = [Person(2001 + n, f"P{n}") for n in range(len(lives))]
    async with stage(folder, *persons, lanes=lanes) as on:
        on.people.unsupported.add("sendmessagedraft")  # progress is a message, to be replaced
        chats = tuple(Chat(on.people, p, random.Random(rng.random())) for p in persons)
        killer = Killer(on.bot, on.people, on.data, rng)
        scene = Scene(on, killer, chats, lives)
        on.people.listener = on.models.listener = killer.listen
        try:
            await _run(scene, aims)
            _report(scene, time.monotonic() - began)
            _check(scene)
        except BaseException:
            _tell_all(scene)
            raise
        finally:
            _bury(on.bot.starter)
    assert sum(killer.kills.values()) == len(aims)


async def _run(scene: Scene, aims: list[Aim]) -> None:
    """Kill at every aim while people speak, then let everything come to its end."""
    killer = scene.killer
    async with asyncio.TaskGroup() as load:
        for chat, life in zip(scene.chats, scene.lives, strict=True):
            scene.on.people.readers[chat.person.id] = chat.hear
            _furnish(scene, chat)
            load.create_task(_lived(life, chat), name=f"person {chat.person.id}")
        for aim in aims:
            await killer.kill(aim)
        for chat in scene.chats:
            chat.ending = True
        await killer.victim.start()
        load.create_task(_settled(scene), name="settled")
    killer.victim.terminate()
    assert await killer.victim.ended() == 0, killer.victim.log()


async def _settled(scene: Scene) -> None:
    """Wait until everyone has had their answers, the program has nothing left to do, and
    Telegram nothing left to deliver."""
    async with asyncio.timeout(SETTLED_S):
        while not _at_rest(scene):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # another process's file tells nobody


def _at_rest(scene: Scene) -> bool:
    waiting = scene.on.people.unconfirmed or not all(chat.ended for chat in scene.chats)
    return not waiting and checks.quiet(scene.on.data)


async def _lived(life: Life, chat: Chat) -> None:
    await life(chat)
    chat.ended = True


def _furnish(scene: Scene, chat: Chat) -> None:
    """A ledger, and the bell that slow commands ring when they run: a pipe."""
    room = scene.on.workspace(chat.person)
    (room / "ledger").write_text(f"begun-{chat.person.id} 0\n", encoding="utf-8")
    bell = room / "bell"
    os.mkfifo(bell)
    pipe = os.open(bell, os.O_RDWR | os.O_NONBLOCK)

    def ring() -> None:
        os.read(pipe, 1000)
        scene.killer.listen(Moment("tool runs"))

    asyncio.get_running_loop().add_reader(pipe, ring)


def _check(scene: Scene) -> None:
    on, deaths = scene.on, scene.killer.autopsies
    assert not leftovers(on.bot.starter)
    shown = {chat.person.id: on.shown(chat.person) for chat in scene.chats}
    ledgers = [on.workspace(chat.person) / "ledger" for chat in scene.chats]
    with copied(on.data) as conn:
        checks.check_books(conn)
        checks.check_outbox(conn, shown, deaths)
        checks.check_tools(conn, ledgers, deaths)
        for chat in scene.chats:
            checks.check_answers(chat, shown[chat.person.id])
            checks.check_goals(conn, chat, shown[chat.person.id])


def _bury(starter: int) -> None:
    """End what the dead left behind, such as sandboxes that never came to life."""
    for left in leftovers(starter):
        os.kill(left.pid, signal.SIGKILL)


def _tell_all(scene: Scene) -> None:
    """What a failed run was like."""
    lines = [scene.on.bot.log(200)]
    for chat in scene.chats:
        lines += [f"chat {chat.person.id}", f"  said {chat.said[-12:]}"]
        lines += [f"  read {scene.on.shown(chat.person)[-25:]}"]
    lines += [str(call) for call in list(scene.on.people.calls)[-40:]]
    sys.stdout.write("\n".join(lines) + "\n")


def _report(scene: Scene, seconds: float) -> None:
    killer, said = scene.killer, sum(len(chat.said) for chat in scene.chats)
    unborn = len(leftovers(scene.on.bot.starter))
    lines = [f"{sum(killer.kills.values())} kills in {seconds:.0f} s; people wrote {said} times"]
    lines += [f"  {count:4} aimed at  {name}" for name, count in sorted(killer.kills.items())]
    lines += [f"  {count:4} deaths with  {name}" for name, count in sorted(killer.points.items())]
    lines += [f"  {unborn:4} sandboxes were left half built"]
    sys.stdout.write("\n".join(lines) + "\n")
