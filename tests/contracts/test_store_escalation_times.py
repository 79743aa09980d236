"""The `Store` contract: questions are reminded of, expire, live through a restart, and end with
what they were for."""

from __future__ import annotations

from dataclasses import replace

from core.escalations.asking import Asking
from core.escalations.record import GRACE_S, OnTimeout, Purpose, State
from core.messages import Address, Handled, PlatformName, Queued, Refused, Role, Say
from core.sessions.arrivals import Relocation
from core.sessions.lane import Rest, RowKind
from core.sessions.outgoing import Amend
from core.sessions.ports import Begun, Due, Signals, Timer
from tests.contracts.asking_rig import (
    ASK,
    DANGER,
    card_of,
    edits,
    park,
    parked,
    press,
    put,
    sent,
    speak,
    states,
    trail,
    working,
)
from tests.contracts.store_rig import (
    HOUSE,
    LANE,
    MEMBER,
    NOW,
    OTHER_LANE,
    OWNER,
    THERE,
    Opening,
    Rig,
    answered,
    ref,
    texts,
)

TELEGRAM = PlatformName.TELEGRAM
DAY_S = 24 * 3600.0
MOVED = Address(TELEGRAM, "bot", "-100777")


async def due(rig: Rig) -> Due:
    """The next timer; it must be a question's."""
    timer = await rig.store.next_timer()
    assert isinstance(timer, Due), timer
    return timer


async def fire(rig: Rig, *, drift_s: float = 0.0) -> Signals:
    """Let the time come at which the next timer is due."""
    timer = await due(rig)
    rig.clock.wall = max(rig.clock.wall, timer.due)
    return await rig.store.fire(timer, drift_s=drift_s)


async def start(rig: Rig) -> Signals:
    """A restart whose backlog is in."""
    await rig.restart()
    return await rig.store.reopen(TELEGRAM)


async def test_a_card_is_reminded_of_twice_and_then_expires(rig: Rig) -> None:
    card = await parked(rig)
    shown_at = rig.clock.wall - 1
    for after in (900.0, 7200.0):
        assert (await due(rig)).due == shown_at + after
        assert (await fire(rig)).deliver == {LANE}
        ((_, reminder),) = await rig.shown()
        assert isinstance(reminder, Say)
        assert reminder.text.startswith("⏰ E1 still waits")
        assert reminder.reply_to == card.remote
    assert (await due(rig)).due == NOW + DAY_S
    signals = await fire(rig)
    assert signals.wake == signals.deliver == {LANE}
    assert signals.timers
    assert await rig.store.next_timer() is None
    decided = await edits(rig)
    assert decided.pop(card.remote).text.startswith("⌛ E1 expired unanswered")
    assert len(decided) == 2
    for reminder in decided.values():
        assert reminder.text.startswith("⌛ E1 expired unanswered")
        assert ASK.question not in reminder.text
    begun = await rig.turn()
    assert (await put(rig, begun)).state is State.EXPIRED
    assert isinstance(await press(rig, card), Refused)


async def test_a_reply_to_the_reminder_is_a_reply_to_the_card(rig: Rig) -> None:
    await parked(rig)
    await fire(rig)
    ((remote, _),) = await rig.shown()
    rig.clock.wall += 1
    assert isinstance(await speak(rig, "yes", to=remote), Handled)


async def test_a_bare_yes_to_the_reminder_counts(rig: Rig) -> None:
    await parked(rig)
    await fire(rig)
    await rig.shown()
    rig.clock.wall += 1
    assert isinstance(await speak(rig, "yes"), Handled)


async def test_later_takes_the_reminders_away(rig: Rig) -> None:
    await press(rig, await parked(rig), "Later")
    assert (await due(rig)).due == NOW + DAY_S


async def test_a_question_may_have_a_time_of_its_own(rig: Rig) -> None:
    await parked(rig, replace(ASK, timeout_s=600.0, on_timeout=OnTimeout.DENY))
    assert (await due(rig)).due == NOW + GRACE_S  # never sooner after its card
    await fire(rig)
    begun = await rig.turn()
    one = await put(rig, begun)
    assert (one.state, one.on_timeout) == (State.EXPIRED, OnTimeout.DENY)


async def test_a_clock_that_jumped_makes_an_expiry_wait(rig: Rig) -> None:
    await press(rig, await parked(rig), "Later")
    assert (await fire(rig, drift_s=3600.0)).wake == frozenset()
    assert await states(rig) == {"E1": "open"}
    assert (await due(rig)).due == NOW + DAY_S + 300
    assert (await fire(rig, drift_s=3600.0)).wake == {LANE}
    assert "held" in await trail(rig)


async def test_a_timer_that_was_set_anew_does_nothing(rig: Rig) -> None:
    card = await parked(rig)
    stale = await due(rig)
    await press(rig, card, "Later")
    rig.clock.wall += 900
    assert await rig.store.fire(stale) == Signals()
    await press(rig, card)
    rig.clock.wall += DAY_S
    assert await rig.store.fire(stale) == Signals()


