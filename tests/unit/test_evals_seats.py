"""The seats in which a row is put before a model: what it is shown, and what its reply counts."""

from __future__ import annotations

import asyncio
import json

import pytest

from core.gates import critic
from core.ports import Completion, FailureKind, ModelFailure
from gateway.evals import seats
from gateway.evals.rows import Call, Row, Rows
from gateway.evals.seats import Judging, Seat, ask
from gateway.evals.words import Lack, Said, Word
from tests.fakes.scripted_model import Held, ScriptedModel, says

ROW = Row(
    id="x-00",
    rows=Rows.CHECKS,
    kind="x",
    done=True,
    task="Write a.txt with a greeting.",
    criteria=("a.txt has a greeting",),
    answer="I wrote a.txt.",
    calls=(Call(tool="run", arguments='{"command": "true"}', exit_code=0),),
    files={"a.txt": "good morning"},
)
KEY = ModelFailure(FailureKind.PERMANENT, "The key was refused.\nIt is not valid.")
APPROVE = says('{"verdict": "APPROVE", "reason": "seen"}')
DONE = says('{"reason": "seen", "done": true, "blocked": false}')


def graded(result: str, quote: str = "") -> Completion:
    """An acceptance judge's reply."""
    word = {"n": 1, "quote": quote, "why": "so it is", "result": result}
    return says(json.dumps({"criteria": [word], "reasoning": "thought"}))


async def put(seat: Seat, *script: Completion) -> tuple[Said, ScriptedModel]:
    """What comes of the row, and the model after it."""
    model = ScriptedModel(script)
    return await ask(seat, ROW, Judging(model, small=False, timeout_s=5)), model


async def test_the_critic_is_asked_once_more_after_a_reply_that_is_no_verdict() -> None:
    said, model = await put(Seat.CRITIC, says("Looks good."), APPROVE)
    assert (said, len(model.requests)) == (Said(Word.PASS), 2)


async def test_the_critic_is_asked_twice_at_most() -> None:
    said, model = await put(Seat.CRITIC, says("Looks good."), says("I APPROVE"), APPROVE)
    assert (said.lack, said.why, len(model.requests)) == (Lack.VERDICT, critic.NO_VERDICT, 2)


async def test_the_goal_judge_is_shown_the_files_of_the_workspace() -> None:
    said, model = await put(Seat.GOAL, DONE)
    assert said == Said(Word.PASS)
    (request,) = model.requests
    (shown,) = request.messages
    files = shown.text.partition("FILES in the workspace now")[2]
    assert "a.txt (12 bytes)" in files
    assert "good morning" in files


@pytest.mark.parametrize("seat", Seat)
async def test_a_call_that_fails_is_told_from_a_reply_without_a_verdict(seat: Seat) -> None:
    failed, _ = await put(seat, KEY)
    assert (failed.word, failed.lack) == (Word.UNVERIFIED, Lack.CALL)
    assert failed.why == "The key was refused. It is not valid."
    silent, _ = await put(seat, says("Hm."), says("Hm."))
    assert (silent.word, silent.lack) == (Word.UNVERIFIED, Lack.VERDICT)
    assert silent.why


@pytest.mark.parametrize("seat", [Seat.ACCEPTANCE, Seat.CRITIC])
async def test_a_second_call_that_fails_counts_as_one(seat: Seat) -> None:
    said, model = await put(seat, says("Hm."), KEY)
    assert (said.lack, len(model.requests)) == (Lack.CALL, 2)


async def test_a_pass_with_an_invented_quote_is_not_believed() -> None:
    said, _ = await put(Seat.ACCEPTANCE, graded("pass", "good evening, ladies"))
    assert (said.word, said.lack) == (Word.UNVERIFIED, Lack.BELIEF)
    assert "not in the evidence" in said.why


async def test_a_judge_that_leaves_it_open_has_given_no_verdict() -> None:
    said, _ = await put(Seat.ACCEPTANCE, graded("unclear"))
    assert (said.word, said.lack, said.why) == (Word.UNVERIFIED, Lack.VERDICT, "so it is")


async def test_a_call_that_is_cut_off_has_failed() -> None:
    model = ScriptedModel([Held(DONE)])
    heard = seats.Heard(model)
    shown = critic.CriticInput(task="", answer="")
    call = asyncio.ensure_future(heard.complete(critic.request(shown, 1)))
    await model.asked.wait()
    call.cancel()
    await asyncio.wait([call])
    assert heard.failure == seats.NO_REPLY
