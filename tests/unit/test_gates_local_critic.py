"""The local critic: its APPROVE counts only when its own reason rests on the calls."""

from __future__ import annotations

import json

import pytest

from core.evidence import seen_in
from core.gates.critic import FULL, LOCAL, CriticInput, request, verdict
from core.gates.gate import Impossible, Passed, Rejected
from core.transcript import Receipt, ToolCall, ToolResult, User

TASK = "write a.txt with the word hello"
GOOD = 'Shown: a.txt "hello". Not shown: nothing.'


def wrote(path: str = "a.txt", *, ok: bool = True) -> ToolResult:
    call = ToolCall("c1", "write_file", json.dumps({"path": path, "content": "hello"}))
    receipt = Receipt(ok=ok, summary="x", path=path if ok else "", size=5)
    return ToolResult(call, f"Wrote {path}." if ok else "The disk is full.", receipt)


def ran(exit_code: int) -> ToolResult:
    call = ToolCall("c2", "run", '{"command": "make"}')
    return ToolResult(call, "", Receipt(ok=exit_code == 0, summary="x", exit_code=exit_code))


def given(*results: ToolResult, task: str = TASK, answer: str = "Done.") -> CriticInput:
    return CriticInput(task=task, answer=answer, receipts=seen_in(results))


def reply(reason: str, word: str = "APPROVE") -> str:
    return json.dumps({"reason": reason, "verdict": word})


def test_an_approve_that_quotes_the_calls_passes() -> None:
    assert verdict(reply(GOOD), given(wrote()), LOCAL) == Passed(GOOD)


@pytest.mark.parametrize(
    ("results", "reason", "why"),
    [
        ((), GOOD, "Not there yet: a.txt."),
        ((wrote("b.txt"),), GOOD, "Not there yet: a.txt."),
        ((wrote(),), 'Shown: a.txt "bye". Not shown: nothing.', "No tool call or file proves it"),
        ((wrote(),), "Shown: all of it. Not shown: nothing.", "No tool call or file proves it"),
        ((wrote(),), 'Shown: a.txt "hello". Not shown: a test.', "No tool call or file proves it"),
        ((wrote(),), "It is done.", "No tool call or file proves it"),
        ((wrote(), ran(2)), GOOD, "The last call failed."),
    ],
)
def test_any_other_approve_is_a_rejection_that_says_why(
    results: tuple[ToolResult, ...], reason: str, why: str
) -> None:
    found = verdict(reply(reason), given(*results), LOCAL)
    assert isinstance(found, Rejected)
    assert found.reason.startswith(why)


def test_a_task_of_words_needs_no_call() -> None:
    asked = given(task="what is the capital of France?", answer="Paris.")
    good = 'Shown: "Paris". Not shown: nothing.'
    assert verdict(reply(good), asked, LOCAL) == Passed(good)
    found = verdict(reply("Shown: Paris. Not shown: why."), asked, LOCAL)
    assert found == Rejected("Not all of it is shown. (Shown: Paris. Not shown: why.)")


def test_other_words_of_it_are_taken_as_they_are() -> None:
    assert verdict(reply("no", "REJECT"), given(wrote()), LOCAL) == Rejected("no")
    assert verdict(reply("no", "IMPOSSIBLE"), given(), LOCAL) == Impossible("no")
    assert verdict(reply(GOOD, "REJECT"), given(wrote()), LOCAL) is None, "it names no fault"
    assert verdict("I cannot APPROVE", given(wrote()), LOCAL) is None


def test_another_model_is_taken_at_its_word() -> None:
    assert verdict(reply("fine"), given(), FULL) == Passed("fine")


def test_its_question_stands_behind_worked_examples() -> None:
    *examples, asked = request(given(wrote()), 1.0, LOCAL).messages
    assert isinstance(asked, User)
    assert asked.text.startswith(f"SAID <<<Done.>>>\nTASK <<<{TASK}>>>\nCALLS <<<\nwrite_file ")
    assert len(examples) % 2 == 0
    assert all(isinstance(entry, User) == (n % 2 == 0) for n, entry in enumerate(examples))
