"""Questions to people over the real slack-bolt and slack_sdk: the card in the chat, its buttons,
replies under it, and who is told what."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.slack.adapter import SlackPlatform
from core.escalations.card import ask, decided
from core.escalations.events import Answered
from core.escalations.machine import advance
from core.escalations.record import Approved, Escalation, Fact, Kind, Label
from core.escalations.routing import Resolved, Scene, Words
from core.escalations.routing import message as means
from core.escalations.shown import BAR
from core.messages import (
    Address,
    Handled,
    Inbound,
    Message,
    Press,
    Queued,
    Refused,
    RemoteId,
    Say,
    SendFile,
)
from tests.fakes.escalated import ANNA as OWNER
from tests.fakes.escalated import NOW, SECRET, command, escalation, shown
from tests.fakes.intake import FakeIntake
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_faults import Lost, No, TooMany
from tests.fakes.slack_people import at
from tests.fakes.slack_rig import RealClock, platform_for, running
from tests.fakes.slack_world import ANNA, BOB, BOT, Channel, Whisper

HOSTILE = "echo '<!channel> <@U0BOB0001> @here' `id` *x* :bomb: 🎉"
FENCED = "cat <<'```'\n```\n"


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
def platform(fake: FakeSlack) -> SlackPlatform:
    return platform_for(fake)


def running_command(text: str) -> Escalation:
    return command(facts=(Fact(Label.COMMAND, text), Fact(Label.DIRECTORY, "/work/a")))


def card(platform: SlackPlatform, one: Escalation) -> Say:
    made = ask(one, SECRET, NOW, platform.room)
    assert isinstance(made, Say), made
    return made


def kept(text: str) -> str:
    """The text without what stands between its lines, and without what breaks mentions."""
    return text.replace(f"\n{BAR}", "").replace("\n", "").replace("\u2060", "")


def messages(intake: FakeIntake) -> list[Message]:
    return [inbound for inbound in intake.accepted if isinstance(inbound, Message)]


# The card


async def test_what_is_sent_tells_its_time_by_slacks_clock(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    sent = await platform.send(at(fake.home), card(platform, command()))
    [seen] = fake.by_bot(fake.home)
    assert (sent.remote, sent.at) == (seen.ts, float(seen.ts))
    before = RealClock().now()
    file = await platform.send(at(fake.home), SendFile("a.txt", content="a"))
    assert before <= file.at <= RealClock().now()
    assert file.remote in fake.world.files


@pytest.mark.parametrize("text", [HOSTILE * 150, HOSTILE * 150 + FENCED], ids=["code", "verbatim"])
async def test_a_long_card_is_one_message_and_an_edit_takes_its_buttons(
    fake: FakeSlack, platform: SlackPlatform, text: str
) -> None:
    one = running_command(text)
    remote = (await platform.send(at(fake.home), card(platform, one))).remote
    [seen] = fake.by_bot(fake.home)
    assert seen.pings == []
    assert [label for label, _ in seen.buttons] == ["Approve", "Deny", "Later"]
    assert kept(text) in kept(seen.text)
    over, _ = advance(shown(one), Answered(OWNER, Approved(), NOW + 60))
    await platform.edit(at(fake.home), remote, decided(over, platform.room))
    assert seen.text.startswith("✓ E7 approved by Anna")
    assert kept(text) in kept(seen.text)
    assert (seen.buttons, seen.edits, seen.pings) == ([], 1, [])
    assert all(block["type"] != "actions" for block in seen.blocks)


@pytest.mark.parametrize("text", ["ls", FENCED], ids=["code", "verbatim"])
async def test_a_card_that_slack_does_not_format_is_shown_all_the_same(
    fake: FakeSlack, platform: SlackPlatform, text: str
) -> None:
    what = card(platform, running_command(text))
    if what.markdown:
        fake.fault("chat.postMessage", No("invalid_blocks"))
        fake.fault("chat.update", No("invalid_blocks"))
    remote = (await platform.send(at(fake.home), what)).remote
    [seen] = fake.by_bot(fake.home)
    assert (seen.formatted, len(seen.buttons)) == (False, 3)
    await platform.edit(at(fake.home), remote, replace(what, text="✓ done", buttons=()))
    assert (seen.text, seen.buttons) == ("✓ done", [])


async def test_a_card_says_how_to_answer_where_it_stands(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "x", raw="x")
    what = card(platform, command())
    await platform.send(at(team), what)
    await platform.send(at(team, root.ts), what)
    above, within = fake.by_bot(team)
    assert above.text.endswith("or use /pursuit approve E7, or /pursuit deny E7 reason.")
    assert within.text.endswith("or use !approve E7, or !deny E7 reason.")


# Presses


async def test_each_button_of_a_choice_comes_in_as_its_token(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    options = tuple(f"Option {letter}" for letter in "abcdefgh")
    one = replace(escalation(Kind.CHOOSE), options=options)
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "x", raw="x")
    platform = platform_for(fake)
    what = card(platform, one)
    async with running(platform, intake):
        sent = await platform.send(at(team, root.ts), what)
        [seen] = fake.by_bot(team)
        assert [len(b["elements"]) for b in seen.blocks if b["type"] == "actions"] == [1] * 9
        for label, _ in seen.buttons:
            fake.press(seen, label)
        pressed = await intake.got(9)
    assert all(isinstance(each, Press) and each.address == at(team, root.ts) for each in pressed)
    assert all(isinstance(each, Press) and each.remote == sent.remote for each in pressed)
    assert sorted(each.command for each in pressed if isinstance(each, Press)) == sorted(
        button.command for button in what.buttons
    )


async def test_many_presses_at_once_are_each_told_to_who_pressed_and_to_nobody_else(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    platform = platform_for(fake)

    def acks(inbound: Inbound) -> Handled | Refused:
        first = inbound is intake.accepted[0]
        return Handled("✓ E7 approved by Anna") if first else Refused("Too late.")

    intake.acks = acks
    async with running(platform, intake):
        await platform.send(at(team), card(platform, command()))
        [seen] = fake.by_bot(team)
        pressed = [fake.press(seen, "Approve", user=(ANNA, BOB)[n % 2]) for n in range(40)]
        told = await fake.wait_for(
            lambda: fake.world.ephemerals if len(fake.world.ephemerals) == 40 else None
        )
        assert all(each.acked and each.answer is None for each in pressed)
        assert max(each.took_s for each in pressed) < 3.0
    assert {address for address, _ in told} == {
        each.payload["response_url"].rpartition("/")[2] for each in pressed
    }
    assert sorted(body["text"] for _, body in told) == ["Too late."] * 39 + [
        "✓ E7 approved by Anna"
    ]
    assert {body["response_type"] for _, body in told} == {"ephemeral"}
    assert not any(body["replace_original"] for _, body in told)
    assert (len(fake.by_bot(team)), seen.edits) == (1, 0)


async def test_what_a_press_came_to_is_told_in_its_thread_and_nothing_where_there_is_no_text(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "x", raw="x")
    platform = platform_for(fake)
    told = iter(["", "E7 stays open; use /deny E7 reason"])
    intake.acks = lambda _: Handled(next(told))
    async with running(platform, intake):
        await platform.send(at(team, root.ts), card(platform, command()))
        [seen] = fake.by_bot(team)
        for count in (1, 2):
            fake.press(seen, "Later")
            await intake.got(count)
        [(_, body)] = await fake.wait_for(lambda: fake.world.ephemerals)
    assert body == {
        "response_type": "ephemeral",
        "text": "E7 stays open; use !deny E7 reason",
        "replace_original": False,
        "thread_ts": root.ts,
    }


async def test_what_a_commands_button_did_is_said_in_the_chat_only(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    goal = fake.world.post(fake.home, BOT, "Goal", buttons=[("Pause", "/goal pause")])
    intake.acks = lambda _: Handled("⏸ Goal paused.")
    async with running(platform_for(fake), intake):
        pressed = fake.press(goal, "Pause")
        await fake.wait_for(lambda: pressed.acked)
    assert not fake.world.ephemerals


async def test_a_press_that_is_saved_late_is_confirmed_also_without_a_text(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    platform = platform_for(fake, saving_s=0.05)
    intake.acks = lambda _: Handled("")
    async with running(platform, intake):
        await platform.send(at(fake.home), card(platform, command()))
        intake.gate.clear()
        pressed = fake.press(fake.by_bot(fake.home)[0], "Approve")
        await fake.wait_for(lambda: pressed.acked and fake.world.ephemerals)
        intake.gate.set()
        await fake.wait_for(lambda: len(fake.world.ephemerals) == 2)
    assert [told["text"] for _, told in fake.world.ephemerals] == ["saving…", "Saved."]


async def test_a_press_that_is_brought_twice_counts_once_and_is_told_once(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    platform = platform_for(fake)
    intake.acks = lambda _: Handled("✓ E7 approved")
    async with running(platform, intake):
        await platform.send(at(fake.home), card(platform, command()))
        pressed = fake.press(fake.by_bot(fake.home)[0], "Approve")
        again = fake.delivery.again(pressed)
        await fake.wait_for(lambda: pressed.acked and again.acked and fake.world.ephemerals)
        other = fake.press(fake.by_bot(fake.home)[0], "Approve")
        await fake.wait_for(lambda: other.acked and len(fake.world.ephemerals) > 1)
    assert len(intake.attempts) == 3
    assert len(intake.accepted) == len(fake.world.ephemerals) == 2


# Replies


def understood(said: Message, one: Escalation) -> bool:
    """Whether the core takes it as the answer."""
    words = Words(
        by=OWNER,
        address=said.address,
        text=said.text,
        sent_at=said.sent_at,
        private=said.private,
        replies_to=said.replies_to,
    )
    return isinstance(means(words, Scene((one,))), Resolved)


def pinned(place: Address, remote: RemoteId) -> Escalation:
    one = shown(command())
    return replace(one, address=place, copies=(replace(one.copies[0], remote=remote),))


async def replied(
    fake: FakeSlack, intake: FakeIntake, place: Channel, mention: str = ""
) -> tuple[Message, Escalation]:
    """A "yes" in the thread under a card, and the question."""
    platform = platform_for(fake)
    async with running(platform, intake):
        sent = await platform.send(at(place), card(platform, command()))
        raw = f"{mention}yes"
        fake.say("yes", channel=place, thread=sent.remote, raw=raw)
        await intake.got(1)
        await fake.wait_for(lambda: not fake.delivery.pending)
    [said] = messages(intake)
    return said, pinned(at(place), sent.remote)


@pytest.mark.parametrize("mention", ["", f"<@{BOT.id}> "], ids=["plain", "mention"])
@pytest.mark.parametrize("private", [True, False], ids=["direct", "channel"])
async def test_an_answer_in_the_thread_under_a_card_is_a_reply_to_it(
    fake: FakeSlack, intake: FakeIntake, private: bool, mention: str
) -> None:
    place = fake.home if private else fake.world.channel()
    said, one = await replied(fake, intake, place, mention)
    assert (said.text, said.addressed, said.replies_to) == ("yes", True, one.copies[0].remote)
    assert said.address == at(place, one.copies[0].remote)
    assert understood(said, one)
    assert not fake.called("conversations.replies")


async def test_an_answer_under_a_card_in_a_conversations_thread_is_a_plain_message_there(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    platform = platform_for(fake)
    async with running(platform, intake):
        root = fake.mention("deploy it", channel=team)
        await fake.wait_for(lambda: not fake.delivery.pending)
        sent = await platform.send(at(team, root.ts), card(platform, command()))
        fake.say("yes", channel=team, thread=root.ts)
        fake.say("!approve E7", channel=team, thread=root.ts)
        await intake.got(3)
    _, said, ordered = messages(intake)
    assert (said.replies_to, said.addressed, said.address) == ("", True, at(team, root.ts))
    assert ordered.text == "/approve E7"
    assert said.sent_at > sent.at


# Refusals


async def test_a_refused_message_in_a_channel_is_told_to_who_wrote_it_alone(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    team = fake.world.channel()
    intake.acks = lambda _: Refused("You may not answer <E7>; see /pending lists. @here")
    async with running(platform_for(fake), intake):
        root = fake.mention("yes", channel=team, user=BOB)
        await fake.wait_for(lambda: fake.world.whispers)
        # A thread that has replies shows such a note, one that this message began does not.
        fake.mention("yes", channel=team, thread=root.ts, user=ANNA)
        await fake.wait_for(lambda: len(fake.world.whispers) == 2)
    text = "You may not answer <E7>; see {} lists. @\u2060here"
    assert fake.world.whispers == [
        Whisper(team.id, BOB.id, text.format("/pursuit pending")),
        Whisper(team.id, ANNA.id, text.format("!pending"), root.ts),
    ]
    assert not fake.by_bot(team)


async def test_a_refused_message_in_direct_messages_is_told_there_to_stay(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    intake.acks = lambda _: Refused("The queue is full; wait or /stop.")
    async with running(platform_for(fake), intake):
        fake.say("one too many")
        [seen] = await fake.sent(fake.home)
    assert seen.text == "The queue is full; wait or /stop."
    assert not fake.world.whispers


@pytest.mark.parametrize("fault", [No("user_not_in_channel"), Lost(), TooMany(1)], ids=repr)
async def test_a_refusal_that_cannot_be_told_in_private_is_not_told_to_all(
    fake: FakeSlack,
    intake: FakeIntake,
    fault: No | Lost | TooMany,
) -> None:
    team = fake.world.channel()
    intake.acks = lambda _: Refused("No.")
    fake.fault("chat.postEphemeral", fault)
    async with running(platform_for(fake), intake):
        fake.mention("yes", channel=team, user=BOB)
        await fake.wait_for(lambda: fake.called("chat.postEphemeral"))
        intake.acks = lambda _: Queued(0)
        fake.say("go on")
        await intake.wait_for(lambda: "go on" in intake.texts)
    assert not fake.by_bot(team)


@pytest.mark.parametrize("line", ["/approve E7", "/deny E7 not now", "/answer E7 2", "/pending"])
async def test_a_refused_command_is_told_to_who_gave_it_alone(
    fake: FakeSlack, intake: FakeIntake, line: str
) -> None:
    team = fake.world.channel()
    intake.acks = lambda _: Refused("You may not answer E7. Use /answer E7 your words.")
    async with running(platform_for(fake), intake):
        given = fake.command(line, channel=team, user=BOB)
        await fake.wait_for(lambda: given.acked)
    assert intake.texts == [line]
    assert given.payload["command"] == "/pursuit"
    assert given.answer == {
        "response_type": "ephemeral",
        "text": "You may not answer E7. Use /pursuit answer E7 your words.",
    }
    assert not fake.by_bot(team)
    assert not fake.world.whispers


async def test_a_command_counts_as_given_before_all_that_came_while_it_was_on_its_way(
    fake: FakeSlack, intake: FakeIntake
) -> None:
    before = time.time()
    async with running(platform_for(fake), intake):
        fake.command("/approve")
        await intake.got(1)
    [given] = messages(intake)
    assert before - 3 <= given.sent_at <= time.time() - 3
