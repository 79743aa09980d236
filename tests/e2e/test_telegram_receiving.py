"""The real python-telegram-bot polls a fake Bot API: what comes in, and when it is confirmed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UserError
from core.messages import Handled, Message, Moved, Press, Queued, Refused
from core.ports import Mark
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_faults import Html, Lost, Reset, Stall, Status, TooMany
from tests.fakes.telegram_rig import at, platform_for, running
from tests.fakes.telegram_world import ANNA, BOB


@pytest.fixture
async def fake() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


async def test_a_message_reaches_the_intake_and_its_offset_is_confirmed_after_the_commit(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    async with running(platform_for(fake), intake):
        assert fake.queue.offsets == [None] or fake.queue.offsets[0] is None
        intake.gate.clear()
        said = fake.say("hello")
        await intake.wait_for(lambda: intake.attempts)
        assert said.update_id + 1 not in fake.queue.offsets
        intake.gate.set()
        [message] = await intake.got(1)
        await fake.wait_for(lambda: said.update_id + 1 in fake.queue.offsets)
    assert isinstance(message, Message)
    assert message.text == "hello"
    assert message.dedupe == f"tg:{fake.bot.id}:{said.update_id}"
    assert intake.cursors == {f"telegram:{fake.bot.id}": str(said.update_id + 1)}
    assert fake.queue.allowed == ["message", "edited_message", "callback_query", "my_chat_member"]


async def test_a_batch_that_was_not_saved_is_handed_over_again(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    async with running(platform_for(fake), intake):
        intake.failures = 2
        fake.say("keep me")
        await intake.got(1)
        await intake.wait_for(lambda: len(intake.attempts) == 3)
    assert intake.attempts[0] == intake.attempts[1] == intake.attempts[2]


async def test_messages_sent_while_it_was_down_come_first_and_in_order(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    for number in range(250):
        fake.say(f"m{number}")
    async with running(platform_for(fake), intake):
        assert intake.texts == [f"m{number}" for number in range(250)]
        assert intake.caught == ["telegram"]


async def test_an_unconfirmed_update_comes_again_after_a_restart_and_counts_once(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    said = fake.say("once")
    async with running(platform_for(fake), intake):
        await intake.got(1)
    fake.redeliver(said.update_id)
    async with running(platform_for(fake), intake):
        fake.redeliver(said.update_id)
        await intake.wait_for(lambda: len(intake.attempts) >= 2)
    assert intake.texts == ["once"]


async def test_a_malformed_update_is_stepped_over_and_its_neighbours_arrive(
    fake: FakeTelegram,
    intake: FakeIntake,
    caplog: pytest.LogCaptureFixture,
) -> None:
    fake.say("before")
    bad = fake.push({"message": {"message_id": "x", "date": "never", "chat": 7}})
    fake.say("after")
    async with running(platform_for(fake), intake):
        await fake.wait_for(lambda: not fake.world.updates)
    assert intake.texts == ["before", "after"]
    assert f"stepping over update {bad}" in caplog.text


async def test_a_second_poller_elsewhere_is_reported_and_polling_goes_on(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    platform = platform_for(fake)
    async with running(platform, intake):
        assert platform.health().ok
        thief = FakeIntake()
        async with running(platform_for(fake), thief):
            await fake.wait_for(
                lambda: any(c.outcome.startswith("Conflict") for c in fake.called("getUpdates"))
            )
        fake.say("still there")
        await intake.wait_for(lambda: "still there" in intake.texts + thief.texts)


async def test_health_names_the_conflict(fake: FakeTelegram, intake: FakeIntake) -> None:
    platform = platform_for(fake)
    async with running(platform, intake):
        fake.fault("getUpdates", Status(409, "Conflict: terminated by other request"), times=9)
        fake.say("let the poll end")
        await fake.wait_for(lambda: sum("Conflict" in c.outcome for c in fake.calls) > 1)
        assert not platform.health().ok
        assert "409" in platform.health().detail


@pytest.mark.parametrize(
    "fault",
    [
        Reset(),
        Lost(),
        Html(),
        Status(502, "Bad Gateway"),
        Status(500),
        Status(404, "Not Found"),
        TooMany(1),
    ],
    ids=lambda fault: type(fault).__name__ + str(getattr(fault, "code", "")),
)
async def test_a_failed_poll_is_made_again_and_loses_nothing(
    fake: FakeTelegram, intake: FakeIntake, fault: Reset | Lost | Html | Status
) -> None:
    fake.fault("getUpdates", fault, times=1)
    fake.say("patient")
    async with running(platform_for(fake), intake):
        await intake.got(1)
    assert intake.texts == ["patient"]


async def test_a_silent_connection_is_built_anew(
    fake: FakeTelegram,
    intake: FakeIntake,
    caplog: pytest.LogCaptureFixture,
) -> None:
    never = asyncio.Event()
    platform = platform_for(fake, poll_s=0.2, call_s=0.2, heartbeat_s=0.5)
    async with running(platform, intake):
        fake.fault("getUpdates", Stall(never), times=3)
        fake.say("hello?")
        await intake.got(1)
    never.set()
    assert "connecting anew" in caplog.text
    assert intake.texts == ["hello?"]


@pytest.mark.parametrize("token", ["4242:wrong-one", "4242:wrong/one?"])
async def test_a_wrong_token_ends_the_run_and_names_the_key(
    fake: FakeTelegram, intake: FakeIntake, token: str
) -> None:
    platform = platform_for(fake, token=token)
    with pytest.raises(UserError, match=r"platforms\.telegram\.token") as caught:
        await platform.run(intake)
    assert "wrong" not in str(caught.value)


def test_a_token_of_the_wrong_shape_is_refused_before_any_call() -> None:
    with pytest.raises(UserError, match=r"platforms\.telegram\.token"):
        platform_for(FakeTelegram(), token="hello")


async def test_a_server_that_is_not_there_yet_is_waited_for(intake: FakeIntake) -> None:
    knocks: asyncio.Queue[None] = asyncio.Queue()

    async def slam(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        knocks.put_nowait(None)

    async with await asyncio.start_server(slam, "127.0.0.1", 0) as door:
        server = FakeTelegram(port=door.sockets[0].getsockname()[1])
        platform = platform_for(server)
        task = asyncio.create_task(platform.run(intake))
        for _ in range(2):
            await knocks.get()
        assert "no connection" in platform.health().detail
    async with server:
        server.say("good morning")
        await intake.got(1)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    assert intake.texts == ["good morning"]


async def test_an_edit_of_an_old_message_starts_nothing(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    said = fake.say("one")
    async with running(platform_for(fake), intake):
        fake.edit(said, "two")
        await fake.wait_for(lambda: not fake.world.updates)
    assert intake.texts == ["one"]


async def test_a_press_is_answered_with_the_text_of_its_ack(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    from_bot = fake.world.post(
        fake.world.private(ANNA), fake.bot, "Goal", buttons=[("Pause", "/goal pause")]
    )
    intake.acks = lambda value: (
        Handled("⏸ " + "x" * 300) if isinstance(value, Press) else Queued(0)
    )
    async with running(platform_for(fake), intake):
        query = fake.press(from_bot, "Pause")
        toast = await fake.toast(query)
    assert toast == "⏸ " + "x" * 197 + "…"
    [press] = intake.accepted
    assert isinstance(press, Press)
    assert press.command == "/goal pause"
    assert press.remote == str(from_bot.id)


async def test_a_press_that_takes_long_to_save_is_told_so_once_and_then_refused_in_words(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    from_bot = fake.world.post(
        fake.world.private(ANNA), fake.bot, "Goal", buttons=[("Pause", "/goal pause")]
    )
    intake.acks = lambda _: Refused("Press again, please.")
    async with running(platform_for(fake, saving_s=0.05), intake):
        intake.gate.clear()
        query = fake.press(from_bot, "Pause")
        assert await fake.toast(query) == "saving…"
        intake.gate.set()
        answer = (await fake.sent(ANNA.id, count=2))[-1]
    assert answer.text == "Press again, please."
    assert len(fake.called("answerCallbackQuery")) == 1


async def test_a_refused_message_is_told_why_and_a_stranger_nothing(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    intake.acks = lambda value: Refused(
        "The queue is full." if isinstance(value, Message) and value.sender.id == "1001" else ""
    )
    async with running(platform_for(fake), intake):
        fake.say("who am I", user=BOB)
        said = fake.say("one too many")
        [answer] = await fake.sent(ANNA.id)
        assert (answer.text, answer.reply_to) == ("The queue is full.", said.id)
    assert fake.by_bot(BOB.id) == []


async def test_a_group_that_moved_tells_the_intake_once(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    old = fake.group(basic=True)
    async with running(platform_for(fake), intake):
        new = fake.migrate(old)
        [moved] = await intake.got(1)
        await fake.wait_for(lambda: not fake.world.updates)
    assert isinstance(moved, Moved)
    assert (moved.old.chat, moved.new.chat) == (str(old), str(new))
    assert len(intake.accepted) == 1


async def test_the_menu_is_set_once_and_only_when_it_differs(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    async with running(platform_for(fake), intake):
        await fake.wait_for(lambda: fake.called("setMyCommands"))
    assert [c["command"] for c in fake.world.commands] == ["goal", "stop"]
    async with running(platform_for(fake), intake):
        await fake.wait_for(lambda: len(fake.called("getMyCommands")) == 2)
    assert len(fake.called("setMyCommands")) == 1


async def test_the_token_is_in_no_log_and_no_error(
    fake: FakeTelegram,
    intake: FakeIntake,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    for library in ("aiohttp", "telegram"):  # the program quiets them
        caplog.set_level(logging.DEBUG, logger=library)
    secret = fake.token.partition(":")[2]
    platform = platform_for(fake)
    fake.fault("getUpdates", Reset(), times=1)
    fake.fault("getMe", Status(500))
    fake.say("hello")
    async with running(platform, intake):
        await intake.got(1)
        file = fake.upload("a.txt", b"a")
        message = (await intake.got(2))[1]
        assert isinstance(message, Message)
        await platform.download(message.attachments[0], tmp_path / "a.txt")
        await platform.acknowledge(at(fake, ANNA.id), message.remote, Mark.SEEN)
    wrong = platform_for(fake, token="4242:another-secret")
    with pytest.raises(UserError) as caught:
        await wrong.run(intake)
    unreachable = replace(platform._options, base_url="http://127.0.0.1:1/bot")
    assert file.document == "a.txt"
    assert secret not in caplog.text
    assert "another-secret" not in caplog.text + repr(caught.value)
    assert "Set Bot API URL" in caplog.text, "the library must have logged its URL, cut"
    assert secret not in repr(platform) + repr(unreachable)


async def test_closing_is_quick_even_while_a_poll_hangs(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    loop = asyncio.get_running_loop()
    async with running(platform_for(fake, poll_s=30.0), intake):
        await fake.wait_for(lambda: len(fake.queue.offsets) >= 1)
        began = loop.time()
    assert loop.time() - began < 2.0
