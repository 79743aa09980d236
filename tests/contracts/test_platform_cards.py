"""Every chat platform: the cards that ask a person. They go out whole, each button means what it
carries, and an answer's fate is told to who answered."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from core.escalations import card, token
from core.escalations.events import Answered
from core.escalations.machine import advance
from core.escalations.record import Approved, Kind
from core.escalations.token import Act
from core.messages import Ack, Button, Handled, Message, Press, Queued, Refused, RemoteId, Say
from core.splitting import Room
from tests.contracts.platform_rig import Can, Person, PlatformRig, deliver, shown
from tests.fakes.cards import card_of, longest, running_command
from tests.fakes.escalated import ANNA, NOW, SECRET, escalation
from tests.fakes.escalated import shown as posted

EIGHT = tuple(f"Option number {number} of eight" for number in range(1, 9))
COMMANDS = {
    "plain": "echo abcdefgh ",
    "markup": "grep -E '^[*_]{2}|~~#>' *.md && ",
    "backticks": "echo `date` ``x`` ",
    "emoji": "touch 🎉é漢.txt; ",
    "fence": "printf '```'\n",
    "lines": "cd /srv\n  # *note*\n",
}
"""What a command is made of; all of it is shown, so its length decides."""


def asking(kind: Kind = Kind.APPROVE) -> Say:
    """A card of that kind with all its buttons."""
    one = escalation(kind)
    if kind is Kind.CHOOSE:
        one = replace(one, options=EIGHT)
    return card_of(one, Room(2_000))


async def asked(there: PlatformRig, what: Say) -> RemoteId:
    """The card's message, once it is shown."""
    [remote] = await deliver(there, there.home, what)
    await shown(there, there.home, 1)
    return remote


@pytest.mark.parametrize("piece", COMMANDS.values(), ids=COMMANDS)
async def test_a_card_that_fits_is_one_message_with_all_of_its_command(
    there: PlatformRig, piece: str
) -> None:
    room = there.platform.room
    text = longest(piece, room).rstrip()
    one = running_command(text)
    what = card_of(one, room)
    await deliver(there, there.home, what, Say("next"))
    seen, after = await shown(there, there.home, 2)
    assert after.text == "next"
    assert seen.buttons == ("Approve", "Deny", "Later")
    assert not seen.file
    for line in text.split("\n"):
        assert line in seen.text
    assert f"digest {one.digest[:8]}" in seen.text
    assert "deny E7 reason" in seen.text


@pytest.mark.needs(Can.EDIT)
async def test_a_decided_card_loses_its_buttons_and_keeps_its_command(there: PlatformRig) -> None:
    room = there.platform.room
    text = longest(COMMANDS["markup"], room).rstrip()
    one = running_command(text)
    remote = await asked(there, card_of(one, room))
    decided, _ = advance(posted(one), Answered(ANNA, Approved(), NOW + 5.0))
    await there.platform.edit(there.home, remote, card.decided(decided, room))
    await there.until(lambda: "approved by Anna" in there.chat(there.home)[0].text)
    [seen] = there.chat(there.home)
    assert seen.remote == remote
    assert seen.buttons == ()
    assert text in seen.text


@pytest.mark.needs(Can.PRESS)
@pytest.mark.parametrize(
    ("label", "what"), [("Approve", Act.APPROVE), ("Deny", Act.DENY), ("Later", Act.LATER)]
)
async def test_a_press_on_a_card_brings_its_token(
    there: PlatformRig, label: str, what: Act
) -> None:
    remote = await asked(there, asking())
    await there.press(there.home, remote, label)
    [press] = await there.intake.got(1)
    assert isinstance(press, Press)
    assert (press.command, press.remote) == (token.encode(SECRET, what), remote)


@pytest.mark.needs(Can.PRESS)
async def test_a_choice_shows_all_its_options_and_each_brings_its_own(there: PlatformRig) -> None:
    what = asking(Kind.CHOOSE)
    remote = await asked(there, what)
    [seen] = there.chat(there.home)
    assert seen.buttons == tuple(button.label for button in what.buttons)
    assert len(seen.buttons) == 9
    last = what.buttons[7]
    await there.press(there.home, remote, last.label)
    [press] = await there.intake.got(1)
    assert isinstance(press, Press)
    assert press.command == last.command == token.encode(SECRET, 7)


