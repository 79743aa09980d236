"""The `Store` contract: `/new`, `/resume` and `/sessions`, in the order they came."""

from __future__ import annotations

import pytest

from core.sessions.lane import Rest
from core.sessions.ports import Begun
from tests.contracts.store_rig import DONE, LANE, MEMBER, NOT_DONE, OTHER_LANE, Rig, texts

NEW = "✦ New session. The old one is kept: /sessions lists it, /resume goes back."


async def test_a_message_queued_before_new_belongs_to_the_old_session(rig: Rig) -> None:
    await rig.say("first")
    begun = await rig.turn()
    await rig.accept(rig.message("second"), rig.order("/new"), rig.message("third"))
    second = await rig.answer(begun)
    assert isinstance(second, Begun)
    assert (texts(second), second.turn.session) == (["second"], begun.turn.session)
    third = await rig.answer(second)
    assert isinstance(third, Begun)
    assert texts(third) == ["third"]
    assert third.turn.session != begun.turn.session
    assert await rig.store.history(third.turn.session) == ()
    assert NEW in await rig.heard()


async def test_resume_goes_back_with_the_whole_transcript_and_prefix(rig: Rig) -> None:
    await rig.say("remember 42")
    begun = await rig.turn()
    await rig.store.keep_prefix(begun.turn.session, "prefix")
    await rig.answer(begun)
    await rig.accept(rig.order("/new"), rig.message("elsewhere"))
    await rig.answer(await rig.turn())
    await rig.heard()
    await rig.accept(rig.order("/resume"), rig.message("which number?"))
    await rig.reopen()
    again = await rig.turn()
    assert again.turn.session == begun.turn.session
    assert again.prefix == "prefix"
    history = await rig.store.history(again.turn.session)
    assert [entry.text for entry in history] == ["remember 42", "an answer"]
    assert await rig.heard() == ["✦ Back in session “remember 42” (1 turn)."]


async def test_sessions_lists_newest_first_with_their_goals(rig: Rig) -> None:
    await rig.judged_goal(DONE)
    await rig.tell("/new")
    await rig.begin()
    await rig.heard()
    await rig.tell("/sessions")
    (said,) = await rig.heard()
    lines = said.splitlines()
    assert lines[1] == "1. (empty) · 0 turns ← here"
    assert lines[2].startswith("2. ")
    assert lines[2].endswith("· 1 turn · goal done")


async def test_resume_takes_a_number_of_the_list(rig: Rig) -> None:
    for name in ("a", "b", "c"):
        await rig.say(name)
        await rig.answer(await rig.turn())
        await rig.tell("/new")
        assert isinstance(await rig.begin(), Rest)
    await rig.heard()
    await rig.tell("/resume 4")
    assert isinstance(await rig.begin(), Rest)
    assert await rig.heard() == ["✦ Back in session “a” (1 turn)."]
    await rig.tell("/resume 4")
    assert await rig.heard() == ["You are in that session already."]
    await rig.tell("/resume 9")
    assert (await rig.heard())[0].startswith("There is no such session.")


async def test_a_lane_sees_no_other_lanes_sessions(rig: Rig) -> None:
    await rig.accept(rig.message("secret", lane=OTHER_LANE))
    await rig.tell("/sessions", MEMBER)
    assert "secret" not in (await rig.heard())[0]
    await rig.tell("/resume")
    assert (await rig.heard())[0].startswith("There is no such session.")


async def test_new_suspends_a_goal_and_resume_goes_on_with_one_line(rig: Rig) -> None:
    await rig.judged_goal()
    await rig.answer(await rig.turn())
    await rig.judge(NOT_DONE)
    await rig.tell("/new")
    assert isinstance(await rig.begin(), Rest)
    await rig.heard()
    await rig.restart()
    assert isinstance(await rig.begin(), Rest)
    assert await rig.heard() == []
    await rig.tell("/goal")
    assert await rig.heard() == ["No active goal. Set one with /goal <text>."]
    await rig.tell("/resume")
    begun = await rig.begin()
    assert isinstance(begun, Begun)
    assert begun.goal is not None
    assert await rig.heard() == [
        "✦ Back in session “Write four files” (1 turn).",
        "▶ Going on with the goal (1/20 turns): Write four files",
    ]


@pytest.mark.parametrize(
    ("begin", "title"),
    [
        ("/goal Write a poem\n about rain\nverify: cat poem.txt", "Write a poem about rain"),
        ("one line\nand\tanother", "one line and another"),
        ("word " * 50, "word " * 23 + "word…"),
    ],
)
async def test_a_session_is_listed_by_one_line_of_what_it_began_with(
    rig: Rig, begin: str, title: str
) -> None:
    await (rig.tell(begin) if begin.startswith("/") else rig.say(begin))
    await rig.answer(await rig.turn())
    await rig.heard()
    await rig.tell("/sessions")
    [said] = await rig.heard()
    listed = said.splitlines()
    assert len(listed) == 2
    shown = listed[1].removeprefix("1. ").partition(" · 1 turn")[0]
    assert shown == title or title.startswith(shown.rstrip("…"))
    await rig.tell("/new")
    await rig.begin()
    await rig.tell("/resume")
    await rig.begin()
    assert f"✦ Back in session “{title}” (1 turn)." in await rig.heard()


async def test_a_verdict_that_comes_while_its_session_is_away_is_dropped_and_asked_again(
    rig: Rig,
) -> None:
    await rig.answer(await rig.goal())
    asked = await rig.asked()
    await rig.tell("/new")
    assert isinstance(await rig.begin(), Rest)
    await rig.judge(DONE, asked)
    assert await rig.store.open_judgement(LANE) is None
    await rig.tell("/resume")
    assert isinstance(await rig.begin(), Rest)
    assert (await rig.asked()).id == asked.id


async def test_switches_wait_their_turn_and_a_stop_drops_them(rig: Rig) -> None:
    await rig.say("work")
    begun = await rig.turn()
    await rig.accept(rig.order("/new"), rig.order("/stop"), rig.message("next"))
    next_ = await rig.answer(begun)
    assert isinstance(next_, Begun)
    assert next_.turn.session == begun.turn.session


async def test_each_lane_has_its_own_sessions_from_its_first_word(rig: Rig) -> None:
    await rig.accept(rig.message("a"), rig.message("b", lane=OTHER_LANE))
    here, there = await rig.turn(), await rig.turn(OTHER_LANE)
    assert here.turn.session != there.turn.session
