"""A turn of the agent as the chat sees it: what the model gets wrong, and what it may not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.openai_replies import Answer, calls, null_choices, overflow, text, verdict
from tests.fakes.telegram_world import ANNA, BOB
from tests.scenarios.rig import eventually, nap, processes, running_bot

LOOK = ("list_files", {"path": "."})
DONE = verdict(reason="All is there.", done=True)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(text("All in one.", split=1), id="letter by letter"),
        pytest.param(null_choices("All in one."), id="null choices"),
        pytest.param(text("All in one.", whole=True), id="no stream"),
    ],
)
async def test_an_answer_arrives_however_it_is_sent(tmp_path: Path, answer: Answer) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", answer)
        bot.say("hi")
        assert await bot.heard("All in one.") == ["All in one."]


@pytest.mark.parametrize("fault", ["cut", "drop", "error", "corrupt"])
async def test_a_stream_that_breaks_is_asked_for_again(tmp_path: Path, fault: str) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half an ans", fault=fault), text("A whole answer."))
        bot.say("hi")
        assert await bot.heard("A whole answer.") == ["A whole answer."]


async def test_an_empty_answer_is_asked_for_once_more(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text(""), text("Sorry: hello."), text(""), text(""))
        bot.say("hi")
        await bot.heard("Sorry: hello.")
        bot.say("hi")
        await bot.heard("⚠ This turn failed: The model returned an empty answer.")


async def test_calls_that_cannot_be_made_are_told_to_the_model(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main",
            calls(("fly", {"to": "moon"})),
            calls(("write_file", {"path": "a.txt"})),
            calls(("write_file", '{"path": "a.txt", "cont')),
            calls(("read_file", {"path": "/etc/passwd"})),
            calls(("read_file", {"path": "../../pursuit.db"})),
            text("I give in."),
        )
        bot.say("try it")
        await bot.heard("I give in.")
        fly, short, broken, passwd, database = [r.said() for r in bot.models.of("main")[1:]]
        assert "fly" in fly
        assert "content" in short
        assert "JSON" in broken
        assert "outside" in passwd
        assert "outside" in database


async def test_half_an_emoji_breaks_nothing(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        path = calls(("write_file", {"path": "a\ud83d.txt", "content": "half"}))
        content = calls(("write_file", {"path": "a.txt", "content": "half \ud83d"}))
        both = calls(("write_file", {"path": "a.txt", "content": "whole \ud83d\ude00"}))
        bot.models.script("main", path, content, both, text("W\ud83dritten."))
        bot.models.script("judge", verdict(done=True, reason="All \ud83dis \x00there."))
        bot.say("/goal write an emoji")
        await bot.heard("ritten.", "✓ Goal achieved: All ")
        for request in bot.models.of("main")[1:3]:
            assert "half of a character" in request.said()
        assert (bot.workspace() / "a.txt").read_text() == "whole \N{GRINNING FACE}"


async def test_a_dangerous_command_is_refused_with_its_reason(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", calls(("run", {"command": "rm -rf /"})), text("Refused."))
        bot.say("clean up")
        await bot.heard("Refused.")
        assert "refused" in bot.models.of("main")[1].said().lower()


async def test_commands_cannot_read_the_bots_own_data(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        look = f"cat {tmp_path}/pursuit.db | head -c 20; ls {tmp_path}; echo $TELEGRAM_TOKEN"
        bot.models.script("main", calls(("run", {"command": look})), text("Nothing."))
        bot.say("snoop")
        await bot.heard("Nothing.")
        told = bot.models.of("main")[1].said()
        assert "SQLite format" not in told
        assert "reserve.bin" not in told


async def test_keys_are_masked_in_the_chat(tmp_path: Path) -> None:
    key = "sk-abcdefghijklmnopqrstuvwx0123456789"
    async with running_bot(tmp_path, providers={"fake": {"api_key": key}}) as bot:
        token = bot.people.token
        bot.models.script("main", text(f"The key is {key}, the token {token}."))
        bot.say("tell me")
        [said] = await bot.heard("The key is ")
        assert key not in said
        assert token not in said


async def test_a_conversation_that_is_too_long_is_folded_and_goes_on(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        noted = text("Noted: red. " + "It purrs. " * 300)
        bot.models.script("main", noted, overflow(), text("The cat is red."))
        bot.models.script("main", text("Red."), text("Still red."))
        bot.say("the cat is red")
        await bot.heard("Noted: red.")
        bot.say("what colour?")
        await bot.heard("Red.")
        [_, folded] = bot.models.of("main")[3].messages()
        assert "The cat is red." in str(folded["content"])
        assert "what colour?" in str(folded["content"])
        bot.say("and now?")
        await bot.heard("Still red.")


async def test_a_text_that_the_client_split_is_one_message(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Read all of it."))
        bot.say("x" * 4096)
        bot.say("and the rest")
        await bot.heard("Read all of it.")
        assert await bot.all_said() == ["Read all of it."]
        assert [m["content"] for m in bot.models.of("main")[0].messages()[1:]] == [
            "x" * 4096,
            "and the rest",
        ]


async def test_an_interrupted_commands_processes_are_gone_before_the_next_turn(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, lanes={"busy": "interrupt"}) as bot:
        sleep = nap()
        command = f"trap '' TERM; (trap '' TERM; {sleep}) & {sleep}; {sleep}"
        bot.models.script("main", calls(("run", {"command": command})))
        alive: list[int] = []

        def count(_: object) -> Answer:
            alive.extend(processes(sleep))
            return text("Interrupted.")

        bot.models.default("main", count)
        bot.say("sleep")
        await eventually(lambda: len(processes(sleep)) >= 2)
        bot.say("no, wake up")
        await bot.heard("Interrupted.")
        assert not alive


async def test_markdown_becomes_entities(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("This is **bold** and `code` and <b>not</b> & a_b_c."))
        bot.say("hi")
        await bot.heard("bold")
        [seen] = bot.people.by_bot(ANNA.id)
        assert seen.text == "This is bold and code and <b>not</b> & a_b_c."
        assert seen.marked("bold") == ["bold"]
        assert seen.marked("code") == ["code"]


async def test_members_see_only_what_they_may_use(tmp_path: Path) -> None:
    members = {"telegram": {"members": [BOB.id]}}
    async with running_bot(tmp_path, access=members) as bot:
        bot.say("/help")
        bot.say("/help", user=BOB)
        bot.say("/whoami", user=BOB)
        [owners] = await bot.heard("/goal — ")
        await bot.heard("You are Bob (id 1002), member, in chat 1002.", chat=BOB.id)
        members_help = bot.said(BOB.id)[0]
        assert "(owners)" in owners
        assert "(owners)" not in members_help


async def test_the_status_of_a_chat(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.say("/status")
        await bot.heard("No turn is running; no message waits.")
        bot.models.script("main", text("Half.", gate="never"))
        bot.say("/goal write it")
        await bot.asked(1)
        bot.say("hello?")
        bot.say("/status")
        await bot.heard(
            "A turn is running; 1 message waits.\n⊙ Goal (active, 0/20 turns): write it\n"
        )


async def test_a_turn_that_takes_too_many_steps_is_asked_to_answer(tmp_path: Path) -> None:
    async with running_bot(tmp_path, agent={"max_steps": 2}) as bot:
        for number in range(2):
            bot.models.script("main", calls(("write_file", {"path": f"{number}", "content": "x"})))
        bot.models.script("main", text("That is how far I got."))
        bot.say("work")
        await bot.heard("That is how far I got.")
        assert bot.models.of("main")[2].said().startswith("Step limit reached")
