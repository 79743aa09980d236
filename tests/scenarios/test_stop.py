"""/stop: at once, whatever hangs; it takes the processes and what waits along."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.scenarios.rig import eventually, nap, processes, running_bot

AT_ONCE_S = 5.0
DONE = verdict(reason="All is there.", done=True)


async def test_stop_answers_while_the_model_hangs_and_drops_what_waits(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Too late.", gate="never"), text("Here I am."))
        bot.say("/goal think for ever")
        [hung] = await bot.asked(1)
        bot.say("are you there?")
        bot.say("hello?")
        await bot.all_said()
        bot.say("/stop")
        await bot.heard("⏹ Stopped. Goal paused; 2 waiting messages dropped.", within_s=AT_ONCE_S)
        await eventually(hung.gone.is_set)
        bot.say("what now?")
        await bot.heard("Here I am.")
        [_, asked] = bot.models.of("main")
        assert asked.said() == "what now?"
        assert "⊙ Goal (paused, 0/20 turns): think for ever" in await bot.status()
        assert not bot.models.of("judge")


async def test_stop_answers_while_the_judge_hangs_and_its_verdict_is_dropped(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("First."), text("Second."))
        bot.models.script("judge", text(DONE.text, gate="slow"))
        bot.say("/goal work")
        await bot.asked(1, "judge")
        bot.say("/stop")
        await bot.heard("⏹ Stopped. Goal paused; 0 waiting messages dropped.", within_s=AT_ONCE_S)
        bot.models.open("slow")
        bot.models.default("judge", DONE)
        bot.say("/goal resume")
        said = await bot.heard("▶ Goal resumed", "Second.", "✓ Goal achieved")
        assert said.count("✓ Goal achieved: All is there.") == 1


async def test_stop_kills_what_a_command_started(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        sleep = nap()
        command = f"({sleep} & setsid {sleep} & {sleep}); echo over"
        bot.models.script("main", calls(("run", {"command": command})), text("Next one."))
        bot.say("/goal sleep")
        await eventually(lambda: len(processes(sleep)) >= 3)
        bot.say("/stop")
        await bot.heard("⏹ Stopped. Goal paused; 0 waiting messages dropped.", within_s=AT_ONCE_S)
        await eventually(lambda: not processes(sleep), AT_ONCE_S)
        bot.say("and now?")
        await bot.heard("Next one.")


async def test_stop_ends_the_background_of_its_turn_and_not_that_of_answered_ones(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path) as bot:
        kept, ended = nap(), nap()
        bot.models.script(
            "main",
            calls(("run", {"command": kept, "background": True})),
            text("It runs."),
            calls(("run", {"command": ended, "background": True})),
            text("Too late.", gate="never"),
            calls(("processes", {})),
            text("I looked."),
        )
        bot.say("start one")
        await bot.heard("It runs.")
        bot.say("start another")
        await bot.asked(4)
        assert processes(ended)
        bot.say("/stop")
        bot.say("what runs?")
        await bot.heard("⏹ Stopped. 0 waiting messages dropped.", "I looked.")
        told = bot.models.of("main")[-1].said()
        assert f": {kept}" in told.split("p2: exit")[0]
        assert f": {ended}" in told.split("p2: exit")[1]
        assert processes(kept)
        assert not processes(ended)


async def test_stop_drops_what_came_before_it_and_not_what_came_after(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Too late.", gate="never"), text("To B."))
        bot.say("hang")
        await bot.asked(1)
        bot.say("A")
        bot.say("/stop")
        bot.say("B")
        await bot.heard("⏹ Stopped. 1 waiting messages dropped.", "To B.")
        assert [request.said() for request in bot.models.of("main")] == ["hang", "B"]


async def test_a_stop_that_comes_twice_kills_nothing_newer(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main", text("Too late.", gate="never"), text("To B.", gate="slow"), text("To C.")
        )
        bot.say("hang")
        await bot.asked(1)
        stop = bot.say("/stop")
        await bot.heard("⏹ Stopped.")
        bot.say("B")
        await bot.asked(2)
        bot.people.redeliver(stop.update_id)
        await bot.all_said()
        bot.models.open("slow")
        assert await bot.heard("To B.") == ["⏹ Stopped. 0 waiting messages dropped.", "To B."]


async def test_stop_with_nothing_to_stop_says_so(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.say("/stop")
        assert await bot.heard("Nothing") == ["Nothing is running here."]


async def test_stop_ends_one_lane_only(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        group = bot.people.group("Team")
        bot.models.script("main", text("In private.", gate="slow"))
        bot.say("think")
        await bot.asked(1)
        bot.models.script("main", text("In the group.", gate="never"))
        bot.say("@pursuit_bot think", chat=group)
        await bot.asked(2)
        bot.say("/stop", chat=group)
        await bot.heard("⏹ Stopped.", chat=group)
        bot.models.open("slow")
        await bot.heard("In private.")


async def test_a_draft_on_its_way_is_stopped_too(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("judge", text("{}", gate="never"))
        bot.models.script("main", text("Hello."))
        bot.say("/goal draft a parser")
        await bot.asked(1, "judge")
        bot.say("/stop")
        await bot.heard("⏹ Stopped. 0 waiting messages dropped.", within_s=AT_ONCE_S)
        bot.say("hi")
        await bot.heard("Hello.")
