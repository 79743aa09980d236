"""Single kills of `pursuit up` while it asks for leave, told one by one; `test_asking_kill` has
the many. What counts is a hook of the repository that the approved command pushes to."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.workspace.workspace import home_of
from core.messages import Address, PlatformName
from tests.e2e.gateway_process import Gateway, gateway, written
from tests.fakes.openai_replies import calls, text
from tests.fakes.telegram_world import ANNA
from tests.scenarios.rig import Bot, eventually, idle_bot
from tests.scenarios.test_branch_tables import LOOK, children, delegate, reports
from tests.scenarios.test_delegation import STAFF

TOOLS = ["terminal", "file", "ask", "delegation"]
ASKING: Mapping[str, object] = {**STAFF, "agent": {"toolsets": TOOLS}}
INTERRUPTED = "interrupted by a restart"
PUSH = "git commit -q --allow-empty -m more && git push -q --force ./hub.git HEAD:main"
PUSHED = "[exit code 0]"
WITHIN_S = 40.0


@dataclass(frozen=True, slots=True)
class Scene:
    """A bot that is down, and how it is started."""

    bot: Bot
    config: Path
    environ: Mapping[str, str]

    @asynccontextmanager
    async def life(self) -> AsyncIterator[Gateway]:
        """`pursuit up`, until the end of the block at most."""
        async with gateway(self.config, self.bot.data, **self.environ) as running:
            yield running

    async def killed(self, running: Gateway) -> None:
        """kill -9."""
        running.tell(signal.SIGKILL)
        assert await running.ended() == -signal.SIGKILL

    async def heard(self, *texts: str) -> list[str]:
        """The chat's messages, with these among them."""
        return await self.bot.heard(*texts, within_s=WITHIN_S)

    async def still_talks(self) -> None:
        """The lane answers a later message."""
        self.bot.models.script("main", text("Still here."))
        self.bot.say("are you there?")
        await self.heard("Still here.")

    async def approve(self) -> None:
        """Press the button, and wait until that was taken."""
        [card] = [seen for seen in self.bot.people.by_bot(ANNA.id) if seen.buttons]
        query = self.bot.people.press(card, "Approve")
        assert "approved" in await self.bot.people.toast(query, WITHIN_S)

    def pushed(self) -> int:
        """How often the hook has run."""
        log = self.bot.workspace() / "pushes"
        return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture(autouse=True)
def quiet_server(caplog: pytest.LogCaptureFixture) -> None:
    """aiohttp's server reports each caller that is killed in mid-request."""
    caplog.set_level("CRITICAL", "aiohttp.server")


@asynccontextmanager
async def scene(folder: Path, *, slow: bool = False) -> AsyncIterator[Scene]:
    """A bot with its world, not started; a `slow` push never ends by itself."""
    async with idle_bot(folder / "data", **ASKING) as bot:
        config = written(bot, folder / "config.yaml")
        address = Address(PlatformName.TELEGRAM, str(bot.people.bot.id), str(ANNA.id))
        room = home_of(address.key, bot.data)
        furnish(room, slow=slow)
        yield Scene(bot, config, {"XDG_STATE_HOME": str(folder / "state")})


def furnish(room: Path, *, slow: bool) -> None:
    """A repository in the workspace, and a bare one to push to, whose hook counts."""
    for command in (
        ("init", "-q", "-b", "main", "."),
        ("config", "user.name", "a"),
        ("config", "user.email", "a@b.c"),
        ("init", "-q", "--bare", "hub.git"),
    ):
        subprocess.run(("git", *command), cwd=room, check=True)
    hook = room / "hub.git" / "hooks" / "pre-receive"
    wait = "sleep 1000" if slow else ""
    hook.write_text(f"#!/bin/sh\necho pushed >> '{room}/pushes'\n{wait}\n", encoding="utf-8")
    hook.chmod(0o755)


async def asked(on: Scene) -> None:
    """The bot has asked for leave to push."""
    on.bot.models.script("main", calls(("run", {"command": PUSH})))
    on.bot.say("push it")
    await on.heard("✋ E1: may this command run?")


def told(on: Scene) -> str:
    """What the main model was told last."""
    return on.bot.models.of("main")[-1].said()


