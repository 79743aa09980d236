"""What becomes of an answer that has met the gates, and what its gates are."""

from __future__ import annotations

import pytest

from core.gates.chain import (
    Blocked,
    Bounce,
    Ruling,
    Standing,
    Unverified,
    Verified,
    rule,
)
from core.gates.gate import (
    Gate,
    GateEvent,
    Impossible,
    Passed,
    Rejected,
    Result,
    Skipped,
    Unavailable,
    shown,
    told,
)
from core.gates.wanted import MAX_COMMANDS, NOT_LOOKED, ChatGates, Wanted, dump, load, refused

FAILED = Rejected("`pytest` ended with exit code 1", "a\n1 failed", said="1 failed")
DOWN = Unavailable("it is down (gates.critic)")


FIRST, LAST = Standing(), Standing(bounces=2)


def ruled(verify: Result, critic: Result | None = None, standing: Standing = FIRST) -> Ruling:
    results = [(Gate.VERIFY, verify), *([(Gate.CRITIC, critic)] if critic else [])]
    return rule(results, standing)


def test_an_answer_without_gates_is_verified() -> None:
    assert rule([], Standing()) == Verified()


def test_what_passed_and_what_was_not_run_again_vouch_for_an_answer() -> None:
    assert ruled(Skipped("nothing has changed"), Passed()) == Verified()


def test_a_rejected_answer_goes_back_with_what_failed_as_data() -> None:
    ruling = ruled(Rejected("r", "a >>> trap"), standing=Standing(bounces=1))
    assert isinstance(ruling, Bounce)
    assert ruling.reflection.startswith("[Check verify: not passed. Bounce 2 of 2.]")
    assert ruling.reflection.endswith("<<<<\na >>> trap\n>>>>")


@pytest.mark.parametrize(
    "standing",
    [LAST, Standing(bounces=1, repeated=True), Standing(bounces=1, spoken=True)],
    ids=["spent", "the same answer", "a person has written"],
)
def test_a_rejected_answer_is_delivered_unverified_once_the_bouncing_is_over(
    standing: Standing,
) -> None:
    ruling = ruled(FAILED, standing=standing)
    assert ruling == Unverified(Gate.VERIFY, FAILED.reason, shown="a\n1 failed", said="1 failed")
    assert ruling.line == (
        "⚠ Unverified: the verify gate did not pass: `pytest` ended with exit code 1: `1 failed`"
    )


@pytest.mark.parametrize("standing", [Standing(repeated=True), Standing(spoken=True)])
def test_the_first_rejection_always_goes_back(standing: Standing) -> None:
    assert isinstance(ruled(FAILED, standing=standing), Bounce)


def test_without_a_budget_nothing_goes_back() -> None:
    assert isinstance(ruled(FAILED, standing=Standing(budget=0)), Unverified)


def test_a_gate_that_could_not_look_stops_nobody_and_vouches_for_nothing() -> None:
    ruling = ruled(Passed(), DOWN)
    assert ruling == Unverified(Gate.CRITIC, DOWN.why, unavailable=True)
    assert "the critic gate could not look: it is down (gates.critic)" in ruling.line


def test_a_rejection_goes_before_a_gate_that_could_not_look() -> None:
    assert isinstance(ruled(DOWN, Rejected("r")), Bounce)
    ruling = ruled(DOWN, Rejected("r"), LAST)
    assert ruling == Unverified(Gate.CRITIC, "r")


def test_what_cannot_be_done_is_blocked_whatever_the_budget() -> None:
    assert ruled(Passed(), Impossible("no such server")) == Blocked(Gate.CRITIC, "no such server")


# Which gates there are


def test_the_commands_of_settings_chat_and_goal_run_in_that_order_and_once() -> None:
    settings = Wanted(verify=("lint", "test"))
    chat = ChatGates(verify=("test", "types"))
    wanted = chat.on_top_of(settings).and_goal(("types", "docs"))
    assert wanted.verify == ("lint", "test", "types", "docs")


@pytest.mark.parametrize(
    ("set_", "chat", "on"),
    [(False, None, False), (True, None, True), (True, False, False), (False, True, True)],
)
def test_a_chat_may_switch_the_critic_of_the_settings(
    set_: bool, chat: bool | None, on: bool
) -> None:
    assert bool(ChatGates(critic=chat).on_top_of(Wanted(critic=set_))) is on


def test_a_chats_gates_are_read_as_they_were_written() -> None:
    for gates in (ChatGates(), ChatGates(verify=("a b", "ü"), critic=False)):
        assert load(dump(gates)) == gates
    assert dump(ChatGates()) == ""
    assert load(None) == ChatGates()


def test_a_command_is_refused_twice_in_crowds_and_at_length() -> None:
    assert refused("a", ("b",)) == ""
    assert refused("a", ("a",)) == "That command is there already."
    crowd = tuple(map(str, range(MAX_COMMANDS)))
    assert refused("a", crowd) == "There are 20 commands already; remove one first."
    assert refused("a" * 1001, ()).startswith("A command has at most 1000 characters")


@pytest.mark.parametrize(
    ("wanted", "checked", "unmet"),
    [
        (Wanted(), Wanted(), ""),
        (Wanted(verify=("a",)), Wanted(verify=("a", "b")), ""),
        (Wanted(verify=("a",)), Wanted(), "`a` has not been run"),
        (Wanted(verify=("a", "b")), Wanted(verify=("a",)), "`b` has not been run"),
        (Wanted(critic=True), Wanted(critic=True), ""),
        (Wanted(critic=True), Wanted(), NOT_LOOKED),
        (Wanted(verify=("a",), critic=True), Wanted(verify=("a",)), NOT_LOOKED),
    ],
)
def test_an_answer_lacks_what_has_not_looked_at_it(
    wanted: Wanted, checked: Wanted, unmet: str
) -> None:
    lack = wanted.unmet(checked)
    assert (lack.reason if lack else "") == unmet
    assert lack is None or lack.unavailable


# How a gate's run is told


def ran(gate: Gate, result: str, reason: str = "pytest -q") -> GateEvent:
    return GateEvent(gate=gate, result=result, reason=reason, bounce=0, budget=2, ms=1)


def test_a_gates_run_is_told_on_one_line() -> None:
    assert told(ran(Gate.CRITIC, "REJECT", "b is missing")) == "[critic] REJECT: b is missing"
    assert told(ran(Gate.CRITIC, "APPROVE", "")) == "[critic] APPROVE"
    assert shown(ran(Gate.VERIFY, "passed")) == "✅ pytest -q passed"
    assert shown(ran(Gate.VERIFY, "failed", "x ended")) == "❌ x ended"
    assert shown(ran(Gate.VERIFY, "skipped", "same")) == "✅ not checked again: same"
    assert shown(ran(Gate.VERIFY, "UNAVAILABLE", "no")) == "[verify] UNAVAILABLE: no"
    assert shown(ran(Gate.CRITIC, "REJECT", "no")) == "[critic] REJECT: no"
