"""How long a judge is waited for, and what people read when it gave no word."""

from __future__ import annotations

from core.judging import PATIENCE_S, Silence, reply_of
from core.ports import FailureKind, ModelFailure, Reply, Request, Usage
from tests.fakes.scripted_model import Held, Line, ScriptedModel, says


async def waited_for(line: Line, timeout_s: float, patience_s: float) -> Reply | Silence:
    call = ScriptedModel([line]).complete(Request(system="", messages=()))
    return await reply_of(call, timeout_s, patience_s)


async def test_a_judge_that_is_too_late_is_said_to_have_had_its_own_time_and_its_wait() -> None:
    said = await waited_for(Held(says("never")), 30.0, -29.99)
    assert isinstance(said, Silence)
    assert said.why.startswith("the judge gave no verdict in time (30 s, and ")
    assert said.usage == Usage()
    said = await waited_for(Held(says("never")), 0.01 - PATIENCE_S, PATIENCE_S)
    assert isinstance(said, Silence)
    assert said.why.endswith(" s, and 60 minutes of waiting for its turn)")


async def test_a_judge_that_fails_is_quoted_on_one_line_with_what_it_used() -> None:
    failure = ModelFailure(FailureKind.TRANSIENT, "503 from\nthe provider", usage=Usage(3))
    said = await waited_for(failure, 30.0, 1.0)
    assert said == Silence("the judge failed: 503 from the provider", Usage(3))


async def test_its_reply_is_given_as_it_is() -> None:
    said = await waited_for(says("yes"), 30.0, 1.0)
    assert isinstance(said, Reply)
    assert said.text == "yes"
