"""The real discord.py and the cards that ask a person: how they stand in the channel, and what a
press is answered with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from simcord.backend.models import Interaction

from adapters.discord.adapter import DiscordPlatform
from adapters.discord.encode import MAX_UNITS, SPARE
from adapters.discord.options import MenuEntry
from core.escalations import token
from core.escalations.record import Kind
from core.escalations.token import Act
from core.messages import Button, Handled, Inbound, Message, Press, Refused, Say
from tests.fakes.cards import card_of, longest, running_command
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.discord_rig import at, platform_for, running
from tests.fakes.escalated import SECRET, command, escalation
from tests.fakes.intake import FakeIntake

YES = token.encode(SECRET, Act.APPROVE)
MENU = [MenuEntry(name, "Answer what was asked") for name in ("approve", "deny", "answer")]


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as server:
        yield server


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
async def platform(fake: FakeDiscord, tmp_path: Path) -> AsyncIterator[DiscordPlatform]:
    made = platform_for(fake, tmp_path)
    yield made
    await made._link.close()


async def private(fake: FakeDiscord, asked: Interaction) -> str:
    """The text that answered an interaction, which only that person sees; "" for none."""
    await fake.wait_for(lambda: asked.responded, 3.0)
    if asked.message_id in {None, asked.source_message_id}:
        return ""
    found = fake.backend.get_message(asked.channel_id, asked.message_id or 0)
    assert found.is_ephemeral
    return found.content


async def shown_to_them(fake: FakeDiscord, asked: Interaction, text: str) -> None:
    """Returns when an interaction's answer has become that text."""
    await fake.wait_for(
        lambda: fake.backend.get_message(asked.channel_id, asked.message_id or 0).content == text
    )


@pytest.mark.parametrize(
    "piece", [r"\d[a]*_b_ `x` <i> $A/$B || @bob ", "x", "🎉", "a\n~~~\n> # *q*\n| a |\n"]
)
async def test_the_longest_card_shows_its_exact_command_as_one_block(
    fake: FakeDiscord, platform: DiscordPlatform, piece: str
) -> None:
    text = longest(piece, platform.room)
    channel = fake.channel()
    await platform.send(at(fake, channel), card_of(running_command(text), platform.room))
    [shown] = fake.shown(channel)
    assert f"\n```\n{text}\n```\n" in shown.raw
    assert len(shown.raw) <= MAX_UNITS
    assert shown.rows == (3,)


async def test_a_plain_command_takes_nearly_all_of_a_message(
    fake: FakeDiscord, platform: DiscordPlatform
) -> None:
    channel = fake.channel()
    what = card_of(running_command(longest("x", platform.room)), platform.room)
    await platform.send(at(fake, channel), what)
    assert MAX_UNITS - SPARE - 60 < len(fake.shown(channel)[0].raw) <= MAX_UNITS - SPARE


@pytest.mark.parametrize("piece", ["```x``` *y* ", "```\n[_a_](b)\n"])
async def test_a_card_without_blocks_is_shown_as_written_also_as_a_second_copy(
    fake: FakeDiscord, platform: DiscordPlatform, piece: str
) -> None:
    what = card_of(running_command(longest(piece, platform.room)), platform.room)
    assert not what.markdown
    channel = fake.channel()
    for text in (what.text, f"(may be a repeat) {what.text}"):
        await platform.send(at(fake, channel), replace(what, text=text))
        assert fake.shown(channel)[-1].text == text


async def test_a_card_whose_markup_is_refused_is_shown_whole_as_it_is_written(
    fake: FakeDiscord, platform: DiscordPlatform
) -> None:
    what = card_of(running_command(longest("[a]_b_ `c` ", platform.room)), platform.room)
    channel = fake.channel()
    fake.rest.formatted_refused.add(channel)
    await platform.send(at(fake, channel), what)
    [shown] = fake.shown(channel)
    assert shown.text == what.text
    assert shown.rows == (3,)


async def test_a_choice_stands_in_rows_of_five(
    fake: FakeDiscord, platform: DiscordPlatform
) -> None:
    channel = fake.channel()
    one = replace(escalation(Kind.CHOOSE), options=tuple(f"{n} of eight" for n in range(8)))
    await platform.send(at(fake, channel), card_of(one, platform.room))
    await platform.send(at(fake, channel), Say("x", buttons=(Button("y" * 90, "/x"),)))
    first, second = fake.shown(channel)
    assert first.rows == (5, 4)
    assert second.buttons == ("y" * 79 + "…",)


