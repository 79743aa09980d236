"""The whole program on Discord: the real SDK and SQLite, a fake Discord and fake models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.errors import UserError
from gateway.compose.discord import discord
from gateway.compose.run import Choices, live
from gateway.settings import Settings
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.discord_people import Shown
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import text, verdict

WITHIN_S = 20.0
TAKEN = (
    r"^Another process on this machine already runs the bot of platforms\.discord\.token "
    r"\(lock file /\S+/discord-[0-9a-f]{24}\.lock\)\. Stop it, or use another token\.$"
)


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Token locks go into the test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as server:
        yield server


@pytest.fixture
async def models() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        yield server


def settings_of(fake: FakeDiscord, models: FakeOpenAI) -> Settings:
    return Settings.model_validate(
        {
            "providers": {"fake": {"base_url": models.base_url, "api_key": "test"}},
            "models": {
                "main": {"provider": "fake", "model": "main", "context_tokens": 100_000},
                "judge": {"provider": "fake", "model": "judge"},
            },
            "agent": {"model": "main", "toolsets": ["think"]},
            "auxiliary": {
                "goal_judge": {"model": "judge", "timeout_s": 5},
                "compaction": {"model": "main"},
            },
            "access": {"discord": {"owners": [fake.anna.id]}},
            "platforms": {
                "discord": {
                    "enabled": True,
                    "token": fake.token,
                    "api_base": fake.api_base,
                    "gateway_url": fake.gateway_url,
                }
            },
        }
    )


@asynccontextmanager
async def program(fake: FakeDiscord, models: FakeOpenAI, data: Path) -> AsyncIterator[None]:
    """The program, from when it has signed in until it is cancelled."""
    before = fake.gateway.identified
    choices = Choices(platforms=(discord,))
    task = asyncio.create_task(live(settings_of(fake, models), data, choices), name="program")
    connected = asyncio.create_task(
        fake.wait_for(lambda: fake.gateway.identified > before, WITHIN_S), name="connected"
    )
    await asyncio.wait({task, connected}, return_when=asyncio.FIRST_COMPLETED)
    try:
        if task.done():
            await task
        await connected
        yield
    finally:
        connected.cancel()
        task.cancel()
        await asyncio.wait({task, connected})


async def heard(fake: FakeDiscord, channel: int, words: str) -> Shown:
    """The bot's newest message in a channel with these words, once there is one."""

    def newest() -> Shown | None:
        shown = reversed(fake.shown(channel))
        return next((each for each in shown if words in each.text), None)

    return await fake.wait_for(newest, WITHIN_S)


async def test_a_goal_is_set_worked_on_judged_and_told(
    fake: FakeDiscord, models: FakeOpenAI, tmp_path: Path
) -> None:
    home = fake.direct(fake.anna)
    models.script("main", text("The tests are written."))
    models.script("judge", verdict(done=True))
    async with program(fake, models, tmp_path):
        asked = fake.command("goal", "write the tests")
        await heard(fake, home, "⊙ Goal set")
        await heard(fake, home, "The tests are written.")
        await heard(fake, home, "✓ Goal achieved")
        assert asked.responded
        await heard(fake, home, "/goal write the tests")


async def test_a_press_on_the_card_pauses_the_goal(
    fake: FakeDiscord, models: FakeOpenAI, tmp_path: Path
) -> None:
    home = fake.direct(fake.anna)
    models.script("main", text("Step.", gate="later"))
    models.default("main", text("Step."))
    models.default("judge", verdict(done=False, reason="not yet"))
    async with program(fake, models, tmp_path):
        fake.command("goal", "go on and on")
        card = await fake.wait_for(
            lambda: next((s for s in fake.shown(home) if "Pause" in s.buttons), None), WITHIN_S
        )
        press = fake.press(home, card.id, "Pause")
        await heard(fake, home, "paused")
        await fake.wait_for(lambda: press.responded)
        models.open("later")


async def test_what_was_asked_while_it_was_down_is_answered_after_a_restart(
    fake: FakeDiscord, models: FakeOpenAI, tmp_path: Path
) -> None:
    home, channel = fake.direct(fake.anna), fake.channel()
    models.script("main", text("One."), text("Two."), text("Three."))
    async with program(fake, models, tmp_path):
        fake.say("first")
        await heard(fake, home, "One.")
    fake.say("second")
    async with program(fake, models, tmp_path):
        await heard(fake, home, "Two.")
        fake.say(f"{fake.call()} third", channel=channel)
        await heard(fake, channel, "Three.")
    assert [seen.text for seen in fake.shown(home)] == ["One.", "Two."]


async def test_a_second_process_with_the_token_is_refused_and_the_first_goes_on(
    fake: FakeDiscord, models: FakeOpenAI, tmp_path: Path
) -> None:
    models.script("main", text("Still here."))
    async with program(fake, models, tmp_path / "one"):
        with pytest.raises(UserError, match=TAKEN):
            await live(settings_of(fake, models), tmp_path / "two", Choices(platforms=(discord,)))
        fake.say("hello")
        await heard(fake, fake.direct(fake.anna), "Still here.")
    assert fake.gateway.identified == 1


async def test_a_stranger_gets_nothing(
    fake: FakeDiscord, models: FakeOpenAI, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with program(fake, models, tmp_path):
        fake.command("whoami")
        await heard(fake, fake.direct(fake.anna), str(fake.anna.id))
        fake.say("hello", user=fake.bob)
        fake.say(f"{fake.call()} hello", user=fake.bob, channel=channel)
        asked = fake.command("whoami", user=fake.bob, channel=channel)
        fake.command("whoami", channel=channel)
        await heard(fake, channel, str(fake.anna.id))
        assert not asked.responded
        assert not fake.shown(fake.direct(fake.bob))
        assert not any(str(fake.bob.id) in seen.text for seen in fake.shown(channel))
