"""Cut at any point, the program goes on where it was: nothing lost, nothing doubled."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.telegram_faults import Stall
from tests.scenarios.rig import counting, eventually, nap, processes, running_bot

NOT_YET = verdict(reason="Not yet.", done=False)
DONE = verdict(reason="All is there.", done=True)


async def test_a_turn_that_was_cut_goes_on_by_itself(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main",
            calls(("write_file", {"path": "a.txt", "content": "1"})),
            text("Too late.", gate="never"),
            text("a.txt is there."),
        )
        bot.models.script("judge", DONE)
        bot.say("/goal write a.txt")
        await bot.asked(2)
        await bot.all_said()
        await bot.restart()
        await bot.heard("✓ Goal achieved")
        said = [words.split("\n")[0] for words in await bot.all_said()]
        assert said == [
            "⊙ Goal set (20-turn budget): write a.txt",
            "▶ Going on with the goal (0/20 turns): write a.txt",
            "a.txt is there.",
            "✓ Goal achieved: All is there.",
        ]
        [_, before, after] = bot.models.of("main")
        assert before.raw == after.raw


async def test_a_turn_that_was_cut_while_its_progress_was_shown_goes_on(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        look = calls(("run", {"command": "echo hello"}))
        bot.models.script("main", look, text("Too late.", gate="never"), text("I looked."))
        bot.say("@pursuit_bot look", chat=team)
        await bot.heard("💻 echo hello (0.", chat=team)
        await bot.restart()
        await bot.heard("I looked.", chat=team)


async def test_an_ordinary_turn_goes_on_without_a_word(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Too late.", gate="never"), text("Hello."))
        bot.say("hi")
        await bot.asked(1)
        await bot.restart()
        assert await bot.heard("Hello.") == ["Hello."]
        assert await bot.all_said() == ["Hello."]


async def test_a_command_that_was_cut_is_not_run_twice_unnoticed(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        sleep = nap()
        command = f"echo once >> log.txt; {sleep}"
        bot.models.script("main", calls(("run", {"command": command})), text("I looked."))
        bot.say("run it")
        await eventually(lambda: processes(sleep))
        await bot.restart()
        await bot.heard("I looked.")
        assert not processes(sleep)
        assert (bot.workspace() / "log.txt").read_text() == "once\n"
        told = bot.models.of("main")[1].said()
        assert "interrupted by a restart; the outcome is unknown, check before repeating" in told


async def test_an_open_judgement_is_asked_again(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.models.script("judge", text(DONE.text, gate="never"), NOT_YET, DONE)
        bot.say("/goal work")
        await bot.asked(1, "judge")
        await bot.all_said()
        await bot.restart()
        await bot.heard("✓ Goal achieved")
        said = [words.split("\n")[0] for words in await bot.all_said()]
        assert said == [
            "⊙ Goal set (20-turn budget): work",
            "Step 1.",
            "▶ Going on with the goal (1/20 turns): work",
            "↻ Continuing toward goal (1/20): Not yet.",
            "Step 2.",
            "✓ Goal achieved: All is there.",
        ]
        [first, second, _] = bot.models.of("judge")
        assert first.raw == second.raw


async def test_goals_that_do_not_run_stand_as_they_were(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("I am stuck."))
        bot.models.script("judge", verdict(reason="No key.", done=False, blocked=True))
        bot.say("/goal open the door")
        await bot.heard("⛔ Goal blocked: No key.")
        before = await bot.all_said()
        await bot.restart()
        after = await bot.all_said()
        assert len(after) == len(before)
        assert "⊙ Goal (blocked, 1/20 turns): open the door" in await bot.status()
        assert len(bot.models.of("main")) == 1


async def test_a_goals_rest_survives_a_restart(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("The build runs."), text("It is green."))
        bot.models.script("judge", text(NOT_YET.text, gate="never"), NOT_YET, DONE)
        bot.say("/goal get the build green")
        await bot.asked(1, "judge")
        bot.say("/goal wait 20m")
        await bot.heard("⏲ Goal waits 20m: as you asked")
        await bot.all_said()
        await bot.restart()
        await bot.heard("▶ Going on with the goal (1/20 turns)", "⏲ Goal waits 19m")
        assert "Next: it goes on in 19m" in await bot.status()
        assert len(bot.models.of("main")) == 1
        bot.say("/goal wait 1s")
        await bot.heard("It is green.", "✓ Goal achieved")


async def test_a_stop_sent_while_we_were_down_comes_first(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Too late.", gate="never"), text("Hello."))
        bot.say("/goal work")
        await bot.asked(1)
        bot.say("are you there?")
        await bot.all_said()
        await bot.stop()
        bot.say("/stop")
        bot.say("hi")
        await bot.start()
        await bot.heard("⏹ Stopped. Goal paused; 1 waiting messages dropped.", "Hello.")
        assert [request.said() for request in bot.models.of("main")] == ["work", "hi"]


async def test_messages_sent_while_we_were_down_are_answered_in_order(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        await bot.stop()
        bot.say("one")
        bot.say("two")
        await bot.start()
        await bot.heard("Step 1.", "Step 2.")
        assert [request.said() for request in bot.models.of("main")] == ["one", "two"]


async def test_a_turn_cut_three_times_in_the_same_place_ends_in_words(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", text("Too late.", gate="never"))
        bot.say("hi")
        for number in range(1, 4):
            await bot.asked(number)
            await bot.restart()
        await bot.heard("⚠ This turn failed: it was begun 3 times and each time cut by a restart")
        bot.models.default("main", text("Hello."))
        bot.say("hi again")
        await bot.heard("Hello.")


async def test_an_answer_that_was_being_sent_is_sent_once_more_and_marked(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        hang = Stall()
        bot.people.fault("sendMessage", hang)
        bot.say("hi")
        await bot.asked(1)
        bot.say("and?")
        await bot.asked(2)
        await bot.stop()
        hang.until.set()
        await bot.start()
        await bot.heard("(may be a repeat) Step 1.", "Step 2.")
        said = await bot.all_said()
        assert said[-2:] == ["(may be a repeat) Step 1.", "Step 2."]
        assert len(said) == len(set(said))
        assert len(bot.models.of("main")) == 2


async def test_a_kick_off_and_what_waits_behind_it_survive(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Too late.", gate="never"))
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("also check it")
        bot.say("/subgoal it is checked")
        await bot.all_said()
        bot.models.script("main", text("Written."), text("Checked."))
        bot.models.script("judge", DONE)
        await bot.restart()
        await bot.heard("▶ Going on with the goal", "Written.", "Checked.", "✓ Goal achieved")
        assert "1. it is checked" in bot.models.of("judge")[0].said()
        assert len(bot.models.of("judge")) == 1


async def test_a_file_is_sent_once_although_its_turn_was_cut(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main",
            calls(("write_file", {"path": "a.txt", "content": "1"})),
            calls(("send_file", {"path": "a.txt", "caption": "Here."})),
            text("Too late.", gate="never"),
            text("Sent."),
        )
        bot.say("send a.txt")
        await bot.asked(3)
        await bot.heard("Here.")
        await bot.all_said()
        await bot.restart()
        await bot.heard("Here.", "Sent.")
        assert await bot.all_said() == ["Here.", "Sent."]
