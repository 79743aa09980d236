"""Webhook mode: our own HTTP server, called by a fake Bot API."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapters.telegram.options import Webhook
from core.errors import UserError
from core.messages import Handled
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_rig import platform_for, running
from tests.fakes.telegram_world import ANNA


@pytest.fixture
async def fake() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        yield server


@pytest.fixture
def hook() -> Webhook:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return Webhook(url=f"http://127.0.0.1:{port}/tg/hook", port=port)


async def test_an_update_is_acknowledged_once_it_is_saved(
    fake: FakeTelegram, hook: Webhook
) -> None:
    intake = FakeIntake()
    async with running(platform_for(fake, webhook=hook), intake):
        intake.failures = 2
        fake.say("one")
        fake.say("two")
        await intake.got(2)
        await fake.wait_for(lambda: not fake.world.updates)
    assert intake.texts == ["one", "two"]
    assert fake.queue.hook_answers == [503, 503, 200, 200]
    assert fake.queue.hook["max_connections"] == "1"


async def test_the_backlog_is_in_before_the_adapter_says_so(
    fake: FakeTelegram, hook: Webhook
) -> None:
    for number in range(20):
        fake.say(f"m{number}")
    intake = FakeIntake()
    async with running(platform_for(fake, webhook=hook), intake):
        assert len(intake.texts) == 20


async def test_a_call_without_the_secret_is_turned_away(fake: FakeTelegram, hook: Webhook) -> None:
    intake = FakeIntake()
    header = "X-Telegram-Bot-Api-Secret-Token"
    async with (
        running(platform_for(fake, webhook=hook), intake),
        aiohttp.ClientSession() as session,
    ):
        for headers, body, expected in (
            ({}, "{}", 403),
            ({header: "wrong"}, "{}", 403),
            ({header: fake.queue.hook["secret_token"]}, "not json", 400),
        ):
            async with session.post(hook.url, data=body, headers=headers) as response:
                assert response.status == expected
    assert not intake.attempts


async def test_a_malformed_update_is_taken_off_the_queue(
    fake: FakeTelegram, hook: Webhook
) -> None:
    intake = FakeIntake()
    async with running(platform_for(fake, webhook=hook), intake):
        fake.push({"message": {"chat": []}})
        fake.say("next")
        await intake.got(1)
    assert fake.queue.hook_answers == [200, 200]


async def test_a_press_is_answered(fake: FakeTelegram, hook: Webhook) -> None:
    intake = FakeIntake()
    intake.acks = lambda _: Handled("Paused.")
    card = fake.world.post(
        fake.world.private(ANNA), fake.bot, "Goal", buttons=[("Pause", "/goal pause")]
    )
    async with running(platform_for(fake, webhook=hook), intake):
        assert await fake.toast(fake.press(card, "Pause")) == "Paused."


async def test_polling_takes_a_forgotten_webhook_away(fake: FakeTelegram, hook: Webhook) -> None:
    async with running(platform_for(fake, webhook=hook), FakeIntake()):
        assert fake.queue.hook
    fake.say("kept")
    intake = FakeIntake()
    async with running(platform_for(fake), intake):
        assert intake.texts == ["kept"]


async def test_a_refused_url_and_a_taken_port_name_the_config_key(
    fake: FakeTelegram, hook: Webhook
) -> None:
    plain = Webhook(url="http://example.org/hook", port=hook.port)
    with pytest.raises(UserError, match=r"platforms\.telegram\.webhook\.url"):
        await platform_for(fake, webhook=plain).run(FakeIntake())
    taken = Webhook(url=hook.url, port=fake.port)
    with pytest.raises(UserError, match=r"platforms\.telegram\.webhook"):
        await platform_for(fake, webhook=taken).run(FakeIntake())
