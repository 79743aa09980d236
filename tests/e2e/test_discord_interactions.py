"""The real discord.py and Discord's commands and buttons: answered in time, after the commit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from simcord.backend.models import Interaction

from adapters.discord.options import MenuEntry
from core.messages import Button, Handled, Inbound, Message, Press, Queued, Refused, Say
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.discord_rig import MENU, Crowd, at, platform_for, running
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_faults import Status


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


async def answered(fake: FakeDiscord, asked: Interaction) -> tuple[str, bool]:
    """The text that answered an interaction, and whether only that person sees it."""
    await fake.wait_for(lambda: asked.responded, 3.0)
    if asked.message_id in {None, asked.source_message_id}:
        return "", True
    found = fake.backend.get_message(asked.channel_id, asked.message_id or 0)
    return found.content, found.is_ephemeral


async def test_a_command_is_a_message_and_is_answered_after_its_commit(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with running(platform_for(fake, tmp_path), intake):
        intake.gate.clear()
        asked = fake.command("goal", "write *tests*", channel=channel)
        await intake.wait_for(lambda: intake.attempts)
        assert not asked.responded
        intake.gate.set()
        [message] = await intake.got(1)
        assert await answered(fake, asked) == (r"/goal write \*tests\*", False)
    assert isinstance(message, Message)
    assert (message.text, message.dedupe) == ("/goal write *tests*", f"dc:i:{asked.id}")
    assert (message.address, message.private) == (at(fake, channel), False)
    assert message.sender.id == str(fake.anna.id)


async def test_a_command_in_a_thread_belongs_to_the_thread(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    thread = fake.thread(fake.channel())
    async with running(platform_for(fake, tmp_path), intake):
        fake.command("stop", channel=thread)
        [message] = await intake.got(1)
    assert isinstance(message, Message)
    assert message.address == at(fake, thread)


async def test_a_press_is_acknowledged_silently_and_a_refused_one_with_the_reason(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    platform = platform_for(fake, tmp_path)
    home = fake.direct(fake.anna)
    async with running(platform, intake):
        card = Say("Goal", buttons=(Button("Pause", "/goal pause"),))
        remote = (await platform.send(at(fake, home), card)).remote
        intake.acks = lambda _: Handled("⏸ Goal paused.")
        first = fake.press(home, int(remote), "Pause")
        assert await answered(fake, first) == ("", True)
        intake.acks = lambda _: Refused("Owners only.")
        second = fake.press(home, int(remote), "Pause")
        assert await answered(fake, second) == ("Owners only.", True)
        found = await intake.got(2)
    assert [p.command for p in found if isinstance(p, Press)] == ["/goal pause"] * 2


async def test_a_strangers_command_gets_no_answer_and_their_press_does_nothing(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    platform = platform_for(fake, tmp_path)
    async with running(platform, intake):
        card = Say("Goal", buttons=(Button("Pause", "/goal pause"),))
        remote = (await platform.send(at(fake, channel), card)).remote
        intake.acks = lambda _: Refused("")
        ignored = fake.command("goal", "mine", user=fake.bob, channel=channel)
        press = fake.press(channel, int(remote), "Pause", user=fake.bob)
        await intake.got(2)
        assert await answered(fake, press) == ("", True)
        intake.acks = lambda _: Queued(0)
        await answered(fake, fake.command("goal", "ours", channel=channel))
    assert not ignored.responded
    assert len(fake.shown(channel)) == 2, "the card, and what is shown of our command"


async def test_a_slow_commit_is_told_as_saving_and_then_confirmed(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    platform = platform_for(fake, tmp_path, saving_s=0.1)
    home = fake.direct(fake.anna)
    async with running(platform, intake):
        card = Say("Goal", buttons=(Button("Pause", "/goal pause"),))
        remote = (await platform.send(at(fake, home), card)).remote
        intake.gate.clear()
        command = fake.command("goal", "pause")
        press = fake.press(home, int(remote), "Pause")
        for asked in (command, press):
            assert await answered(fake, asked) == ("saving…", True)
        intake.gate.set()
        await fake.wait_for(lambda: _text(fake, command) == "/goal pause")
        await fake.wait_for(lambda: _text(fake, press) == "saved")


async def test_a_stranger_is_told_neither_of_saving_nor_of_old_commands_nor_the_words(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    crowd = Crowd(strangers=(fake.bob.id,))
    platform = platform_for(fake, tmp_path, saving_s=0.05, people=crowd)
    channel = fake.channel()
    async with running(platform, intake):
        card = Say("Goal", buttons=(Button("Pause", "/goal pause"),))
        remote = (await platform.send(at(fake, channel), card)).remote
        intake.acks = lambda i: Refused("") if _is(i, fake.bob.id) else Queued(0)
        intake.gate.clear()
        press = fake.press(channel, int(remote), "Pause", user=fake.bob)
        ignored = [
            fake.command("goal", "mine", user=fake.bob, channel=channel),
            fake.command("retired", user=fake.bob, channel=channel),
        ]
        words = fake.complete("goal", "p", user=fake.bob, channel=channel)
        ours = fake.command("goal", "ours", channel=channel)
        assert await answered(fake, ours) == ("saving…", True)
        await fake.wait_for(lambda: words.responded)
        assert words.autocomplete_choices == []
        assert not press.responded
        intake.gate.set()
        assert await answered(fake, press) == ("", True)
        await fake.wait_for(lambda: _text(fake, ours) == "/goal ours")
    assert not any(asked.responded for asked in ignored)


async def test_an_interaction_delivered_twice_acts_once(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        await answered(fake, fake.command("stop"))
        fake.gateway.again()
        fake.say("next")
        await intake.got(2)
    assert intake.texts == ["/stop", "next"]


async def test_completion_offers_the_words_that_fit(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        asked = fake.complete("goal", "P")
        await fake.wait_for(lambda: asked.responded)
    assert asked.autocomplete_choices == [{"name": "pause", "value": "pause"}]
    assert not intake.accepted


async def test_a_command_that_is_no_longer_ours_is_explained(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        text, only_them = await answered(fake, fake.command("retired"))
    assert "has changed" in text
    assert only_them
    assert not intake.accepted


async def test_commands_are_offered_once_and_again_only_when_they_changed(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    for _ in range(2):
        async with running(platform_for(fake, tmp_path), intake):
            pass
    assert len(fake.called("sync")) == 1
    more = (*MENU, MenuEntry("whoami", "Your id"))
    async with running(platform_for(fake, tmp_path, commands=more), intake):
        pass
    assert len(fake.called("sync")) == 2
    offered = fake.called("sync")[-1].asked.body
    assert [command["name"] for command in offered][-1] == "whoami"
    [option] = offered[0]["options"]
    assert (option["name"], option["required"]) == ("text", False)
    assert option["autocomplete"] is True


async def test_commands_that_could_not_be_offered_are_offered_at_the_next_start(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    fake.fault("sync", Status(500))
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("hello")
        await intake.got(1)
    async with running(platform_for(fake, tmp_path), intake):
        pass
    assert [call.outcome for call in fake.called("sync")][-1] == "ok"


def _is(inbound: Inbound, person: int) -> bool:
    return isinstance(inbound, Message | Press) and inbound.sender.id == str(person)


def _text(fake: FakeDiscord, asked: Interaction) -> str:
    assert asked.message_id is not None
    return fake.backend.get_message(asked.channel_id, asked.message_id).content
