"""Questions to people outlive the program: each is asked, swept and applied once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.sqlite.store import SqliteStore
from core import commands
from core.escalations.record import GRACE_S
from core.messages import Address, LaneKey, PlatformName, Principal, Role
from core.sessions.arrivals import Arrival, Commanded
from core.sessions.ports import Due
from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.openai_seen import Seen
from tests.fakes.telegram_faults import Lost, TooMany
from tests.fakes.telegram_world import ANNA, BOB
from tests.scenarios.rig import Bot, running_bot
from tests.scenarios.test_asking import ASKING, ask, run

ONCE = "echo once >> log.txt; git push --force origin main"
TWICE = "echo twice >> log.txt; git push --force origin next"
PUSH = run(ONCE)
COLOUR = ask("Which colour?", kind="choose", options=["red", "blue"])
DAY_S = 24 * 3600.0
REPEAT = "(may be a repeat) "


class LaterClock:
    """A clock of another day, which stands still."""

    def __init__(self, now: float) -> None:
        self.wall = now

    def now(self) -> float:
        """See `Clock.now`."""
        return self.wall

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self.wall


@asynccontextmanager
async def opened(bot: Bot, clock: LaterClock) -> AsyncIterator[SqliteStore]:
    """The store of a bot that is down."""
    store = SqliteStore(bot.data, clock=clock, run="between")
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def lane(bot: Bot) -> LaneKey:
    """The lane of the owner's own chat."""
    return Address(PlatformName.TELEGRAM, str(bot.people.bot.id), str(ANNA.id)).key


async def accepted(bot: Bot, line: str) -> None:
    """The store took an order of the owner's, and the program died before it acted on it."""
    clock = LaterClock(bot.people.by_bot(ANNA.id)[-1].date + 60.0)
    read = commands.read(line)
    assert read is not None
    by = Principal(str(ANNA.id), ANNA.name, Role.OWNER)
    async with opened(bot, clock) as store:
        arrival = Arrival(lane(bot), "between:1", by, Commanded(read, clock.wall))
        await store.accept([arrival], cursor=None, now=clock.wall)


def ran(bot: Bot) -> list[str]:
    """What the command that needed leave has left behind, each time that it ran."""
    log = bot.workspace() / "log.txt"
    return log.read_text().splitlines() if log.exists() else []


def last_said(bot: Bot, role: str = "main") -> str:
    """The last thing that a model was told."""
    found: list[Seen] = bot.models.of(role)
    return found[-1].said()


