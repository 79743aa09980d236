"""The `Store` contract: what goes out, in order, with every doubt marked."""

from __future__ import annotations

from core.messages import Say
from core.sessions.outgoing import Outgoing
from tests.contracts.store_rig import LANE, NOW, OTHER_LANE, Rig, answered


async def head(rig: Rig) -> Outgoing:
    """The head of the outbox, marked as being sent."""
    out = await rig.store.next_outgoing(LANE, now=rig.clock.now())
    assert out is not None
    return out


async def answers(rig: Rig, *texts: str) -> None:
    """Messages answered with these texts, all of them waiting to be sent."""
    for text in texts:
        await rig.say("say something")
        await rig.end(await rig.turn(), answered(text))


async def test_only_the_head_is_sent_and_it_stays_the_head_until_it_is_settled(rig: Rig) -> None:
    await answers(rig, "one", "two")
    first = await head(rig)
    assert first.what == Say("one")
    assert (first.attempts, first.doubtful, first.first_try) == (1, False, NOW)
    await rig.store.unsent(first, doubtful=False)
    again = await head(rig)
    assert (again.id, again.attempts, again.doubtful) == (first.id, 2, False)
    await rig.store.sent(again, rig.at("m1"))
    assert (await head(rig)).what == Say("two")


async def test_a_send_that_a_restart_cut_is_in_doubt(rig: Rig) -> None:
    await answers(rig, "one")
    first = await head(rig)
    assert not first.doubtful
    rig.clock.wall += 60
    await rig.reopen()
    again = await head(rig)
    assert (again.id, again.doubtful, again.first_try) == (first.id, True, NOW)
    await rig.store.sent(again, rig.at("m1"))
    assert await rig.heard() == []


async def test_a_doubt_stays_through_later_failures(rig: Rig) -> None:
    await answers(rig, "one")
    await rig.store.unsent(await head(rig), doubtful=True)
    await rig.store.unsent(await head(rig), doubtful=False)
    await rig.reopen()
    assert (await head(rig)).doubtful


async def test_what_was_never_begun_to_be_sent_is_in_no_doubt_after_a_restart(rig: Rig) -> None:
    await answers(rig, "one")
    await rig.reopen()
    assert not (await head(rig)).doubtful


async def test_a_dead_row_lets_the_next_one_move(rig: Rig) -> None:
    await answers(rig, "one", "two")
    await rig.store.dead(await head(rig), "the chat is gone")
    await rig.reopen()
    assert await rig.heard() == ["two"]


async def test_lanes_send_independently(rig: Rig) -> None:
    await answers(rig, "here")
    await rig.accept(rig.message("x", lane=OTHER_LANE))
    await rig.end(await rig.turn(OTHER_LANE), answered("there"), OTHER_LANE)
    await head(rig)
    assert await rig.heard(OTHER_LANE) == ["there"]
    assert (await rig.store.unfinished()).outbox == {LANE}


async def test_an_answer_names_its_turn_and_its_last_part(rig: Rig) -> None:
    await rig.say("x")
    begun = await rig.turn()
    await rig.end(begun, answered("all", ["part 1", "part 2"]))
    first = await head(rig)
    await rig.store.sent(first, rig.at("m1"))
    second = await head(rig)
    assert [first.turn, second.turn] == [begun.turn.id, begun.turn.id]
    assert [first.last_part, second.last_part] == [False, True]


async def test_a_commands_reply_goes_out_before_the_running_turns_answer(rig: Rig) -> None:
    await rig.say("x")
    begun = await rig.turn()
    await rig.tell("/whoami")
    await rig.answer(begun)
    said = await rig.heard()
    assert said[0].startswith("You are Anna (id 1), owner")
    assert said[1:] == ["an answer"]


async def test_the_goals_first_line_is_its_card_with_buttons(rig: Rig) -> None:
    await rig.tell("/goal Write a poem")
    out = await head(rig)
    assert out.card
    assert isinstance(out.what, Say)
    assert [button.command for button in out.what.buttons] == ["/goal pause", "/stop"]


async def test_a_sessions_card_is_never_that_of_another_sessions_goal(rig: Rig) -> None:
    await rig.answer(await rig.goal("Write a poem"))
    await rig.tell("/goal pause")
    await rig.heard()
    first = await rig.store.card(LANE)
    assert first is not None
    await rig.tell("/new")
    await rig.begin()
    assert await rig.store.card(LANE) is None
    await rig.answer(await rig.goal("Write a song"))
    await rig.tell("/resume")
    await rig.begin()
    assert await rig.store.card(LANE) == first


async def test_a_new_goals_card_is_not_the_old_goals_message(rig: Rig) -> None:
    await rig.answer(await rig.goal("Write a poem"))
    await rig.heard()
    await rig.tell("/goal Write a song")
    assert await rig.store.card(LANE) is None
    await rig.heard()
    card = await rig.store.card(LANE)
    assert card is not None
    assert card.first_line == "⊙ Goal set (20-turn budget): Write a song"
