"""The real slack-bolt and slack_sdk in Socket Mode against a fake Slack: what comes in, and when
Slack is told that it did."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UserError
from core.messages import Handled, Inbound, Message, Press, Queued, Refused
from tests.fakes.intake import FakeIntake
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_faults import Html, Lost, No, Reset, Status, TooMany
from tests.fakes.slack_people import at
from tests.fakes.slack_rig import platform_for, quick, running
from tests.fakes.slack_world import ANNA, BOB, BOT, OTHER_BOT


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


def messages(intake: FakeIntake, *, addressed: bool = True) -> list[Message]:
    return [i for i in intake.accepted if isinstance(i, Message) and i.addressed is addressed]


async def test_an_envelope_is_acknowledged_after_the_commit(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    async with running(platform_for(fake), intake):
        intake.gate.clear()
        said = fake.say("hello")
        envelope = fake.last
        await intake.wait_for(lambda: intake.attempts)
        assert not envelope.acked
        intake.gate.set()
        await fake.wait_for(lambda: envelope.acked)
    [message] = messages(intake)
    assert message.dedupe == f"sl:T0FAKE001:{fake.home.id}:{said.ts}"
    assert message.sender.name == "Anna"


async def test_one_mention_is_one_message_in_whichever_order_it_is_told(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    async with running(platform_for(fake), intake):
        said = [fake.mention(text, channel=team) for text in ("one", "two")]
        await fake.wait_for(lambda: not fake.delivery.pending)
    kinds = [e.payload["event"]["type"] for e in fake.delivery.envelopes.values()]
    assert kinds == ["app_mention", "message", "message", "app_mention"]
    assert [m.text for m in messages(intake)] == ["one", "two"]
    assert [m.address for m in messages(intake)] == [at(team, each.ts) for each in said]


async def test_other_bots_and_its_own_words_start_nothing(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    async with running(platform_for(fake), intake):
        team = fake.world.channel()
        fake.mention("/goal loop for ever", user=OTHER_BOT, channel=team)
        fake.say("an answer", user=BOT, channel=fake.home)
        fake.say("from a person")
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert intake.texts == ["from a person"]


async def test_a_name_that_cannot_be_had_is_gone_without(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    fake.fault("users.info", TooMany(30))
    async with running(platform_for(fake), intake):
        fake.say("one")
        fake.say("two")
        await intake.got(2)
    assert [m.sender.name for m in messages(intake)] == ["", ""]
    assert len(fake.called("users.info")) == 1


# Commands and presses


async def test_a_command_in_a_channel_is_shown_to_all_and_a_refused_one_to_nobody_else(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()

    def acks(inbound: Inbound) -> Queued | Refused:
        text = inbound.text if isinstance(inbound, Message) else ""
        return {
            "/status": Refused("Only <owners> may."),
            "/stop": Refused(""),
        }.get(text, Queued(0))

    intake.acks = acks
    async with running(platform_for(fake), intake):
        shown = fake.command("/goal tidy up", channel=team)
        private = fake.command("/goal tidy up")
        refused = fake.command("/status", channel=team)
        stranger = fake.command("/stop", channel=team)
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert shown.answer == {"response_type": "in_channel"}
    assert (private.answer, stranger.answer) == (None, None)
    assert refused.answer == {
        "response_type": "ephemeral",
        "text": "Only &lt;owners&gt; may.",
    }


async def test_a_command_that_is_saved_late_is_answered_in_time_and_confirmed(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    intake.acks = lambda _: Handled("⊙ Goal set")
    async with running(platform_for(fake, saving_s=0.05), intake):
        intake.gate.clear()
        envelope = fake.command("/goal slow disk")
        await fake.wait_for(lambda: envelope.acked)
        assert envelope.answer == {"response_type": "ephemeral", "text": "saving…"}
        assert not fake.world.ephemerals
        intake.gate.set()
        [(_, told)] = await fake.wait_for(lambda: fake.world.ephemerals)
    assert (told["text"], told["replace_original"]) == ("⊙ Goal set", False)
    assert intake.texts == ["/goal slow disk"]


async def test_what_cannot_be_saved_is_asked_for_again(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    card = fake.world.post(fake.home, BOT, "Goal", buttons=[("Pause", "/goal pause")])
    async with running(platform_for(fake), intake):
        intake.failures = 2
        command = fake.command("/goal x")
        await fake.wait_for(lambda: command.acked)
        press = fake.press(card, "Pause")
        await fake.wait_for(lambda: press.acked and fake.world.ephemerals)
    assert "the disk is full" in str(command.answer)
    assert "Send it again" in fake.world.ephemerals[0][1]["text"]
    assert intake.accepted == []


async def test_a_refused_press_is_told_to_the_one_who_pressed_in_the_thread(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "x", raw="x")
    card = fake.world.post(team, BOT, "?", thread=root.ts, buttons=[("Approve", "/approve E1")])
    intake.acks = lambda _: Refused("Only owners approve.")
    async with running(platform_for(fake), intake):
        fake.press(card, "Approve", user=BOB)
        [(_, told)] = await fake.wait_for(lambda: fake.world.ephemerals)
    assert told == {
        "response_type": "ephemeral",
        "text": "Only owners approve.",
        "replace_original": False,
        "thread_ts": root.ts,
    }
    [press] = intake.accepted
    assert isinstance(press, Press)
    assert press.sender.id == BOB.id


async def test_a_command_where_the_app_is_not_counts_as_given_in_direct_messages(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    public = fake.world.channel()
    secret = fake.world.channel(kind="group")
    public.member = secret.member = False
    async with running(platform_for(fake), intake):
        for place in (public, secret, public):
            envelope = fake.command("/goal x", channel=place)
            await fake.wait_for(lambda: not fake.delivery.pending)
            assert "direct messages" in str(envelope.answer)
    assert {m.address for m in messages(intake)} == {at(fake.home)}
    assert all(m.private for m in messages(intake))
    assert len(fake.called("conversations.info")) == 2


# The socket


async def test_a_quiet_socket_is_pinged_and_stays(fake: FakeSlack, intake: FakeIntake) -> None:
    platform = platform_for(fake, ping_s=0.05, deaf_s=0.5)
    async with running(platform, intake):
        await fake.wait_for(lambda: fake.delivery.pings > 12)
        assert fake.delivery.opened == 1
        assert platform.health().ok


async def test_a_deaf_socket_is_replaced_and_what_it_did_not_bring_comes(
    fake: FakeSlack,
    intake: FakeIntake,
    caplog: pytest.LogCaptureFixture,
) -> None:
    platform = platform_for(fake, ping_s=0.05, deaf_s=0.3)
    async with running(platform, intake):
        fake.delivery.deafen()
        fake.say("hello?")
        await intake.got(1)
    assert fake.delivery.opened == 2
    assert "deaf" in caplog.text


async def test_a_socket_that_is_not_greeted_is_left(
    fake: FakeSlack, intake: FakeIntake, caplog: pytest.LogCaptureFixture
) -> None:
    fake.delivery.mute = True
    platform = platform_for(fake, ping_s=0.05, deaf_s=0.3)
    task = asyncio.create_task(platform.run(intake))
    await fake.wait_for(lambda: fake.delivery.opened >= 2)
    assert not platform.health().ok
    fake.delivery.mute = False
    await intake.wait_for(lambda: intake.caught)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert "does not say hello" in caplog.text


async def test_slack_may_ask_for_a_new_connection_at_any_time(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    async with running(platform_for(fake), intake):
        for number in range(3):
            fake.say(f"m{number}")
            await fake.delivery.refresh()
            await fake.opened(number + 2)
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert intake.texts == ["m0", "m1", "m2"]
    assert intake.caught == ["slack"]


async def test_frames_that_nobody_can_read_are_stepped_over(
    fake: FakeSlack, intake: FakeIntake, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(platform_for(fake), intake):
        for frame in (
            "no json",
            "[]",
            '{"type": "new thing"}',
            '{"type": "events_api", "envelope_id": "1", "payload": 7}',
        ):
            await fake.delivery.send_raw(frame)
        fake.bring_event({"type": "message", "channel": None})
        fake.say("after")
        await intake.got(1)
    assert intake.texts == ["after"]
    assert fake.delivery.opened == 1
    assert "4 so far" in caplog.text


async def test_a_second_connection_elsewhere_is_reported(
    fake: FakeSlack, intake: FakeIntake, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        running(platform_for(fake), intake),
        running(platform_for(fake), FakeIntake()),
    ):
        assert "2 connections are open for this app" in caplog.text


@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
@pytest.mark.parametrize(
    "fault",
    [Reset(), Lost(), Html(), Html("text/plain"), Status(502), No("internal_error"), TooMany(1)],
    ids=lambda fault: type(fault).__name__ + str(getattr(fault, "code", "")),
)
async def test_a_start_that_fails_is_tried_again(
    fake: FakeSlack,
    intake: FakeIntake,
    method: str,
    fault: Reset | Lost | Html | Status | No | TooMany,
) -> None:
    fake.fault(method, fault)
    async with running(platform_for(fake), intake):
        fake.say("patient")
        await intake.got(1)
    assert len(fake.called(method)) >= 2


@pytest.mark.parametrize("key", ["bot_token", "app_token"])
@pytest.mark.parametrize("code", ["invalid_auth", "token_revoked", "missing_scope"])
async def test_a_refused_token_ends_the_run_and_names_the_key(
    fake: FakeSlack, intake: FakeIntake, key: str, code: str
) -> None:
    method = "auth.test" if key == "bot_token" else "apps.connections.open"
    fake.fault(method, No(code))
    with pytest.raises(UserError, match=rf"platforms\.slack\.{key}") as caught:
        await platform_for(fake).run(intake)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [("bot_token", ""), ("bot_token", "xoxp-1"), ("app_token", ""), ("app_token", "xoxb-1")],
)
def test_a_token_of_the_wrong_shape_is_refused_before_any_call(key: str, value: str) -> None:
    with pytest.raises(UserError, match=rf"platforms\.slack\.{key}"):
        replace(quick(FakeSlack()), **{key: value})  # type: ignore[arg-type]


async def test_the_secrets_are_in_no_log_and_no_error(
    fake: FakeSlack, intake: FakeIntake, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for library in ("slack_sdk", "slack_bolt", "aiohttp", "adapters.slack"):
        caplog.set_level(logging.DEBUG, logger=library)
    platform = platform_for(fake)
    fake.fault("apps.connections.open", Reset())
    async with running(platform, intake):
        fake.upload("a.txt", b"a")
        [message] = await intake.got(1)
        assert isinstance(message, Message)
        await platform.download(message.attachments[0], tmp_path / "a.txt")
        command = fake.command("/goal x")
        await fake.wait_for(lambda: command.acked)
    wrong = platform_for(fake, app_token="xapp-another-secret")
    with pytest.raises(UserError) as caught:
        await wrong.run(intake)
    told = caplog.text + str(caught.value) + repr(platform._options)
    for secret in (fake.bot_token, fake.app_token, "another-secret"):
        assert secret not in told


async def test_closing_is_quick_even_while_the_intake_hangs(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    loop = asyncio.get_running_loop()
    async with running(platform_for(fake), intake):
        intake.gate.clear()
        fake.say("hang")
        await intake.wait_for(lambda: intake.attempts)
        began = loop.time()
    assert loop.time() - began < 2.0
