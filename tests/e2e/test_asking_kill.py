"""kill -9 while people are asked: what they approve runs once, and nothing is asked or told twice.

The seed is printed (pytest shows it with a failure, or with -rP): `KILL_SEED` makes the same plan
again, and `KILL_ROUNDS` says how often each aim is in it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.e2e import asking_checks as checks
from tests.e2e.asking_people import (
    CARD,
    Asked,
    change_mind,
    give_leave,
    pursue_asking,
    send_children,
)
from tests.e2e.asking_world import asking_stage
from tests.e2e.kill_aims import Aim, Killer, plan
from tests.e2e.kill_autopsy import copied, leftovers
from tests.e2e.kill_checks import quiet
from tests.e2e.kill_stage import Stage
from tests.e2e.kill_world import Moment
from tests.fakes.telegram_world import Person

LIVES = (give_leave, give_leave, send_children, send_children, change_mind, pursue_asking)
ROUNDS = 2
SETTLED_S = 90.0

Life: TypeAlias = Callable[[Asked], Coroutine[None, None, None]]


def _card(moment: Moment) -> bool:
    return CARD.match(str(moment.detail.get("text"))) is not None


def _decision(moment: Moment) -> bool:
    return str(moment.detail.get("text"))[:1] in "✓✗"


def _pressed(moment: Moment) -> bool:
    return "callback_query" in str(moment.result) or "'/a" in str(moment.result)


AIMS = (
    Aim("start: at any point", "start", span=(0.0, 0.4), once=True),
    Aim("ask: before, in and after the insert", "main answered", span=(0.0, 0.03)),
    Aim("card: stored, not yet sent", "sendMessage comes", _card, swallow=True),
    Aim("card: sent, not yet told", "sendMessage done", _card),
    Aim("card: told, its commit", "sendMessage done", _card, span=(0.0005, 0.01)),
    Aim("card: it waits for a person", "sendMessage done", _card, span=(0.05, 0.4)),
    Aim("press: before and in its commit", "updates", _pressed, span=(0.0, 0.01)),
    Aim("press: taken, the turn goes on", "answerCallbackQuery comes", span=(0.0, 0.02)),
    Aim("press: applied, the command starts", "answerCallbackQuery comes", span=(0.01, 0.08)),
    Aim("command: running", "tool runs", span=(0.0, 0.2)),
    Aim("command: about to end, its result stored", "tool runs", span=(0.38, 0.5)),
    Aim("decision: shown", "editMessageText comes", _decision, span=(0.0, 0.02)),
    Aim("child: asked", "checker asks"),
    Aim("child: its report, the question", "checker answered", span=(0.0, 0.04)),
    Aim("overseer: asked", "overseer asks"),
    Aim("overseer: its word", "overseer answered", span=(0.0, 0.03)),
    Aim("goal: judged", "judge answered", span=(0.0, 0.02)),
)

# An upload that a kill cuts leaves the fake's server with a file it does not close.
pytestmark = pytest.mark.filterwarnings("ignore:Unclosed file <tempfile:ResourceWarning")


@pytest.fixture(autouse=True)
def quiet_server(caplog: pytest.LogCaptureFixture) -> None:
    """aiohttp's server reports each caller that is killed in mid-request."""
    caplog.set_level("CRITICAL", "aiohttp.server")


@dataclass(frozen=True, slots=True)
class Scene:
    """One run: its stage, its killer, its chats and what their people do."""

    on: Stage
    killer: Killer
    chats: tuple[Asked, ...]


@pytest.mark.timeout(600)
async def test_kills_while_people_are_asked_lose_and_double_nothing(tmp_path: Path) -> None:
    await _kill_and_check(tmp_path, int(os.environ.get("KILL_ROUNDS", ROUNDS)))


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("run", range(10))
async def test_many_kills_while_people_are_asked_lose_nothing(run: int, tmp_path: Path) -> None:
    await _kill_and_check(tmp_path, int(os.environ.get("KILL_ROUNDS", "6")))


async def _kill_and_check(folder: Path, rounds: int) -> None:
    seed = int(os.environ.get("KILL_SEED", random.randrange(10**6)))
    sys.stdout.write(f"\nKILL_SEED={seed}\n")
    rng = random.Random(seed)
    aims, began = plan(rounds, rng, AIMS), time.monotonic()
    persons = [Person(2001 + n, f"P{n}") for n in range(len(LIVES))]
    async with asking_stage(folder, *persons) as on:
        chats = tuple(Asked(on.people, p, random.Random(rng.random())) for p in persons)
        scene = Scene(on, Killer(on.bot, on.people, on.data, rng), chats)
        on.people.listener = on.models.listener = scene.killer.listen
        try:
            await _run(scene, aims)
            _check(scene)
        except BaseException:
            _tell_all(scene)
            raise
        finally:
            _report(scene, time.monotonic() - began)
            for left in leftovers(on.bot.starter):
                os.kill(left.pid, signal.SIGKILL)


