"""Slack's HTTP events over loopback: who is let in, and what Slack is told."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from adapters.slack.options import EVENTS_PATH, Events
from core.errors import UserError
from tests.fakes.intake import FakeIntake
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_delivery import COMMANDS, EVENTS, Envelope
from tests.fakes.slack_faults import No, Status
from tests.fakes.slack_people import at
from tests.fakes.slack_rig import platform_for, running
from tests.fakes.slack_world import BOT, Seen


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def listening(fake: FakeSlack, intake: FakeIntake) -> AsyncIterator[str]:
    """A running adapter; the address that it takes events at."""
    events = Events(signing_secret=fake.delivery.signing_secret, port=free_port())
    platform = platform_for(fake, events=events, app_token="")
    async with running(platform, intake):
        yield f"http://127.0.0.1:{events.port}{EVENTS_PATH}"


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


async def post(url: str, headers: dict[str, str], body: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


def told(fake: FakeSlack, text: str = "hello") -> Envelope:
    """An event that is not on its way by itself."""
    seen = fake.world.post(fake.home, fake.world.people["U0ANNA001"], text, raw=text)
    event = fake.event_of(seen)
    return Envelope("x", EVENTS, {"type": "event_callback", "team_id": "T", "event": event})


async def test_an_event_is_answered_after_the_commit_and_503_when_there_is_none(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    async with listening(fake, intake) as url:
        headers, body = fake.delivery.signed(told(fake))
        intake.failures = 1
        assert (await post(url, headers, body))[0] == 503
        assert (await post(url, headers, body))[0] == 200
        assert (await post(url, headers, body))[0] == 200
    assert intake.texts == ["hello"]


async def test_what_follows_an_undecided_message_of_a_thread_has_to_come_again_after_it(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    anna = fake.world.people["U0ANNA001"]
    root = fake.world.post(team, anna, "x", raw=f"<@{BOT.id}> x")
    first, second = (
        fake.world.post(team, anna, text, raw=text, thread=root.ts) for text in ("one", "two")
    )
    fake.fault("conversations.replies", Status(503))
    async with listening(fake, intake) as url:

        async def brought(event: Seen) -> int:
            payload = {"type": "event_callback", "team_id": "T", "event": fake.event_of(event)}
            signed = fake.delivery.signed(Envelope("x", EVENTS, payload))
            return (await post(url, *signed))[0]

        assert [await brought(first), await brought(second)] == [504, 504]
        assert (await post(url, *fake.delivery.signed(told(fake))))[0] == 200
        assert [await brought(first), await brought(second)] == [200, 200]
    assert intake.texts == ["hello", "one", "two"]


async def test_only_slack_is_let_in(fake: FakeSlack, intake: FakeIntake) -> None:
    async with listening(fake, intake) as url:
        headers, body = fake.delivery.signed(told(fake))
        forged = headers | {"X-Slack-Signature": "v0=" + "0" * 64}
        old, _ = fake.delivery.signed(told(fake), at=time.time() - 600)
        unsigned = {"Content-Type": "application/json"}
        for given in (forged, old, unsigned):
            assert (await post(url, given, body))[0] == 401
        changed = body.replace("hello", "/goal delete all")
        assert (await post(url, headers, changed))[0] == 401
        garbled = '{"type": "event_callback", "event": {"user": ["x"]}}'
        assert (await post(url, forged, garbled))[0] == 401
    assert intake.attempts == []


async def test_slack_may_check_the_address(fake: FakeSlack, intake: FakeIntake) -> None:
    check = Envelope("x", EVENTS, {"type": "url_verification", "challenge": "c0ffee"})
    async with listening(fake, intake) as url:
        status, text = await post(url, *fake.delivery.signed(check))
    assert status == 200
    assert "c0ffee" in text


async def test_a_command_is_answered_in_the_response(fake: FakeSlack, intake: FakeIntake) -> None:
    team = fake.world.channel()
    async with listening(fake, intake) as url:
        fake.delivery.url = url
        envelope = fake.command("/goal tidy up", channel=team)
        await fake.wait_for(lambda: envelope.acked)
    assert envelope.kind == COMMANDS
    assert envelope.answer == {"response_type": "in_channel"}
    assert intake.texts == ["/goal tidy up"]
    assert intake.caught == ["slack"]


async def test_a_press_comes_in_by_http(fake: FakeSlack, intake: FakeIntake) -> None:
    card = fake.world.post(fake.home, BOT, "Goal", buttons=[("Pause", "/goal pause")])
    async with listening(fake, intake) as url:
        fake.delivery.url = url
        fake.press(card, "Pause")
        [press] = await intake.got(1)
    assert press.dedupe.startswith("sl:i:")


async def test_a_taken_port_ends_the_run_and_names_the_key(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        events = Events(signing_secret="s", port=port)
        with pytest.raises(UserError, match=r"platforms\.slack\.events"):
            await platform_for(fake, events=events).run(intake)


async def test_a_secret_is_needed(fake: FakeSlack) -> None:
    with pytest.raises(UserError, match=r"platforms\.slack\.events\.signing_secret"):
        platform_for(fake, events=Events(signing_secret=""))


async def test_a_silent_slack_shows_in_the_health_until_it_answers(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    events = Events(signing_secret="s", port=free_port())
    platform = platform_for(fake, events=events, check_s=0.05)
    async with running(platform, intake):
        assert platform.health().ok
        fake.fault("auth.test", Status(502), times=2)
        await fake.wait_for(lambda: len(fake.called("auth.test")) >= 3)
        assert "does not answer" in platform.health().detail
        await fake.wait_for(lambda: len(fake.called("auth.test")) >= 5)
        assert platform.health().ok


async def test_a_token_that_is_revoked_meanwhile_ends_the_run(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    events = Events(signing_secret="s", port=free_port())
    platform = platform_for(fake, events=events, check_s=0.05)
    task = asyncio.create_task(platform.run(intake))
    await intake.wait_for(lambda: intake.caught)
    fake.fault("auth.test", No("token_revoked"))
    with pytest.raises(UserError, match=r"platforms\.slack\.bot_token"):
        await task


async def test_an_answer_in_a_thread_goes_there_too(fake: FakeSlack, intake: FakeIntake) -> None:
    team = fake.world.channel()
    async with listening(fake, intake) as url:
        fake.delivery.url = url
        said = fake.mention("look", channel=team)
        await fake.wait_for(lambda: not fake.delivery.pending)
    [message] = intake.accepted
    assert getattr(message, "address", None) == at(team, said.ts)
