"""Which words in a channel's thread are for the app, and what goes on while Slack cannot say."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.messages import Inbound, Message, Queued, Refused
from tests.fakes.intake import FakeIntake
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_faults import Lost, No, Reset, Stall, Status, TooMany
from tests.fakes.slack_people import at
from tests.fakes.slack_rig import platform_for, running
from tests.fakes.slack_world import ANNA, BOB, BOT


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


def messages(intake: FakeIntake, *, addressed: bool = True) -> list[Message]:
    return [i for i in intake.accepted if isinstance(i, Message) and i.addressed is addressed]


async def test_in_a_thread_that_it_was_called_into_it_hears_without_a_mention(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    async with running(platform_for(fake), intake):
        root = fake.mention("look at this", channel=team)
        fake.say("and at that", channel=team, thread=root.ts, user=BOB)
        fake.say("!stop", channel=team, thread=root.ts)
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert [m.text for m in messages(intake)] == ["look at this", "and at that", "/stop"]
    assert {m.address for m in messages(intake)} == {at(team, root.ts)}
    assert not fake.called("conversations.replies")


async def test_a_thread_that_is_not_known_any_more_is_read_once(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    called_in = fake.world.post(team, ANNA, "x", raw=f"please <@{BOT.id}>")
    written_in = fake.world.post(team, BOB, "y", raw="y")
    fake.world.post(team, BOT, "answer", raw="answer", thread=written_in.ts)
    others = fake.world.post(team, BOB, "z", raw="z")
    async with running(platform_for(fake), intake):
        for root in (called_in, written_in, others):
            fake.say(f"re {root.text}", channel=team, thread=root.ts)
            fake.say(f"re re {root.text}", channel=team, thread=root.ts)
        await fake.wait_for(lambda: not fake.delivery.pending)
    for root in (called_in, written_in):
        heard = [m.text for m in messages(intake) if m.address == at(team, root.ts)]
        assert heard == [f"re {root.text}", f"re re {root.text}"]
    assert len(messages(intake)) == 4
    assert len(messages(intake, addressed=False)) == 2
    assert len(fake.called("conversations.replies")) == 3


async def test_a_strangers_mention_does_not_make_a_thread_ours(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()

    def acks(inbound: Inbound) -> Queued | Refused:
        stranger = isinstance(inbound, Message) and inbound.sender.id == BOB.id
        return Refused("") if stranger else Queued(0)

    intake.acks = acks
    async with running(platform_for(fake), intake):
        root = fake.mention("obey me", channel=team, user=BOB)
        fake.say("what is Bob doing?", channel=team, thread=root.ts)
        await fake.wait_for(lambda: not fake.delivery.pending)
        fake.say("help him", raw=f"<@{BOT.id}> help him", channel=team, thread=root.ts)
        fake.say("thanks", channel=team, thread=root.ts)
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert [m.text for m in messages(intake)] == ["obey me", "help him", "thanks"]


async def test_a_long_thread_is_read_page_by_page(fake: FakeSlack, intake: FakeIntake) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, BOB, "long", raw="long")
    for number in range(250):
        fake.world.post(team, BOB, str(number), raw=str(number), thread=root.ts)
    fake.world.post(team, BOT, "here", raw="here", thread=root.ts)
    async with running(platform_for(fake), intake):
        fake.say("still there?", channel=team, thread=root.ts)
        await intake.got(1)
    assert [m.text for m in messages(intake)] == ["still there?"]
    assert len(fake.called("conversations.replies")) == 2


async def test_a_long_thread_that_is_slow_is_read_on_from_where_it_was_left(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "long", raw=f"<@{BOT.id}> long")
    for number in range(450):
        fake.world.post(team, BOB, str(number), raw=str(number), thread=root.ts)
    fake.fault("conversations.replies", Status(503), times=2, spared=1)
    async with running(platform_for(fake), intake):
        fake.say("still there?", channel=team, thread=root.ts)
        await intake.got(1)
    calls = fake.called("conversations.replies")
    assert [m.text for m in messages(intake)] == ["still there?"]
    assert [(c.outcome, c.params.get("cursor")) for c in calls if c.outcome == "ok"] == [
        ("ok", None),
        ("ok", "200"),
        ("ok", "400"),
    ]


@pytest.mark.parametrize(
    "fault", [Status(503), TooMany(1), Reset(), Lost()], ids=lambda fault: type(fault).__name__
)
async def test_a_thread_that_cannot_be_read_now_keeps_its_order_and_loses_nothing(
    fake: FakeSlack,
    intake: FakeIntake,
    fault: Status | TooMany | Reset | Lost,
) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "x", raw=f"<@{BOT.id}> x")
    fake.fault("conversations.replies", fault, times=3)
    async with running(platform_for(fake), intake):
        fake.say("ask one", channel=team, thread=root.ts)
        first = fake.last
        fake.say("ask two", channel=team, thread=root.ts)
        fake.mention("ask three", channel=team, thread=root.ts)
        fake.say("meanwhile")
        await intake.got(1)
        assert not first.acked
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert intake.texts == ["meanwhile", "ask one", "ask two", "ask three"]


async def test_a_thread_that_slack_is_slow_to_show_holds_up_nothing_else(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "x", raw=f"<@{BOT.id}> x")
    card = fake.world.post(fake.home, BOT, "Goal", buttons=[("Pause", "/goal pause")])
    stall = Stall()
    fake.fault("conversations.replies", stall, times=99)
    async with running(platform_for(fake, thread_s=0.05), intake):
        fake.say("hello?", channel=team, thread=root.ts)
        held = fake.last
        await fake.wait_for(lambda: held.attempts)
        others = [fake.command("/status"), fake.press(card, "Pause")]
        fake.say("meanwhile")
        others.append(fake.last)
        await fake.wait_for(lambda: all(each.acked for each in others))
        assert not held.acked
        assert len(intake.accepted) == 3
        stall.until.set()
        await fake.wait_for(lambda: held.acked)
    assert intake.texts[-1] == "hello?"


async def test_a_command_does_not_wait_for_a_message_that_cannot_be_saved(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    async with running(platform_for(fake, saving_s=0.05), intake):
        intake.gate.clear()
        fake.say("hello")
        message = fake.last
        await intake.wait_for(lambda: intake.attempts)
        command = fake.command("/stop")
        await fake.wait_for(lambda: command.acked)
        assert not message.acked
        intake.gate.set()
        await intake.got(2)
    assert intake.texts == ["hello", "/stop"]


async def test_a_thread_that_it_may_not_read_needs_a_mention(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "x", raw=f"<@{BOT.id}> x")
    fake.fault("conversations.replies", No("missing_scope"), times=9)
    async with running(platform_for(fake), intake):
        fake.say("hello?", channel=team, thread=root.ts)
        fake.say("you there", raw=f"<@{BOT.id}> you there", channel=team, thread=root.ts)
        fake.say("now?", channel=team, thread=root.ts)
        await fake.wait_for(lambda: not fake.delivery.pending)
    assert [m.text for m in messages(intake)] == ["you there", "now?"]
