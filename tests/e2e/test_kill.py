"""kill -9 loses nothing: the program is killed at every kind of point under load, and checked.

The program runs in a process of its own on the real SQLite file, with real commands in the real
sandbox; Telegram and the models are fakes in this process, which hear of each call in time to
kill at exactly that moment. The seed is printed; `KILL_SEED` and `KILL_ROUNDS` repeat or lengthen
a run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import sys
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.workspace.workspace import home_of
from core.messages import Address, PlatformName
from tests.e2e import kill_checks as checks
from tests.e2e.kill_aims import AIMS, Aim, Killer, plan
from tests.e2e.kill_autopsy import copied, leftovers
from tests.e2e.kill_people import Chat, interrupt, join, pursue, talk
from tests.e2e.kill_victim import victim
from tests.e2e.kill_world import AimedModels, AimedTelegram, Moment, settings_for
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.telegram_world import Person

LIVES = (talk, talk, pursue, pursue, pursue, interrupt, interrupt, join)
ROUNDS = 6
SETTLED_S = 60.0


@dataclass(frozen=True, slots=True)
class Scene:
    """One run: its folder, its killer and its chats."""

    data: Path
    killer: Killer
    chats: tuple[Chat, ...]

    def workspace(self, chat: Chat) -> Path:
        """Where the chat's commands run."""
        account = str(self.killer.people.bot.id)
        address = Address(PlatformName.TELEGRAM, account, str(chat.person.id))
        return home_of(address.key, self.data)


# An upload that a kill cuts leaves the fake's server with a file it does not close.
@pytest.mark.filterwarnings("ignore:Unclosed file <tempfile:ResourceWarning")
async def test_a_hundred_kills_under_load_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "aiohttp.server")  # it reports each caller that is killed
    seed = int(os.environ.get("KILL_SEED", random.randrange(10**6)))
    rounds = int(os.environ.get("KILL_ROUNDS", ROUNDS))
    with capsys.disabled():
        sys.stdout.write(f"\nKILL_SEED={seed} KILL_ROUNDS={rounds}\n")
    rng = random.Random(seed)
    began = time.monotonic()
    async with AimedTelegram() as people, FakeOpenAI() as models:
        people.unsupported.add("sendmessagedraft")  # progress is a message, which answers replace
        persons = [Person(2001 + n, f"P{n}") for n in range(len(LIVES))]
        chats = tuple(Chat(people, p, random.Random(rng.random())) for p in persons)
        settings = settings_for(people, models, *persons)
        data = tmp_path / "data"
        async with victim(tmp_path, data, settings) as bot:
            killer = Killer(bot, people, data, rng)
            scene = Scene(data, killer, chats)
            people.listener = AimedModels(models).listener = killer.listen
            try:
                await _run(scene, plan(rounds, rng))
            except BaseException:
                _tell_all(scene)
                _bury(data)
                raise
        shown = {c.person.id: [s.text for s in people.by_bot(c.person.id)] for c in chats}
    unborn = _bury(data)
    with capsys.disabled():
        sys.stdout.write(f"{unborn} sandboxes were left half built\n")
        _report(killer, chats, time.monotonic() - began)
    _check(scene, shown)
    assert sum(killer.kills.values()) == rounds * len(AIMS)


async def _run(scene: Scene, aims: list[Aim]) -> None:
    """Kill at every aim while people speak, then let everything come to its end."""
    killer = scene.killer
    async with asyncio.TaskGroup() as load:
        for chat, life in zip(scene.chats, LIVES, strict=True):
            killer.people.readers[chat.person.id] = chat.hear
            _furnish(scene, chat)
            load.create_task(_lived(life(chat)), name=f"{life.__name__} {chat.person.id}")
        for aim in aims:
            await killer.kill(aim)
        for chat in scene.chats:
            chat.ending = True
        await killer.victim.start()
    await _settled(scene)
    killer.victim.terminate()
    assert await killer.victim.ended() == 0, killer.victim.log()


async def _lived(life: Coroutine[None, None, None]) -> None:
    await life


async def _settled(scene: Scene) -> None:
    """Wait until the program has nothing left to do and Telegram nothing left to deliver."""
    async with asyncio.timeout(SETTLED_S):
        while scene.killer.people.unconfirmed or not checks.quiet(scene.data):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # another process's file tells nobody


def _furnish(scene: Scene, chat: Chat) -> None:
    """A ledger, and the bell that slow commands ring when they run: a pipe."""
    room = scene.workspace(chat)
    (room / "ledger").write_text(f"begun-{chat.person.id} 0\n", encoding="utf-8")
    bell = room / "bell"
    os.mkfifo(bell)
    pipe = os.open(bell, os.O_RDWR | os.O_NONBLOCK)

    def ring() -> None:
        os.read(pipe, 1000)
        scene.killer.listen(Moment("tool runs"))

    asyncio.get_running_loop().add_reader(pipe, ring)


def _check(scene: Scene, shown: dict[int, list[str]]) -> None:
    deaths = scene.killer.autopsies
    assert all(left.unborn for left in leftovers(scene.data))
    assert not scene.killer.people.unconfirmed
    with copied(scene.data) as conn:
        checks.check_books(conn)
        checks.check_outbox(conn, shown, deaths)
        checks.check_tools(conn, [scene.workspace(c) / "ledger" for c in scene.chats], deaths)
        for chat in scene.chats:
            texts = shown[chat.person.id]
            checks.check_answers(chat, texts)
            checks.check_goals(conn, chat, texts)


def _tell_all(scene: Scene) -> None:
    """What a failed run was like, for pytest to show."""
    people = scene.killer.people
    lines = [scene.killer.victim.log(200)]
    for chat in scene.chats:
        shown = [seen.text for seen in people.by_bot(chat.person.id)]
        lines += [f"chat {chat.person.id}", f"  said {chat.said[-12:]}", f"  read {shown[-25:]}"]
    lines += [str(call) for call in list(people.calls)[-40:]]
    sys.stdout.write("\n".join(lines))


def _bury(data: Path) -> int:
    """End the sandboxes that never came to life; how many there were."""
    unborn = [left for left in leftovers(data) if left.unborn]
    for left in unborn:
        os.kill(left.pid, signal.SIGKILL)
    return len(unborn)


def _report(killer: Killer, chats: tuple[Chat, ...], seconds: float) -> None:
    said = sum(len(chat.said) for chat in chats)
    lines = [f"{sum(killer.kills.values())} kills in {seconds:.0f} s; people wrote {said} times"]
    lines += [f"  {count:4} aimed at  {name}" for name, count in sorted(killer.kills.items())]
    lines += [f"  {count:4} deaths with  {name}" for name, count in sorted(killer.points.items())]
    sys.stdout.write("\n".join(lines) + "\n")
