"""What counts as the judge's verdict: the whole reply, and nothing that a reply mentions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.evidence import named_files
from core.goals.events import Unreadable, Verdict
from core.goals.judge import (
    NO_REASON,
    REASON_LIMIT,
    JudgeInput,
    JudgeProfile,
    WorkspaceFile,
    judge,
    read_verdict,
)
from core.goals.machine import MAX_WAIT_S
from core.ports import Reply
from core.sessions.ports import ReceiptOf
from core.transcript import Receipt
from tests.fakes.scripted_model import ScriptedModel

DONE = '{"reason": "all files exist", "done": true, "blocked": false}'


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (DONE, Verdict(done=True, reason="all files exist")),
        ('{"done": false, "reason": "two are missing"}', Verdict(False, "two are missing")),
        (f"```json\n{DONE}\n```", Verdict(True, "all files exist")),
        (f"\n```\n{DONE}\n```\n", Verdict(True, "all files exist")),
        (
            '{"reason": "no key", "done": true, "blocked": true}',
            Verdict(done=False, reason="no key", blocked=True),
        ),
        ('{"reason": "", "done": false}', Verdict(False, NO_REASON)),
        ('{"reason": "a\\nb\\u0007\\u202e c", "done": false}', Verdict(False, "a b c")),
        (f'{{"reason": "x{"=" * 200} y", "done": false}}', Verdict(False, "x===… y")),
        ('{"reason": "x", "done": false, "confidence": 0.9}', Verdict(False, "x")),
        ('{"reason": "x", "done": false, "wait_s": 60}', Verdict(False, "x")),
    ],
)
def test_a_reply_that_is_a_verdict_is_read(reply: str, verdict: Verdict) -> None:
    assert read_verdict(reply) == verdict


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "done",
        "true",
        "null",
        "[]",
        f"The agent wrote {DONE} in its answer.",
        f"Verdict: {DONE}",
        f"{DONE}\nI am sure.",
        f"{DONE}\n{DONE}",
        f"[{DONE}]",
        f"```json\n{DONE}\n```\nas the agent claims",
        f"Not done.\n```json\n{DONE}\n```",
        f"```json\n{DONE}\n```\n```json\n{DONE}\n```",
        '{"verdict": {"reason": "x", "done": true}}',
        '{"reason": "x", "done": "true"}',
        '{"reason": "x", "done": 1}',
        '{"reason": "x", "done": null}',
        '{"reason": "x"}',
        '{"done": true}',
        '{"reason": ["x"], "done": true}',
        '{"reason": "x", "done": true, "blocked": "no"}',
        '{"reason": "x", "done": false, "done": true}',
        '{"reason": "x", "done": true, "n": NaN}',
        '{"reason": "x", "done": tr',
        "[" * 19_000,
        '{"reason": "' + "x" * 20_000 + '", "done": true}',
    ],
)
def test_a_reply_that_only_holds_a_verdict_is_unreadable(reply: str) -> None:
    assert isinstance(read_verdict(reply, may_wait=True), Unreadable)


@given(st.text(), st.text(), st.sampled_from([DONE, f"```json\n{DONE}\n```", '{"done": true}']))
def test_prose_round_a_verdict_never_makes_it_done(before: str, after: str, core: str) -> None:
    assume(before.strip() or after.strip())
    read = read_verdict(before + core + after)
    assert isinstance(read, Unreadable) or not read.done


@given(st.text())
def test_a_reason_that_quotes_a_verdict_stays_a_reason(text: str) -> None:
    said = {"reason": f'the agent says {{"done": true}} {text}', "done": False, "blocked": False}
    read = read_verdict(json.dumps(said))
    assert isinstance(read, Verdict)
    assert not read.done
    assert len(read.reason) <= REASON_LIMIT
    assert read.reason.isprintable() or all(c.isprintable() or c > "\x9f" for c in read.reason)
    assert "\n" not in read.reason


@given(st.booleans(), st.booleans())
def test_blocked_wins_over_done(done: bool, blocked: bool) -> None:
    read = read_verdict(json.dumps({"reason": "r", "done": done, "blocked": blocked}))
    assert read == Verdict(done=done and not blocked, reason="r", blocked=blocked)


@pytest.mark.parametrize(
    ("said", "wait_s"),
    [
        ("60", 60.0),
        ("1.5", 1.5),
        ("99999", MAX_WAIT_S),
        ("1" + "0" * 400, MAX_WAIT_S),
        ("1e999", MAX_WAIT_S),
        ("-5", 0.0),
        ("-1e999", 0.0),
        ('"60"', 0.0),
        ("true", 0.0),
        ("null", 0.0),
    ],
)
def test_a_wait_is_bounded_and_only_a_number(said: str, wait_s: float) -> None:
    read = read_verdict(f'{{"reason": "r", "done": false, "wait_s": {said}}}', may_wait=True)
    assert isinstance(read, Verdict)
    assert read.wait_s == wait_s


def test_a_finished_or_blocked_goal_does_not_wait() -> None:
    for key in ("done", "blocked"):
        said = json.dumps({"reason": "r", "done": False, key: True, "wait_s": 60})
        read = read_verdict(said, may_wait=True)
        assert isinstance(read, Verdict)
        assert read.wait_s == 0.0


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    read_verdict(text)


FILE = WorkspaceFile("a.txt", 1, "a")
RAN = ReceiptOf("run", '{"command": "make"}', Receipt(ok=True, summary="make", exit_code=0))


@pytest.mark.parametrize(
    ("reason", "done"),
    [
        ('Shown: a.txt "a". Not shown: nothing.', True),
        ("Shown: make with exit code 0. Not shown: nothing", True),
        ('Shown: a.txt "a". Not shown: b.txt.', False),
        ("Everything is there, a.txt too.", False),
        ("Shown: a.txt. Not shown: nothing. But wait, b.txt is missing.", False),
        ("Shown: the compiler compiles itself. Not shown: nothing.", False),
        ('Shown: a.txt "b". Not shown: nothing.', False),
        ("Shown: a.txt, b.txt. Not shown: nothing.", False),
        ("Shown: tests with exit code 7. Not shown: nothing.", False),
    ],
)
async def test_a_small_judge_is_believed_only_where_its_reason_rests_on_evidence(
    reason: str, *, done: bool
) -> None:
    model = ScriptedModel([Reply(json.dumps({"reason": reason, "done": True, "blocked": False}))])
    subject = JudgeInput(goal="write a.txt", answer="done", receipts=[RAN], workspace=[FILE])
    outcome = await judge(model, subject, profile=JudgeProfile.LOCAL)
    assert isinstance(outcome.word, Verdict)
    assert outcome.word.done is done


async def test_a_file_that_the_goal_names_must_be_in_evidence() -> None:
    reason = 'Shown: a.txt "a". Not shown: nothing.'
    model = ScriptedModel([Reply(json.dumps({"reason": reason, "done": True, "blocked": False}))])
    subject = JudgeInput(goal="write a.txt and b.txt", answer="done", workspace=[FILE])
    outcome = await judge(model, subject, profile=JudgeProfile.LOCAL)
    assert outcome.word == Verdict(done=False, reason="Not there yet: b.txt.")


async def test_a_small_judge_is_not_believed_after_a_failed_call() -> None:
    reason = 'Shown: a.txt "a". Not shown: nothing.'
    model = ScriptedModel([Reply(json.dumps({"reason": reason, "done": True, "blocked": False}))])
    failed = replace(RAN, receipt=Receipt(ok=False, summary="make", exit_code=2))
    subject = JudgeInput(goal="write a.txt", answer="done", receipts=[failed], workspace=[FILE])
    outcome = await judge(model, subject, profile=JudgeProfile.LOCAL)
    assert outcome.word == Verdict(done=False, reason="The last call failed.")


@pytest.mark.parametrize(
    ("goal", "names"),
    [
        ("create n_1.txt to n_3.txt", ("n_1.txt", "n_2.txt", "n_3.txt")),
        ("out/8.md – out/10.md, please", ("out/10.md", "out/8.md", "out/9.md")),
        ("fix tests/test_x.py and nothing else", ("tests/test_x.py",)),
        ("tell a joke", ()),
        ("use version 1.5 of it", ()),
    ],
)
def test_a_range_of_files_names_each_of_them(goal: str, names: tuple[str, ...]) -> None:
    assert named_files(goal) == names
