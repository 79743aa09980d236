"""Every chat platform: an adapter that ends, and the next one that goes on where it was."""

from __future__ import annotations

import asyncio

import pytest

from core.messages import Button, Press, Say
from core.ports import Mark
from tests.contracts.platform_rig import (
    Can,
    PlatformRig,
    deliver,
    eventually,
    heard,
    shown,
)


async def test_a_connected_adapter_is_well(there: PlatformRig) -> None:
    await eventually(lambda: there.platform.health().ok)
    health = there.platform.health()
    assert health.silent_s < 60
    assert health.detail
    assert there.intake.caught == [there.platform.name]


async def test_an_adapter_ends_soon_when_it_is_cancelled(there: PlatformRig) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await there.stop()
    assert loop.time() - begun < 10


async def test_a_turn_that_a_restart_cut_is_answered_by_the_next_adapter(
    there: PlatformRig,
) -> None:
    remote = await there.say(there.home, "work")
    [asked] = await there.intake.got(1)
    await there.platform.acknowledge(there.home, remote, Mark.WORKING)
    await there.stop()
    await there.start()
    await deliver(there, there.home, Say("done", reply_to=remote))
    seen = await there.until(lambda: [s for s in there.chat(there.home) if s.text == "done"])
    assert len(seen) == 1
    await there.say(there.home, "thanks")
    await there.intake.wait_for(lambda: "thanks" in heard(there))
    assert heard(there) == ["work", "thanks"]
    assert len({asked.dedupe, there.intake.accepted[1].dedupe}) == 2


@pytest.mark.needs(Can.WAIT)
async def test_what_is_said_between_two_lives_comes_in_once_and_in_order(
    there: PlatformRig,
) -> None:
    await there.say(there.home, "before")
    await there.intake.got(1)
    await there.stop()
    await there.say(there.home, "first")
    await there.say(there.home, "second")
    await there.start()
    await there.intake.got(3, within_s=30)
    await there.say(there.home, "after")
    await there.intake.got(4)
    assert heard(there) == ["before", "first", "second", "after"]


@pytest.mark.needs(Can.WAIT)
async def test_what_was_not_saved_when_an_adapter_ended_comes_in_with_the_next(
    there: PlatformRig,
) -> None:
    there.intake.gate.clear()
    await there.say(there.home, "in flight")
    await there.intake.wait_for(lambda: there.intake.attempts)
    await there.stop()
    there.intake.gate.set()
    await there.start()
    await there.intake.got(1, within_s=30)
    assert heard(there) == ["in flight"]


@pytest.mark.needs(Can.RETELL)
async def test_what_is_delivered_again_to_the_next_adapter_has_the_same_key(
    there: PlatformRig,
) -> None:
    await there.say(there.home, "once")
    await there.intake.got(1)
    await there.stop()
    await there.start()
    await there.retell()
    await there.say(there.home, "next")
    await there.intake.wait_for(lambda: "next" in heard(there))
    assert heard(there) == ["once", "next"]


@pytest.mark.needs(Can.PRESS, Can.KEEP)
async def test_a_button_outlives_its_adapter(there: PlatformRig) -> None:
    buttons = (Button("Approve", "/approve E1"),)
    [remote] = await deliver(there, there.home, Say("May I?", buttons=buttons))
    await shown(there, there.home, 1)
    await there.stop()
    await there.start()
    press = await there.press(there.home, remote, "Approve")
    await there.toast(press)
    [pressed] = await there.intake.got(1)
    assert isinstance(pressed, Press)
    assert (pressed.command, pressed.remote) == ("/approve E1", remote)


@pytest.mark.needs(Can.EDIT)
async def test_a_message_outlives_its_adapter(there: PlatformRig) -> None:
    [remote] = await deliver(there, there.home, Say("working"))
    await shown(there, there.home, 1)
    await there.stop()
    await there.start()
    await there.platform.edit(there.home, remote, Say("done"))
    await there.until(lambda: [seen.text for seen in there.chat(there.home)] == ["done"])


async def test_lives_follow_each_other(there: PlatformRig) -> None:
    for number in range(3):
        await there.stop()
        await there.start()
        await there.say(there.home, str(number))
        await there.intake.got(number + 1)
    assert heard(there) == ["0", "1", "2"]
    keys = {inbound.dedupe for inbound in there.intake.accepted}
    assert len(keys) == 3
