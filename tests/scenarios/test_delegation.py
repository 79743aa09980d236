"""Work handed to children: side by side, checked, stopped, and taken up again after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tests.fakes.openai_replies import Answer, calls, refusal, text
from tests.fakes.openai_seen import Seen
from tests.scenarios.rig import Bot, eventually, nap, processes, running_bot

TOOLSETS = ["terminal", "file", "delegation", "think", "send"]
MODELS = {
    "child": {"provider": "fake", "model": "child", "tier": 2},
    "checker": {"provider": "fake", "model": "checker", "tier": 3},
}
STAFF: Mapping[str, object] = {"models": MODELS, "agent": {"toolsets": TOOLSETS}}


def delegate(goal: str, **fields: object) -> Answer:
    """The parent hands one task to a child on the model `child`."""
    return calls(("delegate_task", {"goal": goal, "model": "child", **fields}))


def batch(*goals: str) -> Answer:
    """The parent hands over several tasks."""
    tasks = [{"goal": goal} for goal in goals]
    return calls(("delegate_task", {"model": "child", "tasks": tasks}))


def found(*results: tuple[int, str, str]) -> Answer:
    """The judge's reply: number, result and why of each criterion."""
    criteria = [{"n": n, "result": r, "quote": "", "why": why} for n, r, why in results]
    return text(json.dumps({"criteria": criteria, "reasoning": "looked at each"}))


async def outcome(bot: Bot) -> dict[str, object]:
    """What the parent was told of its one child."""
    told = (await bot.asked(2))[1].said()
    result = json.loads(told)
    assert isinstance(result, dict)
    return result


