"""All platforms at once in one process: fifty chats, each with a goal at work, and kill -9 again
and again. Every message is answered once or marked as a possible repeat, in order, in its chat.

`pursuit up` is a process of its own, and each life a new one. The seed is printed: `KILL_SEED`
makes the same people and pauses again.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
import yaml

from tests.e2e.kill_autopsy import copied, most_tries, words_of
from tests.e2e.kill_checks import check_books, quiet
from tests.e2e.together_people import Resident, teach
from tests.e2e.together_towns import (
    TOKEN,
    DiscordTown,
    SlackTown,
    TelegramTown,
    Town,
    WebTown,
)
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.slack_api import FakeSlack
from tests.fakes.telegram_api import FakeTelegram

PURSUIT = Path(sys.executable).with_name("pursuit")
CHATS = 50
KILLS = 10
ANSWERS_A_LIFE, ANSWERS_A_PLATFORM = 40, 5
"""So often people are answered between a start and its kill, in all and on each platform."""
LONGEST_LIFE_S = 60.0
SETTLED_S = 60.0
MOST_TRIES = 2
"""No kill while a turn is on its third try: one that is cut there ends as failed, as it should."""

# A kill cuts calls in the middle; what their servers leave behind is no fault of the program.
pytestmark = pytest.mark.filterwarnings("ignore:Unclosed file <tempfile:ResourceWarning")


@dataclass(slots=True)
class Program:
    """One life of `pursuit up` after the other, on one configuration."""

    config: Path
    data: Path
    log: Path
    health: int
    """The port of its health pages."""
    lives: int = 0
    in_flight: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """What was being sent at a death, by lane."""
    _process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Begin a life."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.data.parent), "LANG": "C.UTF-8"}
        with self.log.open("ab") as out:
            self._process = await asyncio.create_subprocess_exec(
                *(str(PURSUIT), "up", "--config", str(self.config), "--data", str(self.data)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environ,
            )
        self.lives += 1

    async def kill(self) -> None:
        """kill -9, and look at what it was sending."""
        assert self._process is not None
        assert self._process.returncode is None, f"it ended by itself\n{self.tail()}"
        self._process.kill()
        await self._process.wait()
        with copied(self.data) as conn:
            for lane, body in conn.execute("SELECT lane, body FROM outbox WHERE state='sending'"):
                self.in_flight[lane].add(words_of(body))

    async def end(self) -> int:
        """Ask it to end; its exit code."""
        assert self._process is not None
        self._process.terminate()
        async with asyncio.timeout(35):
            return await self._process.wait()

    async def bury(self) -> None:
        """Leave nothing running."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    def tail(self, lines: int = 40) -> str:
        """The end of the log of all lives."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


@pytest.fixture(autouse=True)
def quiet_server(caplog: pytest.LogCaptureFixture) -> None:
    """aiohttp's server reports each caller that is killed in mid-request."""
    caplog.set_level("CRITICAL", "aiohttp.server")


@pytest.mark.timeout(300)
async def test_fifty_chats_on_all_platforms_survive_ten_kills(tmp_path: Path) -> None:
    await _kill_and_check(tmp_path, KILLS)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("run", range(5))
async def test_fifty_chats_on_all_platforms_survive_thirty_kills(run: int, tmp_path: Path) -> None:
    await _kill_and_check(tmp_path, 3 * KILLS)


async def _kill_and_check(folder: Path, kills: int) -> None:
    rng = _seeded()
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(FakeOpenAI(keep=8))
        teach(models)
        fakes = await stack.enter_async_context(_fakes())
        web = WebTown(_free_port(), 12)
        towns = (*fakes, web)
        health = _free_port()
        config = _written(folder, models, towns, health)
        program = Program(config, folder / "data", folder / "log", health)
        stack.push_async_callback(program.bury)
        residents = [
            Resident(town, chat, 101 + number, random.Random(rng.random()))
            for number, (town, chat) in enumerate((t, c) for t in towns for c in range(t.chats))
        ]
        assert len(residents) == CHATS
        try:
            await program.start()
            await _awake(program, towns)
            await stack.enter_async_context(web.browser)
            await web.open()
            await _run(program, residents, kills, rng)
            await web.read_back()
            assert await program.end() == 0, program.tail()
            _check(program, residents)
        except BaseException:
            sys.stdout.write(f"{program.tail()}\n{_overview(residents)}\n")
            raise
        sys.stdout.write(f"{kills} kills in {time.monotonic() - began:.0f} s\n")
        sys.stdout.write(_overview(residents))


async def _run(
    program: Program, residents: Sequence[Resident], kills: int, rng: random.Random
) -> None:
    async with asyncio.TaskGroup() as load:
        for resident in residents:
            load.create_task(resident.live(), name=f"resident {resident.number}")
        for _ in range(kills):
            await _busy(program, residents)
            await asyncio.sleep(rng.uniform(0.0, 0.3))  # any moment is as good
            await _killable(program)
            await program.kill()
            await program.start()
        for resident in residents:
            resident.ending = True
        load.create_task(_settled(program, residents), name="settled")


