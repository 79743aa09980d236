"""A stranger gets nothing but the pairing code; every way in is refused and written down."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from pathlib import Path

from gateway.control.client import ask
from tests.fakes.openai_replies import text, verdict
from tests.fakes.telegram_world import Person
from tests.scenarios.rig import OWNER, Bot, eventually, running_bot

EVE = Person(6666, "Eve", "eve")
BEN = Person(2002, "Ben", "ben")
PAIRING = {"telegram": {"owners": [OWNER.id], "members": [BEN.id], "pairing": True}}
INVITED = "This bot does not know you."


def refusals(bot: Bot) -> list[tuple[str, str, int]]:
    """The audit's refusals: what, who, how often."""
    with sqlite3.connect(f"file:{bot.data / 'pursuit.db'}?mode=ro", uri=True) as conn:
        return conn.execute(
            "SELECT what, person, times FROM audit WHERE refused = 1 ORDER BY id"
        ).fetchall()


async def refused(bot: Bot, count: int) -> list[tuple[str, str, int]]:
    """The refusals, once there are so many."""

    def enough() -> list[tuple[str, str, int]] | None:
        found = refusals(bot)
        return found if sum(times for _, _, times in found) >= count else None

    return await eventually(enough)


async def code_for(bot: Bot, who: Person) -> str:
    """The code that a stranger is told."""
    [said] = await bot.heard(INVITED, chat=who.id)
    found = re.search(r"\b[A-Z2-9]{8}\b", said)
    assert found is not None
    return found[0]


