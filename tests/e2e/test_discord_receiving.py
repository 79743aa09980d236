"""The real discord.py listens to a fake Discord: what comes in, what the gateway does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import discord
import pytest
from simcord.backend.models import Message as Said
from simcord.enums import MessageType

from adapters.discord.bookmark import Bookmark
from core.errors import UserError
from core.messages import Button, Message, Say
from tests.contracts.platform_rig import words
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.discord_rig import Crowd, at, platform_for, running
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_faults import Html, Reset, Stall, Status, TooMany


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
    assert (message.text, message.private, message.sender.name) == ("hello", True, "Anna")
    assert message.dedupe == f"dc:{said.id}"
    assert message.address == at(fake, said.channel_id)
    account = fake.backend.bot_user.id
    mark = Bookmark.of(intake.cursors[f"discord:{account}"])
    assert mark is not None
    assert mark.direct == (said.channel_id,)
    assert mark.since < said.id


async def test_in_a_channel_it_is_addressed_by_mention_role_reply_and_command_only(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    guild = fake.guild()
    channel = fake.channel(guild)
    platform = platform_for(fake, tmp_path)
    async with running(platform, intake):
        remote = (await platform.send(at(fake, channel), Say("mine"))).remote
        fake.say("not for you", channel=channel)
        fake.say("/shrug whatever", channel=channel)
        fake.say(f"{fake.call()} by mention, {fake.call()}", channel=channel)
        fake.say("/goal by command", channel=channel)
        fake.say("by reply", channel=channel, reply_to=int(remote))
        found = await intake.got(5)
    told = [(m.text, m.addressed, m.quoted) for m in found if isinstance(m, Message)]
    assert told == [
        ("not for you", False, ""),
        ("/shrug whatever", False, ""),
        ("by mention", True, ""),
        ("/goal by command", True, ""),
        ("by reply", True, "mine"),
    ]


async def test_in_a_thread_it_is_addressed_when_it_is_in_it(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    inside, outside = fake.thread(channel), fake.thread(channel, joined=False)
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("with you", channel=inside)
        fake.say("without you", channel=outside)
        first, second = await intake.got(2)
    assert isinstance(first, Message)
    assert isinstance(second, Message)
    assert (first.addressed, second.addressed) == (True, False)
    assert (first.address.chat, first.address.thread) == (str(channel), str(inside))


async def test_a_thread_that_nobody_told_of_is_looked_up(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with running(platform_for(fake, tmp_path), intake):
        made = fake.backend.create_thread(channel, "Quiet", fake.anna.id, broadcast=False)
        fake.say(f"{fake.call()} over here", channel=made.id)
        [message] = await intake.got(1)
    assert isinstance(message, Message)
    assert message.address == at(fake, made.id)
    assert message.address.chat == str(channel)


async def test_a_thread_that_cannot_be_looked_up_is_a_place_of_its_own(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        made = fake.backend.create_thread(fake.channel(), "Quiet", fake.anna.id, broadcast=False)
        fake.fault(f"GET /channels/{made.id}", Status(403))
        fake.say(f"{fake.call()} over here", channel=made.id)
        [message] = await intake.got(1)
    assert isinstance(message, Message)
    assert (message.address.chat, message.address.thread) == (str(made.id), "")
    assert not message.private


async def test_bots_webhooks_joins_and_edits_start_nothing(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    other = fake.backend.make_user("other", bot=True)
    async with running(platform_for(fake, tmp_path), intake):
        fake.say(f"{fake.call()} I am a bot", user=other, channel=channel)
        hook = fake.backend.create_webhook(channel, "hook", fake.anna.id)
        fake.say(f"{fake.call()} I am a webhook", channel=channel, webhook_id=hook.id)
        fake.say(f"{fake.call()} joined", channel=channel, message_type=MessageType.NEW_MEMBER)
        said = fake.say(f"{fake.call()} I am Anna", channel=channel)
        fake.alter(said, f"{fake.call()} I changed my mind")
        fake.say(f"{fake.call()} last", channel=channel)
        await intake.got(2)
    assert intake.texts == ["I am Anna", "last"]


async def test_messages_presses_and_commands_of_one_moment_keep_their_order(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    platform = platform_for(fake, tmp_path)
    home = fake.direct(fake.anna)
    async with running(platform, intake):
        card = Say("Goal", buttons=(Button("Pause", "/goal pause"),))
        remote = (await platform.send(at(fake, home), card)).remote
        intake.gate.clear()
        for number in range(5):
            fake.say(f"text {number}")
            fake.press(home, int(remote), "Pause")
            fake.command("queue", f"item {number}")
        intake.gate.set()
        found = await intake.got(15)
    shown = [words(inbound) for inbound in found]
    assert shown == [
        line for n in range(5) for line in (f"text {n}", "/goal pause", f"/queue item {n}")
    ]


async def test_a_malformed_event_is_stepped_over_and_counted(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("before")
        for event in ("MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE", "THREAD_CREATE"):
            fake.gateway.push(event, {"id": "x", "channel_id": []})
        fake.gateway.push("NEVER_HEARD_OF", {})
        fake.say("after")
        await intake.got(2)
    assert intake.texts == ["before", "after"]
    assert fake.gateway.identified == 1
    assert "stepping over a MESSAGE_CREATE" in caplog.text
    assert "4 so far" in caplog.text


async def test_what_was_not_saved_is_handed_over_again_and_shows_in_the_health(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    platform = platform_for(fake, tmp_path, backoff_s=0.3, backoff_cap_s=0.3)
    async with running(platform, intake):
        intake.failures = 1
        fake.say("keep me")
        await intake.wait_for(lambda: not platform.health().ok)
        assert "cannot be saved" in platform.health().detail
        await intake.got(1)
        await intake.wait_for(lambda: platform.health().ok)


# The gateway


async def test_a_broken_socket_is_resumed_and_what_was_missed_is_replayed(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("before")
        await intake.got(1)
        fake.gateway.refuses = True
        fake.gateway.cut()
        fake.say("meanwhile")
        fake.gateway.refuses = False
        await intake.got(2)
    assert intake.texts == ["before", "meanwhile"]
    assert (fake.gateway.identified, fake.gateway.resumed) == (1, 1)
    assert not fake.called("history")


async def test_op_7_is_followed_by_a_resume(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        fake.gateway.reconnect()
        await fake.wait_for(lambda: fake.gateway.resumed == 1)
        fake.say("on the new socket")
        await intake.got(1)
    assert fake.gateway.identified == 1


async def test_op_9_that_may_be_resumed_is(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        fake.gateway.invalidate(resumable=True)
        await fake.wait_for(lambda: fake.gateway.resumed == 1)
    assert fake.gateway.identified == 1


async def test_after_op_9_a_new_session_fetches_what_was_said_between(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("before")
        await intake.got(1)
        fake.gateway.invalidate(resumable=False)
        fake.say("in private")
        fake.say(f"{fake.call()} in a channel", channel=channel)
        await fake.wait_for(lambda: fake.gateway.identified == 2)
        await intake.got(3)
        fake.say("live again")
        await intake.got(4)
    assert intake.texts == ["before", "in private", "in a channel", "live again"]


async def test_a_zombie_connection_is_left_and_the_session_resumed(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    fake.gateway.heartbeat_s = 0.1
    platform = platform_for(fake, tmp_path, silence_s=0.5)
    async with running(platform, intake):
        await fake.wait_for(lambda: fake.gateway.beats > 2)
        fake.gateway.deafen()
        fake.say("can you hear me?")
        await intake.got(1)
        await intake.wait_for(lambda: platform.health().ok)
    assert (fake.gateway.identified, fake.gateway.resumed) == (1, 1)


async def test_a_gateway_that_stays_silent_is_built_anew(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    fake.gateway.heartbeat_s = 0.1
    platform = platform_for(fake, tmp_path, rebuild_s=0.5, people=Crowd((fake.anna.id,)))
    async with running(platform, intake):
        fake.gateway.deafen()
        fake.say("can you hear me?")
        await intake.wait_for(lambda: intake.accepted or None)
    assert fake.gateway.identified >= 2


async def test_a_gateway_that_says_no_hello_is_tried_again_with_a_fresh_client(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    fake.gateway.unanswered = True
    platform = platform_for(fake, tmp_path, silence_s=0.3)
    async with asyncio.TaskGroup() as group:
        life = group.create_task(platform.run(intake))
        await fake.wait_for(lambda: len(fake.called("me")) > 1)
        fake.gateway.unanswered = False
        await intake.wait_for(lambda: intake.caught)
        fake.say("hello")
        await intake.got(1)
        life.cancel()


@pytest.mark.parametrize("fault", [Status(503), Html(), Reset(), TooMany(1)])
async def test_a_sign_in_that_fails_is_tried_again(
    fake: FakeDiscord,
    intake: FakeIntake,
    tmp_path: Path,
    fault: Status | Html | Reset | TooMany,
) -> None:
    fake.fault("me", fault, times=2)
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("hello")
        await intake.got(1)
    assert len(fake.called("me")) == 3


async def test_the_missing_intent_ends_it_with_where_to_switch_it_on(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    fake.gateway.allowed_intents = discord.Intents(guilds=True, guild_messages=True)
    platform = platform_for(fake, tmp_path)
    with pytest.raises(UserError, match=r"Message Content Intent.*Privileged Gateway"):
        await platform.run(intake)
    assert not platform.health().ok
    assert fake.gateway.identified == 1


async def test_a_wrong_token_ends_it_with_the_key_that_holds_it(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    platform = platform_for(fake, tmp_path, token=fake.token + "x")
    with pytest.raises(UserError, match=r"platforms\.discord\.token"):
        await platform.run(intake)


async def test_a_token_that_the_gateway_refuses_ends_it_too(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    fake.gateway.token = "another"
    with pytest.raises(UserError, match=r"platforms\.discord\.token"):
        await platform_for(fake, tmp_path).run(intake)


# What was missed


async def test_what_was_said_while_it_was_down_comes_in_from_channels_threads_and_private_chats(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    thread = fake.thread(channel)
    fake.say(f"{fake.call()} before the very first start", channel=channel)
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("hello")
        await intake.got(1)
    fake.say("private")
    fake.say(f"{fake.call()} channel", channel=channel)
    fake.say("thread", channel=thread)
    fake.say("private of a person in the settings", user=fake.bob)
    async with running(platform_for(fake, tmp_path, people=Crowd((fake.bob.id,))), intake):
        await intake.got(5)
    assert intake.texts == [
        "hello",
        "private",
        "channel",
        "thread",
        "private of a person in the settings",
    ]


async def test_strangers_private_chats_are_not_kept(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    crowd = Crowd(strangers=(fake.bob.id,))
    async with running(platform_for(fake, tmp_path, people=crowd), intake):
        fake.say("let me in", user=fake.bob)
        fake.say("hello")
        await intake.got(2)
    mark = Bookmark.of(intake.cursors[f"discord:{fake.backend.bot_user.id}"])
    assert mark is not None
    assert mark.direct == (fake.direct(fake.anna),)


async def test_a_long_backlog_comes_in_order_and_before_what_is_said_live(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("start")
        await intake.got(1)
    said = [f"m{number}" for number in range(250)]
    for text in said:
        fake.say(text)
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("live")
        await intake.got(252, within_s=20)
    assert intake.texts == ["start", *said, "live"]


def read_up_to(fake: FakeDiscord, intake: FakeIntake) -> int:
    """The newest message that the kept bookmark counts as read."""
    mark = Bookmark.of(intake.cursors[f"discord:{fake.backend.bot_user.id}"])
    assert mark is not None
    return mark.last


def put_back(fake: FakeDiscord, intake: FakeIntake, said: Said) -> None:
    """Let the kept bookmark stand at that message: the very first one begins a little ahead."""
    mark = Bookmark(said.id, (said.channel_id,))
    intake.cursors[f"discord:{fake.backend.bot_user.id}"] = str(mark)


@pytest.mark.parametrize("fault", [Status(500), TooMany(1), Reset(), Html()])
async def test_what_could_not_be_read_at_once_is_read_again(
    fake: FakeDiscord,
    intake: FakeIntake,
    tmp_path: Path,
    fault: Status | TooMany | Reset | Html,
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        first = fake.say("hello")
        await intake.got(1)
    put_back(fake, intake, first)
    missed = fake.say("missed")
    fake.fault("history", fault, times=2)
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("live")
        await intake.got(3)
    assert intake.texts == ["hello", "missed", "live"]
    assert read_up_to(fake, intake) >= missed.id


async def test_a_channel_that_is_read_late_keeps_its_order_and_holds_up_no_other(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with running(platform_for(fake, tmp_path), intake):
        first = fake.say("hello")
        await intake.got(1)
    put_back(fake, intake, first)
    fake.say(f"{fake.call()} missed", channel=channel)
    stall = Stall()
    fake.fault("history", stall, chat=channel)
    async with running(platform_for(fake, tmp_path, catch_up_s=0.1), intake):
        fake.command("stop", channel=channel)
        fake.say(f"{fake.call()} live there", channel=channel)
        fake.say("live elsewhere")
        await intake.got(2)
        assert intake.texts == ["hello", "live elsewhere"]
        assert read_up_to(fake, intake) == first.id
        stall.until.set()
        await intake.got(5)
        assert intake.texts[2:] == ["missed", "/stop", "live there"]
        last = fake.say("and on")
        await intake.got(6)
        assert read_up_to(fake, intake) == last.id


async def test_what_was_not_read_until_a_restart_is_read_after_it(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("hello")
        await intake.got(1)
    fake.say(f"{fake.call()} missed", channel=channel)
    fake.fault("history", Status(500), times=10_000, chat=channel)
    async with running(platform_for(fake, tmp_path, catch_up_s=0.05, backoff_cap_s=5), intake):
        fake.say("live elsewhere")
        await intake.got(2)
    fake.calm()
    async with running(platform_for(fake, tmp_path), intake):
        await intake.got(3)
    assert intake.texts == ["hello", "live elsewhere", "missed"]


async def test_a_new_session_reads_on_where_the_one_before_was_still_reading(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("hello")
        await intake.got(1)
    fake.say(f"{fake.call()} missed", channel=channel)
    fake.fault("history", Stall(), chat=channel)
    async with running(platform_for(fake, tmp_path, catch_up_s=0.05), intake):
        fake.say(f"{fake.call()} live there", channel=channel)
        fake.say("live elsewhere")
        await intake.got(2)
        fake.gateway.invalidate(resumable=False)
        await intake.got(4)
    assert intake.texts == ["hello", "live elsewhere", "missed", "live there"]


async def test_a_channel_that_stays_unread_is_heard_all_the_same_after_a_while(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("hello")
        await intake.got(1)
    fake.say(f"{fake.call()} missed", channel=channel)
    stall = Stall()
    fake.fault("history", stall, chat=channel)
    async with running(platform_for(fake, tmp_path, catch_up_s=0.05, hold_s=0.3), intake):
        fake.say(f"{fake.call()} live there", channel=channel)
        await intake.got(2)
        stall.until.set()
        await intake.got(3)
    assert intake.texts == ["hello", "live there", "missed"]


async def test_servers_that_are_described_late_are_waited_for(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("hello")
        await intake.got(1)
    fake.say(f"{fake.call()} missed", channel=channel)
    fake.gateway.describing_s = 0.3
    async with running(platform_for(fake, tmp_path, settle_s=0.01), intake):
        await intake.got(2)
    assert intake.texts == ["hello", "missed"]


async def test_servers_with_an_outage_are_not_waited_for_longer_than_that(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    fake.channel()
    fake.gateway.describing_s = None
    async with running(platform_for(fake, tmp_path, describe_s=0.1), intake):
        fake.say("hello")
        await intake.got(1)


async def test_a_channel_that_may_not_be_read_does_not_keep_the_bookmark_back(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        first = fake.say("hello")
        await intake.got(1)
    put_back(fake, intake, first)
    fake.fault("history", Status(403))
    async with running(platform_for(fake, tmp_path), intake):
        last = fake.say("live")
        await intake.got(2)
        assert read_up_to(fake, intake) == last.id


async def test_a_channel_that_cannot_be_read_holds_up_nothing(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("hello")
        await intake.got(1)
    fake.fault("history", Status(500), times=9)
    async with running(platform_for(fake, tmp_path), intake):
        fake.say("live")
        await intake.got(2)
