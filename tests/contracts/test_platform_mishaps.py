"""Every chat platform: what goes wrong between it and us loses nothing and doubles nothing."""

from __future__ import annotations

import asyncio

import pytest

from core.errors import PermanentError, TransientError
from core.messages import Button, Say
from tests.contracts.platform_rig import (
    Can,
    Person,
    PlatformRig,
    deliver,
    eventually,
    heard,
    shown,
)


@pytest.mark.needs(Can.LIMIT)
async def test_a_chat_that_has_to_cool_down_gets_everything_afterwards_in_order(
    there: PlatformRig,
) -> None:
    await there.limit(there.home, 1)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await deliver(there, there.home, Say("first"), Say("second"), within_s=30)
    assert loop.time() - begun >= 0.9
    assert [seen.text for seen in await shown(there, there.home, 2)] == ["first", "second"]


@pytest.mark.needs(Can.LIMIT)
async def test_a_limit_is_waited_out_or_told_with_its_time_and_never_doubtful(
    there: PlatformRig,
) -> None:
    await there.limit(there.home, 1)
    told: list[TransientError] = []
    try:
        await there.platform.send(there.home, Say("once"))
    except TransientError as error:
        told.append(error)
        await deliver(there, there.home, Say("once"))
    assert all(not error.doubtful and 0 < (error.retry_after or 0) <= 2 for error in told)
    assert [seen.text for seen in await shown(there, there.home, 1)] == ["once"]


@pytest.mark.needs(Can.LIMIT, Can.TWO_CHATS)
async def test_one_chats_cool_down_holds_up_no_other(there: PlatformRig) -> None:
    await deliver(there, there.away, Say("open"))
    await there.limit(there.home, 2)
    order: list[str] = []

    async def send(place: str) -> None:
        await deliver(there, there.home if place == "home" else there.away, Say(place))
        order.append(place)

    async with asyncio.TaskGroup() as group:
        group.create_task(send("home"))
        await asyncio.sleep(0.2)  # the limit is met first
        group.create_task(send("away"))
    assert order == ["away", "home"]


@pytest.mark.needs(Can.LOSE)
async def test_a_lost_answer_is_a_doubt_and_one_copy(there: PlatformRig) -> None:
    await there.lose_answer(there.home)
    with pytest.raises(TransientError) as caught:
        await there.platform.send(there.home, Say("once"))
    assert caught.value.doubtful
    await deliver(there, there.home, Say("next"))
    assert [seen.text for seen in await shown(there, there.home, 2)] == ["once", "next"]


@pytest.mark.needs(Can.LOSE)
async def test_a_lost_answer_to_formatted_text_gives_no_plain_copy(there: PlatformRig) -> None:
    await there.lose_answer(there.home)
    with pytest.raises(TransientError):
        await there.platform.send(
            there.home, Say("**once**", markdown=True, buttons=(Button("Stop", "/stop"),))
        )
    await deliver(there, there.home, Say("next"))
    first, second = await shown(there, there.home, 2)
    assert "once" in first.text
    assert second.text == "next"


@pytest.mark.needs(Can.FAIL)
async def test_a_chat_that_is_closed_to_us_is_a_permanent_error(there: PlatformRig) -> None:
    await there.close_chat(there.home)
    for what in (Say("**x**", markdown=True), Say("x")):
        with pytest.raises(PermanentError) as caught:
            await deliver(there, there.home, what)
        assert str(caught.value)
    assert not there.chat(there.home)


@pytest.mark.needs(Can.FAIL, Can.TWO_CHATS)
async def test_a_chat_that_is_closed_to_us_closes_no_other(there: PlatformRig) -> None:
    await there.close_chat(there.home)
    with pytest.raises(PermanentError):
        await deliver(there, there.home, Say("x"))
    await there.say(there.away, "still there?", who=Person.BOB)
    await there.intake.got(1)
    await deliver(there, there.away, Say("yes"))
    assert [seen.text for seen in await shown(there, there.away, 1)] == ["yes"]


@pytest.mark.needs(Can.REFUSE_MARKUP)
async def test_formatted_text_that_is_refused_goes_out_plain_with_its_buttons(
    there: PlatformRig,
) -> None:
    await there.refuse_markup(there.home)
    buttons = (Button("Stop", "/stop"),)
    await deliver(there, there.home, Say("**bold** words", markdown=True, buttons=buttons))
    [seen] = await shown(there, there.home, 1)
    assert not seen.formatted
    assert "bold" in seen.text
    assert "words" in seen.text
    assert seen.buttons == ("Stop",)


@pytest.mark.needs(Can.RETELL)
async def test_what_is_delivered_twice_comes_in_once(there: PlatformRig) -> None:
    await there.say(there.home, "once")
    await there.intake.got(1)
    await there.retell()
    await there.say(there.home, "next")
    await there.intake.wait_for(lambda: "next" in heard(there))
    assert heard(there) == ["once", "next"]


@pytest.mark.needs(Can.RETELL, Can.PRESS)
async def test_a_press_that_is_delivered_twice_comes_in_once(there: PlatformRig) -> None:
    buttons = (Button("Stop", "/stop"),)
    [remote] = await deliver(there, there.home, Say("Goal", buttons=buttons))
    await shown(there, there.home, 1)
    await there.press(there.home, remote, "Stop")
    await there.intake.got(1)
    await there.retell()
    await there.say(there.home, "next")
    await there.intake.wait_for(lambda: "next" in heard(there))
    assert heard(there) == ["/stop", "next"]


@pytest.mark.needs(Can.GARBLE)
async def test_what_nobody_can_read_is_stepped_over(there: PlatformRig) -> None:
    await there.say(there.home, "before")
    await there.garble()
    await there.say(there.home, "after")
    await there.intake.wait_for(lambda: "after" in heard(there))
    assert heard(there) == ["before", "after"]
    await eventually(lambda: there.platform.health().ok)


@pytest.mark.needs(Can.SAVE_LATE)
async def test_what_could_not_be_saved_is_handed_over_again_in_order(there: PlatformRig) -> None:
    there.intake.failures = 2
    await there.say(there.home, "one")
    await there.say(there.home, "two")
    await there.intake.got(2, within_s=30)
    assert heard(there) == ["one", "two"]


@pytest.mark.needs(Can.CUT)
async def test_what_is_said_while_the_connection_is_cut_comes_in_after_it(
    there: PlatformRig,
) -> None:
    await there.say(there.home, "before")
    await there.intake.got(1)
    await there.cut_off()
    await there.say(there.home, "meanwhile")
    await there.let_in()
    await there.intake.got(2, within_s=30)
    await there.say(there.home, "after")
    await there.intake.got(3, within_s=30)
    assert heard(there) == ["before", "meanwhile", "after"]
    await deliver(there, there.home, Say("still here"))
    assert [seen.text for seen in await shown(there, there.home, 1)] == ["still here"]


@pytest.mark.needs(Can.CUT)
async def test_a_connection_may_break_again_and_again(there: PlatformRig) -> None:
    for number in range(3):
        await there.cut_off()
        await there.let_in()
        await there.say(there.home, str(number))
        await there.intake.got(number + 1, within_s=30)
    assert heard(there) == ["0", "1", "2"]


@pytest.mark.needs(Can.CUT, Can.NOTICE)
async def test_a_connection_that_is_cut_shows_in_the_health_until_it_is_back(
    there: PlatformRig,
) -> None:
    assert there.platform.health().ok
    await there.cut_off()
    await eventually(lambda: not there.platform.health().ok)
    assert there.platform.health().detail
    await there.let_in()
    await eventually(lambda: there.platform.health().ok)