async def test_a_goals_timer_and_a_questions_come_in_their_order(rig: Rig) -> None:
    await parked(rig)
    await rig.accept(rig.order("/goal Write a poem", lane=OTHER_LANE))
    begun = await rig.turn(OTHER_LANE)
    await rig.end(begun, answered(), OTHER_LANE)
    await rig.accept(rig.order("/goal wait 5m", lane=OTHER_LANE))
    assert isinstance(await rig.store.next_timer(), Timer)
    await rig.accept(rig.order("/goal wait 10h", lane=OTHER_LANE))
    assert isinstance(await rig.store.next_timer(), Due)


async def test_the_settings_say_how_long_and_who(rig: Rig) -> None:
    also = {Purpose.COMMAND: frozenset({Role.MEMBER})}
    house = replace(HOUSE, asking=Asking(timeout_s=7200.0, remind_after=(1000.0,), also=also))
    await rig.store.close()
    rig.store = await rig.open_store(
        Opening(rig.folder, rig.clock, "run-set", rig.defaults, house)
    )
    card = await parked(rig, DANGER)
    assert (await due(rig)).due == NOW + 1000
    await fire(rig)
    assert (await due(rig)).due == NOW + 7200
    assert isinstance(await press(rig, card, by=MEMBER), Handled)


async def test_a_start_gives_an_open_question_another_quarter_of_an_hour(rig: Rig) -> None:
    await press(rig, await parked(rig), "Later")
    rig.clock.wall += 2 * DAY_S
    assert (await start(rig)).timers
    assert (await due(rig)).due == rig.clock.wall + GRACE_S
    await fire(rig)
    assert await states(rig) == {"E1": "expired"}