async def test_a_stranger_is_let_in_by_a_code_and_heard_at_once(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.models.script("main", text("Hello Eve."))
        bot.say("/start", user=EVE)
        code = await code_for(bot, EVE)
        bot.say("please!", user=EVE)
        bot.say("/goal take over", user=EVE)
        await refused(bot, 3)
        assert len(bot.said(EVE.id)) == 1
        bot.say(f"/pair approve {code}")
        await bot.heard(f"✓ Eve (telegram:{EVE.id}) is let in as member.")
        await bot.heard("✓ You were let in as member.", chat=EVE.id)
        bot.say("hello", user=EVE)
        await bot.heard("Hello Eve.", chat=EVE.id)
        bot.say("/whoami", user=EVE)
        await bot.heard(f"You are Eve (id {EVE.id}), member", chat=EVE.id)
        assert len(bot.models.of("main")) == 1


async def test_who_was_let_in_stays_so_over_a_restart_until_let_out(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.say("hi", user=EVE)
        bot.say(f"/pair approve {await code_for(bot, EVE)}")
        await bot.heard("✓ You were let in", chat=EVE.id)
        await bot.restart()
        bot.say("/whoami", user=EVE)
        await bot.heard("You are Eve", chat=EVE.id)
        bot.say("/pair list")
        await bot.heard(f"· Eve (telegram:{EVE.id}), member")
        bot.say(f"/pair remove {EVE.id}")
        await bot.heard(f"✓ Eve (telegram:{EVE.id}) is let out.")
        bot.say("/whoami", user=EVE)
        await bot.heard("You are Eve", INVITED, chat=EVE.id)


async def test_a_person_let_out_in_mid_goal_goes_no_further(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.models.script("main", text("Half.", gate="slow"))
        bot.models.script("judge", verdict(reason="Not yet.", done=False))
        bot.say("hi", user=EVE)
        bot.say(f"/pair approve {await code_for(bot, EVE)}")
        await bot.heard("✓ You were let in", chat=EVE.id)
        bot.say("/goal count the stars", user=EVE)
        await bot.asked(1)
        bot.say(f"/pair remove {EVE.id}")
        await bot.heard("is let out")
        bot.models.open("slow")
        said = await bot.heard("⏸ Goal paused:", chat=EVE.id)
        assert "may no longer use this bot here" in said[-1]
        assert len(bot.models.of("main")) == 1


async def test_without_pairing_a_stranger_gets_nothing_at_all(tmp_path: Path) -> None:
    async with running_bot(tmp_path) as bot:
        for words in ("/start", "hello?", "/help", "/whoami", "/stop", "/pair approve ABCD2345"):
            bot.say(words, user=EVE)
        assert await refused(bot, 6) == [("refused message", str(EVE.id), 6)]
        await bot.all_said()
        assert bot.said(EVE.id) == []
        assert bot.models.of("main") == []


async def test_an_owners_name_opens_nothing(tmp_path: Path) -> None:
    double = Person(6667, OWNER.name, OWNER.username)
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.say("/goal take over", user=double)
        await code_for(bot, double)
        bot.say(f"/pair approve {double.id}", user=double)
        await refused(bot, 2)
        bot.say("/goal")
        await bot.heard("No active goal.")
        assert len(bot.said(double.id)) == 1


async def test_another_bot_is_no_person(tmp_path: Path) -> None:
    robot = Person(OWNER.id, OWNER.name, is_bot=True)
    async with running_bot(tmp_path, access=PAIRING) as bot:
        group = bot.people.group()
        bot.say("/goal take over", user=robot, chat=group)
        bot.say("/goal", chat=group)
        await bot.heard("No active goal.", chat=group)
        assert (bot.models.of("main"), refusals(bot)) == ([], [])


async def test_a_strangers_command_that_an_owner_forwards_is_only_words(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.models.script("main", text("That is a command of Eve's."))
        bot.people.say(
            "/pair approve ABCD2345",
            extra={
                "forward_origin": {"type": "user", "date": 1, "sender_user": EVE.json()},
            },
        )
        await bot.heard("That is a command of Eve's.")
        assert "Forwarded from Eve:" in str(bot.models.of("main")[0].messages()[-1])


async def test_an_edited_message_starts_nothing_even_by_an_owner(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.models.script("main", text("Hi."))
        seen = bot.say("hello")
        await bot.heard("Hi.")
        bot.people.edit(seen, "/goal take over")
        theirs = bot.say("hello", user=EVE)
        await code_for(bot, EVE)
        bot.people.edit(theirs, "/stop")
        bot.say("/goal")
        await bot.heard("No active goal.")
        assert refusals(bot) == [("refused message", str(EVE.id), 1)]


async def test_a_strangers_press_in_a_group_does_nothing(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.models.script("main", text("Half.", gate="slow"))
        group = bot.people.group()
        bot.say("/goal count the stars", chat=group)
        assert await bot.press("Pause", user=EVE, chat=group) == ""
        assert await refused(bot, 1) == [("refused press", str(EVE.id), 1)]
        bot.say("@pursuit_bot hello", user=EVE, chat=group)
        bot.say("/stop", user=EVE, chat=group)
        await refused(bot, 2)
        bot.say("/goal", chat=group)
        await bot.heard("⊙ Goal (active, 0/20 turns): count the stars", chat=group)
        assert INVITED not in "".join(bot.said(group))
        assert bot.said(EVE.id) == []
        told = await bot.press("Pause", chat=group)
        assert told == "⏸ Goal paused: as you asked. The running turn finishes."
        bot.models.open("slow")


async def test_a_member_may_do_what_members_may(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.models.script("main", text("Done."))
        bot.models.script("judge", verdict(reason="All is there.", done=True))
        bot.say("/goal count to three", user=BEN)
        await bot.heard("✓ Goal achieved", chat=BEN.id)
        for line in ("/goal budget turns=99", "/model main", "/pair list", "/sessions all"):
            bot.say(line, user=BEN)
        bot.say("/help", user=BEN)
        said = await bot.all_said(BEN.id)
        assert said[-5:-1] == [
            "Only owners may change a goal's budget.",
            "Only owners may use /model.",
            "Only owners may use /pair.",
            "Only owners may see other chats' sessions.",
        ]
        assert "/pair" not in said[-1]
        assert "/model" not in said[-1]


async def test_members_are_heard_only_in_the_listed_chats_and_are_no_strangers(
    tmp_path: Path,
) -> None:
    access = {"telegram": {**PAIRING["telegram"], "chats": [-1_000_000_000_001]}}
    async with running_bot(tmp_path, access=access) as bot:
        group = bot.people.group()
        bot.say("/status", user=BEN)
        bot.say("/status", user=BEN, chat=group)
        await bot.heard("No turn is running", chat=group)
        assert await refused(bot, 1) == [("refused message", str(BEN.id), 1)]
        assert bot.said(BEN.id) == []


async def test_the_shell_lets_people_in_while_the_gateway_runs(tmp_path: Path) -> None:
    async with running_bot(tmp_path, access=PAIRING) as bot:
        bot.say("hi", user=EVE)
        code = await code_for(bot, EVE)
        words = {"order": "approve", "code": code.lower(), "role": "owner"}
        found = await asyncio.to_thread(ask, bot.data, "pair", **words)
        assert found["done"] is True
        await bot.heard("✓ You were let in as owner.", chat=EVE.id)
        bot.say("/whoami", user=EVE)
        await bot.heard(f"You are Eve (id {EVE.id}), owner", chat=EVE.id)
