"""The real python-telegram-bot sends to a fake Bot API: what a chat shows, what an error means."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from adapters.telegram.adapter import TelegramPlatform
from core.errors import PermanentError, TransientError, UserError
from core.messages import Attachment, Button, Message, Moved, RemoteId, Say, SendFile
from core.ports import Mark
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_faults import Html, Lost, Reset, Stall, Status, TooMany
from tests.fakes.telegram_rig import HeldClock, at, platform_for, quick, running
from tests.fakes.telegram_world import ANNA, BOB


@pytest.fixture
async def fake() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        server.meet(ANNA)
        server.meet(BOB)
        yield server


@pytest.fixture
def platform(fake: FakeTelegram) -> TelegramPlatform:
    return platform_for(fake)


async def test_markdown_arrives_as_entities_without_previews(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    text = "**Done**: see `a<b>` 🎉 and [docs](https://example.org)\n\n```py\nx = 1\n```"
    await platform.send(at(fake, ANNA.id), Say(text, markdown=True))
    [shown] = fake.by_bot(ANNA.id)
    assert shown.text == "Done: see a<b> 🎉 and docs\n\nx = 1"
    assert shown.marked("bold") == ["Done"]
    assert shown.marked("code") == ["a<b>"]
    assert shown.marked("text_link") == ["docs"]
    assert shown.marked("pre") == ["x = 1"]
    assert fake.calls[-1].params["link_preview_options"] == {"is_disabled": True}


async def test_verbatim_text_is_shown_as_it_is(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    await platform.send(at(fake, ANNA.id), Say("**not bold** <b> _x_ @anna"))
    [shown] = fake.by_bot(ANNA.id)
    assert (shown.text, shown.entities) == ("**not bold** <b> _x_ @anna", [])


async def test_nobody_is_pinged_in_a_group_except_by_the_reply(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    group = fake.group()
    said = fake.say("@pursuit_bot who?", chat=group)
    await platform.send(
        at(fake, group),
        Say("ask @everyone, `@decorator`", markdown=True, reply_to=RemoteId(str(said.id))),
    )
    [shown] = fake.by_bot(group)
    assert "@everyone" not in shown.text
    assert shown.marked("code") == ["@decorator"]
    assert shown.reply_to == said.id


async def test_a_reply_to_a_vanished_message_is_sent_all_the_same(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    await platform.send(at(fake, ANNA.id), Say("here", reply_to=RemoteId("999")))
    assert fake.by_bot(ANNA.id)[0].text == "here"


async def test_buttons_carry_their_command_lines(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    buttons = (Button("Pause", "/goal pause"), Button("Clear", "/goal clear"))
    remote = (await platform.send(at(fake, ANNA.id), Say("Goal", buttons=buttons))).remote
    [shown] = fake.by_bot(ANNA.id)
    assert shown.buttons == [("Pause", "/goal pause"), ("Clear", "/goal clear")]
    await platform.edit(at(fake, ANNA.id), remote, Say("Paused"))
    assert (shown.text, shown.buttons, shown.edits) == ("Paused", [], 1)


async def test_a_command_too_long_for_a_button_is_refused_here(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    with pytest.raises(PermanentError, match="64 bytes"):
        await platform.send(at(fake, ANNA.id), Say("x", buttons=(Button("b", "/x" * 40),)))


async def test_refused_markup_goes_out_as_plain_text(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    fake.fault("sendMessage", Status(400, "Bad Request: can't parse entities: nope"))
    await platform.send(at(fake, ANNA.id), Say("**bold**", markdown=True))
    [shown] = fake.by_bot(ANNA.id)
    assert (shown.text, shown.entities) == ("bold", [])


async def test_a_topic_is_answered_in_the_topic_and_in_the_group_once_it_is_gone(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    group = fake.group(forum=True)
    topic = fake.topic(group)
    await platform.send(at(fake, group, topic), Say("in"))
    fake.drop_topic(group, topic)
    await platform.send(at(fake, group, topic), Say("**out**", markdown=True))
    first, second = fake.by_bot(group)
    assert (first.thread, second.thread) == (topic, 0)
    assert second.marked("bold") == ["out"]


async def test_an_edit_that_changes_nothing_is_none_and_a_lost_message_is_an_error(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    here = at(fake, ANNA.id)
    remote = (await platform.send(here, Say("**same**", markdown=True))).remote
    await platform.edit(here, remote, Say("**same**", markdown=True))
    assert fake.calls[-1].outcome.startswith("Bad Request: message is not modified")
    assert len(fake.called("editMessageText")) == 1
    with pytest.raises(PermanentError, match="not found"):
        await platform.edit(here, RemoteId("31337"), Say("x"))
    with pytest.raises(PermanentError):
        await platform.edit(here, RemoteId(""), Say("x"))


@pytest.mark.parametrize(
    "fault",
    [Reset(), Lost(), Status(502, "Bad Gateway"), Html()],
    ids=lambda fault: type(fault).__name__,
)
async def test_a_send_whose_answer_is_missing_is_doubtful_and_not_repeated(
    fake: FakeTelegram, platform: TelegramPlatform, fault: Reset | Lost | Status | Html
) -> None:
    fake.fault("sendMessage", fault)
    with pytest.raises(TransientError) as caught:
        await platform.send(at(fake, ANNA.id), Say("once"))
    assert caught.value.doubtful
    assert len(fake.called("sendMessage")) == 1
    assert len(fake.by_bot(ANNA.id)) == (1 if isinstance(fault, Lost) else 0)


async def test_a_hung_send_is_doubtful(fake: FakeTelegram) -> None:
    never = asyncio.Event()
    fake.fault("sendMessage", Stall(never))
    with pytest.raises(TransientError) as caught:
        await platform_for(fake, call_s=0.2).send(at(fake, ANNA.id), Say("x"))
    never.set()
    assert caught.value.doubtful


async def test_a_send_that_never_connected_is_not_doubtful(fake: FakeTelegram) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/bot"
        with pytest.raises(TransientError) as caught:
            await platform_for(fake, base_url=url).send(at(fake, ANNA.id), Say("x"))
    assert not caught.value.doubtful
    assert fake.token.partition(":")[2] not in str(caught.value)


async def test_a_cool_down_holds_its_own_chat_only(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    fake.fault("sendMessage", TooMany(30), chat=ANNA.id)
    for expected_calls in (1, 1):
        with pytest.raises(TransientError) as caught:
            await platform.send(at(fake, ANNA.id), Say("later"))
        assert caught.value.retry_after is not None
        assert 29 < caught.value.retry_after <= 30
        assert not caught.value.doubtful
        assert len(fake.called("sendMessage")) == expected_calls
    await platform.send(at(fake, BOB.id), Say("now"))
    assert fake.by_bot(BOB.id)[0].text == "now"


async def test_a_group_gets_twenty_messages_a_minute_and_edits_count(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    group = fake.group()
    here = at(fake, group)
    remote = (await platform.send(here, Say("0"))).remote
    for number in range(1, 20):
        await platform.edit(here, remote, Say(str(number)))
    with pytest.raises(TransientError) as caught:
        await platform.send(here, Say("20"))
    assert caught.value.retry_after is not None
    assert 50 < caught.value.retry_after <= 60
    assert len(fake.calls) == 20


async def test_a_block_and_an_unknown_chat_are_permanent(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    fake.block(BOB)
    for chat in (BOB.id, 77):
        with pytest.raises(PermanentError):
            await platform.send(at(fake, chat), Say("**x**", markdown=True))
    assert len(fake.calls) == 2


async def test_a_moved_group_is_followed_and_the_intake_is_told(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    intake = FakeIntake()
    old = fake.group(basic=True)
    new = fake.migrate(old, announce=False)
    async with running(platform, intake):
        await platform.send(at(fake, old), Say("still here"))
        [moved] = await intake.got(1)
        await platform.send(at(fake, old), Say("and again"))
    assert isinstance(moved, Moved)
    assert moved.new.chat == str(new)
    assert [seen.text for seen in fake.by_bot(new)] == ["still here", "and again"]
    assert len(fake.called("sendMessage", old)) == 1


async def test_a_long_answer_arrives_whole_as_messages_or_as_a_file(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    here = at(fake, ANNA.id)
    code = "```py\n" + "".join(f"line_{n} = {n}\n" for n in range(550)) + "```"
    for part in platform.parts(code):
        await platform.send(here, part)
    shown = fake.by_bot(ANNA.id)
    assert 1 < len(shown) <= 3
    assert "\n".join(seen.marked("pre")[0] for seen in shown) == code[6:-4]
    for part in platform.parts("A word. " * 4000):
        await platform.send(here, part)
    *_, teaser, file = fake.by_bot(ANNA.id)
    assert "The whole answer is in the file" in teaser.text
    assert (file.document, file.content) == ("answer.md", ("A word. " * 4000).encode())


async def test_a_file_goes_out_from_disk_with_its_caption(
    fake: FakeTelegram, platform: TelegramPlatform, tmp_path: Path
) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(range(256)) * 5000)
    group = fake.group(forum=True)
    topic = fake.topic(group)
    fake.drop_topic(group, topic)
    await platform.send(at(fake, group, topic), SendFile("report.bin", "as asked", str(path)))
    [shown] = fake.by_bot(group)
    assert (shown.document, shown.text) == ("report.bin", "as asked")
    assert shown.content == path.read_bytes()


async def test_a_file_over_the_limit_or_missing_is_an_error_that_says_so(
    fake: FakeTelegram, platform: TelegramPlatform, tmp_path: Path
) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(51 * 1024 * 1024)
    with pytest.raises(PermanentError, match="50 MB"):
        await platform.send(at(fake, ANNA.id), SendFile("big", path=str(big)))
    with pytest.raises(PermanentError, match="cannot be read"):
        await platform.send(at(fake, ANNA.id), SendFile("x", path=str(tmp_path / "none")))
    assert not fake.calls


async def test_a_file_from_a_person_is_fetched(
    fake: FakeTelegram, platform: TelegramPlatform, tmp_path: Path
) -> None:
    intake = FakeIntake()
    async with running(platform, intake):
        fake.upload("plan.txt", b"step 1", caption="read this")
        fake.upload("cat.jpg", b"\xff\xd8cat", kind="photo")
        plan, cat = await intake.got(2)
        assert isinstance(plan, Message)
        assert isinstance(cat, Message)
        await platform.download(plan.attachments[0], tmp_path / "plan.txt")
        await platform.download(cat.attachments[0], tmp_path / "cat.jpg")
    assert plan.text == "read this"
    assert plan.attachments[0].name == "plan.txt"
    assert (tmp_path / "plan.txt").read_bytes() == b"step 1"
    assert (tmp_path / "cat.jpg").read_bytes() == b"\xff\xd8cat"


async def test_a_file_over_twenty_megabytes_is_refused_with_the_limit(
    fake: FakeTelegram, platform: TelegramPlatform, tmp_path: Path
) -> None:
    ref = fake.world.store_file("film.mkv", bytes(21 * 1024 * 1024))
    for size in (0, 21 * 1024 * 1024):
        with pytest.raises(UserError, match="20 MB"):
            await platform.download(Attachment(ref, "film.mkv", size=size), tmp_path / "film")
    assert len(fake.called("getFile")) == 1


async def test_progress_is_a_draft_in_a_private_chat_and_leaves_no_message(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    here = at(fake, ANNA.id)
    for text in ("reading", "writing"):
        assert await platform.show_progress(here, 7, None, text) is None
    assert fake.world.drafts == [(ANNA.id, 7, "reading"), (ANNA.id, 7, "writing")]
    assert fake.by_bot(ANNA.id) == []


async def test_a_server_without_drafts_gets_an_edited_message_for_good(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    fake.unsupported.add("sendmessagedraft")
    here = at(fake, ANNA.id)
    remote = await platform.show_progress(here, 7, None, "reading")
    assert await platform.show_progress(here, 7, remote, "writing") == remote
    await platform.show_progress(here, 8, None, "next")
    assert [seen.text for seen in fake.by_bot(ANNA.id)] == ["writing", "next"]
    assert len(fake.called("sendMessageDraft")) == 1


async def test_progress_in_a_group_is_one_edited_message_and_leaves_room_for_answers(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    group = fake.group()
    here = at(fake, group)
    remote = None
    for number in range(14):
        remote = await platform.show_progress(here, 1, remote, f"step {number}")
    with pytest.raises(TransientError):
        await platform.show_progress(here, 1, remote, "step 14")
    [shown] = fake.by_bot(group)
    assert shown.text == "step 13"
    await platform.send(here, Say("the answer"))


async def test_a_progress_edit_in_doubt_says_so(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    here = at(fake, fake.group())
    remote = await platform.show_progress(here, 1, None, "one")
    fake.fault("editMessageText", Lost())
    with pytest.raises(TransientError) as caught:
        await platform.show_progress(here, 1, remote, "two")
    assert caught.value.doubtful


async def test_a_draft_is_kept_alive_while_a_step_takes_long(
    fake: FakeTelegram,
) -> None:
    clock = HeldClock()
    platform = TelegramPlatform(quick(fake), clock=clock, hold=nullcontext)
    here, nobody = at(fake, ANNA.id), RemoteId("")
    await platform.show_progress(here, 7, None, "building")
    await platform.acknowledge(here, nobody, Mark.WORKING)
    assert len(fake.world.drafts) == 1
    clock.at += 21.0
    await platform.acknowledge(here, nobody, Mark.WORKING)
    assert fake.world.drafts == [(ANNA.id, 7, "building")] * 2
    await platform.acknowledge(here, nobody, Mark.DONE)
    clock.at += 21.0
    await platform.acknowledge(here, nobody, Mark.WORKING)
    assert len(fake.world.drafts) == 2


async def test_progress_that_fails_is_forgotten(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    here = at(fake, fake.group())
    remote = await platform.show_progress(here, 1, None, "one")
    fake.fault("editMessageText", Status(400, "Bad Request: message can't be edited"))
    assert await platform.show_progress(here, 1, remote, "two") == remote
    fake.fault("editMessageText", TooMany(30))
    assert await platform.show_progress(here, 1, remote, "three") == remote
    calls = len(fake.calls)
    with pytest.raises(TransientError) as caught:  # the chat cools down
        await platform.show_progress(here, 1, remote, "four")
    assert not caught.value.doubtful
    assert len(fake.calls) == calls
    await platform.send(here, Say("answers still go"))


async def test_a_message_is_marked_and_typing_shows_while_working(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    said = fake.say("hello")
    here, remote = at(fake, ANNA.id), RemoteId(str(said.id))
    await platform.acknowledge(here, remote, Mark.SEEN)
    assert said.reaction == "👀"
    await platform.acknowledge(here, remote, Mark.WORKING)
    await platform.acknowledge(here, remote, Mark.WORKING)
    assert len(fake.called("sendChatAction")) == 2
    assert len(fake.called("setMessageReaction")) == 1
    await platform.acknowledge(here, remote, Mark.DONE)
    assert said.reaction == "👌"
    await platform.acknowledge(here, remote, Mark.FAILED)
    assert said.reaction == "💔"


async def test_a_chat_without_reactions_is_asked_once_and_nothing_is_raised(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    said = fake.say("hello")
    here, remote = at(fake, ANNA.id), RemoteId(str(said.id))
    fake.fault("setMessageReaction", Status(400, "Bad Request: REACTION_INVALID"), times=9)
    await platform.acknowledge(here, remote, Mark.SEEN)
    await platform.acknowledge(here, remote, Mark.DONE)
    assert len(fake.called("setMessageReaction")) == 1
    fake.fault("sendChatAction", Reset())
    await platform.acknowledge(here, remote, Mark.WORKING)


async def test_sending_works_before_and_after_the_run(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    here = at(fake, ANNA.id)
    await platform.send(here, Say("before"))
    async with running(platform, FakeIntake()):
        await platform.send(here, Say("during"))
    await platform.send(here, Say("after"))
    assert [seen.text for seen in fake.by_bot(ANNA.id)] == ["before", "during", "after"]