async def test_a_child_works_by_itself_and_its_parent_gets_one_result(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        write = calls(("write_file", {"path": "a.txt", "content": "1"}))
        bot.models.script("main", delegate("write a.txt", context="It holds 1."), text("Done."))
        bot.models.script("child", write, text("I wrote a.txt."))
        bot.say("a secret of the conversation; have a.txt written")
        await bot.heard("Done.")
        result = await outcome(bot)
        assert {key: result[key] for key in ("status", "summary", "model", "tier", "turns")} == {
            "status": "ok",
            "summary": "I wrote a.txt.",
            "model": "child",
            "tier": 2,
            "turns": 2,
        }
        assert "verdict" not in result
        assert (bot.workspace() / "a.txt").read_text() == "1"
        first, second = bot.models.of("child")
        assert "It holds 1." in first.said()
        assert b"a secret of the conversation" not in first.raw + second.raw
        asked, after = bot.models.of("main")
        assert len(after.messages()) == len(asked.messages()) + 2


async def test_a_claim_that_no_receipt_bears_out_fails_and_true_work_passes(
    tmp_path: Path,
) -> None:
    def check(seen: Seen) -> Answer:
        wrote = "wrote a.txt (1 bytes)" in seen.said()
        return found((1, "pass", "a receipt shows it") if wrote else (1, "fail", "no receipt"))

    async with running_bot(tmp_path, **STAFF) as bot:
        write = calls(("write_file", {"path": "a.txt", "content": "1"}))
        task = delegate("write a.txt", acceptance_criteria="a.txt was written")
        bot.models.default("checker", check)
        bot.models.script("main", task, text("It failed."), task, text("It passed."))
        bot.models.script("child", text("I wrote a.txt."), write, text("I wrote a.txt."))
        bot.say("go")
        await bot.heard("It failed.")
        bot.say("again")
        await bot.heard("It failed.", "It passed.")
        _, failed, _, passed = bot.models.of("main")
        verdicts = [json.loads(seen.said())["verdict"] for seen in (failed, passed)]
        assert [verdict["verdict"] for verdict in verdicts] == ["FAIL", "PASS"]
        assert [verdict["independent"] for verdict in verdicts] == [True, True]
        assert json.loads(failed.said())["status"] == "ok"


async def test_the_judge_hears_of_every_file_however_many_calls_came_after_it(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        names = ["early.txt", *(f"f{n}.txt" for n in range(64))]
        writes = calls(*(("write_file", {"path": name, "content": "1"}) for name in names))
        task = delegate("write them", acceptance_criteria="early.txt was written")
        bot.models.script("main", task, text("Done."))
        bot.models.script("child", writes, text("I wrote them."))
        bot.models.script("checker", found((1, "pass", "there")))
        bot.say("go")
        await bot.heard("Done.")
        (seen,) = bot.models.of("checker")
        left_out = "[25 earlier calls are left out] They wrote: early.txt (1 bytes), f0.txt"
        assert left_out in seen.said()


async def test_a_failed_child_may_work_once_more_and_hears_only_what_failed(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        criteria = ["the sky is named", "the sea is named"]
        task = delegate("name them", acceptance_criteria=criteria, retry_on_fail=1)
        bot.models.script("main", task, text("Done."))
        bot.models.script("child", text("The sky."), text("The sky and the sea."))
        bot.models.script(
            "checker",
            found((1, "pass", "there"), (2, "fail", "the sea is missing")),
            found((1, "pass", "there"), (2, "pass", "there")),
        )
        bot.say("go")
        await bot.heard("Done.")
        result = await outcome(bot)
        assert result["summary"] == "The sky and the sea."
        assert result["turns"] == 2
        first, second = bot.models.of("child")
        feedback = second.said().removeprefix(first.said())
        assert "the sea is missing" in feedback
        assert "the sky" not in feedback


async def test_three_children_work_at_the_same_time(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        bot.models.script("main", batch("one", "two", "three"), text("All done."))
        bot.models.default("child", text("Done.", gate="all"))
        bot.say("go")
        await bot.asked(3, "child")
        assert bot.models.running == 3
        bot.models.open("all")
        await bot.heard("All done.")
        told = json.loads(bot.models.of("main")[1].said())
        assert [result["status"] for result in told] == ["ok", "ok", "ok"]


async def test_calls_in_one_reply_share_the_limit_of_children(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        one = {"model": "child", "goal": "one"}
        two = {"model": "child", "tasks": [{"goal": n} for n in ("two", "three", "four")]}
        both = calls(("delegate_task", one), ("delegate_task", two))
        bot.models.script("main", both, text("All done."))
        bot.models.default("child", text("Done.", gate="all"))
        bot.say("go")
        await bot.asked(3, "child")
        await bot.all_said()
        assert len(bot.models.of("child")) == 3
        bot.models.open("all")
        await bot.heard("All done.")
        assert len(bot.models.of("child")) == 4


async def test_stop_ends_children_and_what_they_run(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        sleep = nap()
        bot.models.script("main", batch("sleep", "think"))
        bot.models.default("child", _sleeps_or_thinks(sleep))
        bot.say("go")
        await eventually(lambda: processes(sleep))
        bot.say("/stop")
        await bot.heard("⏹ Stopped.")
        await eventually(lambda: not processes(sleep) or None)
        assert len(await bot.asked(2, "child")) == 2
        await eventually(lambda: all(seen.gone.is_set() for seen in bot.models.of("child")[1:]))


def _sleeps_or_thinks(sleep: str) -> Callable[[Seen], Answer]:
    def answer(seen: Seen) -> Answer:
        if "sleep" in str(seen.messages()[1]["content"]):
            return calls(("run", {"command": sleep}))
        return text("Too late.", gate="never")

    return answer


async def test_after_a_restart_each_child_goes_on_where_it_was(tmp_path: Path) -> None:
    """Of three, one has ended, one waits for its model, one for its first word."""

    def work(seen: Seen) -> Answer:
        name = str(seen.messages()[1]["content"]).split()[-1]
        log = calls(("run", {"command": f"echo {name} >> log.txt"}))
        worked = len(seen.messages()) > 2
        match name:
            case "one":
                return text("one is done.") if worked else log
            case "two":
                return text("two is done.", gate="restart") if worked else log
            case _:
                late = Answer(calls=log.calls, gate="restart")
                return text("three is done.") if worked else late

    async with running_bot(tmp_path, **STAFF) as bot:
        bot.models.script("main", batch("do one", "do two", "do three"), text("All done."))
        bot.models.default("child", work)
        bot.say("go")
        await bot.asked(5, "child")
        await bot.all_said()
        before = len(bot.models.of("child"))
        await bot.stop()
        bot.models.open("restart")
        await bot.start()
        await bot.heard("All done.")
        log = (bot.workspace() / "log.txt").read_text()
        assert sorted(log.split()) == ["one", "three", "two"]
        told = json.loads(bot.models.of("main")[1].said())
        assert [r["summary"] for r in told] == ["one is done.", "two is done.", "three is done."]
        assert [r["turns"] for r in told] == [2, 2, 2]
        again = bot.models.of("child")[before:]
        assert not [seen for seen in again if "do one" in str(seen.messages()[1])]


async def test_the_status_message_shows_what_the_children_do(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        team = bot.people.group()
        look = calls(("run", {"command": "echo hello"}))
        bot.models.script("main", batch("look around", "think hard"), text("All done."))
        bot.models.script("child", look, look)
        bot.models.default("child", text("Done.", gate="shown"))
        bot.say("@pursuit_bot look", chat=team)
        await bot.heard("👥 2 of 2 children at work\n  look around: step 2 · ", chat=team)
        bot.models.open("shown")
        await bot.heard("All done.", chat=team)


async def test_a_judge_that_is_down_makes_it_unverified_and_the_turn_goes_on(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        bot.models.script("main", delegate("x", acceptance_criteria=["good"]), text("Done."))
        bot.models.default("child", text("PASS. All criteria pass."))
        bot.models.default("checker", refusal(401, "no such key"))
        bot.say("go")
        await bot.heard("Done.")
        result = await outcome(bot)
        verdict = result["verdict"]
        assert isinstance(verdict, dict)
        assert verdict["verdict"] == "UNVERIFIED"
        assert "no such key" in str(verdict["error"])


async def test_the_tokens_of_children_and_their_judge_are_in_the_books(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        bot.models.script("main", delegate("x", acceptance_criteria="good"), text("Done."))
        bot.models.script("child", text("Done.", usage=(700, 0, 300)))
        bot.models.script("checker", replace(found((1, "pass", "it is")), usage=(80, 0, 20)))
        bot.say("go")
        await bot.heard("Done.")
        bot.say("/usage")
        session = (await bot.all_said())[-1].split("Today")[0]
        assert "· child: 700 in, 300 out" in session
        assert "· checker: 80 in, 20 out" in session


async def test_a_goals_cap_blocks_a_child_and_pauses_the_goal(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF, goals={"max_tokens": 60_000}) as bot:
        bot.models.script("main", delegate("x"), text("Too late."))
        look = calls(("run", {"command": "echo hello"}))
        bot.models.script("child", replace(look, usage=(45_000, 0, 5_000)))
        bot.say("/goal work")
        await bot.heard("its token budget does not cover the next model call")
        assert len(bot.models.of("child")) == 1
        assert len(bot.models.of("main")) == 1


async def test_a_call_in_which_anything_is_wrong_starts_no_child(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        wrong = calls(
            ("delegate_task", {"tasks": [{"goal": "one"}, {"goal": "two", "model": "x"}]})
        )
        up = calls(("delegate_task", {"goal": "one", "profile": "coder"}))
        bot.models.script("main", wrong, up, text("I gave up."))
        bot.say("go")
        await bot.heard("I gave up.")
        _, first, second = bot.models.of("main")
        assert "tasks[1]: There is no model 'x'. A child may run on: main (tier 1)" in first.said()
        assert "There is no profile 'coder'." in second.said()
        assert not bot.models.of("child")


async def test_children_that_delegate_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Each of as many children as may work at a time has children of its own."""

    def work(seen: Seen) -> Answer:
        asked = str(seen.messages()[1]["content"])
        if "deeper" in asked or len(seen.messages()) > 2:
            return text("Done.")
        return calls(("delegate_task", {"goal": "go deeper"}))

    deep = {"max_depth": 2, "max_children": 2}
    async with running_bot(tmp_path, **STAFF, delegation=deep) as bot:
        bot.models.script("main", batch("one", "two"), text("All done."))
        bot.models.default("child", work)
        bot.say("go")
        await bot.heard("All done.")
        told = json.loads(bot.models.of("main")[1].said())
        assert [result["status"] for result in told] == ["ok", "ok"]
        assert len(bot.models.of("child")) == 6
        below = [s for s in bot.models.of("child") if "deeper" in str(s.messages()[1])]
        assert not any("delegate_task" in str(seen.body["tools"]) for seen in below)


async def test_the_second_run_is_judged_by_what_both_runs_did(tmp_path: Path) -> None:
    def check(seen: Seen) -> Answer:
        names = ("a.txt", "b.txt")
        wrote = ["pass" if f"wrote {name} (1 bytes)" in seen.said() else "fail" for name in names]
        return found((1, wrote[0], "looked"), (2, wrote[1], "looked"))

    async with running_bot(tmp_path, **STAFF) as bot:
        criteria = ["a.txt was written", "b.txt was written"]
        task = delegate("write both", acceptance_criteria=criteria, retry_on_fail=1)
        one, two = (
            calls(("write_file", {"path": name, "content": "1"})) for name in ("a.txt", "b.txt")
        )
        bot.models.script("main", task, text("Done."))
        bot.models.script("child", one, text("Both."), two, text("Now both."))
        bot.models.default("checker", check)
        bot.say("go")
        await bot.heard("Done.")
        result = await outcome(bot)
        assert isinstance(result["verdict"], dict)
        assert result["verdict"]["verdict"] == "PASS"
        assert result["summary"] == "Now both."


async def test_a_second_run_without_an_answer_takes_nothing_from_the_first(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        task = delegate("x", acceptance_criteria="good", retry_on_fail=1)
        bot.models.script("main", task, text("Done."))
        bot.models.script("child", text("First."), refusal(401, "no such key"))
        bot.models.default("checker", found((1, "fail", "it is bad")))
        bot.say("go")
        await bot.heard("Done.")
        result = await outcome(bot)
        assert isinstance(result["verdict"], dict)
        assert (result["status"], result["summary"]) == ("ok", "First.")
        assert result["verdict"]["verdict"] == "FAIL"
        assert "no such key" in str(result["error"])


async def test_a_run_without_an_answer_is_checked_by_machine_and_not_repeated(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        both = [{"file_exists": "a.txt"}, "it is good"]
        task = delegate("x", acceptance_criteria=both, retry_on_fail=1)
        bot.models.script("main", task, text("Done."))
        bot.models.default("child", refusal(401, "no such key"))
        bot.say("go")
        await bot.heard("Done.")
        result = await outcome(bot)
        assert result["status"] == "failed"
        assert isinstance(result["verdict"], dict)
        graded = result["verdict"]["criteria"]
        assert [each["result"] for each in graded] == ["fail", "unclear"]
        assert len(bot.models.of("child")) == 1
        assert not bot.models.of("checker")


async def test_a_check_by_command_is_made_once_though_the_judge_was_cut(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **STAFF) as bot:
        checks = [{"command_succeeds": "echo once >> log.txt"}, "it is good"]
        task = delegate("x", acceptance_criteria=checks)
        bot.models.script("main", task, text("Done."))
        bot.models.script("child", text("It is."))
        passed = found((2, "pass", "it is"))
        bot.models.script("checker", replace(passed, gate="never"), passed)
        bot.say("go")
        await bot.asked(1, "checker")
        await bot.restart()
        await bot.heard("Done.")
        verdict = (await outcome(bot))["verdict"]
        assert isinstance(verdict, dict)
        assert verdict["verdict"] == "PASS"
        assert (bot.workspace() / "log.txt").read_text() == "once\n"
        assert len(bot.models.of("child")) == 1


async def test_a_local_runner_is_begun_once_though_a_restart_cut_it(tmp_path: Path) -> None:
    sleep = nap()
    runner = {
        "acp_command": "sh",
        "acp_args": ["-c", f"echo begun >> runs.txt; {sleep}"],
        "acp_mode": "text",
    }
    async with running_bot(tmp_path, **STAFF, delegation={"profiles": {"sleeper": runner}}) as bot:
        checked = {"acceptance_criteria": {"file_exists": "no.txt"}, "retry_on_fail": 1}
        task = calls(("delegate_task", {"goal": "sleep", "profile": "sleeper", **checked}))
        bot.models.script("main", task, text("Done."))
        bot.say("go")
        await eventually(lambda: processes(sleep))
        await bot.restart()
        await bot.heard("Done.")
        result = await outcome(bot)
        assert result["status"] == "interrupted"
        assert "check before repeating" in str(result["error"])
        assert (bot.workspace() / "runs.txt").read_text() == "begun\n"
        assert not processes(sleep)