async def _awake(program: Program, towns: Sequence[Town]) -> None:
    """Wait until every platform is connected: what was said before the very first time reaches
    no bot on Discord."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"http://127.0.0.1:{program.health}/readyz"
    told: dict[str, dict[str, str]] = {}
    try:
        async with asyncio.timeout(LONGEST_LIFE_S), aiohttp.ClientSession() as session:
            while [told.get(t.name, {}).get("state") for t in towns] != ["up"] * len(towns):
                await asyncio.sleep(0.1)  # a page has to be asked
                with suppress(aiohttp.ClientError):
                    async with session.get(url, headers=headers) as answer:
                        told = (await answer.json())["platforms"]
    except TimeoutError:
        raise AssertionError(f"not everything is connected: {told}") from None


async def _busy(program: Program, residents: Sequence[Resident]) -> None:
    """Wait until this life has answered people on every platform."""
    before = {resident.number: resident.answered for resident in residents}
    try:
        async with asyncio.timeout(LONGEST_LIFE_S):
            while not _enough(residents, before):  # noqa: ASYNC110
                await asyncio.sleep(0.02)  # see `Resident`
    except TimeoutError:
        raise AssertionError(f"life {program.lives} answers too little") from None


def _enough(residents: Sequence[Resident], before: Mapping[int, int]) -> bool:
    answers: Counter[str] = Counter()
    for resident in residents:
        answers[resident.town.name] += resident.answered - before[resident.number]
    return answers.total() >= ANSWERS_A_LIFE and min(answers.values()) >= ANSWERS_A_PLATFORM


async def _killable(program: Program) -> None:
    async with asyncio.timeout(LONGEST_LIFE_S):
        while most_tries(program.data) > MOST_TRIES:  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # another process's file tells nobody


async def _settled(program: Program, residents: Sequence[Resident]) -> None:
    async with asyncio.timeout(SETTLED_S):
        while not (all(r.ended for r in residents) and quiet(program.data)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # another process's file tells nobody


def _check(program: Program, residents: Sequence[Resident]) -> None:
    flights = {text for texts in program.in_flight.values() for text in texts}
    wrong = {
        f"{resident.town.name} {resident.chat}": complaints
        for resident in residents
        if (complaints := resident.complaints(flights))
    }
    assert not wrong, wrong
    with copied(program.data) as conn:
        check_books(conn)
        dead = conn.execute("SELECT lane, state, body FROM outbox WHERE state <> 'sent'")
        assert not dead.fetchall()
        failed = conn.execute("SELECT count(*) FROM turn WHERE phase = 'failed'").fetchone()
        assert failed == (0,)


def _overview(residents: Collection[Resident]) -> str:
    lines = []
    for name in dict.fromkeys(resident.town.name for resident in residents):
        here = [resident for resident in residents if resident.town.name == name]
        asked, goals = sum(len(r.asked) for r in here), sum(len(r.goals) for r in here)
        waiting = [r.chat for r in here if not r.ended]
        lines.append(
            f"  {name}: {len(here)} chats, {asked} questions, {goals} goals, waiting: {waiting}\n"
        )
        lines += [f"    {r.chat}: {r.town.shown(r.chat)[-12:]}\n" for r in here if not r.ended][:3]
    return "".join(lines)


def _seeded() -> random.Random:
    seed = int(os.environ.get("KILL_SEED", random.randrange(10**6)))
    sys.stdout.write(f"\nKILL_SEED={seed}\n")
    return random.Random(seed)


@asynccontextmanager
async def _fakes() -> AsyncIterator[Sequence[Town]]:
    async with FakeTelegram() as telegram, FakeDiscord() as discord, FakeSlack() as slack:
        telegram.unsupported.add("sendmessagedraft")  # progress is a message, to be replaced
        yield (TelegramTown(telegram, 14), DiscordTown(discord, 6, 6), SlackTown(slack, 6, 6))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _written(folder: Path, models: FakeOpenAI, towns: Sequence[Town], health: int) -> Path:
    """The configuration file; `health` is the port of the health pages."""
    settings = {
        "providers": {"fake": {"base_url": models.base_url, "api_key": "test", "stall_s": 60}},
        "models": {
            "main": {"provider": "fake", "model": "main", "context_tokens": 1_000_000},
            "judge": {"provider": "fake", "model": "judge"},
        },
        "logs": {"level": "warning"},
        "health": {"enabled": True, "port": health, "token": TOKEN},
        "agent": {"model": "main", "toolsets": ["think"]},
        "auxiliary": {
            "goal_judge": {"model": "judge", "timeout_s": 60},
            "compaction": {"model": "main"},
        },
        "access": {t.name.value: {"owners": list(t.owners)} for t in towns if t.owners},
        "platforms": {town.name.value: dict(town.settings) for town in towns},
    }
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    config.chmod(0o600)
    return config
