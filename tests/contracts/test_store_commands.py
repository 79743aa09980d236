"""The commands that reach beyond their lane: `/usage`, `/model`, `/workspace`, and the sessions
of other chats."""

from __future__ import annotations

from core.messages import Address, Handled, LaneKey, PlatformName
from core.sessions.arrivals import Relocation
from core.sessions.facts import model_key, workspace_key
from core.sessions.ports import Begun
from tests.contracts.store_rig import (
    HERE,
    LANE,
    MEMBER,
    NOT_DONE,
    OTHER_LANE,
    OWNER,
    Rig,
    answered,
    texts,
)

DAY = 24 * 3600.0


async def told(rig: Rig, line: str, lane: LaneKey = LANE) -> str:
    """What an owner's command is answered with, at once."""
    [ack] = await rig.accept(rig.order(line, lane=lane))
    assert isinstance(ack, Handled)
    return ack.text


async def talked(rig: Rig, text: str, lane: LaneKey = LANE) -> Begun:
    """A message and its answer, with usage in the first lane."""
    await rig.accept(rig.message(text, lane=lane))
    begun = await rig.turn(lane)
    if lane == LANE:
        await rig.step(begun, 1)
    await rig.end(begun, answered(), lane)
    return begun


# /usage


async def test_usage_names_the_session_its_goal_and_today_by_model(rig: Rig) -> None:
    begun = await rig.goal("count")
    await rig.step(begun, 1)
    await rig.answer(begun)
    await rig.judge(NOT_DONE)
    assert (await told(rig, "/usage")).splitlines() == [
        "This session: 30 tokens · $0.01",
        "· main: 10 in, 10 out · $0.01",
        "· judge: 5 in, 5 out · $0.00",
        "Its goal: 30 tokens · $0.01",
        "· main: 10 in, 10 out · $0.01",
        "· judge: 5 in, 5 out · $0.00",
        "Today, in this chat: 30 tokens · $0.01",
        "· main: 10 in, 10 out · $0.01",
        "· judge: 5 in, 5 out · $0.00",
        "Today, in all chats: 30 tokens · $0.01",
        "· main: 10 in, 10 out · $0.01",
        "· judge: 5 in, 5 out · $0.00",
    ]


async def test_usage_of_yesterday_is_not_todays(rig: Rig) -> None:
    await talked(rig, "hi")
    rig.clock.wall += DAY
    said = await told(rig, "/usage")
    assert "This session: 20 tokens" in said
    assert "Today, in this chat: nothing yet" in said


async def test_a_member_is_not_told_what_other_chats_use(rig: Rig) -> None:
    await talked(rig, "hi")
    [ack] = await rig.accept(rig.order("/usage", MEMBER, lane=OTHER_LANE))
    assert isinstance(ack, Handled)
    assert ack.text == "This session: nothing yet\nToday, in this chat: nothing yet"
    assert "Today, in all chats: 20 tokens" in await told(rig, "/usage", OTHER_LANE)


# /model


async def test_a_model_is_chosen_for_this_session_alone_and_over_a_restart(rig: Rig) -> None:
    begun = await talked(rig, "hi")
    assert await told(rig, "/model") == "The configured model is main. There are: main, big."
    assert await told(rig, "/model big") == "✓ This session uses big from the next turn on."
    await rig.reopen()
    assert await told(rig, "/model") == "This session uses big. There are: main, big."
    assert await rig.store.meta(model_key(begun.turn.session)) == "big"
    await rig.tell("/new")
    await rig.begin()
    assert (await told(rig, "/model")).startswith("The configured model is main.")
    await rig.tell("/resume")
    await rig.begin()
    assert (await told(rig, "/model")).startswith("This session uses big.")
    assert "uses main again" in await told(rig, "/model default")
    assert (await told(rig, "/model")).startswith("The configured model is main.")


async def test_a_model_that_is_not_in_the_catalogue_is_not_taken(rig: Rig) -> None:
    said = await told(rig, "/model bigg")
    assert said.startswith("There is no model bigg. Did you mean /model big?")
    assert (await told(rig, "/model")).startswith("The configured model is main.")


async def test_members_do_not_choose_the_model(rig: Rig) -> None:
    await rig.tell("/model big", MEMBER)
    assert await rig.heard() == ["Only owners may use /model."]


async def test_the_session_that_a_choice_is_for_must_be_clear(rig: Rig) -> None:
    await rig.say("hi")
    begun = await rig.turn()
    await rig.tell("/new")
    assert "waits here" in await told(rig, "/model big")
    await rig.answer(begun)


# /workspace


async def test_a_chat_is_bound_to_a_listed_folder_by_number_or_path(rig: Rig) -> None:
    assert await told(rig, "/workspace") == (
        f"This chat works in /data/{LANE}\n"
        "/workspace N changes to one of these:\n1. /srv/site\n2. /srv/app"
    )
    assert await told(rig, "/workspace 2") == "✓ This chat works in /srv/app from now on."
    assert await told(rig, "/workspace /srv/site/") == (
        "✓ This chat works in /srv/site from now on."
    )
    await rig.reopen()
    assert (await told(rig, "/workspace")).startswith("This chat works in /srv/site\n")
    assert (await told(rig, "/workspace", OTHER_LANE)).startswith("This chat works in /data/")
    assert f"again: /data/{LANE}" in await told(rig, "/workspace reset")
    assert (await told(rig, "/workspace")).startswith(f"This chat works in /data/{LANE}")


