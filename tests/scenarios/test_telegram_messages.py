"""What a Telegram chat shows: buttons, the status message, progress, long answers, files."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.telegram_faults import TooMany
from tests.fakes.telegram_world import ANNA, Seen
from tests.scenarios.rig import Bot, counting, eventually, running_bot

HELLO = ("run", {"command": "echo hello"})
NOT_YET = verdict(reason="Not yet.", done=False)
DONE = verdict(reason="All is there.", done=True)


def showing(bot: Bot, words: str, chat: int) -> Seen | None:
    """The bot's message that shows these words."""
    return next((seen for seen in bot.people.by_bot(chat) if words in seen.text), None)


async def test_the_status_message_is_edited_in_place(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half."), text("All.", gate="slow"))
        bot.models.script("judge", NOT_YET, DONE)
        bot.say("/goal paint it")
        await bot.asked(2)
        [card] = [seen for seen in bot.people.by_bot(ANNA.id) if "Goal set" in seen.text]
        await bot.until(lambda: card.edits)
        assert card.text.split("\n")[0] == "⊙ Goal set (20-turn budget): paint it"
        assert card.text.split("\n")[1].startswith("active · 1/20 turns · ")
        assert card.text.split("\n")[2] == "Last verdict: Not yet."
        assert [label for label, _ in card.buttons] == ["Pause", "Stop"]
        bot.models.open("slow")
        await bot.heard("✓ Goal achieved")
        await bot.until(lambda: "\ndone · 2/20 turns · " in card.text)
        assert card.buttons == []
        assert sum("Goal set" in words for words in bot.said()) == 1


async def test_a_status_message_that_was_replaced_loses_its_buttons(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", text("Half.", gate="never"))
        bot.say("/goal paint it")
        await bot.asked(1)
        old = await bot.until(lambda: showing(bot, "paint it\nactive · ", ANNA.id))
        bot.say("/stop")
        bot.say("/new")
        await bot.heard("✦ New session.")
        bot.say("/goal sing it")
        new = await bot.until(lambda: showing(bot, "sing it\nactive · ", ANNA.id))
        await bot.until(lambda: not old.buttons)
        assert [label for label, _ in new.buttons] == ["Pause", "Stop"]


async def test_the_status_message_of_a_cooling_group_is_brought_up_to_date(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        bot.people.fault("editMessageText", TooMany(1), chat=team)
        bot.models.script("main", text("Painted."))
        bot.models.script("judge", DONE)
        bot.say("/goal paint it", chat=team)
        await bot.heard("✓ Goal achieved", chat=team)
        [card, *_] = bot.people.by_bot(team)
        await bot.until(lambda: "\ndone · 1/20 turns · " in card.text)
        assert card.edits == 1


async def test_a_goal_is_paused_resumed_and_stopped_by_buttons(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Half.", gate="half"), text("More.", gate="never"))
        bot.say("/goal paint it")
        await bot.asked(1)
        pausing = "⏸ Goal paused: as you asked. The running turn finishes."
        assert await bot.press("Pause") == pausing
        bot.models.open("half")
        await bot.heard(pausing, "Half.")
        assert await bot.press("Resume") == "▶ Goal resumed (20-turn budget): paint it"
        await bot.asked(2)
        assert await bot.press("Stop") == "⏹ Stopped. Goal paused; 0 waiting messages dropped."
        assert await bot.press("Clear") == "✗ Goal cleared."


async def test_progress_in_a_group_is_edited_and_becomes_the_answer(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        asked_in = "@pursuit_bot greet"
        bot.models.script("main", calls(HELLO), text("I greeted.", gate="slow"))
        asked = bot.say(asked_in, chat=team)
        progress = await bot.until(lambda: showing(bot, "💻 echo hello (0.", team))
        assert asked.reaction == "👀"
        bot.models.open("slow")
        await bot.heard("I greeted.", chat=team)
        assert [seen.id for seen in bot.people.by_bot(team)] == [progress.id]
        await bot.until(lambda: asked.reaction == "👌")


async def test_progress_in_a_private_chat_is_a_draft(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", calls(HELLO), text("I greeted.", gate="slow"))
        bot.say("greet")
        drafts = bot.people.world.drafts
        await bot.until(lambda: any("💻 echo hello (0." in shown for _, _, shown in drafts))
        bot.models.open("slow")
        assert await bot.heard("I greeted.") == ["I greeted."]


async def test_a_server_without_drafts_shows_a_progress_message(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.people.unsupported.add("sendmessagedraft")
        bot.models.script("main", calls(HELLO), text("I greeted.", gate="slow"))
        bot.say("greet")
        await bot.heard("💻 echo hello (0.")
        bot.models.open("slow")
        assert await bot.heard("I greeted.") == ["I greeted."]


async def test_the_answer_comes_below_what_the_bot_posted_meanwhile(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        bot.models.script("main", calls(HELLO), text("I greeted.", gate="slow"))
        bot.say("@pursuit_bot greet", chat=team)
        await bot.heard("💻 echo hello (0.", chat=team)
        bot.say("/goal", chat=team)
        await bot.heard("No active goal.", chat=team)
        bot.models.open("slow")
        await bot.heard("↓ answered below", "No active goal.", "I greeted.", chat=team)


async def test_the_answer_comes_below_what_people_wrote_meanwhile(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        bot.models.script("main", calls(HELLO), text("I greeted.", gate="slow"), text("Soon."))
        bot.say("@pursuit_bot greet", chat=team)
        await bot.heard("💻 echo hello (0.", chat=team)
        written = bot.say("@pursuit_bot are you there?", chat=team)
        await eventually(lambda: bot.people.queue.offsets[-1] == written.update_id + 1)
        bot.models.open("slow")
        await bot.heard("↓ answered below", "I greeted.", "Soon.", chat=team)
        [answer] = [seen for seen in bot.people.by_bot(team) if seen.text == "I greeted."]
        assert answer.id > written.id


async def test_a_long_answer_comes_in_parts_and_a_very_long_one_as_a_file(tmp_path: Path) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 100 for n in range(15))
    longer = long * 4
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text(long), text(longer))
        bot.say("tell me")
        await bot.heard("Paragraph 0.", "Paragraph 14.")
        parts = await bot.all_said()
        assert 2 <= len(parts) <= 3
        assert "".join("".join(parts).split()) == "".join(long.split())
        bot.say("tell me more")
        await bot.until(lambda: showing(bot, "… The whole answer is in the file.", ANNA.id))
        await bot.all_said()
        [file] = [seen for seen in bot.people.by_bot(ANNA.id) if seen.document]
        assert file.document == "answer.md"
        assert file.content.decode().strip() == longer.strip()


async def test_the_agent_sends_a_file(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script(
            "main",
            calls(("write_file", {"path": "report.csv", "content": "a,b\n1,2\n"})),
            calls(("send_file", {"path": "report.csv", "caption": "The report."})),
            text("There it is."),
        )
        bot.say("send me the report")
        await bot.heard("The report.", "There it is.")
        [file, _] = bot.people.by_bot(ANNA.id)
        assert (file.document, file.content) == ("report.csv", b"a,b\n1,2\n")


async def test_a_file_that_comes_in_lands_in_the_workspace(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("Read."))
        bot.people.upload("../../etc/passwd notes.txt", b"buy milk", caption="what is this?")
        await bot.heard("Read.")
        [request] = bot.models.of("main")
        [path] = (bot.workspace() / "inbox").iterdir()
        assert path.read_bytes() == b"buy milk"
        assert request.said() == (
            f"what is this?\n[file received: inbox/{path.name}, application/octet-stream, 8 bytes]"
        )


async def test_a_file_that_cannot_be_fetched_is_told_to_the_model(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("It is too large."))
        seen = bot.people.upload("big.bin", b"x" * (20 * 1024 * 1024 + 1), caption="look")
        await bot.heard("It is too large.")
        told = bot.models.of("main")[0].said()
        assert "could not be fetched" in told
        assert "20 MB" in told
        assert seen.document == "big.bin"


async def test_an_answer_of_unprintable_characters_fails_no_turn(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.script("main", text("\x00\x01\x02"), text("Hello."))
        bot.say("hi")
        bot.say("hi again")
        await bot.heard("(The answer holds nothing that can be shown.)", "Hello.")


async def test_control_characters_from_a_person_do_no_harm(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.models.default("main", counting())
        bot.say("a\x00b\x1b[31mc\u202edef\ud800")
        await bot.heard("Step 1.")
        assert bot.models.of("main")[0].said() == "ab[31mc\u202edef"


async def test_an_unknown_command_gets_the_nearest_one_suggested(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.say("/gaol write it")
        bot.say("/frobnicate")
        assert [words.partition("?")[0] for words in await bot.all_said()] == [
            "Unknown command /gaol. Did you mean /goal",
            "Unknown command /frobnicate. /help lists them all.",
        ]


async def test_the_menu_and_the_help_name_the_same_commands(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        bot.say("/help")
        said = await bot.heard("/goal — ")
        await bot.until(lambda: bot.people.world.commands)
        for command in bot.people.world.commands:
            assert f"/{command['command']} — {command['description']}" in said[0]


async def test_progress_that_had_to_wait_is_shown_as_soon_as_the_chat_may(
    tmp_path: Path,
) -> None:
    """A group's progress is edited at most every few seconds; the last state must not be lost
    while the model thinks for long."""
    async with running_bot(tmp_path) as bot:
        team = bot.people.group()
        nap = ("run", {"command": "sleep 2"})
        bot.models.script("main", calls(nap), text("I slept.", gate="slow"))
        bot.say("@pursuit_bot sleep", chat=team)
        await bot.heard("💻 sleep 2 …", chat=team)
        await bot.heard("💻 sleep 2 (2.", chat=team)
        bot.models.open("slow")
        assert await bot.heard("I slept.", chat=team) == ["I slept."]
