"""The acceptance judge over the real SDK and HTTP: down, slow, empty, garbled, and its word."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.openai.options import ModelOptions
from adapters.workspace.options import WorkspaceOptions
from core.delegation.acceptance.criteria import parse
from core.delegation.acceptance.prompts import Delivered
from core.delegation.acceptance.verdict import Ruling, Verdict
from core.delegation.acceptance.verify import Host, examine, verify
from core.delegation.ports import Judge
from core.delegation.worker import Ranked
from core.ports import Usage
from core.sessions.ports import ReceiptOf
from core.transcript import Receipt
from tests.e2e.workspace_lane import open_lane
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Scripted, html, null_choices, refusal, server_error, text
from tests.fakes.openai_rig import KEY, at, model_of

CRITERIA = [
    {"file_exists": "a.txt"},
    "a.txt was written",
    {"command_succeeds": "grep -q blue a.txt"},
    "the answer names its colour",
]
RECEIPT = Receipt(ok=True, summary="a.txt", path="a.txt", size=5)
WORK = Delivered(
    objective="write a blue a.txt",
    output="a.txt is written, in blue. PASS",
    receipts=(ReceiptOf("write_file", '{"path": "a.txt"}', RECEIPT),),
    model="fake/child",
)


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI(api_key=KEY) as server:
        yield server


def said(written: str = "pass", named: str = "pass", quote: str = "wrote a.txt") -> Scripted:
    words = [
        {"n": 2, "quote": quote, "why": "a receipt", "result": written},
        {"n": 4, "quote": "in blue", "why": "it does", "result": named},
    ]
    return text(json.dumps({"criteria": words, "reasoning": "looked"}))


async def checked(
    folder: Path,
    base_url: str,
    *,
    work: Delivered = WORK,
    content: str = "blue",
    timeout_s: float = 10.0,
) -> tuple[Verdict, tuple[Usage, ...]]:
    """The verdict on a real workspace that holds a.txt."""
    options = ModelOptions(name="small", model="judge-1")
    async with open_lane(folder, WorkspaceOptions()) as lane, model_of(at(base_url), options) as m:
        (lane.workspace / "a.txt").write_text(content)
        host = Host(lane.tools.checks, lane.context())
        judge = Judge(m, Ranked("small", 3, "fake/judge-1"), timeout_s)
        found = await examine(parse(CRITERIA), work, host)
        return await verify(parse(CRITERIA), work, found, judge)


def results(verdict: Verdict) -> str:
    return " ".join(graded.result.value for graded in verdict.criteria)


async def test_a_pass_of_all_is_a_pass(fake: FakeOpenAI, tmp_path: Path) -> None:
    fake.script("judge", said())
    verdict, (used,) = await checked(tmp_path, fake.base_url)
    assert (verdict.verdict, verdict.error) == (Ruling.PASS, "")
    assert (verdict.judge, verdict.independent, verdict.reasoning) == ("small", True, "looked")
    assert used.output_tokens > 0
    (seen,) = fake.of("judge")
    assert seen.body["response_format"]
    assert "wrote a.txt (5 bytes)" in seen.said()


async def test_a_fail_of_the_judge_or_of_the_host_is_a_fail(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    fake.script("judge", said("fail"), said())
    verdict, _ = await checked(tmp_path / "one", fake.base_url)
    assert (verdict.verdict, results(verdict)) == (Ruling.FAIL, "pass fail pass pass")
    verdict, _ = await checked(tmp_path / "two", fake.base_url, content="red")
    assert (verdict.verdict, results(verdict)) == (Ruling.FAIL, "pass pass fail pass")
    assert verdict.criteria[2].why == "the command exited with 1"


async def test_a_doubt_or_an_invented_quote_is_unverified(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    fake.script("judge", said("unclear"), said(quote="wrote b.txt"))
    for n in range(2):
        verdict, _ = await checked(tmp_path / str(n), fake.base_url)
        assert (verdict.verdict, results(verdict)) == (
            Ruling.UNVERIFIED,
            "pass unclear pass pass",
        )


async def test_a_judge_on_the_childs_model_says_so(fake: FakeOpenAI, tmp_path: Path) -> None:
    fake.script("judge", said())
    same = replace(WORK, model="fake/judge-1")
    verdict, _ = await checked(tmp_path, fake.base_url, work=same)
    assert (verdict.verdict, verdict.independent) == (Ruling.PASS, False)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (server_error(500), "500"),
        (refusal(401, "Incorrect API key provided."), "does not accept the API key"),
        (html(), ""),
        (null_choices("x"), ""),
        (text("x", fault="drop"), ""),
    ],
)
async def test_a_judge_that_is_down_is_unverified(
    fake: FakeOpenAI, tmp_path: Path, answer: Scripted, said: str
) -> None:
    fake.default("judge", answer)
    verdict, _ = await checked(tmp_path, fake.base_url)
    assert (verdict.verdict, results(verdict)) == (Ruling.UNVERIFIED, "pass unclear pass unclear")
    assert verdict.error.startswith("the judge")
    assert said in verdict.error
    assert KEY not in json.dumps(verdict.to_json())


async def test_a_judge_where_nobody_listens_is_unverified(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        verdict, _ = await checked(tmp_path, url)
    assert verdict.verdict is Ruling.UNVERIFIED
    assert verdict.error.startswith("the judge failed: ")


async def test_a_slow_judge_is_unverified_when_its_time_is_up(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    fake.default("judge", text("late", gate="shut"))
    verdict, _ = await checked(tmp_path, fake.base_url, timeout_s=0.2)
    assert verdict.verdict is Ruling.UNVERIFIED
    assert "did not finish its answer within 0.2 s" in verdict.error
    assert fake.count == 1
    await fake.requests[0].gone.wait()


@pytest.mark.parametrize("answer", ["", "  ", "PASS", '{"verdict": "PASS"}', '{"criteria": ['])
async def test_an_empty_or_garbled_word_is_asked_for_once_more(
    fake: FakeOpenAI, tmp_path: Path, answer: str
) -> None:
    fake.script("judge", text(answer), said(), text(answer), text(answer))
    verdict, used = await checked(tmp_path / "one", fake.base_url)
    assert (verdict.verdict, len(used)) == (Ruling.PASS, 2)
    assert "Your last reply was of no use" in fake.of("judge")[1].said()
    verdict, used = await checked(tmp_path / "two", fake.base_url)
    assert (verdict.verdict, len(used)) == (Ruling.UNVERIFIED, 2)
    assert verdict.error.startswith("the judge's reply was ")
    assert fake.count == 4
