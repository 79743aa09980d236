"""The real discord.py listens to a fake Discord: what comes in, and when it is acknowledged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.messages import Message
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.discord_rig import at, platform_for, running
from tests.fakes.intake import FakeIntake


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


async def test_a_private_message_reaches_the_intake(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        said = fake.say("hello")
        [message] = await intake.got(1)
    assert isinstance(message, Message)
    assert message.text == "hello"
    assert message.private
    assert message.dedupe == f"dc:{said.id}"
    assert message.address == at(fake, said.channel_id)
    assert message.sender.name == "Anna"
