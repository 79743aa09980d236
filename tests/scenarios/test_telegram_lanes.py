"""Where Telegram's chats become lanes: topics, groups, people; and who is not heard."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.telegram_world import BOB, Person
from tests.scenarios.rig import counting, running_bot

EVE = Person(6666, "Eve")
MEMBERS = {"telegram": {"members": [BOB.id]}}
DONE = verdict(reason="All is there.", done=True)


async def test_topics_are_lanes_of_their_own(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group("Team", forum=True)
        red, blue = bot.people.topic(team, "Red"), bot.people.topic(team, "Blue")
        bot.models.script("main", text("Red answer.", gate="slow"))
        bot.say("@pursuit_bot think", chat=team, topic=red)
        await bot.asked(1)
        bot.models.script("main", text("Blue answer."))
        bot.say("@pursuit_bot think", chat=team, topic=blue)
        await bot.heard("Blue answer.", chat=team)
        bot.models.open("slow")
        await bot.heard("Red answer.", chat=team)
        threads = {seen.text: seen.thread for seen in bot.people.by_bot(team)}
        assert threads == {"Blue answer.": blue, "Red answer.": red}
        assert len(bot.models.of("main")[1].messages()) == 2


async def test_a_goal_lives_in_its_topic(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group("Team", forum=True)
        red, blue = bot.people.topic(team, "Red"), bot.people.topic(team, "Blue")
        bot.models.script("main", text("Painted."))
        bot.models.script("judge", DONE)
        bot.say("/goal paint it", chat=team, topic=red)
        await bot.heard("✓ Goal achieved", chat=team)
        assert {seen.thread for seen in bot.people.by_bot(team)} == {red}
        bot.say("/goal", chat=team, topic=blue)
        await bot.heard("No active goal.", chat=team)


async def test_in_a_group_the_bot_speaks_when_it_is_spoken_to(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=MEMBERS) as bot:
        team = bot.people.group()
        bot.models.default("main", counting())
        bot.say("nice weather", chat=team)
        first = bot.say("@pursuit_bot is it?", chat=team)
        await bot.heard("Step 1.", chat=team)
        [answer] = bot.people.by_bot(team)
        assert answer.reply_to == first.id
        bot.say("I do not think so", chat=team, user=BOB, reply_to=answer)
        await bot.heard("Step 2.", chat=team)
        bot.say("never mind", chat=team, user=BOB)
        assert await bot.all_said(team) == ["Step 1.", "Step 2."]
        asked = [request.said() for request in bot.models.of("main")]
        assert asked == ["Anna: is it?", "> Step 1.\nBob: I do not think so"]


async def test_a_command_to_another_bot_is_not_ours(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        bot.say("/stop@other_bot", chat=team)
        bot.say("/stop@pursuit_bot", chat=team)
        assert await bot.all_said(team) == ["Nothing is running here."]


async def test_per_user_lanes_keep_a_groups_people_apart(tmp_path: Path) -> None:
    lanes = {"groups": "per_user"}
    async with running_bot(tmp_path, access=MEMBERS, lanes=lanes) as bot:
        team = bot.people.group()
        bot.models.script("main", text("For Anna.", gate="slow"))
        bot.say("@pursuit_bot my cat is red", chat=team)
        await bot.asked(1)
        bot.models.script("main", text("For Bob."))
        bot.say("@pursuit_bot what colour is it?", chat=team, user=BOB)
        await bot.heard("For Bob.", chat=team)
        bot.models.open("slow")
        await bot.heard("For Anna.", chat=team)
        [_, asked] = bot.models.of("main")
        assert [message["content"] for message in asked.messages()[1:]] == ["what colour is it?"]


async def test_strangers_get_nothing(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        bot.say("let me in", user=EVE)
        bot.say("/goal rule the world", user=EVE)
        bot.say("/whoami", user=EVE)
        bot.people.upload("virus.exe", b"!", user=EVE)
        bot.say("@pursuit_bot hello", user=EVE, chat=team)
        bot.say("/status", user=EVE, chat=team)
        await bot.all_said()
        assert bot.people.by_bot(EVE.id) == []
        assert bot.people.by_bot(team) == []
        assert not bot.models.requests


async def test_a_strangers_press_does_nothing(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        bot.models.script("main", text("Painted.", gate="slow"))
        bot.models.script("judge", DONE)
        bot.say("/goal paint it", chat=team)
        await bot.asked(1)
        assert await bot.press("Stop", user=EVE, chat=team) == ""
        bot.models.open("slow")
        await bot.heard("Painted.", "✓ Goal achieved", chat=team)


async def test_members_are_heard_in_the_named_chats_only(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team, other = bot.people.group("Team"), bot.people.group("Other")
        access = {"telegram": {"members": [BOB.id], "chats": [team]}}
    async with running_bot(tmp_path, access=access) as bot:
        assert (bot.people.group("Team"), bot.people.group("Other")) == (team, other)
        bot.models.default("main", counting())
        bot.say("@pursuit_bot hi", user=BOB, chat=other)
        bot.say("hi", user=BOB)
        bot.say("@pursuit_bot hi", user=BOB, chat=team)
        await bot.heard("Step 1.", chat=team)
        await bot.all_said()
        assert bot.people.by_bot(other) == bot.people.by_bot(BOB.id) == []
        assert len(bot.models.of("main")) == 1


async def test_an_edit_of_an_old_message_does_nothing(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Hello."))
        said = bot.say("hi")
        await bot.heard("Hello.")
        bot.people.edit(said, "/goal something else")
        assert await bot.all_said() == ["Hello."]
        assert len(bot.models.of("main")) == 1


async def test_an_update_that_comes_twice_is_answered_once(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        said = bot.say("hi")
        await bot.heard("Step 1.")
        bot.people.redeliver(said.update_id)
        bot.say("and?")
        assert await bot.heard("Step 2.") == ["Step 1.", "Step 2."]


async def test_a_group_that_gets_a_new_id_keeps_its_session_and_files(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group("Team", basic=True)
        write = ("write_file", {"path": "cat.txt", "content": "red"})
        read = ("read_file", {"path": "cat.txt"})
        bot.models.script("main", calls(write), text("I will."), calls(read), text("Red."))
        bot.say("@pursuit_bot remember: the cat is red", chat=team)
        await bot.heard("I will.", chat=team)
        new = bot.people.migrate(team)
        bot.say("@pursuit_bot what colour is it?", chat=new)
        await bot.heard("Red.", chat=new)
        assert len(bot.models.of("main")[2].messages()) == 6
        assert "red" in bot.models.of("main")[3].said(), "its files are there as well"


async def test_a_group_that_gets_a_new_id_in_mid_turn_loses_nothing(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group("Team", basic=True)
        write = ("write_file", {"path": "cat.txt", "content": "red"})
        cut = text("Cut.", gate="never")
        bot.models.script("main", calls(write), cut, text("Written."), text("Red."))
        bot.models.script("judge", DONE)
        bot.say("/goal write down that the cat is red", chat=team)
        await bot.asked(2)
        new = bot.people.migrate(team)
        bot.say("@pursuit_bot what colour is it?", chat=new)
        said = await bot.heard("Written.", "Red.", "✓ Goal achieved", chat=new)
        assert said.count("Written.") == 1
        [_, before, after, _] = bot.models.of("main")
        assert before.raw == after.raw