@pytest.mark.needs(Can.PRESS, Can.KEEP)
async def test_a_card_outlives_its_adapter(there: PlatformRig) -> None:
    remote = await asked(there, asking())
    await there.stop()
    await there.start()
    press = await there.press(there.home, remote, "Deny")
    await there.toast(press)
    [pressed] = await there.intake.got(1)
    assert isinstance(pressed, Press)
    assert (pressed.command, pressed.remote) == (token.encode(SECRET, Act.DENY), remote)


@pytest.mark.needs(Can.PRESS, Can.TOAST)
@pytest.mark.parametrize("ack", [Handled("✓ E7 approved"), Refused("⚠ E7 takes owners")], ids=repr)
async def test_what_became_of_a_press_is_told_to_who_pressed_alone(
    there: PlatformRig, ack: Handled | Refused
) -> None:
    remote = await asked(there, asking())
    there.intake.acks = lambda _: ack
    press = await there.press(there.home, remote, "Approve")
    assert await there.toast(press) == ack.text
    await deliver(there, there.home, Say("next"))
    assert [seen.text for seen in (await shown(there, there.home, 2))[1:]] == ["next"]


@pytest.mark.needs(Can.PRESS)
@pytest.mark.parametrize("ack", [Queued(0), Handled(""), Refused("")], ids=repr)
async def test_a_press_without_a_word_for_it_is_answered_too(there: PlatformRig, ack: Ack) -> None:
    remote = await asked(there, asking())
    there.intake.acks = lambda _: ack
    press = await there.press(there.home, remote, "Approve")
    await there.toast(press)
    await deliver(there, there.home, Say("next"))
    assert [seen.text for seen in (await shown(there, there.home, 2))[1:]] == ["next"]


@pytest.mark.needs(Can.PRESS, Can.KEEP)
async def test_forty_presses_at_once_are_each_answered(there: PlatformRig) -> None:
    remote = await asked(there, asking())
    presses = [await there.press(there.home, remote, "Later") for _ in range(40)]
    await asyncio.gather(*map(there.toast, presses))
    assert len(await there.intake.got(40)) == 40


async def test_a_card_is_dated_by_the_platforms_clock(there: PlatformRig) -> None:
    await there.say(there.home, "before")
    await there.intake.got(1)
    sent = await there.platform.send(there.home, Say("May I?", buttons=(Button("Yes", "/yes"),)))
    [seen] = await shown(there, there.home, 1)
    assert seen.remote == sent.remote
    await there.say(there.home, "after")
    before, after = await there.intake.got(2)
    assert isinstance(before, Message)
    assert isinstance(after, Message)
    assert before.sent_at <= sent.at <= after.sent_at


@pytest.mark.needs(Can.REPLY)
async def test_a_reply_names_the_message_it_answers(there: PlatformRig) -> None:
    first, second = await deliver(there, there.home, asking(), Say("and another"))
    await shown(there, there.home, 2)
    await there.reply(there.home, first, "yes")
    await there.reply(there.home, second, "fine")
    await there.say(there.home, "by the way")
    found = [i for i in await there.intake.got(3) if isinstance(i, Message)]
    assert [(m.text, m.replies_to) for m in found] == [
        ("yes", first),
        ("fine", second),
        ("by the way", ""),
    ]


@pytest.mark.needs(Can.REPLY, Can.ROOMS)
async def test_a_reply_to_the_bot_in_a_room_is_meant_for_it(there: PlatformRig) -> None:
    room = await there.room()
    [remote] = await deliver(there, room, asking())
    await shown(there, room, 1)
    said = await there.say(room, "lunch?", who=Person.BOB, addressed=False)
    await there.reply(room, remote, "yes")
    await there.reply(room, said, "at noon")
    await there.say(room, "last")
    await there.intake.wait_for(
        lambda: [i for i in there.intake.accepted if isinstance(i, Message) and i.text == "last"]
    )
    by_text = {i.text: i for i in there.intake.accepted if isinstance(i, Message)}
    assert (by_text["yes"].addressed, by_text["yes"].replies_to) == (True, remote)
    assert "at noon" not in by_text or not by_text["at noon"].addressed


@pytest.mark.needs(Can.REPLY, Can.ROOMS, Can.THREADS)
async def test_in_a_thread_only_a_chosen_reply_is_one(there: PlatformRig) -> None:
    place = await there.thread(await there.room())
    [remote] = await deliver(there, place, asking())
    await shown(there, place, 1)
    await there.say(place, "hello")
    await there.reply(place, remote, "yes")
    found = [i for i in await there.intake.got(2) if isinstance(i, Message)]
    assert [(m.text, m.replies_to, m.address) for m in found] == [
        ("hello", "", place),
        ("yes", remote, place),
    ]
