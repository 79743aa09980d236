"""The dialogue of a goal, word for word."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.scenarios.rig import counting, running_bot

NOT_YET = verdict(reason="Not yet.", done=False)
DONE = verdict(reason="All is there.", done=True)


async def test_a_message_is_answered(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Hello Anna."))
        bot.say("hi")
        assert await bot.heard("Hello Anna.") == ["Hello Anna."]


async def test_a_goal_runs_to_its_end(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main",
            calls(("write_file", {"path": "a.txt", "content": "1"})),
            text("I wrote a.txt."),
            text("b.txt is there as well."),
        )
        bot.models.script(
            "judge",
            verdict(reason="b.txt is missing.", done=False),
            verdict(reason="Both are there.", done=True),
        )
        bot.say("/goal write a.txt and b.txt")
        said = await bot.heard("✓ Goal achieved")
        assert said[1:] == [
            "I wrote a.txt.",
            "↻ Continuing toward goal (1/20): b.txt is missing.",
            "b.txt is there as well.",
            "✓ Goal achieved: Both are there.",
        ]
        assert said[0].startswith("⊙ Goal set (20-turn budget): write a.txt and b.txt")
        assert (bot.workspace() / "a.txt").read_text() == "1"
        continuation = bot.models.of("main")[-1].said()
        assert continuation.startswith("[Continuing toward your standing goal]")
        assert "b.txt is missing." in continuation


async def test_a_spent_turn_budget_pauses_and_resume_begins_a_new_one(tmp_path: Path) -> None:
    async with running_bot(tmp_path, goals={"max_turns": 2}) as bot:
        bot.models.default("main", counting())
        bot.models.script("judge", NOT_YET, NOT_YET, DONE)
        bot.say("/goal polish the report")
        await bot.heard("⏸ Goal paused")
        assert (await bot.all_said())[1:] == [
            "Step 1.",
            "↻ Continuing toward goal (1/2): Not yet.",
            "Step 2.",
            "⏸ Goal paused — 2/2 turns used. "
            "Use /goal resume to keep going, or /goal clear to stop.",
        ]
        bot.say("/goal resume")
        await bot.heard("✓ Goal achieved")
        assert [line.split("\n")[0] for line in (await bot.all_said())[5:]] == [
            "▶ Goal resumed (2-turn budget): polish the report",
            "Step 3.",
            "✓ Goal achieved: All is there.",
        ]


async def test_a_pause_lets_the_running_turn_finish_and_asks_no_judge(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half of it is there.", gate="slow"), text("The rest."))
        bot.models.script("judge", DONE)
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("/goal pause")
        await bot.heard("⏸ Goal paused: as you asked. The running turn finishes.")
        bot.models.open("slow")
        await bot.heard("Half of it is there.")
        bot.say("/goal")
        await bot.heard("⊙ Goal (paused, 1/20 turns): write it")
        assert not bot.models.of("judge")
        bot.say("/goal resume")
        await bot.heard(
            "▶ Goal resumed (20-turn budget): write it", "The rest.", "✓ Goal achieved"
        )


async def test_resume_in_mid_run_only_takes_the_pause_away(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("First.", gate="slow"))
        bot.models.script("judge", DONE)
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("/goal pause")
        bot.say("/goal resume")
        await bot.heard("⏸ Goal paused", "▶ Goal resumed (20-turn budget): write it")
        bot.models.open("slow")
        await bot.heard("First.", "✓ Goal achieved: All is there.")
        assert len(bot.models.of("main")) == 1


async def test_a_cleared_goal_is_gone(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half.", gate="slow"))
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("/goal clear")
        await bot.heard("✗ Goal cleared.")
        bot.models.open("slow")
        await bot.heard("Half.")
        bot.say("/goal")
        bot.say("/goal status")
        bot.say("/goal pause")
        bot.say("/goal resume")
        bot.say("/subgoal also this")
        said = await bot.all_said()
        none = "No active goal. Set one with /goal <text>."
        resume = "No goal to resume. Set one with /goal <text>."
        assert said[-5:] == [none, none, none, resume, none]
        assert not bot.models.of("judge")


async def test_without_a_goal_there_is_nothing_to_show_or_resume(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.say("/goal")
        bot.say("/goal resume")
        assert await bot.all_said() == [
            "No active goal. Set one with /goal <text>.",
            "No goal to resume. Set one with /goal <text>.",
        ]


async def test_a_subcommands_word_at_the_start_of_a_goal_is_part_of_it(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Cleared."))
        bot.models.script("judge", DONE)
        bot.say("/goal clear the backlog")
        await bot.heard("⊙ Goal set (20-turn budget): clear the backlog", "✓ Goal achieved")


async def test_an_answer_takes_a_blocked_goal_up_again_with_its_counter(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("I need the password."), text("Thanks."), text("I am in."))
        bot.models.script(
            "judge",
            verdict(reason="The password is missing.", done=True, blocked=True),
            verdict(reason="Log in now.", done=False),
            DONE,
        )
        bot.say("/goal log in")
        await bot.heard(
            "⛔ Goal blocked: The password is missing. "
            "Answer here, or /goal resume after you have changed something."
        )
        bot.say("/goal")
        await bot.heard("⊙ Goal (blocked, 1/20 turns): log in")
        bot.say("it is 1234")
        await bot.heard(
            "Thanks.",
            "↻ Continuing toward goal (1/20): Log in now.",
            "I am in.",
            "✓ Goal achieved: All is there.",
        )


async def test_a_new_goal_in_mid_run_is_rejected(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("First.", gate="slow"))
        bot.models.script("judge", DONE)
        bot.say("/goal the first")
        await bot.asked(1)
        bot.say("/goal the second")
        await bot.heard("⚠ A turn is running. Use /stop first, then set the new goal.")
        bot.models.open("slow")
        await bot.heard("First.", "✓ Goal achieved")
        assert "the first" in bot.models.of("judge")[0].said()


async def test_a_new_goal_replaces_one_whose_verdict_is_open(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("First."), text("Second."))
        old = text(verdict(reason="Old news.", done=True).text, gate="slow")
        bot.models.script("judge", old, DONE)
        bot.say("/goal the first")
        await bot.asked(1, "judge")
        bot.say("/goal the second")
        await bot.heard("⊙ Goal set (20-turn budget): the second", "Second.")
        bot.models.open("slow")
        said = await bot.heard("✓ Goal achieved: All is there.")
        assert "✓ Goal achieved: Old news." not in said


async def test_status_tells_what_was_used_and_what_comes_next(tmp_path: Path) -> None:
    models = {"main": {"price": {"input": 1000, "output": 1000}}}
    async with running_bot(tmp_path, models=models) as bot:
        bot.models.script(
            "main",
            text("One.", usage=(1200, 0, 34)),
            text("Two.", usage=(2000, 0, 100), gate="slow"),
        )
        bot.models.script("judge", text(NOT_YET.text, usage=(300, 0, 20)))
        bot.models.script("judge", text(DONE.text, usage=(400, 0, 20)))
        bot.say("/goal count")
        await bot.asked(2)
        status = await bot.status()
        assert status.split("\n") == [
            "⊙ Goal (active, 1/20 turns): count",
            "Used: 1,554 tokens · $1.23 · 0s",
            "Last verdict: Not yet.",
            "Next: the running turn ends, then the judge is asked",
        ]
        bot.models.open("slow")
        await bot.heard("✓ Goal achieved")
        bot.say("/goal")
        await bot.heard("⊙ Goal (done, 2/20 turns): count\nUsed: 4,074 tokens · $3.33 · ")


async def test_contract_lines_reach_the_agent_and_the_judge_and_are_shown(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Done: see out.txt."))
        bot.models.script("judge", NOT_YET)
        bot.models.script("main", text("Hm.", gate="slow"))
        bot.say(
            "/goal tidy up\noutcome: no stray files\nverify: ls shows only src\n"
            "constraints: no deletions\nboundaries: not in /etc\nstop when: a file is locked"
        )
        [kickoff, continuation] = await bot.asked(2)
        [asked] = bot.models.of("judge")
        for request in (kickoff, continuation, asked):
            assert "- outcome: no stray files" in request.said()
            assert "- verify: ls shows only src" in request.said()
            assert "- stop when: a file is locked" in request.said()
        bot.say("/goal show")
        [shown] = [words for words in await bot.all_said() if words.startswith("⊙ Goal (")]
        assert shown.split("\n")[4:] == [
            "outcome: no stray files",
            "verify: ls shows only src",
            "constraints: no deletions",
            "boundaries: not in /etc",
            "stop when: a file is locked",
            "Budget: 20 turns, any tokens, any cost, any time.",
        ]


async def test_criteria_are_added_while_it_runs_and_the_judge_sees_them(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half.", gate="slow"), text("All."))
        bot.models.script("judge", verdict(reason="No tests yet.", done=False), DONE)
        bot.say("/goal write a parser")
        await bot.asked(1)
        bot.say("/subgoal it has tests")
        bot.say("/subgoal it is fast")
        bot.say("/subgoal it is short")
        bot.say("/subgoal remove 2")
        bot.say("/subgoal")
        listed = "Criteria that the judge must see met:\n1. it has tests\n2. it is short"
        said = await bot.all_said()
        assert said[-2:] == [listed, listed]
        bot.models.open("slow")
        await bot.heard("✓ Goal achieved")
        assert "1. it has tests\n2. it is short" in bot.models.of("judge")[0].said()
        assert "1. it has tests\n2. it is short" in bot.models.of("main")[1].said()
        bot.say("/subgoal clear")
        await bot.heard("No criteria. Add one with /subgoal <text>.")


async def test_a_goal_waits_as_asked_and_goes_on_by_itself(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("The build runs."), text("The build is green."))
        bot.models.script("judge", text(NOT_YET.text, gate="slow"), DONE)
        bot.say("/goal get the build green")
        await bot.heard("The build runs.")
        await bot.asked(1, "judge")
        bot.say("/goal wait 1s")
        await bot.heard("⏲ Goal waits 1s: as you asked")
        bot.models.open("slow")
        await bot.heard("The build is green.", "✓ Goal achieved")
        assert "↻" not in "".join(bot.said())


async def test_a_draft_is_accepted_by_its_button(tmp_path: Path) -> None:
    draft = (
        '{"goal": "Write a parser.", "outcome": "It parses.", "verify": "pytest passes",'
        ' "constraints": "", "boundaries": "", "stop when": ""}'
    )
    async with running_bot(tmp_path) as bot:
        bot.models.script("judge", text(draft), DONE)
        bot.models.script("main", text("Written."))
        bot.say("/goal draft a parser please")
        await bot.heard(
            "Proposed goal. Accept it, or send it back edited:\n\n"
            "/goal Write a parser.\noutcome: It parses.\nverify: pytest passes"
        )
        assert "a parser please" in bot.models.of("judge")[0].said()
        toast = await bot.press("Accept")
        assert toast == "⊙ Goal set (20-turn budget): Write a parser."
        await bot.heard("Written.", "✓ Goal achieved")
        assert "- verify: pytest passes" in bot.models.of("main")[0].said()


async def test_a_draft_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("judge", text("Sure, here you go!"))
        bot.say("/goal draft a parser please")
        await bot.heard("the draft could not be read; try again, or write the contract yourself")
        bot.say("/goal accept")
        await bot.heard("There is no draft to accept. Use /goal draft <text> first.")
