"""The repeat guard, call ids and the system prompt: pure functions of the agent."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from core.agent import guard, prompts
from core.agent.prompts import PromptSize, system_prompt
from core.ports import Reply
from core.transcript import Assistant, Entry, Receipt, Result, ToolCall, ToolResult, User

names = st.sampled_from(["run", "read"])
arguments = st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), max_size=2)
made = st.builds(lambda name, args: ToolCall("c", name, json.dumps(args)), names, arguments)


def ended(call: ToolCall, text: str = "ok") -> ToolResult:
    return ToolResult(call, text, Receipt(ok=True, summary=call.name))


@given(st.lists(made, max_size=8), made)
def test_a_call_is_refused_as_repeated_exactly_when_the_last_two_were_the_same(
    before: list[ToolCall], call: ToolCall
) -> None:
    same = [
        (c.name, json.loads(c.arguments)) == (call.name, json.loads(call.arguments))
        for c in before[-2:]
    ]
    refused = guard.refusal([ended(c) for c in before], call, cut=False)
    repeated = refused is not None and refused.text == guard.REPEATED
    assert repeated == (same == [True, True])
    if refused is not None:
        assert not refused.receipt.ok
        assert refused.call is call


@given(st.text(max_size=30), st.booleans())
def test_no_arguments_break_the_guard(text: str, cut: bool) -> None:
    guard.refusal([ended(ToolCall("a", "run", text))] * 2, ToolCall("b", "run", text), cut=cut)


def told(script: str, *, begin: str = "") -> list[str]:
    """What becomes of the calls that `script` names: "" for one that runs, else the refusal.

    "a" is a call whose result is always "A", "a!" one whose result is new each time, "a?" one
    that a restart cut off. `begin` are calls whose fate is not told.
    """
    before: list[ToolResult] = []
    fates: list[str] = []
    for number, word in enumerate(f"{begin} {script}".split()):
        call = ToolCall(f"c{number}", "run", json.dumps({"command": word[0]}))
        refused = guard.refusal(before, call, cut=False)
        results = {"!": ended(call, f"at {number}"), "?": guard.interrupted(call)}
        before.append(refused or results.get(word[1:], ended(call, word.upper())))
        fates.append(refused.text if refused else "")
    return fates[len(begin.split()) :]


FOUR_ROUNDS = "w r " * guard.ROUNDS_ALLOWED


def test_a_turn_that_goes_round_is_told_so_at_the_fifth_time() -> None:
    assert told(FOUR_ROUNDS) == [""] * 8
    assert told("w r w", begin=FOUR_ROUNDS) == [guard.CIRCLING] * 3
    assert told("a", begin="a b c " * 4) == [guard.CIRCLING]


def test_a_change_lets_what_was_refused_be_tried_again() -> None:
    assert told("w n w r", begin=FOUR_ROUNDS) == [guard.CIRCLING, "", "", ""]


def test_a_call_of_earlier_in_the_turn_is_no_change() -> None:
    assert told("x w x r", begin=f"x {FOUR_ROUNDS}") == ["", guard.CIRCLING] * 2


def test_the_same_check_after_each_change_is_never_refused() -> None:
    assert told("a t b t c t d t e t f t") == [""] * 12


def test_a_call_whose_result_changes_may_be_made_for_ever() -> None:
    assert told("p! s " * 9) == [""] * 18
    assert told("p! s! " * 9) == [""] * 18


def test_a_result_that_a_restart_lost_counts_as_the_same() -> None:
    assert told("w r", begin="w r w r? w r w r") == [guard.CIRCLING] * 2


def asked(*texts: str) -> list[Entry]:
    return [Assistant("", ()), *(Result("c", text) for text in texts)]


def test_a_turn_is_stuck_after_replies_of_refused_calls_alone() -> None:
    futile = asked(guard.REPEATED, guard.CIRCLING) + asked(guard.CUT)
    assert guard.stuck([User("do it"), *asked("ok"), *futile * 3])
    assert not guard.stuck([User("do it"), *asked(*[guard.REPEATED] * 50)])
    assert not guard.stuck([*futile * 3, *asked("ok"), *futile])
    assert not guard.stuck([*futile * 3, *asked("ok", guard.REPEATED)])
    assert not guard.stuck([*futile * 3, *asked(guard.REPEATED, guard.INTERRUPTED)])


def test_arguments_nested_too_deep_are_compared_as_text() -> None:
    deep = "[" * 100_000
    assert guard.canonical(deep) == deep


several = st.lists(
    st.builds(lambda name: ToolCall("c", name, ""), st.sampled_from(["run", "child", "other"])),
    max_size=7,
)
keeping = st.sets(st.sampled_from(["child", "other"]))


@given(several, keeping)
def test_only_neighbours_that_keep_their_own_account_run_side_by_side(
    asked: list[ToolCall], resumable: set[str]
) -> None:
    groups = list(guard.side_by_side(asked, resumable))
    assert [call for group in groups for call in group] == asked, "none is lost or moved"
    for group in groups:
        assert len(group) == 1 or all(call.name in resumable for call in group)
    for one, other in itertools.pairwise(groups):
        assert not {one[-1].name, other[0].name} <= resumable, "they could have run together"


@given(several, keeping, st.data())
def test_what_is_left_after_a_restart_falls_into_the_same_groups(
    asked: list[ToolCall], resumable: set[str], data: st.DataObject
) -> None:
    groups = list(guard.side_by_side(asked, resumable))
    ended = data.draw(st.integers(0, len(groups)))
    left = asked[sum(map(len, groups[:ended])) :]
    assert list(guard.side_by_side(left, resumable)) == groups[ended:]


@given(st.lists(st.sampled_from(["", "a", "a_2", "call_2", "b"]), max_size=6))
def test_call_ids_become_unique_and_good_ones_stay(ids: list[str]) -> None:
    reply = guard.with_own_ids(Reply("", tuple(ToolCall(i, "run", "") for i in ids)))
    own = [call.id for call in reply.calls]
    assert len(set(own)) == len(ids)
    assert "" not in own
    assert all(name in own for name in ids if name)
    if len(set(ids)) == len(ids) and "" not in ids:
        assert own == ids


@given(
    st.lists(st.sampled_from(["", "a", "a_2", "b"]), max_size=4),
    st.sets(st.sampled_from(["a", "a_2", "call_2"])),
)
def test_call_ids_differ_from_those_of_earlier_steps(ids: list[str], earlier: set[str]) -> None:
    reply = Reply("", tuple(ToolCall(i, "run", "") for i in ids))
    own = [call.id for call in guard.with_own_ids(reply, earlier).calls]
    assert len(set(own) - earlier - {""}) == len(ids)


def test_the_persona_comes_first_and_constraints_last() -> None:
    text = system_prompt(
        persona="You are a tester.", toolsets=("file",), constraints="Never push.", facts=("F.",)
    )
    assert text.startswith("You are a tester.")
    assert text.endswith("Never push.")
    assert prompts.TOOL_ADVICE["file"] in text
    assert prompts.TOOL_ADVICE["terminal"] not in text
    assert "- F." in text


def test_the_prompt_is_the_same_every_time() -> None:
    for size in PromptSize:
        one = system_prompt(toolsets=("terminal", "file"), size=size)
        assert one == system_prompt(toolsets=("terminal", "file"), size=size)


def test_the_full_prompt_explains_the_continuation() -> None:
    assert "[Continuing toward your standing goal]" in system_prompt()


def test_the_short_prompt_leaves_room_for_the_tools() -> None:
    assert len(system_prompt(size=PromptSize.SHORT)) < 1_000
