"""The acceptance check with the small embedded judge: it is shown less and believed less."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.delegation.acceptance.criteria import parse
from core.delegation.acceptance.prompts import Delivered
from core.delegation.acceptance.verdict import Verdict
from core.delegation.acceptance.verify import verify
from core.delegation.ports import Judge
from core.delegation.worker import Ranked
from core.ports import Reply
from core.transcript import User
from tests.fakes.scripted_model import ScriptedModel
from tests.unit.test_acceptance import ran, wrote

WORK = Delivered(
    objective="write a.txt and test it",
    output="I wrote a.txt and b.txt and ran the tests. Both names are colours.",
    receipts=(wrote("a.txt"), ran("pytest -q", 0)),
    model="p/child",
)


def small(model: ScriptedModel) -> Judge:
    return Judge(model, Ranked("local", 9, "local/m"), 60.0, small=True)


async def judged(
    criterion: str, *, calls: str = "", said: str = "", work: Delivered = WORK
) -> Verdict:
    words = [{"n": 1, "calls": calls, "said": said, "why": "w", "result": "pass"}]
    model = ScriptedModel([Reply(json.dumps({"criteria": words}))])
    verdict, _ = await verify(parse(criterion), work, (), small(model))
    return verdict


async def test_a_pass_with_a_quote_from_a_call_is_believed() -> None:
    verdict = await judged("the tests were run", calls="pytest -q")
    assert (verdict.verdict, verdict.criteria[0].quote) == ("PASS", "pytest -q")
    assert (await judged("a.txt was written", calls="wrote a.txt")).verdict == "PASS"


async def refuted(criterion: str, absent: str = "b.txt", work: Delivered = WORK) -> Verdict:
    words = [{"n": 1, "calls": "wrote a.txt", "said": "", "why": "w", "result": "pass"}]
    model = ScriptedModel([Reply(json.dumps({"criteria": words}))])
    verdict, _ = await verify(
        parse(criterion), work, (), small(model), absent=frozenset(absent.split())
    )
    return verdict


@pytest.mark.parametrize("criterion", ["b.txt was written", "the file `b.txt` exists"])
async def test_a_file_that_is_not_there_was_not_made_whatever_is_claimed(criterion: str) -> None:
    verdict = await refuted(criterion)
    assert verdict.verdict == "FAIL"
    assert verdict.criteria[0].why == "b.txt is not there, and no call of the agent speaks of it"


@pytest.mark.parametrize(
    ("criterion", "absent"),
    [
        ("b.txt was written", ""),
        ("b.txt was not written", "b.txt"),
        ("options, e.g. a seed, are written down", "e.g"),
        ("it is written in Node.js", "Node.js"),
    ],
)
async def test_nothing_else_is_refuted(criterion: str, absent: str) -> None:
    assert (await refuted(criterion, absent)).verdict != "FAIL"


async def test_a_file_that_a_call_speaks_of_anywhere_is_not_refuted() -> None:
    command = f"python3 gen.py {'--option ' * 40} > b.txt"
    work = replace(WORK, receipts=(ran(command, 0), wrote("a.txt")))
    assert (await refuted("b.txt was written", work=work)).verdict != "FAIL"


@pytest.mark.parametrize(
    ("criterion", "calls", "said"),
    [
        ("the tests were run", "", ""),
        ("the tests were run", "", "ran the tests"),
        ("the tests were run", "12 passed", ""),
    ],
)
async def test_a_claim_proves_nothing_about_the_world(
    criterion: str, calls: str, said: str
) -> None:
    assert (await judged(criterion, calls=calls, said=said)).verdict == "UNVERIFIED"


async def test_what_was_said_proves_what_was_said() -> None:
    assert (await judged("the answer names a colour", said="both names are colours")).verdict == (
        "PASS"
    )
    assert (await judged("the answer names a colour", said="red")).verdict == "UNVERIFIED"


async def test_a_call_that_failed_proves_no_success() -> None:
    failed = replace(WORK, receipts=(wrote("a.txt"), ran("pytest -q", 1)))
    for quote in ("pytest -q", "wrote a.txt"):
        assert (await judged("it works", calls=quote, work=failed)).verdict == "UNVERIFIED"
    mended = replace(WORK, receipts=(ran("pytest -q", 1), ran("make", 0)))
    assert (await judged("it works", calls="pytest -q", work=mended)).verdict == "UNVERIFIED"
    assert (await judged("it works", calls="make", work=mended)).verdict == "PASS"


async def test_its_question_has_examples_a_short_digest_and_a_schema_for_each_number() -> None:
    model = ScriptedModel([Reply("{}"), Reply("{}")])
    calls = [ran(f"c{n}", 0) for n in range(20)]
    work = replace(WORK, receipts=calls, objective="o" * 5_000)
    criteria = parse([{"file_exists": "a"}, "blue", "round"])
    verdict, used = await verify(criteria, work, (), small(model))
    assert (verdict.verdict, len(used)) == ("UNVERIFIED", 2)
    request, again = model.requests
    last = request.messages[-1]
    assert isinstance(last, User)
    assert "12 earlier calls are left out" in last.text
    assert "2. blue\n3. round" in last.text
    assert len(last.text) < 3_000
    assert len(request.messages) == len(again.messages) == 5
    assert '{"const": 2}' in json.dumps(request.schema)
    assert '{"const": 1}' not in json.dumps(request.schema)


async def test_it_is_not_asked_about_more_than_its_window_holds() -> None:
    model = ScriptedModel([])
    long = replace(WORK, output="x" * 6_001)
    verdict, _ = await verify(parse("c"), long, (), small(model))
    assert verdict.verdict == "UNVERIFIED"
    assert "6,001 characters, at most 6,000" in verdict.error
    assert model.requests == []