async def test_a_start_sends_a_card_that_was_not_sent_once(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await park(rig, begun)
    assert (await start(rig)).deliver == frozenset()  # it waits in the outbox already
    assert len(await sent(rig)) == 1
    await start(rig)
    assert await sent(rig) == []


async def test_a_start_takes_up_what_was_answered_once(rig: Rig) -> None:
    await press(rig, await parked(rig))
    assert (await start(rig)).wake == {LANE}
    await rig.store.reopen(TELEGRAM)
    begun = await rig.turn()
    assert await rig.store.apply(ref(begun), "call-1")
    assert isinstance(await rig.answer(begun), Rest)
    assert await start(rig) == Signals()
    assert await rig.begin() == Rest(None)


async def test_a_start_leaves_other_platforms_alone(rig: Rig) -> None:
    await press(rig, await parked(rig))
    await rig.restart()
    assert await rig.store.reopen(PlatformName.DISCORD) == Signals()


async def test_stop_cancels_what_is_open_and_says_so_on_its_card(rig: Rig) -> None:
    card = await parked(rig)
    await rig.tell("/stop")
    shown = {remote: what for remote, what in await rig.shown() if isinstance(what, Amend)}
    assert shown[card.remote].say.text.startswith("⏹ E1 cancelled")
    assert isinstance(await press(rig, card), Refused)
    assert await rig.begin() == Rest(None)
    assert await rig.store.next_timer() is None


async def test_stop_takes_an_answer_back_that_the_work_was_not_told(rig: Rig) -> None:
    card = await parked(rig, DANGER)
    await press(rig, card)
    await rig.tell("/stop")
    assert await rig.begin() == Rest(None)
    last = list((await edits(rig)).values())[-1]
    assert "approved by Anna before, nothing of it was done" in last.text
    await start(rig)
    assert await rig.begin() == Rest(None)


async def test_stop_forgets_a_card_that_is_still_to_be_sent(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await park(rig, begun)
    await rig.tell("/stop")
    told = [text for text in await rig.heard() if "E1" in text]
    assert told == ["⏹ Stopped. 0 waiting messages dropped. E1 taken back."]


async def test_a_card_that_was_on_its_way_when_it_was_stopped_shows_that(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await park(rig, begun)
    out = await rig.store.next_outgoing(LANE, now=NOW)
    assert out is not None
    await rig.tell("/stop")
    more, signals = await rig.store.sent(out, rig.at("late"))
    assert more
    assert signals.deliver == {LANE}
    assert (await edits(rig)).keys() == {"late"}


async def test_the_next_turn_is_told_what_was_stopped_after_it_was_set_aside(rig: Rig) -> None:
    await parked(rig)
    await rig.say("something else")
    await rig.answer(await rig.turn())
    await rig.tell("/stop")
    await rig.say("go on")
    first, second = texts(await rig.turn())
    assert first.startswith("[Outcome of E1: cancelled]")
    assert second == "go on"
    await rig.say("and?")
    assert await states(rig) == {"E1": "applied"}


async def test_what_was_stopped_while_its_turn_was_parked_is_told_in_that_turn_alone(
    rig: Rig,
) -> None:
    await parked(rig)
    await rig.tell("/stop")
    await rig.say("go on")
    begun = await rig.turn()
    assert texts(begun) == ["go on"]
    history = await rig.store.history(begun.turn.session)
    assert "stopped before a person had answered" in str(history)


async def test_clearing_a_goal_cancels_what_it_asked_and_nothing_else(rig: Rig) -> None:
    goal = await rig.goal()
    await put(rig, goal)
    await park(rig, goal)
    own = await working(rig)
    await put(rig, own, replace(ASK, key="call-9"))
    await sent(rig)
    await rig.tell("/goal clear")
    assert await states(rig) == {"E1": "cancelled", "E2": "open"}


async def test_a_chat_that_moves_is_asked_anew_where_it_is_now(rig: Rig) -> None:
    old = await parked(rig)
    await rig.accept(Relocation("tg:bot:moved", LANE, MOVED.key))
    assert rig.signals[-1].deliver == {MOVED.key}
    assert isinstance(await speak(rig, "yes", at=MOVED, to=old.remote), Queued)
    await rig.turn(MOVED.key)
    (card,) = await sent(rig, MOVED.key)
    assert isinstance(await press(rig, card, at=MOVED), Handled)
    assert (await edits(rig, MOVED.key)).keys() == {card.remote}
    assert await rig.shown() == []


async def test_a_decision_is_not_edited_into_a_chat_that_moved(rig: Rig) -> None:
    """Message ids begin anew there, so the old card's may be another message's."""
    await press(rig, await parked(rig))
    await rig.accept(Relocation("tg:bot:moved", LANE, MOVED.key))
    assert await edits(rig, MOVED.key) == {}
    begun = await rig.turn(MOVED.key)
    assert (await put(rig, begun, lane=MOVED.key)).state is State.ANSWERED


async def test_a_number_that_is_taken_in_the_new_chat_becomes_another(rig: Rig) -> None:
    there = await working(rig, OTHER_LANE)
    await put(rig, there, lane=OTHER_LANE)
    await park(rig, there, lane=OTHER_LANE)
    await parked(rig)
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    first, second = await sent(rig, OTHER_LANE)
    assert first.text.startswith("✋ E1")
    assert second.text.startswith("✋ E2")
    await press(rig, second, at=THERE)
    begun = await rig.turn(OTHER_LANE)
    assert begun.turn.kind is RowKind.ANSWER
    assert begun.call is not None
    assert (await put(rig, begun, lane=OTHER_LANE)).id == "E2"


async def test_an_answer_to_a_goals_question_survives_a_lane_that_joins_another(rig: Rig) -> None:
    goal = await rig.goal()
    await put(rig, goal)
    await park(rig, goal)
    (card,) = await sent(rig)
    await press(rig, card)
    await rig.accept(rig.message("hello", lane=OTHER_LANE))
    await rig.end(await rig.turn(OTHER_LANE), answered(), OTHER_LANE)
    await rig.accept(Relocation("tg:bot:moved", LANE, OTHER_LANE))
    begun = await rig.turn(OTHER_LANE)
    assert (begun.turn.kind, begun.turn.session) == (RowKind.ANSWER, goal.turn.session)
    assert (await put(rig, begun, lane=OTHER_LANE)).state is State.ANSWERED


async def test_a_card_that_was_being_sent_when_its_chat_moved_is_sent_again(rig: Rig) -> None:
    begun = await working(rig)
    await put(rig, begun)
    await park(rig, begun)
    out = await rig.store.next_outgoing(LANE, now=NOW)
    assert out is not None
    assert isinstance(out.what, Say)
    await rig.accept(Relocation("tg:bot:moved", LANE, MOVED.key))
    await rig.store.sent(out, rig.at("old"))
    (card,) = await sent(rig, MOVED.key)
    lost = card_of(rig.at("old").remote, out.what)
    assert isinstance(await press(rig, lost), Refused)
    assert isinstance(await press(rig, card, at=MOVED), Handled)


async def test_nothing_of_a_goal_runs_while_its_question_is_open(rig: Rig) -> None:
    goal = await rig.goal()
    await put(rig, goal)
    assert isinstance(await park(rig, goal), Rest)
    (card,) = await sent(rig)
    await start(rig)
    assert await rig.begin() == Rest(None)
    assert await rig.store.open_judgement(LANE) is None
    await press(rig, card)
    begun = await rig.turn()
    assert begun.turn.id == goal.turn.id
    assert await rig.store.apply(ref(begun), "call-1")
    await rig.answer(begun)
    assert (await rig.asked()).id


async def test_what_is_asked_lives_on_its_own_in_each_lane(rig: Rig) -> None:
    card = await parked(rig)
    begun = await working(rig, OTHER_LANE)
    await put(rig, begun, lane=OTHER_LANE)
    await rig.accept(rig.order("/stop", lane=OTHER_LANE))
    assert await states(rig) == {"E1": "open"}
    assert isinstance(await press(rig, card, by=OWNER), Handled)
    assert isinstance(await rig.begin(), Begun)