async def _run(scene: Scene, aims: list[Aim]) -> None:
    """Kill at every aim while people are asked, then let everything come to its end."""
    killer = scene.killer
    async with asyncio.TaskGroup() as load:
        for chat, life in zip(scene.chats, LIVES, strict=True):
            scene.on.people.readers[chat.person.id] = chat.hear
            _hang_bell(scene, chat)
            load.create_task(_lived(life, chat), name=f"person {chat.person.id}")
        for aim in aims:
            await killer.kill(aim)
        for chat in scene.chats:
            chat.ending = True
        await killer.victim.start()
        load.create_task(_settled(scene), name="settled")
    await _late(scene)
    killer.victim.terminate()
    assert await killer.victim.ended() == 0, killer.victim.log()


async def _lived(life: Life, chat: Asked) -> None:
    await life(chat)
    chat.ended = True


def _hang_bell(scene: Scene, chat: Asked) -> None:
    """What commands ring when they run: a pipe."""
    bell = scene.on.workspace(chat.person) / "bell"
    os.mkfifo(bell)
    pipe = os.open(bell, os.O_RDWR | os.O_NONBLOCK)

    def ring() -> None:
        os.read(pipe, 1000)
        scene.killer.listen(Moment("tool runs"))

    asyncio.get_running_loop().add_reader(pipe, ring)


async def _settled(scene: Scene) -> None:
    """Wait until everyone has had their answers, and nothing is left to do."""
    async with asyncio.timeout(SETTLED_S):
        while not _at_rest(scene):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # another process's file tells nobody


def _at_rest(scene: Scene) -> bool:
    waiting = scene.on.people.unconfirmed or not all(chat.ended for chat in scene.chats)
    return not waiting and quiet(scene.on.data)


async def _late(scene: Scene) -> None:
    """Copies of cards that no life knows of are still there: whoever presses one is told that it
    is over, and the copy shows what was decided."""
    for chat in scene.chats:
        for card in chat.cards():
            label = next((label for label, _ in card.buttons if label != "Later"), "Later")
            query = scene.on.people.press(card, label, user=chat.person)
            toast = await scene.on.people.toast(query)
            assert toast.startswith("Too late"), (card.text, toast)
    await scene.on.people.wait_for(lambda: not any(chat.cards() for chat in scene.chats), 10.0)


def _check(scene: Scene) -> None:
    on = scene.on
    assert not leftovers(on.bot.starter)
    ledgers = [on.workspace(chat.person) / "ledger" for chat in scene.chats]
    stops = sum(chat.said.count("/stop") for chat in scene.chats)
    failed = [text for chat in scene.chats for text in on.shown(chat.person) if "⚠" in text]
    assert not failed, failed
    with copied(on.data) as conn:
        checks.check_rest(conn)
        checks.check_ends(conn)
        checks.check_told(conn)
        checks.check_transcripts(conn)
        ran = checks.check_commands(conn, ledgers, stops=stops)
    checks.check_cards(on.people, scene.killer.autopsies)
    assert ran


def _tell_all(scene: Scene) -> None:
    """What a failed run was like."""
    lines = [scene.on.bot.log(200)]
    for chat in scene.chats:
        lines += [f"chat {chat.person.id}, ended {chat.ended}", f"  said {chat.said[-12:]}"]
        lines += [f"  read {text[:300]!r}" for text in scene.on.shown(chat.person)[-12:]]
    lines += [
        f"{c.method} {c.params} {c.outcome}"[:300] for c in list(scene.on.people.calls)[-30:]
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _report(scene: Scene, seconds: float) -> None:
    killer, said = scene.killer, sum(len(chat.said) for chat in scene.chats)
    lines = [f"{sum(killer.kills.values())} kills in {seconds:.0f} s; people wrote {said} times"]
    lines += [f"  {count:4} aimed at  {name}" for name, count in sorted(killer.kills.items())]
    lines += [f"  {count:4} deaths with  {name}" for name, count in sorted(killer.points.items())]
    sys.stdout.write("\n".join(lines) + "\n")