async def test_an_edit_without_buttons_takes_the_components_away_and_leaves_the_rest(
    fake: FakeDiscord, platform: DiscordPlatform
) -> None:
    channel = fake.channel()
    what = card_of(command(), platform.room)
    sent = await platform.send(at(fake, channel), what)
    await platform.edit(at(fake, channel), sent.remote, replace(what, buttons=()))
    [shown] = fake.shown(channel)
    assert (shown.buttons, shown.rows) == ((), ())
    assert "```\nrm -rf /srv/data\n```" in shown.raw


async def test_what_became_of_a_press_is_seen_by_who_pressed_alone(
    fake: FakeDiscord, intake: FakeIntake, platform: DiscordPlatform
) -> None:
    channel = fake.channel()
    intake.acks = lambda value: _by(value, fake.bob.id, Refused("Owners only."), Handled("✓ E7"))
    async with running(platform, intake):
        sent = await platform.send(at(fake, channel), card_of(command(), platform.room))
        refused = fake.press(channel, int(sent.remote), "Approve", user=fake.bob)
        taken = fake.press(channel, int(sent.remote), "Approve")
        assert await private(fake, refused) == "Owners only."
        assert await private(fake, taken) == "✓ E7"
    assert len([shown for shown in fake.shown(channel) if not shown.ephemeral]) == 1


async def test_what_became_of_a_press_is_told_also_when_saving_it_took_long(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    platform = platform_for(fake, tmp_path, saving_s=0.05)
    channel = fake.channel()
    intake.acks = lambda value: _by(value, fake.bob.id, Refused("Owners only."), Handled("✓ E7"))
    async with running(platform, intake):
        sent = await platform.send(at(fake, channel), card_of(command(), platform.room))
        intake.gate.clear()
        refused = fake.press(channel, int(sent.remote), "Approve", user=fake.bob)
        taken = fake.press(channel, int(sent.remote), "Approve")
        for asked in (refused, taken):
            assert await private(fake, asked) == "saving…"
        intake.gate.set()
        for asked, text in ((refused, "Owners only."), (taken, "✓ E7")):
            await shown_to_them(fake, asked, text)


@pytest.mark.parametrize(
    ("custom_id", "command"),
    [
        ("pursuit:esc:short.y", "esc:short.y"),
        (f"pursuit:{YES}z", f"{YES}z"),
        ("pursuit:", ""),
        ("another bot's", "another bot's"),
    ],
)
async def test_a_button_that_nobody_knows_is_handed_over_and_answered(
    fake: FakeDiscord,
    intake: FakeIntake,
    platform: DiscordPlatform,
    custom_id: str,
    command: str,
) -> None:
    channel = fake.channel()
    intake.acks = lambda _: Refused("")
    async with running(platform, intake):
        sent = await platform.send(at(fake, channel), Say("once with buttons"))
        assert not await private(fake, fake.press_id(channel, int(sent.remote), custom_id))
        [press] = await intake.got(1)
    assert isinstance(press, Press)
    assert press.command == command


async def test_a_press_whose_place_is_unknown_is_answered(
    fake: FakeDiscord, intake: FakeIntake, platform: DiscordPlatform
) -> None:
    channel = fake.channel()
    async with running(platform, intake):
        sent = await platform.send(at(fake, channel), card_of(command(), platform.room))
        untold = frozenset({"channel", "message"})
        asked = fake.press_id(channel, int(sent.remote), f"pursuit:{YES}", untold=untold)
        assert not await private(fake, asked)
    assert not intake.accepted


async def test_a_refused_command_is_told_to_who_gave_it_alone(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    channel = fake.channel()
    intake.acks = lambda _: Refused("You may not answer E7. May answer: owners.")
    async with running(platform_for(fake, tmp_path, commands=MENU), intake):
        asked = fake.command("approve", "E7", user=fake.bob, channel=channel)
        assert await private(fake, asked) == "You may not answer E7. May answer: owners."
    assert not [shown for shown in fake.shown(channel) if not shown.ephemeral]


async def test_a_command_with_free_words_comes_in_with_them(
    fake: FakeDiscord, intake: FakeIntake, tmp_path: Path
) -> None:
    words = "E7 in `two` words: 🎉 & <b> " + "x" * 3_000
    async with running(platform_for(fake, tmp_path, commands=MENU), intake):
        offered = fake.called("sync")[-1].asked.body
        asked = fake.command("answer", words, channel=fake.channel())
        [message] = await intake.got(1)
        await fake.wait_for(lambda: asked.responded)
    assert isinstance(message, Message)
    assert message.text == f"/answer {words}"
    for given in offered:
        [option] = given["options"]
        assert (option["name"], option["type"], option["required"]) == ("text", 3, False)
        assert not option.get("autocomplete")


def _by(
    value: Inbound, person: int, theirs: Handled | Refused, others: Handled | Refused
) -> Handled | Refused:
    is_theirs = isinstance(value, Press | Message) and value.sender.id == str(person)
    return theirs if is_theirs else others