async def test_only_listed_folders_and_only_owners(rig: Rig) -> None:
    for folder in ("/etc", "/srv/site/../../etc", "/srv/site/below", "3", "0", "~"):
        assert "is not listed in workspace.allow" in await told(rig, f"/workspace {folder}")
    await rig.tell("/workspace 1", MEMBER)
    await rig.tell("/workspace", MEMBER)
    assert (await rig.heard())[-2:] == [
        "Only owners may change where a chat works.",
        f"This chat works in /data/{LANE}",
    ]


async def test_the_folder_is_not_changed_under_a_running_turn(rig: Rig) -> None:
    await rig.say("hi")
    await rig.turn()
    assert (await told(rig, "/workspace 1")).startswith("⚠ A turn is running.")
    assert not await rig.store.meta(workspace_key(LANE))


async def test_a_chat_that_gets_a_new_id_keeps_its_folder(rig: Rig) -> None:
    await told(rig, "/workspace 1")
    await rig.accept(Relocation("tg:moved", LANE, OTHER_LANE))
    assert (await told(rig, "/workspace", OTHER_LANE)).startswith("This chat works in /srv/site")


# Sessions of other chats


async def test_owners_see_the_sessions_of_all_chats(rig: Rig) -> None:
    await talked(rig, "one")
    await talked(rig, "two", OTHER_LANE)
    assert await told(rig, "/sessions all") == (
        "Sessions of all chats, newest first (/resume #N brings one here):\n"
        "#2 telegram 200 · two · 1 turn\n"
        "#1 telegram 100 · one · 1 turn ← here"
    )
    await rig.heard()
    await rig.tell("/sessions all", MEMBER)
    await rig.tell("/resume #2", MEMBER)
    assert await rig.heard() == [
        "Only owners may see other chats' sessions.",
        "Only owners may fetch another chat's session.",
    ]


async def test_a_session_moves_here_with_its_transcript(rig: Rig) -> None:
    await talked(rig, "one")
    other = await talked(rig, "two", OTHER_LANE)
    await rig.heard()
    await rig.tell(f"/resume #{other.turn.session}")
    await rig.say("go on")
    begun = await rig.turn()
    assert texts(begun) == ["go on"]
    assert begun.turn.session == other.turn.session
    assert len(await rig.store.history(begun.turn.session)) == 2
    assert await rig.heard() == ["✦ Back in session “two” (1 turn)."]
    await rig.accept(rig.message("three", lane=OTHER_LANE))
    there = await rig.turn(OTHER_LANE)
    assert there.turn.session not in {begun.turn.session, 1}


async def test_a_session_that_another_chat_works_in_stays_there(rig: Rig) -> None:
    await talked(rig, "one")
    await rig.accept(rig.message("two", lane=OTHER_LANE))
    other = await rig.turn(OTHER_LANE)
    await rig.heard()
    await rig.tell(f"/resume #{other.turn.session}")
    await rig.say("still here")
    begun = await rig.turn()
    assert begun.turn.session != other.turn.session
    assert await rig.heard() == [
        "⚠ Another chat is working in that session. Stop it there first, or pause its goal."
    ]
    await rig.end(other, answered(), OTHER_LANE)


async def test_a_chats_active_goal_keeps_its_session_there_until_it_is_paused(rig: Rig) -> None:
    await rig.accept(rig.order("/goal count", lane=OTHER_LANE))
    other = await rig.turn(OTHER_LANE)
    await rig.end(other, answered(), OTHER_LANE)
    await rig.tell(f"/resume #{other.turn.session}")
    await rig.begin()
    assert "Another chat is working" in (await rig.heard())[-1]
    await told(rig, "/goal pause", OTHER_LANE)
    await rig.tell(f"/resume #{other.turn.session}")
    await rig.begin()
    assert "⊙ Goal (paused, 1/20 turns): count" in await told(rig, "/goal")
    assert await told(rig, "/goal", OTHER_LANE) == "No active goal. Set one with /goal <text>."


async def test_a_number_that_no_session_has_is_refused(rig: Rig) -> None:
    for wrong in ("#99", "#0", "#x", "#", "#99999999999999999999"):
        assert "There is no such session." in await told(rig, f"/resume {wrong}")


async def test_ones_own_session_is_gone_to_by_either_number(rig: Rig) -> None:
    await talked(rig, "one")
    assert await told(rig, "/resume #1") == "You are in that session already."
    await rig.tell("/new")
    await rig.begin()
    await rig.tell("/resume #1", MEMBER)
    await rig.begin()
    assert (await rig.heard())[-1] == "✦ Back in session “one” (1 turn)."


async def test_where_a_thread_is_is_said(rig: Rig) -> None:
    topic = Address(PlatformName.TELEGRAM, HERE.account, HERE.chat, "7").key
    await rig.accept(rig.message("in a topic", OWNER, lane=topic))
    await rig.end(await rig.turn(topic), answered(), topic)
    assert "telegram 100, thread 7 · in a topic" in await told(rig, "/sessions all")
