"""The whole program on Slack: the real SDK and SQLite, a fake Slack and fake models."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.errors import UserError
from gateway.compose.run import Choices, live
from gateway.compose.slack import slack
from gateway.settings import Settings
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import text, verdict
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_world import ANNA, BOB, Channel, Seen

WITHIN_S = 20.0
TAKEN = (
    r"^Another process on this machine already runs the app of platforms\.slack\.bot_token "
    r"\(lock file /\S+/slack-[0-9a-f]{24}\.lock\)\. Stop it, or use another app\.$"
)


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Token locks go into the test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as server:
        yield server


@pytest.fixture
async def models() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        yield server


def settings_of(fake: FakeSlack, models: FakeOpenAI, *, pairing: bool = False) -> Settings:
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
            "access": {"slack": {"owners": [ANNA.id], "pairing": pairing}},
            "platforms": {
                "slack": {
                    "enabled": True,
                    "bot_token": fake.bot_token,
                    "app_token": fake.app_token,
                    "base_url": fake.base_url,
                }
            },
        }
    )


@asynccontextmanager
async def program(
    fake: FakeSlack, models: FakeOpenAI, data: Path, *, pairing: bool = False
) -> AsyncIterator[None]:
    """The program, from when it is connected until it is cancelled."""
    before = fake.delivery.opened
    choices = Choices(platforms=(slack,))
    settings = settings_of(fake, models, pairing=pairing)
    task = asyncio.create_task(live(settings, data, choices), name="program")
    connected = asyncio.create_task(fake.opened(before + 1), name="connected")
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


async def heard(fake: FakeSlack, place: Channel, words: str) -> Seen:
    """The app's newest message in a channel with these words, once there is one."""

    def newest() -> Seen | None:
        shown = reversed(fake.by_bot(place))
        return next((seen for seen in shown if words in seen.text), None)

    return await fake.wait_for(newest, WITHIN_S)


async def test_a_goal_set_by_a_slash_command_goes_on_until_it_is_judged_done(
    fake: FakeSlack, models: FakeOpenAI, tmp_path: Path
) -> None:
    models.script("main", text("Wrote one."), text("Wrote **two**."))
    models.script("judge", verdict(done=False, reason="one is missing"), verdict(done=True))
    async with program(fake, models, tmp_path):
        fake.command("/goal write two notes")
        await heard(fake, fake.home, "Goal achieved")
    said = [seen.text for seen in fake.by_bot(fake.home)]
    assert any("Wrote one." in words for words in said)
    assert (await heard(fake, fake.home, "Wrote **two**.")).formatted


async def test_a_mention_is_answered_in_its_thread_and_the_thread_goes_on(
    fake: FakeSlack, models: FakeOpenAI, tmp_path: Path
) -> None:
    team = fake.world.channel()
    models.default("main", lambda seen: text(f"you said {seen.said()}"))
    async with program(fake, models, tmp_path):
        root = fake.mention("what is new?", channel=team)
        first = await heard(fake, team, "what is new?")
        fake.say("and now?", channel=team, thread=root.ts)
        second = await heard(fake, team, "and now?")
        fake.say("nobody asked", channel=team)
        fake.mention("let me in", channel=team, user=BOB)
        fake.say("!whoami", channel=team, thread=root.ts)
        await heard(fake, team, ANNA.id)
    assert {first.thread, second.thread} == {root.ts}
    assert {seen.thread for seen in fake.by_bot(team)} == {root.ts}, "strangers get nothing"


async def test_buttons_pause_and_resume_a_goal_and_the_card_changes(
    fake: FakeSlack, models: FakeOpenAI, tmp_path: Path
) -> None:
    models.script("main", text("Step.", gate="later"))
    models.default("main", text("Step."))
    models.default("judge", verdict(done=False, reason="not yet"))
    async with program(fake, models, tmp_path):
        fake.command("/goal work on")
        card = await fake.wait_for(lambda: _with_button(fake, "Pause"), WITHIN_S)
        fake.press(card, "Pause", user=BOB)
        fake.press(card, "Pause")
        await heard(fake, fake.home, "paused")
        models.open("later")
        await fake.wait_for(lambda: "Resume" in dict(card.buttons), WITHIN_S)
        assert card.edits


async def test_a_second_process_with_the_app_is_refused_and_the_first_goes_on(
    fake: FakeSlack, models: FakeOpenAI, tmp_path: Path
) -> None:
    models.script("main", text("Still here."))
    async with program(fake, models, tmp_path / "one"):
        with pytest.raises(UserError, match=TAKEN):
            await live(settings_of(fake, models), tmp_path / "two", Choices(platforms=(slack,)))
        fake.say("hello", user=ANNA)
        await heard(fake, fake.home, "Still here.")
    assert fake.delivery.opened == 1


def _with_button(fake: FakeSlack, label: str) -> Seen | None:
    shown = reversed(fake.by_bot(fake.home))
    return next((seen for seen in shown if label in dict(seen.buttons)), None)


async def test_what_is_said_around_a_death_is_answered_once_and_in_order(
    fake: FakeSlack, models: FakeOpenAI, tmp_path: Path
) -> None:
    models.script("main", text("first", gate="never"))
    models.default("main", lambda seen: text(f"you said {seen.said()}"))
    async with program(fake, models, tmp_path):
        fake.say("one", user=ANNA)
        await models.wait_for_requests(1, "main", within_s=WITHIN_S)
    fake.say("two", user=ANNA)
    fake.say("let me in", user=BOB)
    async with program(fake, models, tmp_path):
        await heard(fake, fake.home, "two")
        fake.say("three", user=ANNA)
        await heard(fake, fake.home, "three")
    answers = [seen.text for seen in fake.by_bot(fake.home) if "you said" in seen.text]
    assert len(answers) == 3
    assert [each.partition("you said ")[2].split()[-1] for each in answers] == [
        "one",
        "two",
        "three",
    ]
    assert not fake.by_bot(fake.world.direct(BOB))


async def test_strangers_get_a_code_in_direct_messages_and_nothing_from_a_channel(
    fake: FakeSlack, models: FakeOpenAI, tmp_path: Path
) -> None:
    team, elsewhere = fake.world.channel(), fake.world.channel()
    elsewhere.member = False
    async with program(fake, models, tmp_path, pairing=True):
        root = fake.say("people talk", channel=team, user=BOB)
        fake.say("among themselves", channel=team, user=BOB, thread=root.ts)
        fake.mention("let me in", channel=team, user=BOB)
        tried = [fake.command("/goal x", channel=place, user=BOB) for place in (team, elsewhere)]
        await fake.wait_for(lambda: not fake.delivery.pending, WITHIN_S)
        assert not fake.called("conversations.open")
        assert not fake.called("conversations.replies")
        fake.say("hello", user=BOB)
        await heard(fake, fake.world.direct(BOB), "pair approve")
    assert [each.answer for each in tried] == [None, None]
    assert not fake.world.ephemerals
    assert not fake.by_bot(team)


async def test_a_stranger_is_found_in_the_log_by_the_word_that_the_guide_names(
    fake: FakeSlack, models: FakeOpenAI, tmp_path: Path
) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "slack.md").read_text(encoding="utf-8")
    named = re.findall(r"The log has `(\w+)` with the id that wrote", guide)
    with capture_logs() as logged:
        async with program(fake, models, tmp_path):
            fake.say("let me in", user=BOB)
            await fake.wait_for(lambda: not fake.delivery.pending, WITHIN_S)
    assert named == [line["event"] for line in logged if line.get("person") == BOB.id]