async def test_one_that_expired_while_the_program_was_down_is_told_once(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Not pushed."))
        bot.say("push it")
        await bot.heard("✋ E1")
        await bot.stop()
        clock = LaterClock(bot.people.by_bot(ANNA.id)[-1].date + 2 * DAY_S)
        async with opened(bot, clock) as store:
            await store.reopen(PlatformName.TELEGRAM)
            for waited, over in ((0.0, False), (GRACE_S - 1, False), (GRACE_S, True)):
                clock.wall = bot.people.by_bot(ANNA.id)[-1].date + 2 * DAY_S + waited
                due = await store.next_timer()
                assert isinstance(due, Due)
                signals = await store.fire(due)
                assert bool(signals.wake) is over, waited
        await bot.start()
        said = await bot.heard("⌛ E1 expired unanswered", "Not pushed.")
        assert "[Outcome of E1: unanswered]" in last_said(bot)
        await bot.restart()
        assert await bot.all_said() == said
        assert len(bot.models.of("main")) == 2
        assert not ran(bot)


async def test_one_whose_card_was_not_sent_is_sent_once_after_the_start(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Done."))
        bot.people.fault("sendMessage", TooMany(60), times=99)
        bot.say("push it")
        await bot.until(lambda: bot.people.called("sendMessage"))
        await bot.stop()
        assert bot.said() == []
        bot.people.clear_faults()
        await bot.start()
        await bot.heard("✋ E1")
        await bot.restart()
        said = await bot.all_said()
        assert [words[:4] for words in said] == ["✋ E1"]
        assert "approved" in await bot.press("Approve")
        await bot.heard("✓ E1 approved", "Done.")
        assert ran(bot) == ["once"]


async def test_one_whose_sending_was_cut_comes_again_with_a_mark_and_either_copy_counts(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Done."))
        bot.people.fault("sendMessage", Lost())
        bot.people.fault("sendMessage", TooMany(60), times=99)
        bot.say("push it")
        await bot.heard("✋ E1")
        await bot.stop()
        bot.people.clear_faults()
        [unknown] = bot.people.by_bot(ANNA.id)
        await bot.start()
        await bot.heard("✋ E1", f"{REPEAT}✋ E1")
        assert "approved" in await bot.people.toast(bot.people.press(unknown, "Approve"))
        said = await bot.heard("✓ E1 approved", "✓ E1 approved", "Done.")
        assert "✋" not in "\n".join(said)
        assert ran(bot) == ["once"]


async def test_one_that_was_answered_and_not_applied_is_applied_once(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Done."))
        bot.say("push it")
        await bot.heard("✋ E1")
        await bot.stop()
        await accepted(bot, "/approve E1")
        await bot.start()
        await bot.heard("✓ E1 approved", "Done.")
        await bot.restart()
        await bot.all_said()
        assert ran(bot) == ["once"]
        assert len(bot.models.of("main")) == 2


async def test_a_stop_sent_while_down_comes_before_an_answer_that_was_not_applied(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Hello."))
        bot.say("push it")
        await bot.heard("✋ E1")
        await bot.stop()
        await accepted(bot, "/approve E1")
        bot.say("/stop")
        bot.say("hi")
        await bot.start()
        await bot.heard("⏹ E1 cancelled", "Hello.")
        await bot.all_said()
        assert not ran(bot)
        assert last_said(bot) == "hi"


async def test_an_answer_sent_while_down_is_taken_before_anything_runs(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Done."), text("Hello."))
        bot.say("push it")
        await bot.heard("✋ E1")
        await bot.stop()
        [card] = bot.people.by_bot(ANNA.id)
        query = bot.people.press(card, "Approve")
        bot.say("hi")
        await bot.start()
        assert "approved" in await bot.people.toast(query)
        await bot.heard("✓ E1 approved by Anna", "Done.", "Hello.")
        await bot.all_said()
        assert ran(bot) == ["once"]


async def test_a_press_and_a_stop_sent_while_down_leave_nothing_to_run(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Hello."))
        bot.say("push it")
        await bot.heard("✋ E1")
        await bot.stop()
        [card] = bot.people.by_bot(ANNA.id)
        bot.people.press(card, "Approve")
        bot.say("/stop")
        bot.say("hi")
        await bot.start()
        await bot.heard("⏹ E1 cancelled", "Hello.")
        await bot.all_said()
        assert not ran(bot)


async def test_buttons_of_an_earlier_start_say_what_was_decided(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Not pushed."))
        bot.say("push it")
        await bot.heard("✋ E1")
        [card] = bot.people.by_bot(ANNA.id)
        yes = dict(card.buttons)["Approve"]
        await bot.press("Deny")
        await bot.heard("✗ E1 denied", "Not pushed.")
        await bot.restart()
        toast = await bot.people.toast(bot.people.press_data(card, yes))
        assert toast.startswith("Too late, this changed nothing. ✗ E1 denied by Anna")
        unknown = yes[:-6] + "AAAAAA"
        toast = await bot.people.toast(bot.people.press_data(card, unknown))
        assert toast.startswith("This button has expired")
        assert len(bot.models.of("main")) == 2


async def test_two_lanes_that_wait_are_both_there_after_a_restart(tmp_path: Path) -> None:
    owners = {"access": {"telegram": {"owners": [ANNA.id, BOB.id]}}}
    async with running_bot(tmp_path, **ASKING, **owners) as bot:
        bot.models.script("main", COLOUR)
        bot.say("paint it")
        await bot.heard("✋ E1")
        bot.models.script("main", COLOUR)
        bot.say("paint mine", user=BOB)
        await bot.heard("✋ E1", chat=BOB.id)
        await bot.restart()
        bot.models.default("main", lambda seen: text(_colour(seen)))
        await bot.press("2. blue", user=BOB, chat=BOB.id)
        await bot.heard("Painted blue.", chat=BOB.id)
        assert "✋ E1" in bot.said()[0]
        await bot.press("1. red")
        await bot.heard("Painted red.")


def _colour(seen: Seen) -> str:
    return f"Painted {'red' if 'red' in seen.said().split('chose')[-1] else 'blue'}."


async def test_a_goal_that_waits_goes_on_waiting_after_a_restart(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", COLOUR)
        bot.say("/goal paint the house")
        await bot.heard("✋ E1")
        await bot.restart()
        await bot.all_said()
        assert len(bot.models.of("main")) == 1
        assert "a person's answer is waited for" in await bot.status()
        bot.models.script("main", text("Painted."))
        bot.models.script("judge", verdict(done=True, reason="painted"))
        await bot.press("2. blue")
        await bot.heard("Painted.", "✓ Goal achieved")
        assert len(bot.models.of("judge")) == 1


async def test_the_answer_of_a_paused_goal_is_kept_over_a_restart(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", COLOUR)
        bot.say("/goal paint the house")
        await bot.heard("✋ E1")
        bot.say("/goal pause")
        await bot.heard("⏸ Goal paused")
        await bot.press("2. blue")
        await bot.restart()
        await bot.all_said()
        assert len(bot.models.of("main")) == 1
        bot.models.script("main", text("Painted."))
        bot.models.script("judge", verdict(done=True, reason="painted"))
        bot.say("/goal resume")
        await bot.heard("Painted.", "✓ Goal achieved")
        assert "chose option 2" in bot.models.of("main")[1].raw.decode()


async def test_a_call_that_was_set_aside_goes_on_once_after_restarts(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        bot.models.script("main", PUSH, text("Four."), text("Pushed."))
        bot.say("push it")
        await bot.heard("✋ E1")
        bot.say("what is 2 + 2?")
        await bot.heard("Four.")
        await bot.restart()
        await bot.press("Approve")
        await bot.heard("✓ E1 approved", "Four.", "Pushed.")
        await bot.restart()
        await bot.all_said()
        assert ran(bot) == ["once"]
        assert last_said(bot).startswith("[What came of the call run that waited for a person]")
        assert len(bot.models.of("main")) == 3


async def test_calls_that_wait_behind_another_ask_one_after_the_other_over_restarts(
    tmp_path: Path,
) -> None:
    async with running_bot(tmp_path, **ASKING) as bot:
        both = calls(("run", {"command": ONCE}), ("run", {"command": TWICE}))
        bot.models.script("main", both, text("Done."))
        bot.say("push both")
        await bot.heard("✋ E1")
        await bot.restart()
        await bot.press("Approve")
        await bot.heard("✓ E1 approved", "✋ E2")
        await bot.restart()
        await bot.press("Approve")
        await bot.heard("✓ E1 approved", "✓ E2 approved", "Done.")
        assert ran(bot) == ["once", "twice"]
