"""What strangers get from Slack's app, and what is asked of Slack on their behalf: nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.messages import Message, Refused
from tests.fakes.intake import FakeIntake
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_faults import Status
from tests.fakes.slack_people import at
from tests.fakes.slack_rig import platform_for, running
from tests.fakes.slack_world import ANNA, BOB, BOT, Channel, Person

OTHER = Person("U0OTHER02", "Olga")


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


def messages(intake: FakeIntake, *, addressed: bool = True) -> list[Message]:
    return [i for i in intake.accepted if isinstance(i, Message) and i.addressed is addressed]


def only_anna(person: str, chat: str) -> bool:
    return bool(chat) and person == ANNA.id


async def test_slack_is_asked_nothing_for_what_strangers_write_in_channels(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team, elsewhere = fake.world.channel(), fake.world.channel()
    elsewhere.member = False
    root = fake.world.post(team, BOB, "x", raw=f"<@{BOT.id}> x")
    intake.acks = lambda _: Refused("")
    async with running(platform_for(fake, known=only_anna), intake):
        before = len(fake.calls)
        fake.say("psst", channel=team, thread=root.ts, user=BOB)
        fake.mention("let me in", channel=team, user=BOB)
        envelope = fake.command("/goal x", channel=elsewhere, user=BOB)
        await fake.wait_for(lambda: not fake.delivery.pending)
        assert len(fake.calls) == before
    assert envelope.answer is None
    assert [(m.text, m.private) for m in messages(intake)] == [
        ("let me in", False),
        ("/goal x", False),
    ]
    assert messages(intake)[1].address == at(elsewhere)


async def test_a_strangers_command_is_private_only_in_direct_messages_with_the_app(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    of_others = Channel("D0THEIRS1", "im", "others", member=False)
    fake.world.channels[of_others.id] = of_others
    async with running(platform_for(fake, known=only_anna), intake):
        for place in (of_others, fake.world.direct(BOB)):
            fake.command("/goal x", channel=place, user=BOB)
            await fake.wait_for(lambda: not fake.delivery.pending)
        fake.fault("conversations.info", Status(503))
        fake.command("/goal x", channel=fake.world.direct(OTHER), user=OTHER)
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert [m.private for m in messages(intake)] == [False, True, False]
    assert not fake.called("conversations.open")


async def test_a_stranger_is_not_told_that_something_is_being_saved(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    card = fake.world.post(team, BOT, "Goal", buttons=[("Pause", "/goal pause")])
    intake.acks = lambda _: Refused("")
    platform = platform_for(fake, known=only_anna, saving_s=0.05)
    async with running(platform, intake):
        intake.gate.clear()
        tried = [fake.command("/goal x", channel=team, user=BOB)]
        tried.append(fake.press(card, "Pause", user=BOB))
        await fake.wait_for(lambda: all(each.acked for each in tried))
        intake.gate.set()
        await intake.got(2)
        fake.press(card, "Pause")
        await intake.got(3)
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert [each.answer for each in tried] == [None, None]
    assert not fake.world.ephemerals
