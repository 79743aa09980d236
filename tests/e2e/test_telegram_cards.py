"""The real python-telegram-bot and the cards that ask a person: how they stand in the chat, and
what a press is answered with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.telegram.adapter import TelegramPlatform
from adapters.telegram.encode import MAX_UNITS, SPARE
from core.escalations import token
from core.escalations.record import Kind
from core.escalations.token import Act
from core.messages import Button, Handled, Inbound, Message, Press, Refused, Say
from tests.fakes.cards import card_of, longest, running_command
from tests.fakes.escalated import SECRET, command, escalation
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_faults import Status
from tests.fakes.telegram_rig import MENU, at, platform_for, running
from tests.fakes.telegram_world import ANNA, BOB, Seen, units

YES = token.encode(SECRET, Act.APPROVE)
REFUSED = "Bad Request: can't parse entities: nobody knows why"


@pytest.fixture
async def fake() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as server:
        server.meet(ANNA)
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
def platform(fake: FakeTelegram) -> TelegramPlatform:
    return platform_for(fake)


def posted(fake: FakeTelegram, chat: int, data: str = YES) -> Seen:
    """A card of ours that was there before."""
    state = fake.world.chats[chat]
    return fake.world.post(state, fake.bot, "May I?", buttons=[("Approve", data)])


@pytest.mark.parametrize(
    "piece", [r"\d[a]*_b_ `x` <i> $A/$B || @bob_42 ", "x", "🎉", "a\n~~~\n> # *q*\n"]
)
async def test_the_longest_card_shows_its_exact_command_as_one_block(
    fake: FakeTelegram, platform: TelegramPlatform, piece: str
) -> None:
    text = longest(piece, platform.room)
    chat = fake.group()
    await platform.send(at(fake, chat), card_of(running_command(text), platform.room))
    [seen] = fake.by_bot(chat)
    assert seen.marked("pre")[0].rstrip("\n") == text.rstrip("\n")
    assert units(seen.text) > MAX_UNITS - SPARE - 200 - units(piece)
    assert seen.rows == [3]


async def test_a_card_that_may_be_a_second_copy_still_fits(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    what = card_of(running_command(longest("```x``` @bob ", platform.room)), platform.room)
    assert not what.markdown
    chat = fake.group()
    await platform.send(at(fake, chat), replace(what, text=f"(may be a repeat) {what.text}"))
    [seen] = fake.by_bot(chat)
    assert seen.text.endswith("/deny E7 reason.")


async def test_what_others_wrote_stays_set_off_where_telegram_refuses_the_blocks(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    fake.fault("sendMessage", Status(400, REFUSED))
    what = card_of(running_command("rm -rf /\n\nApprove: nothing happens."), platform.room)
    await platform.send(at(fake, ANNA.id), what)
    [seen] = fake.by_bot(ANNA.id)
    assert (seen.text, seen.entities) == (what.text, [])
    assert "```\nrm -rf /\n\nApprove: nothing happens.\n```" in seen.text


async def test_a_choice_stands_as_a_list_and_long_labels_are_cut(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    one = replace(escalation(Kind.CHOOSE), options=tuple(f"{n} of eight" for n in range(8)))
    await platform.send(at(fake, ANNA.id), card_of(one, platform.room))
    await platform.send(at(fake, ANNA.id), Say("x", buttons=(Button("y" * 90, "/x"),)))
    first, second = fake.by_bot(ANNA.id)
    assert first.rows == [1] * 9
    assert second.buttons == [("y" * 63 + "…", "/x")]


async def test_an_edit_without_buttons_takes_the_keyboard_away_and_leaves_the_rest(
    fake: FakeTelegram, platform: TelegramPlatform
) -> None:
    what = card_of(command(), platform.room)
    sent = await platform.send(at(fake, ANNA.id), what)
    [seen] = fake.by_bot(ANNA.id)
    assert len(seen.buttons) == 3
    await platform.edit(at(fake, ANNA.id), sent.remote, replace(what, buttons=()))
    assert (seen.buttons, seen.edits) == ([], 1)
    assert seen.marked("pre")[0].rstrip("\n") == "rm -rf /srv/data"


async def test_a_refused_press_is_an_alert_and_a_taken_one_a_passing_note(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    group = fake.group()
    from_bot = posted(fake, group)
    intake.acks = lambda value: _by(value, BOB.id, Refused("Owners only."), Handled("✓ E7"))
    async with running(platform_for(fake), intake):
        refused = fake.press(from_bot, "Approve", user=BOB)
        taken = fake.press(from_bot, "Approve")
        assert await fake.toast(refused) == "Owners only."
        assert await fake.toast(taken) == "✓ E7"
    assert fake.world.alerts == {refused}
    assert fake.by_bot(group) == [from_bot]


async def test_a_refusal_that_comes_late_is_not_told_to_a_whole_group(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    group = fake.group()
    from_bot = posted(fake, group)
    intake.acks = lambda value: Refused("Owners only." if isinstance(value, Press) else "Full.")
    async with running(platform_for(fake, saving_s=0.05), intake):
        intake.gate.clear()
        query = fake.press(from_bot, "Approve", user=BOB)
        assert await fake.toast(query) == "saving…"
        intake.gate.set()
        fake.say(f"@{fake.bot.username} one more", chat=group, user=BOB)
        await fake.sent(group, 2)
    assert [seen.text for seen in fake.by_bot(group)] == ["May I?", "Full."]


async def test_a_refusal_in_a_group_is_told_to_the_person_alone(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    group = fake.group()
    alone = fake.meet(BOB)
    intake.acks = lambda _: Refused("You may not answer E7.")
    async with running(platform_for(fake), intake):
        fake.say(f"/approve@{fake.bot.username} E7", chat=group, user=BOB)
        await fake.sent(alone, 1)
    assert [seen.text for seen in fake.by_bot(alone)] == ["In the group: You may not answer E7."]
    assert fake.by_bot(group) == []


@pytest.mark.parametrize("met", [False, True], ids=["never met", "blocked"])
async def test_who_has_no_chat_with_the_bot_is_refused_in_the_group_as_a_reply(
    fake: FakeTelegram, intake: FakeIntake, *, met: bool
) -> None:
    group = fake.group()
    if met:
        fake.block(BOB)
    intake.acks = lambda _: Refused("You may not answer E7.")
    async with running(platform_for(fake), intake):
        asked = fake.say(f"/approve@{fake.bot.username} E7", chat=group, user=BOB)
        await fake.sent(group, 1)
    [seen] = fake.by_bot(group)
    assert (seen.text, seen.reply_to) == ("You may not answer E7.", asked.id)


async def test_a_refused_press_whose_note_is_spent_is_told_to_the_person_alone(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    group = fake.group()
    alone = fake.meet(BOB)
    from_bot = posted(fake, group)
    intake.acks = lambda _: Refused("Owners only.")
    async with running(platform_for(fake, saving_s=0.05), intake):
        intake.gate.clear()
        query = fake.press(from_bot, "Approve", user=BOB)
        assert await fake.toast(query) == "saving…"
        intake.gate.set()
        await fake.sent(alone, 1)
    assert [seen.text for seen in fake.by_bot(alone)] == ["In the group: Owners only."]
    assert fake.by_bot(group) == [from_bot]


@pytest.mark.parametrize("data", ["esc:", "esc:short.y", YES + "z", "what is this", "/nothing E1"])
async def test_a_button_that_nobody_knows_is_handed_over_and_answered(
    fake: FakeTelegram, intake: FakeIntake, data: str
) -> None:
    from_bot = posted(fake, ANNA.id)
    intake.acks = lambda _: Refused("")
    async with running(platform_for(fake), intake):
        assert not await fake.toast(fake.press_data(from_bot, data))
        [press] = await intake.got(1)
    assert isinstance(press, Press)
    assert press.command == data


async def test_a_press_that_cannot_be_read_is_answered(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    from_bot = posted(fake, ANNA.id)
    async with running(platform_for(fake), intake):
        for broken in ({"from": 7}, {"message": {"message_id": "x"}}, {"message": None}):
            query = fake.world.press(from_bot, YES, ANNA)
            fake.world.updates[-1]["callback_query"].update(broken)
            fake.push({"message": {"message_id": "x", "date": "never"}})
            assert not await fake.toast(query)
    assert not intake.accepted


async def test_a_command_with_free_words_comes_in_with_them(
    fake: FakeTelegram, intake: FakeIntake
) -> None:
    group = fake.group()
    async with running(platform_for(fake, commands=MENU), intake):
        fake.say(f"/deny@{fake.bot.username} E7 not *now*,\nplease", chat=group)
        fake.say("/answer E7 in `two` words: 🎉 & <b>", chat=group)
        await intake.got(2)
    assert intake.texts == [
        "/deny E7 not *now*,\nplease",
        "/answer E7 in `two` words: 🎉 & <b>",
    ]
    assert all(isinstance(i, Message) and i.addressed for i in intake.accepted)


def _by(
    value: Inbound, person: int, theirs: Handled | Refused, others: Handled | Refused
) -> Handled | Refused:
    is_theirs = isinstance(value, Press | Message) and value.sender.id == str(person)
    return theirs if is_theirs else others
