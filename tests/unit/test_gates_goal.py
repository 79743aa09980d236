"""What the gates' word does to a goal, in its pure machine and through the commands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.commands import Invocation
from core.gates.chain import Blocked, Unverified
from core.gates.gate import Gate
from core.gates.wanted import ChatGates, Wanted, gates_key
from core.goals import codec
from core.goals.contract import AddGate, ListGates, Misread, RemoveGate, SetGoal, read_goal
from core.goals.events import (
    Announce,
    Continue,
    GatesChanged,
    GoalEffect,
    GoalResumed,
    GoalSet,
    Judged,
    TurnFinished,
    Verdict,
    Word,
)
from core.goals.goal import Goal, GoalStatus, Slot
from core.goals.machine import advance
from core.messages import Principal, Role, SessionId, TurnId
from core.sessions.control import obey
from core.sessions.facts import House, Order
from core.sessions.lane import Lane, Post, Remember
from tests.fakes.no_facts import KEY, NoFacts

ANNA = Principal("1", "Anna", Role.OWNER)
FAILED = Unverified(
    Gate.VERIFY, "`test` ended with exit code 1", shown="1 failed", said="1 failed"
)
DOWN = Unverified(Gate.CRITIC, "it is down (gates.critic)", unavailable=True)
DONE = Verdict(done=True, reason="all is there")


def fresh() -> Slot:
    return advance(Slot(), GoalSet(id=1, text="write it", by=ANNA))[0]


def ended(slot: Slot, turn: int, ruling: Unverified | Blocked | None = None) -> Slot:
    event = TurnFinished(
        turn=TurnId(turn), of_goal=1, seconds=1.0, answer=f"{turn}", ruling=ruling
    )
    return advance(slot, event)[0]


def judged(slot: Slot, word: Word = DONE) -> tuple[Slot, tuple[GoalEffect, ...]]:
    asked = goal(slot).judgement
    assert asked is not None
    return advance(slot, Judged(1, slot.generation, asked.id, word, 0.0))


def goal(slot: Slot) -> Goal:
    assert slot.goal is not None
    return slot.goal


def lines(effects: tuple[GoalEffect, ...]) -> list[str]:
    return [effect.text for effect in effects if isinstance(effect, Announce)]


def test_a_rejected_turn_settles_its_judgement_whatever_the_word() -> None:
    slot = ended(fresh(), 1, FAILED)
    asked = goal(slot).judgement
    assert asked is not None
    assert asked.settled
    slot, effects = judged(slot)
    reason = "the verify gate did not pass: `test` ended with exit code 1"
    assert lines(effects) == [f"↻ Continuing toward goal (1/20): {reason}"]
    assert Continue(1, reason, "1 failed") in effects
    assert goal(slot).status is GoalStatus.ACTIVE


def test_a_later_turn_that_passed_takes_the_rejection_away() -> None:
    slot = ended(ended(fresh(), 1, FAILED), 2)
    asked = goal(slot).judgement
    assert asked is not None
    assert (asked.turns, asked.ruling) == ((1, 2), None)
    assert goal(judged(slot)[0]).status is GoalStatus.DONE


def test_what_nobody_can_do_blocks_the_goal() -> None:
    slot, effects = judged(ended(fresh(), 1, Blocked(Gate.CRITIC, "no server")))
    assert goal(slot).status is GoalStatus.BLOCKED
    assert lines(effects)[0].startswith("⛔ Goal blocked: no server.")


def test_done_does_not_count_where_a_gate_could_not_look() -> None:
    slot, effects = judged(ended(fresh(), 1, DOWN))
    assert goal(slot).status is GoalStatus.ACTIVE
    why = "it may be done, but the critic gate could not look: it is down (gates.critic)"
    assert goal(slot).reason == why
    assert lines(effects) == [f"↻ Continuing toward goal (1/20): {why}"]


def test_a_judge_still_says_what_is_missing_or_that_it_is_blocked() -> None:
    slot, _ = judged(ended(fresh(), 1, DOWN), Verdict(done=False, reason="b is missing"))
    assert goal(slot).reason == "b is missing"
    blocked = Verdict(done=False, reason="no key", blocked=True)
    assert goal(judged(ended(slot, 2, DOWN), blocked)[0]).status is GoalStatus.BLOCKED


def test_three_turns_in_a_row_that_no_gate_could_look_at_pause_the_goal() -> None:
    slot = fresh()
    for turn in (1, 2):
        slot, _ = judged(ended(slot, turn, DOWN))
    slot, effects = judged(ended(slot, 3, DOWN))
    assert goal(slot).status is GoalStatus.PAUSED
    assert lines(effects) == [
        "⏸ Goal paused: the critic gate could not look 3 times in a row (it is down "
        "(gates.critic)). Mend that or change gates.critic, then /goal resume."
    ]
    slot, _ = advance(slot, GoalResumed(ANNA, idle=True))
    assert goal(slot).unlooked == 0


def test_a_turn_that_a_gate_has_looked_at_begins_the_row_anew() -> None:
    slot = fresh()
    rulings = (DOWN, DOWN, FAILED, DOWN, DOWN)
    for turn, ruling in enumerate(rulings, 1):
        slot, _ = judged(ended(slot, turn, ruling))
    assert goal(slot).status is GoalStatus.ACTIVE
    assert goal(slot).unlooked == 2


def test_rejected_turns_that_stall_pause_the_goal() -> None:
    slot = fresh()
    for turn in (1, 2, 3):
        event = TurnFinished(
            turn=TurnId(turn), of_goal=1, seconds=1.0, answer="same", idle=True, ruling=FAILED
        )
        slot, effects = judged(advance(slot, event)[0])
    assert goal(slot).status is GoalStatus.PAUSED
    assert "3 turns in a row gave the same answer" in lines(effects)[0]


def test_a_gate_that_is_added_while_the_judge_is_asked_has_not_looked() -> None:
    slot = ended(advance(fresh(), GatesChanged(("lint",)))[0], 1)
    asked = goal(advance(slot, GatesChanged(("lint", "test")))[0]).judgement
    assert asked is not None
    assert asked.ruling == Unverified(Gate.VERIFY, "`test` has not been run", unavailable=True)
    fewer = goal(advance(slot, GatesChanged(()))[0]).judgement
    assert fewer is not None
    assert fewer.ruling is None


@pytest.mark.parametrize("ruling", [None, FAILED, DOWN, Blocked(Gate.CRITIC, "no server")])
def test_a_goal_with_gates_and_a_ruling_is_read_as_it_was_written(
    ruling: Unverified | Blocked | None,
) -> None:
    slot = ended(advance(fresh(), GatesChanged(("a", "b")))[0], 1, ruling)
    assert codec.load(codec.dump(slot)) == slot


def test_a_goal_that_was_kept_before_there_were_gates_can_be_read() -> None:
    slot = ended(fresh(), 1)
    text = codec.dump(slot)
    for key in ('"gates": [], ', '"unlooked": 0, ', ', "ruling": null'):
        assert key in text
        text = text.replace(key, "")
    assert codec.load(text) == slot


# The commands


@pytest.mark.parametrize(
    ("argument", "command"),
    [
        ("gate add pytest -q", AddGate("pytest -q")),
        ("gate  ADD  make lint\n", AddGate("make lint")),
        ("gate", ListGates()),
        ("gate list", ListGates()),
        ("gate remove 2", RemoveGate(2)),
        ("gate the backlog", SetGoal("gate the backlog")),
    ],
)
def test_a_goals_gates_are_read_from_a_line(argument: str, command: object) -> None:
    assert read_goal(argument) == command


@pytest.mark.parametrize("argument", ["gate add", "gate remove"])
def test_half_a_line_about_gates_says_what_would_fit(argument: str) -> None:
    assert read_goal(argument) == Misread(
        "Usage: /goal gate add <command>, /goal gate list, /goal gate remove N."
    )


def said(line: str, facts: NoFacts, role: Role = Role.OWNER) -> tuple[list[str], list[Remember]]:
    """What a command answers, and what it keeps."""
    name, _, argument = line.partition(" ")
    by = replace(ANNA, role=role)
    lane = Lane(key=KEY, session=SessionId(1))
    _, effects = obey(lane, Order(seq=1, by=by, line=Invocation(name, argument), now=0.0), facts)
    posts = [effect.text for effect in effects if isinstance(effect, Post)]
    return posts, [effect for effect in effects if isinstance(effect, Remember)]


CONFIGURED = NoFacts(house=House(gates=Wanted(verify=("lint",))))


def test_verify_lists_the_configurations_and_the_chats_own() -> None:
    assert said("verify", NoFacts())[0] == [
        "No commands are run here. An owner can add one with /verify add <command>."
    ]
    facts = replace(CONFIGURED, gates=ChatGates(verify=("test",)))
    assert said("verify list", facts, Role.MEMBER)[0][0].split("\n")[1:] == [
        "· lint (gates.verify of the configuration)",
        "1. test",
    ]


def test_verify_adds_and_removes_the_chats_own() -> None:
    _, [kept] = said("verify add pytest -q", CONFIGURED)
    assert kept == Remember(gates_key(KEY), '{"verify": ["pytest -q"], "critic": null}')
    facts = replace(CONFIGURED, gates=ChatGates(verify=("test",)))
    assert said("verify remove 1", facts)[1] == [Remember(gates_key(KEY), "")]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("verify add", "Usage: /verify add <command>, /verify list, /verify remove N."),
        ("verify remove x", "Usage: /verify add <command>, /verify list, /verify remove N."),
        ("verify remove 0", "There is no command 0 of this chat."),
        ("verify add lint", "The configuration has that command already."),
        ("verify add test", "That command is there already."),
        ("critic maybe", "Usage: /critic on, /critic off."),
    ],
)
def test_what_cannot_be_done_says_what_can(line: str, answer: str) -> None:
    facts = replace(CONFIGURED, gates=ChatGates(verify=("test",)))
    posts, kept = said(line, facts)
    assert posts[0].startswith(answer)
    assert kept == []


@pytest.mark.parametrize("line", ["verify add x", "verify remove 1", "critic on", "critic off"])
def test_members_change_no_gates(line: str) -> None:
    posts, kept = said(line, CONFIGURED, Role.MEMBER)
    assert posts == ["Only owners may change what is checked here."]
    assert kept == []


def test_the_critic_of_a_chat_goes_over_that_of_the_configuration() -> None:
    on = NoFacts(house=House(gates=Wanted(critic=True)))
    assert said("critic", on, Role.MEMBER)[0][0].startswith("The critic is on")
    posts, [kept] = said("critic off", on)
    assert posts[0].startswith("The critic is off here.")
    assert kept == Remember(gates_key(KEY), '{"verify": [], "critic": false}')