async def test_what_was_asked_before_a_clean_stop_is_approved_after_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        async with on.life() as running:
            await asked(on)
            running.tell(signal.SIGTERM)
            assert await running.ended() == 0
        on.bot.models.script("main", text("Pushed."))
        async with on.life() as running:
            await on.approve()
            await on.heard("✓ E1 approved by Anna", "Pushed.")
            await on.killed(running)
        async with on.life():
            await on.still_talks()
        assert on.pushed() == 1


async def test_a_press_while_it_was_dead_counts_once(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        async with on.life() as running:
            await asked(on)
            await on.killed(running)
        [card] = on.bot.people.by_bot(ANNA.id)
        for label in ("Approve", "Deny", "Approve"):
            on.bot.people.press(card, label)
        on.bot.models.script("main", text("Pushed."))
        async with on.life():
            await on.heard("✓ E1 approved by Anna", "Pushed.")
            await on.still_talks()
        assert on.pushed() == 1
        assert PUSHED in on.bot.models.of("main")[1].said()


async def test_a_command_that_was_cut_is_told_as_interrupted_and_not_run_again(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, slow=True) as on:
        async with on.life() as running:
            await asked(on)
            await on.approve()
            await eventually(lambda: on.pushed() or None, WITHIN_S)
            await on.killed(running)
        on.bot.models.script("main", text("I shall look."))
        async with on.life():
            await on.heard("✓ E1 approved by Anna", "I shall look.")
            assert told(on).startswith(INTERRUPTED)
            await on.still_talks()
        assert on.pushed() == 1


@pytest.mark.parametrize("after_s", [0.0, 0.03, 0.08, 0.15])
async def test_a_kill_soon_after_the_press_runs_it_once_or_says_so(
    after_s: float, tmp_path: Path
) -> None:
    async with scene(tmp_path) as on:
        async with on.life() as running:
            await asked(on)
            on.bot.models.script("main", text("Whatever came of it.", gate="later"))
            await on.approve()
            await asyncio.sleep(after_s)  # into the turn that goes on
            await on.killed(running)
        on.bot.models.open("later")
        on.bot.models.default("main", text("Whatever came of it."))
        async with on.life():
            await on.heard("✓ E1 approved by Anna", "Whatever came of it.")
            ran = PUSHED in told(on)
            assert ran or told(on).startswith(INTERRUPTED), told(on)
            await on.heard("Whatever came of it.")
        assert on.pushed() == 1 if ran else on.pushed() <= 1


async def test_a_run_that_waits_for_a_person_goes_on_from_kill_to_kill(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        models = on.bot.models
        models.script("main", delegate())
        children(on.bot, LOOK, reports("gone"))
        async with on.life() as running:
            on.bot.say("check it")
            await on.heard("✋ E1")
            await on.killed(running)
        children(on.bot, text("too late", gate="never"))
        async with on.life() as running:
            on.bot.say("/answer E1 below v2")
            await on.bot.asked(3, "checker")
            await on.killed(running)
        models.script("main", text("Found it."))
        children(on.bot, LOOK, reports("there"))
        async with on.life():
            await on.heard("✓ E1 answered by Anna", "Found it.")
            await on.still_talks()
        result = json.loads(models.of("main")[1].said())
        assert (result["branch"], result["escalations"]) == ("there", 1)
        assert "E2" not in "\n".join(on.bot.said())


async def test_an_overseer_that_a_kill_cut_is_asked_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as on:
        models = on.bot.models
        word = {"reason": "", "decision": "resolve", "branch": "there", "summary": "It moved."}
        models.script("main", delegate())
        models.script("judge", text("too late", gate="never"), text(json.dumps(word)))
        children(on.bot, LOOK, reports("__default__"))
        async with on.life() as running:
            on.bot.say("check it")
            await on.bot.asked(1, "judge")
            await on.killed(running)
        models.script("main", text("It moved."))
        async with on.life():
            await on.heard("It moved.")
            await on.still_talks()
        result = json.loads(models.of("main")[1].said())
        assert (result["decided_by"], result["escalations"]) == ("overseer", 1)
        assert len(models.of("checker")) == 2
