"""Answers that have to pass gates: verify and the critic, in ordinary turns and toward goals."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.fakes.openai_replies import Scripted, calls, refusal, server_error, text, verdict
from tests.fakes.telegram_world import Person
from tests.scenarios.rig import OWNER, Bot, eventually, nap, processes, running_bot

APPROVE = text('{"verdict": "APPROVE", "reason": "it is all there"}')
REJECT = text('{"verdict": "REJECT", "reason": "b.txt is missing"}')
BEN = Person(2002, "Ben", "ben")
CRITIC = {
    "models": {"critic": {"provider": "fake", "model": "critic"}},
    "auxiliary": {"critic": {"model": "critic", "timeout_s": 5}},
}
ON: dict[str, object] = {**CRITIC, "gates": {"critic": {"enabled": True}}}
CHECK = "test -f done.txt"
LOOK = ("list_files", {"path": "."})
NOT_YET = verdict(reason="Not yet.", done=False)
DONE = verdict(reason="All is there.", done=True)


def write(name: str, content: str = "1") -> Scripted:
    return calls(("write_file", {"path": name, "content": content}))


def reflections(bot: Bot) -> list[str]:
    """What the agent was told of its answers, in the conversation of its last request."""
    messages = bot.models.of("main")[-1].messages()
    said = [str(message["content"]) for message in messages if message["role"] == "user"]
    return [words for words in said if words.startswith("[Check ")]


def with_pytest(folder: Path) -> str:
    """Put pytest where the sandbox sees it; the command that runs it."""
    folder.mkdir(parents=True)
    installed = Path(pytest.__file__).parents[1]
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(installed / name, folder / name)
    shutil.copy(installed / "py.py", folder)
    return f"PYTHONPATH={folder.name} python3 -m pytest -q -p no:cacheprovider"


# The critic


async def test_an_answer_is_rejected_revised_and_approved(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ON) as bot:
        bot.models.script(
            "main", write("a.txt"), text("Both are there."), write("b.txt"), text("Now they are.")
        )
        bot.models.script("critic", REJECT, APPROVE)
        bot.say("write a.txt and b.txt")
        assert await bot.heard("Now they are.") == ["Now they are."]
        first, second = bot.models.of("critic")
        assert not first.body.get("tools")
        assert [message["role"] for message in first.messages()] == ["system", "user"]
        assert "write a.txt and b.txt" in first.said()
        assert "Both are there." in first.said()
        assert 'write_file {"path": "a.txt", "content": "1"} -> ok' in first.said()
        assert "Both are there." not in second.said()
        [reflection] = reflections(bot)
        assert reflection.startswith("[Check critic: not passed. Bounce 1 of 2.]")
        assert "b.txt is missing" in reflection
        assert not any("last check before" in seen.said() for seen in bot.models.of("main"))


async def test_a_budget_that_is_spent_delivers_the_answer_with_its_line(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ON) as bot:
        bot.models.script("main", *(text(f"Try {n}.") for n in range(1, 4)))
        bot.models.default("critic", REJECT)
        bot.say("write it")
        line = "⚠ Unverified: the critic gate did not pass: b.txt is missing"
        assert await bot.heard("Try 3.") == [f"Try 3.\n\n{line}"]
        assert len(bot.models.of("critic")) == 3
        bot.models.script("main", text("Hello."))
        bot.models.script("critic", APPROVE)
        bot.say("hi")
        await bot.heard("Hello.")
        told = [str(message["content"]) for message in bot.models.of("main")[-1].messages()]
        assert "Try 3." in told
        assert not any("Unverified" in words for words in told)


async def test_the_same_answer_twice_ends_the_bouncing(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ON) as bot:
        bot.models.script("main", text("It is so."), text("It is so."))
        bot.models.default("critic", REJECT)
        bot.say("write it")
        await bot.heard("⚠ Unverified: the critic gate did not pass")
        assert len(bot.models.of("main")) == 2


async def test_a_message_in_mid_bounce_ends_the_bouncing(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ON) as bot:
        bot.models.script("main", text("Try 1."), text("Try 2.", gate="slow"), text("Hello."))
        bot.models.script("critic", REJECT, REJECT, APPROVE)
        bot.say("write it")
        await bot.asked(2)
        bot.say("are you there?")
        await bot.all_said()
        bot.models.open("slow")
        said = await bot.heard("Try 2.", "Hello.")
        assert "⚠ Unverified" in said[0]
        assert len(bot.models.of("main")) == 3


async def test_a_message_that_is_steered_into_a_bounce_is_answered_and_ends_it(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **ON, lanes={"busy": "steer"}) as bot:
        bot.models.script("main", text("Try 1."), calls(LOOK, gate="slow"), text("Tabs it is."))
        bot.models.default("critic", REJECT)
        bot.say("write it")
        await bot.asked(2)
        bot.say("with tabs, please")
        await bot.all_said()
        bot.models.open("slow")
        line = "⚠ Unverified: the critic gate did not pass: b.txt is missing"
        assert await bot.heard("Tabs it is.") == [f"Tabs it is.\n\n{line}"]
        assert len(bot.models.of("critic")) == 2
        last = bot.models.of("main")[-1]
        assert last.messages()[-1] == {"role": "user", "content": "with tabs, please"}
        assert len(reflections(bot)) == 1


async def test_a_message_that_is_steered_in_before_the_first_bounce_ends_none(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **ON, lanes={"busy": "steer"}) as bot:
        bot.models.script("main", calls(LOOK, gate="slow"), text("Try 1."), text("Try 2."))
        bot.models.script("critic", REJECT, APPROVE)
        bot.say("write it")
        await bot.asked(1)
        bot.say("with tabs, please")
        await bot.all_said()
        bot.models.open("slow")
        assert await bot.heard("Try 2.") == ["Try 2."]


GARBLED = text("I cannot APPROVE this.")


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([refusal(401, "no key")] * 2, "the critic failed"),
        ([text("APPROVE", gate="never")] * 2, "the critic failed"),
        ([GARBLED, GARBLED], "the critic's reply was no verdict, twice"),
        ([text('{"verdict": "MAYBE"}'), text("{")], "the critic's reply was no verdict, twice"),
    ],
    ids=["down", "slow", "cannot-approve", "garbled"],
)
async def test_a_critic_that_gives_no_word_stops_nobody_and_vouches_for_nothing(
    tmp_path: Path, answers: list[Scripted], why: str
) -> None:
    fast = {**ON, "gates": {"critic": {"enabled": True, "timeout_s": 0.5}}}
    async with running_bot(tmp_path, **fast) as bot:
        bot.models.script("main", text("It is there."))
        bot.models.script("critic", *answers)
        bot.say("write it")
        [said] = await bot.heard("It is there.")
        assert said.startswith(
            f"It is there.\n\n⚠ Unverified: the critic gate could not look: {why}"
        )
        assert "gates.critic" in said
        assert len(bot.models.of("main")) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [(server_error(500), "failed with status 500"), (refusal(429, "slow down"), "slow down")],
)
async def test_a_critic_that_fails_until_its_time_is_over_is_told_with_what_went_wrong(
    tmp_path: Path, answer: Scripted, why: str
) -> None:
    fast = {**ON, "gates": {"critic": {"enabled": True, "timeout_s": 0.5}}}
    async with running_bot(tmp_path, **fast) as bot:
        bot.models.script("main", text("It is there."))
        bot.models.default("critic", answer)
        bot.say("write it")
        [said] = await bot.heard("⚠ Unverified: the critic gate could not look: the critic failed")
        assert why in said
        assert "did not finish" not in said


async def test_a_garbled_word_is_asked_for_once_more(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ON) as bot:
        bot.models.script("main", text("It is there."))
        bot.models.script("critic", GARBLED, text("\nAPPROVE\nand more"))
        bot.say("write it")
        assert await bot.heard("It is there.") == ["It is there."]


async def test_what_nobody_can_do_ends_blocked(tmp_path: Path) -> None:
    impossible = text('{"verdict": "IMPOSSIBLE", "reason": "there is no such server"}')
    async with running_bot(tmp_path, **ON) as bot:
        bot.models.script("main", text("I cannot reach it."), text("I still cannot."))
        bot.models.default("critic", impossible)
        bot.say("reach it")
        [said] = await bot.heard("I cannot reach it.")
        assert said.endswith(
            "⛔ Blocked: the critic gate says that this cannot be done: there is no such server"
        )
        bot.say("/goal reach it")
        await bot.heard("⛔ Goal blocked: there is no such server. Answer here")
        assert not bot.models.of("judge")


async def test_an_owner_switches_the_critic_for_one_chat(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **CRITIC) as bot:
        bot.models.default("main", text("Here you are."))
        bot.models.default("critic", APPROVE)
        bot.say("/critic")
        bot.say("/critic on")
        await bot.heard("The critic is off here.", "The critic is on")
        bot.say("write it")
        await bot.heard("Here you are.")
        assert len(bot.models.of("critic")) == 1
        bot.say("/critic off")
        bot.say("again")
        await bot.heard("The critic is off here.", "Here you are.", "The critic is off here.")
        await bot.asked(2)
        await bot.all_said()
        assert len(bot.models.of("critic")) == 1


# Verify


async def test_verify_fails_before_the_critic_is_asked(tmp_path: Path) -> None:
    both = {**CRITIC, "gates": {"verify": [CHECK], "critic": {"enabled": True}}}
    async with running_bot(tmp_path, **both) as bot:
        bot.models.script("main", text("Done."), write("done.txt"), text("Now it is."))
        bot.models.default("critic", APPROVE)
        bot.say("write done.txt")
        assert await bot.heard("Now it is.") == ["Now it is."]
        assert len(bot.models.of("critic")) == 1
        [reflection] = reflections(bot)
        assert reflection.startswith("[Check verify: not passed. Bounce 1 of 2.]")
        assert f"command: {CHECK}\nended with exit code 1" in reflection


async def test_both_gates_share_one_budget(tmp_path: Path) -> None:
    both = {**CRITIC, "gates": {"verify": [CHECK], "critic": {"enabled": True}}}
    async with running_bot(tmp_path, **both) as bot:
        bot.models.script(
            "main", text("Done."), write("done.txt"), text("Now it is."), text("It is, I say.")
        )
        bot.models.default("critic", REJECT)
        bot.say("write done.txt")
        said = await bot.heard("It is, I say.")
        assert said == [
            "It is, I say.\n\n⚠ Unverified: the critic gate did not pass: b.txt is missing"
        ]
        assert [line[:41] for line in reflections(bot)] == [
            "[Check verify: not passed. Bounce 1 of 2.",
            "[Check critic: not passed. Bounce 2 of 2.",
        ]


async def test_verify_alone_adds_one_message_a_failure_and_nothing_else(tmp_path: Path) -> None:
    script = [text("Done."), write("done.txt"), text("Now it is.")]
    async with running_bot(tmp_path / "gated", gates={"verify": [CHECK]}) as bot:
        bot.models.script("main", *script)
        bot.say("write done.txt")
        await bot.heard("Now it is.")
        gated = bot.models.of("main")
    async with running_bot(tmp_path / "free") as bot:
        bot.models.script("main", *script)
        bot.say("write done.txt")
        await bot.heard("Done.")
        [free] = bot.models.of("main")
    assert gated[0].raw == free.raw
    added = [message["role"] for message in gated[1].messages()[len(free.messages()) :]]
    assert added == ["assistant", "user"]
    same = {key: value for key, value in gated[1].body.items() if key != "messages"}
    assert same == {key: value for key, value in free.body.items() if key != "messages"}
    assert gated[1].messages() == gated[2].messages()[: len(gated[1].messages())]


async def test_gates_that_pass_leave_every_request_as_it_is_without_them(tmp_path: Path) -> None:
    raws = []
    for name, gates in (("none", {}), ("gated", {"verify": ["true"]})):
        async with running_bot(tmp_path / name, gates=gates) as bot:
            bot.models.script("main", write("a.txt"), text("It is there."), text("Hello."))
            bot.say("write a.txt")
            await bot.heard("It is there.")
            bot.say("hi")
            await bot.heard("Hello.")
            raws.append([seen.raw for seen in bot.models.of("main")])
    assert raws[0] == raws[1]


async def test_what_passed_is_run_again_only_after_a_change(tmp_path: Path) -> None:
    """The log is outside of the workspace, where only the command writes."""
    log = tmp_path / "outside"
    log.mkdir()
    check = f"echo ran >> {log}/log.txt"

    def ran() -> int:
        return len((log / "log.txt").read_text().splitlines())

    workspace = {"extra": [str(log)]}
    async with running_bot(
        tmp_path / "data", gates={"verify": [check]}, workspace=workspace
    ) as bot:
        bot.models.script("main", text("One."), text("Two."), write("a.txt"), text("Three."))
        bot.models.script("main", calls(("read_file", {"path": "a.txt"})), text("Four."))
        counts = []
        for number in ("One.", "Two.", "Three.", "Four."):
            bot.say("go on")
            await bot.heard(number)
            counts.append(ran())
        assert counts == [1, 1, 2, 2]
        await bot.restart()
        bot.models.script("main", text("Five."), calls(("run", {"command": "true"})), text("Six."))
        bot.say("go on")
        await bot.heard("Five.")
        assert ran() == 2
        bot.say("go on")
        await bot.heard("Six.")
        assert ran() == 3


async def test_nothing_counts_as_checked_while_a_background_process_lives(tmp_path: Path) -> None:
    log = tmp_path / "outside"
    log.mkdir()
    workspace = {"extra": [str(log)]}
    gates = {"verify": [f"echo ran >> {log}/log.txt"]}
    async with running_bot(tmp_path / "data", gates=gates, workspace=workspace) as bot:
        start = calls(("run", {"command": nap(), "background": True}))
        bot.models.script("main", start, text("One."), text("Two."))
        bot.say("start it")
        await bot.heard("One.")
        bot.say("go on")
        await bot.heard("Two.")
        assert (log / "log.txt").read_text() == "ran\nran\n"


async def test_a_stop_ends_a_check_and_its_command(tmp_path: Path) -> None:
    sleep = nap()
    async with running_bot(tmp_path, gates={"verify": [sleep]}) as bot:
        bot.models.script("main", text("Done."))
        bot.say("write it")
        await eventually(lambda: processes(sleep))
        bot.say("/stop")
        await bot.heard("⏹ Stopped.")
        await eventually(lambda: not processes(sleep))
        assert await bot.all_said() == ["⏹ Stopped. 0 waiting messages dropped."]


async def test_a_command_whose_time_runs_out_has_failed(tmp_path: Path) -> None:
    gates = {"verify": ["echo begun; sleep 60"], "max_bounces": 0}
    async with running_bot(tmp_path, gates=gates, workspace={"timeout_s": 1}) as bot:
        bot.models.script("main", text("Done."))
        bot.say("write it")
        await bot.heard("⚠ Unverified: the verify gate did not pass: echo begun; sleep 60 ran out")


async def test_a_command_that_is_not_found_has_failed_and_both_are_told_so(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, gates={"max_bounces": 1}) as bot:
        bot.models.script("main", text("Done."), text("It is, but for the check."))
        bot.say("/verify add ruf check .")
        bot.say("write it")
        said = await bot.heard("It is, but for the check.")
        code = "ended with exit code 127 (a command was not found)"
        assert (
            said[-1]
            .split("\n")[-1]
            .startswith(f"⚠ Unverified: the verify gate did not pass: ruf check . {code}: ")
        )
        assert said[-1].endswith("ruf: command not found")
        [reflection] = reflections(bot)
        assert f"command: ruf check .\n{code}\n" in reflection


async def test_the_chats_own_commands_are_added_listed_and_removed(tmp_path: Path) -> None:
    async with running_bot(tmp_path, gates={"verify": ["true"], "max_bounces": 0}) as bot:
        bot.models.default("main", text("Done."))
        bot.say(f"/verify add {CHECK}")
        [listed] = await bot.heard("Commands that must succeed")
        assert listed.split("\n")[1:] == [
            "· true (gates.verify of the configuration)",
            f"1. {CHECK}",
        ]
        bot.say("write it")
        await bot.heard(f"⚠ Unverified: the verify gate did not pass: {CHECK}")
        bot.say("/status")
        said = await bot.heard("Gates of the last turn:")
        assert f"[verify] failed: `{CHECK}` ended with exit code 1" in said[-1]
        bot.say("/verify remove 1")
        bot.say("write it")
        await bot.heard("Done.", "Commands that must succeed", "Done.")
        assert (await bot.all_said())[-1] == "Done."


async def test_progress_shows_what_the_gates_do(tmp_path: Path) -> None:
    slow = {**CRITIC, "gates": {"verify": ["sleep 0.7"], "critic": {"enabled": True}}}
    async with running_bot(tmp_path, **slow) as bot:
        team = bot.people.group()
        bot.models.script("main", text("Try 1."), text("Try 2."))
        bot.models.script("critic", REJECT, text(APPROVE.text, gate="slow"))
        bot.say("@pursuit_bot write it", chat=team)
        said = await bot.heard("[critic] REJECT: b.txt is missing", chat=team)
        assert "✅ sleep 0.7 passed" in said[-1]
        bot.models.open("slow")
        await bot.heard("Try 2.", chat=team)


async def test_people_read_what_a_failed_command_said_last_and_none_of_its_secrets(
    tmp_path: Path,
) -> None:
    key = "printf 'using the key sk-%s\\n\\n' abcdefghijklmnop1234"
    gates = {"verify": [f"sleep 0.7; echo begun; {key}; false"], "max_bounces": 1}
    async with running_bot(tmp_path, gates=gates) as bot:
        team = bot.people.group()
        bot.models.script("main", text("Try 1."), text("Try 2.", gate="slow"))
        bot.say("@pursuit_bot write it", chat=team)
        told = "using the key [redacted]"
        [progress] = await bot.heard("❌ `sleep 0.7", chat=team)
        assert progress.endswith(f"` ended with exit code 1: `{told}`")
        bot.models.open("slow")
        said = await bot.heard("Try 2.", chat=team)
        assert "⚠ Unverified: the verify gate did not pass" in said[-1]
        assert said[-1].endswith(f" ended with exit code 1: {told}")


# With a goal


async def test_a_goals_own_gate_bounces_and_is_green_before_the_judge_is_asked(
    tmp_path: Path,
) -> None:
    repo = tmp_path / "repo"
    check = with_pytest(repo / ".tools")
    (repo / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (repo / "test_calc.py").write_text(
        "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    )
    fixed = write("calc.py", "def add(a, b):\n    return sum((a, b))\n")
    async with running_bot(tmp_path / "data", workspace={"allow": [str(repo)]}) as bot:
        bot.models.script("main", text("It is fixed.", gate="slow"), fixed, text("Now it is."))
        bot.models.default("judge", DONE)
        bot.say("/workspace 1")
        await bot.heard(f"✓ This chat works in {repo}")
        bot.say("/goal make the tests pass")
        await bot.asked(1)
        bot.say(f"/goal gate add {check}")
        await bot.heard("Gates that must succeed before the judge is asked:")
        bot.models.open("slow")
        await bot.heard("Now it is.", "✓ Goal achieved: All is there.")
        assert "It is fixed." not in bot.said()
        [reflection] = reflections(bot)
        assert "assert add(1, 2) == 3" in reflection
        assert len(bot.models.of("judge")) == 1
        assert "Now it is." in bot.models.of("judge")[0].said()


async def test_a_goal_turn_whose_gate_rejects_goes_on_without_a_judge(tmp_path: Path) -> None:
    gates = {"verify": [f"{CHECK} || ls -a no-such-thing"], "max_bounces": 1}
    async with running_bot(tmp_path, gates=gates) as bot:
        bot.models.script("main", text("Done."), text("Done, really."))
        bot.models.script("main", write("done.txt"), text("Now it is."))
        bot.models.default("judge", DONE)
        bot.say("/goal write done.txt")
        await bot.heard("✓ Goal achieved: All is there.")
        said = [words.split("\n")[0] for words in await bot.all_said()]
        why = "the verify gate did not pass: `test -f done.txt || ls -a no-such-thing` ended"
        assert said == [
            "⊙ Goal set (20-turn budget): write done.txt",
            "Done, really.",
            f"↻ Continuing toward goal (1/20): {why} with exit code 2",
            "Now it is.",
            "✓ Goal achieved: All is there.",
        ]
        continuation = bot.models.of("main")[2].said()
        assert continuation.startswith("[Continuing toward your standing goal]")
        assert "cannot access 'no-such-thing'" in continuation
        assert len(bot.models.of("judge")) == 1


async def test_a_goal_is_never_achieved_on_an_unverified_turn(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ON) as bot:
        bot.models.default("main", text("It is there."))
        bot.models.default("critic", refusal(401, "no key"))
        bot.models.default("judge", DONE)
        bot.say("/goal write it")
        await bot.heard("⏸ Goal paused: the critic gate could not look 3 times in a row")
        said = await bot.all_said()
        assert "Mend that or change gates.critic, then /goal resume." in said[-1]
        assert not any("✓ Goal achieved" in words for words in said)
        assert sum("↻ Continuing toward goal" in words for words in said) == 2
        assert "(1/20): it may be done, but the critic gate could not look" in "".join(said)


async def test_a_rejected_goal_turn_costs_one_turn_and_the_budget_holds(tmp_path: Path) -> None:
    changes = {"gates": {"verify": ["false"], "max_bounces": 1}, "goals": {"max_turns": 2}}
    async with running_bot(tmp_path, **changes) as bot:
        bot.models.script("main", *(text(f"Step {n}.") for n in range(1, 5)))
        bot.say("/goal write it")
        await bot.heard("⏸ Goal paused — 2/2 turns used.")
        assert len(bot.models.of("main")) == 4
        assert not bot.models.of("judge")


async def test_a_restart_in_mid_bounce_keeps_the_count(tmp_path: Path) -> None:
    async with running_bot(tmp_path, gates={"verify": ["false"]}) as bot:
        bot.models.script("main", text("Try 1."), text("Too late.", gate="never"))
        bot.models.script("main", text("Try 2."), text("Try 3."))
        bot.models.script("judge", NOT_YET)
        bot.models.script("main", text("Later.", gate="later"))
        bot.say("/goal write it")
        await bot.asked(2)
        await bot.all_said()
        await bot.restart()
        await bot.heard("Try 3.\n\n⚠ Unverified: the verify gate did not pass", "↻ Continuing")
        before, after = bot.models.of("main")[1:3]
        assert before.raw == after.raw
        told = bot.models.of("main")[3].said()
        assert told.startswith("[Check verify: not passed. Bounce 2 of 2.]")


async def test_what_the_critic_uses_counts_for_the_goal(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ON) as bot:
        bot.models.script(
            "main", text("Try 1.", usage=(10, 0, 1)), text("Try 2.", usage=(10, 0, 1))
        )
        bot.models.script("critic", text(REJECT.text, usage=(100, 0, 10)))
        bot.models.script("critic", text(APPROVE.text, usage=(100, 0, 10)))
        bot.models.script("judge", text(DONE.text, usage=(1, 0, 1)))
        bot.say("/goal write it")
        await bot.heard("✓ Goal achieved")
        assert "Used: 244 tokens" in await bot.status()


async def test_a_cap_holds_for_the_critic(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ON, goals={"max_tokens": 30_000}) as bot:
        bot.models.script("main", text("Try 1.", usage=(22_500, 0, 1)))
        bot.models.default("critic", APPROVE)
        bot.say("/goal write it")
        await bot.heard(
            "could not look: the critic failed: The goal's limits do not allow this call",
            "⏸ Goal paused: its token budget does not cover the next model call",
        )
        assert not bot.models.of("critic")


async def test_a_member_may_look_at_the_gates_and_change_none(tmp_path: Path) -> None:
    known = {"telegram": {"owners": [OWNER.id], "members": [BEN.id]}}
    async with running_bot(tmp_path, gates={"verify": ["true"]}, access=known) as bot:
        bot.models.script("main", text("Hm.", gate="never"))
        for line in ("/verify", "/verify add false", "/critic", "/critic on", "/goal write it"):
            bot.say(line, user=BEN)
        bot.say("/goal gate add false", user=BEN)
        bot.say("/goal gate list", user=BEN)
        said = [words.split("\n")[-1] for words in await bot.all_said(BEN.id)]
        assert said[:4] == [
            "· true (gates.verify of the configuration)",
            "Only owners may change what is checked here.",
            "The critic is off here. An owner can switch it on with /critic on.",
            "Only owners may change what is checked here.",
        ]
        assert said[-2:] == [
            "Only owners may change a goal's gates.",
            "No gates. An owner can add one with /goal gate add <command>.",
        ]
