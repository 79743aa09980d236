"""Every chat platform: what people say comes in, what the bot says goes out, each in its place."""

from __future__ import annotations

import pytest

from core.messages import Message, Queued, Refused, Say
from tests.contracts.platform_rig import Can, Person, PlatformRig, deliver, heard, shown

UNUSUAL = "naïve — 🎉 <b> &amp; `x` *y* a_b_c 1 < 2 && 3 > 2\n\nsecond    paragraph\n- item"


async def got(there: PlatformRig, count: int) -> list[Message]:
    """The messages that came in, once they are `count`."""
    found = await there.intake.got(count)
    return [inbound for inbound in found if isinstance(inbound, Message)]


async def test_what_a_person_says_comes_in_with_who_and_where(there: PlatformRig) -> None:
    remote = await there.say(there.home, "hello")
    [message] = await got(there, 1)
    assert (message.text, message.address, message.remote) == ("hello", there.home, remote)
    assert (message.private, message.addressed) == (True, True)
    assert message.address.platform is there.platform.name
    assert message.sender.id
    assert message.dedupe
    assert not message.attachments


async def test_a_text_comes_in_character_by_character(there: PlatformRig) -> None:
    await there.say(there.home, UNUSUAL)
    [message] = await got(there, 1)
    assert message.text == UNUSUAL


async def test_what_people_say_keeps_its_order_and_every_piece_its_own_key(
    there: PlatformRig,
) -> None:
    said = [f"message {number}" for number in range(20)]
    for text in said:
        await there.say(there.home, text)
    messages = await got(there, 20)
    assert [message.text for message in messages] == said
    assert len({message.dedupe for message in messages}) == 20


@pytest.mark.parametrize("line", ["/goal write tests", "/stop", "/goal", "/subgoal remove 2"])
async def test_a_command_comes_in_as_its_line(there: PlatformRig, line: str) -> None:
    await there.command(there.home, line)
    [message] = await got(there, 1)
    assert (message.text, message.address) == (line, there.home)
    assert message.addressed


async def test_a_command_keeps_its_place_among_messages(there: PlatformRig) -> None:
    await there.say(there.home, "before")
    await there.intake.got(1)
    await there.command(there.home, "/stop")
    await there.intake.got(2)
    await there.say(there.home, "after")
    await there.intake.got(3)
    assert heard(there) == ["before", "/stop", "after"]


async def test_what_the_bot_says_is_shown_under_the_id_that_it_returns(there: PlatformRig) -> None:
    [remote] = await deliver(there, there.home, Say("Good morning."))
    [seen] = await shown(there, there.home, 1)
    assert (seen.remote, seen.text) == (remote, "Good morning.")
    assert (seen.buttons, seen.file, seen.edits) == ((), "", 0)


async def test_verbatim_text_is_shown_as_it_is(there: PlatformRig) -> None:
    text = "**not bold** _not_ `x` <b> & ~~y~~ [a](b)"
    await deliver(there, there.home, Say(text))
    [seen] = await shown(there, there.home, 1)
    assert seen.text == text


async def test_formatted_text_is_shown_with_all_its_words(there: PlatformRig) -> None:
    text = "# Report\n\n**Done**: `a<b>` & *more*\n\n```py\nx = 1 < 2\n```\n\n- one\n- two"
    await deliver(there, there.home, Say(text, markdown=True))
    [seen] = await shown(there, there.home, 1)
    for word in ("Report", "Done", "a<b>", "&", "more", "x = 1 < 2", "one", "two"):
        assert word in seen.text


async def test_what_the_bot_says_keeps_its_order(there: PlatformRig) -> None:
    said = [f"part {number}" for number in range(8)]
    remotes = await deliver(there, there.home, *map(Say, said))
    seen = await shown(there, there.home, 8)
    assert [each.text for each in seen] == said
    assert [each.remote for each in seen] == remotes
    assert len(set(remotes)) == 8


@pytest.mark.needs(Can.TWO_CHATS)
async def test_each_chat_has_its_own_messages(there: PlatformRig) -> None:
    await there.say(there.home, "from Anna")
    await there.say(there.away, "from Bob", who=Person.BOB)
    by_text = {message.text: message for message in await got(there, 2)}
    assert by_text["from Anna"].address == there.home
    assert by_text["from Bob"].address == there.away
    await deliver(there, there.away, Say("for Bob"))
    await deliver(there, there.home, Say("for Anna"))
    assert [seen.text for seen in await shown(there, there.home, 1)] == ["for Anna"]
    assert [seen.text for seen in await shown(there, there.away, 1)] == ["for Bob"]


