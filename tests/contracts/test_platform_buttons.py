"""Every chat platform: buttons and their presses, and messages that change."""

from __future__ import annotations

import pytest

from core.messages import Button, Handled, Message, Press, Say
from tests.contracts.platform_rig import Can, PlatformRig, deliver, shown

GOAL = (Button("Pause", "/goal pause"), Button("Clear", "/goal clear"))
CARD = (Button("Approve", "/approve E1"), Button("Deny", "/deny E1"))


async def test_a_message_shows_its_buttons(there: PlatformRig) -> None:
    await deliver(there, there.home, Say("May I run `make deploy`?", buttons=CARD))
    [seen] = await shown(there, there.home, 1)
    assert seen.text == "May I run `make deploy`?"
    assert seen.buttons == ("Approve", "Deny")


async def test_a_button_of_the_longest_command_is_taken(there: PlatformRig) -> None:
    command = "/answer E1 " + "x" * 49
    assert len(command) == 60
    await deliver(there, there.home, Say("Which?", buttons=(Button("This", command),)))
    [seen] = await shown(there, there.home, 1)
    assert seen.buttons == ("This",)


@pytest.mark.needs(Can.PRESS)
async def test_a_press_comes_in_as_the_buttons_command(there: PlatformRig) -> None:
    [remote] = await deliver(there, there.home, Say("May I?", markdown=True, buttons=CARD))
    await shown(there, there.home, 1)
    await there.press(there.home, remote, "Deny")
    [press] = await there.intake.got(1)
    assert isinstance(press, Press)
    assert (press.command, press.address, press.remote) == ("/deny E1", there.home, remote)
    assert press.private
    assert press.dedupe


@pytest.mark.needs(Can.PRESS)
async def test_who_presses_is_who_speaks(there: PlatformRig) -> None:
    await there.say(there.home, "hello")
    await there.intake.got(1)
    [remote] = await deliver(there, there.home, Say("Goal", buttons=GOAL))
    await shown(there, there.home, 1)
    await there.press(there.home, remote, "Pause")
    said, pressed = await there.intake.got(2)
    assert isinstance(said, Message)
    assert isinstance(pressed, Press)
    assert pressed.sender.id == said.sender.id
    assert pressed.dedupe != said.dedupe


@pytest.mark.needs(Can.PRESS, Can.KEEP)
async def test_two_presses_are_two(there: PlatformRig) -> None:
    [remote] = await deliver(there, there.home, Say("Goal", buttons=GOAL))
    await shown(there, there.home, 1)
    for count in (1, 2):
        await there.press(there.home, remote, "Pause")
        await there.intake.got(count)
    first, second = there.intake.accepted
    assert first.dedupe != second.dedupe


@pytest.mark.needs(Can.PRESS)
async def test_a_press_is_answered(there: PlatformRig) -> None:
    there.intake.acks = lambda _: Handled("⏸ Goal paused.")
    [remote] = await deliver(there, there.home, Say("Goal", buttons=GOAL))
    await shown(there, there.home, 1)
    press = await there.press(there.home, remote, "Pause")
    assert await there.toast(press) in {"⏸ Goal paused.", ""}
    await there.intake.got(1)


@pytest.mark.needs(Can.PRESS)
async def test_a_press_that_cannot_be_saved_in_time_is_answered_all_the_same(
    there: PlatformRig,
) -> None:
    there.intake.gate.clear()
    [remote] = await deliver(there, there.home, Say("Goal", buttons=GOAL))
    await shown(there, there.home, 1)
    press = await there.press(there.home, remote, "Clear")
    await there.intake.wait_for(lambda: there.intake.attempts)
    await there.toast(press)
    there.intake.gate.set()
    [saved] = await there.intake.got(1)
    assert isinstance(saved, Press)
    assert saved.command == "/goal clear"


@pytest.mark.needs(Can.PRESS, Can.ROOMS)
async def test_a_press_in_a_room_tells_where(there: PlatformRig) -> None:
    room = await there.room()
    [remote] = await deliver(there, room, Say("Goal", buttons=GOAL))
    await shown(there, room, 1)
    await there.press(room, remote, "Pause")
    [press] = await there.intake.got(1)
    assert isinstance(press, Press)
    assert (press.address, press.private) == (room, False)


@pytest.mark.needs(Can.PRESS, Can.ROOMS, Can.THREADS)
async def test_a_press_in_a_thread_tells_where(there: PlatformRig) -> None:
    place = await there.thread(await there.room())
    [remote] = await deliver(there, place, Say("Goal", buttons=GOAL))
    await shown(there, place, 1)
    await there.press(place, remote, "Pause")
    [press] = await there.intake.got(1)
    assert isinstance(press, Press)
    assert press.address == place


@pytest.mark.needs(Can.EDIT)
async def test_an_edit_replaces_text_and_buttons(there: PlatformRig) -> None:
    before, after = await deliver(there, there.home, Say("⊙ 1/20", buttons=GOAL), Say("below"))
    await there.platform.edit(there.home, before, Say("⊙ 2/20", buttons=GOAL[:1]))
    await there.until(lambda: there.chat(there.home)[0].text == "⊙ 2/20")
    first, second = await shown(there, there.home, 2)
    assert (first.remote, first.buttons, first.edits) == (before, ("Pause",), 1)
    assert (second.remote, second.text, second.edits) == (after, "below", 0)
    await there.platform.edit(there.home, before, Say("✓ done"))
    await there.until(lambda: there.chat(there.home)[0].text == "✓ done")
    assert there.chat(there.home)[0].buttons == ()


@pytest.mark.parametrize("what", [Say("same", buttons=GOAL), Say("**same**", markdown=True)])
async def test_an_edit_that_changes_nothing_is_no_error(there: PlatformRig, what: Say) -> None:
    [remote] = await deliver(there, there.home, what)
    before = await shown(there, there.home, 1)
    await there.platform.edit(there.home, remote, what)
    await deliver(there, there.home, Say("next"))
    first, second = await shown(there, there.home, 2)
    assert (first.text, first.buttons) == (before[0].text, before[0].buttons)
    assert second.text == "next"


@pytest.mark.needs(Can.EDIT)
async def test_formatted_text_stays_so_in_an_edit(there: PlatformRig) -> None:
    [remote] = await deliver(there, there.home, Say("**one**", markdown=True))
    await there.platform.edit(there.home, remote, Say("**two** words", markdown=True))
    await there.until(lambda: "two" in there.chat(there.home)[0].text)
    [seen] = there.chat(there.home)
    assert seen.formatted
    assert "words" in seen.text


@pytest.mark.needs(Can.EDIT, Can.ROOMS)
async def test_an_edit_in_a_room_changes_that_message(there: PlatformRig) -> None:
    room = await there.room()
    [remote] = await deliver(there, room, Say("one"))
    await there.platform.edit(room, remote, Say("two"))
    await there.until(lambda: [seen.text for seen in there.chat(room)] == ["two"])