@pytest.mark.needs(Can.ROOMS)
async def test_in_a_room_the_bot_hears_who_speaks_to_it(there: PlatformRig) -> None:
    room = await there.room()
    await there.say(room, "what is new?", who=Person.ANNA)
    await there.say(room, "and for me?", who=Person.BOB)
    first, second = await got(there, 2)
    assert [first.text, second.text] == ["what is new?", "and for me?"]
    assert (first.address.chat, second.address.chat) == (room.chat, room.chat)
    assert first.sender.id != second.sender.id
    assert (first.private, first.addressed) == (False, True)


@pytest.mark.needs(Can.ROOMS)
async def test_in_a_room_what_is_not_for_the_bot_is_not_addressed_to_it(
    there: PlatformRig,
) -> None:
    room = await there.room()
    await there.say(room, "lunch?", addressed=False)
    await there.say(room, "hello bot")
    await there.intake.wait_for(lambda: "hello bot" in heard(there))
    messages = await got(there, 1)
    assert {m.text for m in messages if m.addressed} == {"hello bot"}


@pytest.mark.needs(Can.ROOMS)
async def test_an_answer_goes_to_the_room_where_it_was_asked(there: PlatformRig) -> None:
    room = await there.room()
    await there.say(room, "hello")
    [message] = await got(there, 1)
    await deliver(there, message.address, Say("here", reply_to=message.remote))
    [seen] = await shown(there, message.address, 1)
    assert seen.text == "here"
    assert not there.chat(there.home)


@pytest.mark.needs(Can.ROOMS)
async def test_a_command_works_in_a_room(there: PlatformRig) -> None:
    room = await there.room()
    await there.command(room, "/goal tidy up", who=Person.BOB)
    [message] = await got(there, 1)
    assert (message.text, message.address.chat) == ("/goal tidy up", room.chat)
    assert (message.private, message.addressed) == (False, True)


@pytest.mark.needs(Can.ROOMS, Can.THREADS)
async def test_a_thread_is_a_place_of_its_own(there: PlatformRig) -> None:
    room = await there.room()
    one, two = await there.thread(room), await there.thread(room)
    assert len({room.key, one.key, two.key}) == 3
    for place, text in ((one, "in one"), (two, "in two")):
        await there.say(place, text)
    messages = {message.text: message for message in await got(there, 2)}
    assert messages["in one"].address == one
    assert messages["in two"].address == two
    assert not messages["in one"].private
    await deliver(there, two, Say("to two"))
    await deliver(there, one, Say("to one"))
    assert [seen.text for seen in await shown(there, one, 1)] == ["to one"]
    assert [seen.text for seen in await shown(there, two, 1)] == ["to two"]
    assert not there.chat(room)


@pytest.mark.needs(Can.BE_REFUSED)
async def test_a_refusal_is_told_in_the_chat(there: PlatformRig) -> None:
    there.intake.acks = lambda _: Refused("The queue is full; wait or /stop.")
    await there.say(there.home, "one too many")
    [seen] = await shown(there, there.home, 1)
    assert "The queue is full; wait or /stop." in seen.text


@pytest.mark.needs(Can.ROOMS)
async def test_whom_nothing_is_to_be_told_gets_nothing(there: PlatformRig) -> None:
    there.intake.acks = lambda _: Refused("")
    await there.say(there.home, "let me in")
    await there.intake.got(1)
    there.intake.acks = lambda _: Queued(0)
    await there.say(there.home, "again")
    await there.intake.got(2)
    await deliver(there, there.home, Say("first words"))
    assert [seen.text for seen in await shown(there, there.home, 1)] == ["first words"]


@pytest.mark.needs(Can.ALTER)
async def test_an_edit_of_an_old_message_starts_nothing(there: PlatformRig) -> None:
    remote = await there.say(there.home, "make tea")
    await there.intake.got(1)
    await there.alter(there.home, remote, "make coffee")
    await there.say(there.home, "thanks")
    await there.intake.got(2)
    assert heard(there) == ["make tea", "thanks"]
