"""The turn loop and the judge over the real SDK and a fake server that checks what it is sent."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator

import pytest

from adapters.openai.model import OpenAIModel
from adapters.openai.options import ModelOptions
from core.agent.loop import Agent, Answered, Failed, LoopOptions, Prefix, TurnResult, run_turn
from core.agent.prompts import LIMIT, NUDGE, PromptSize, system_prompt
from core.agent.steps import Folded, TurnInput
from core.goals.events import Verdict
from core.goals.judge import JudgeInput, JudgeProfile, WorkspaceFile, judge
from core.transcript import Assistant, Receipt, ToolCall, ToolResult, User
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import calls, overflow, refusal, text, verdict
from tests.fakes.openai_rig import KEY, READ, RUN, at, model_of
from tests.fakes.turn_log import MemoryTurnLog

START = TurnInput(
    turn=1,
    history=(User("hi " + "and so on " * 200), Assistant("hello")),
    inputs=(User("do it"),),
    pinned="The standing goal: do it",
)
SYSTEM = system_prompt(toolsets=("terminal", "file"), size=PromptSize.FULL)


class LengthTools:
    async def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(
            call, f"{len(call.arguments)} characters", Receipt(ok=True, summary="ok")
        )


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI(api_key=KEY) as server:
        yield server


@pytest.fixture
async def model(fake: FakeOpenAI) -> AsyncIterator[OpenAIModel]:
    async with model_of(at(fake.base_url)) as made:
        yield made


async def turn(fake: FakeOpenAI, model: OpenAIModel, log: MemoryTurnLog, steps: int) -> TurnResult:
    """A turn whose summaries are written by a model that the fake plays as "critic"."""
    named = ModelOptions(name="c", model="critic")
    async with model_of(at(fake.base_url), named) as compactor:
        agent = Agent(
            prefix=Prefix(SYSTEM, (RUN, READ)),
            model=model,
            compactor=compactor,
            options=LoopOptions(max_steps=steps),
        )
        return await run_turn(
            START, agent=agent, tools=LengthTools(), log=log, emit=lambda _: None
        )


async def test_every_request_of_a_turn_begins_with_the_bytes_of_the_one_before(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    for n in range(8):
        fake.script("main", calls(("run", {"c": f"echo {n}"}), ("read", {"p": f"{n}.txt"})))
    fake.script("main", text(""), text("done"))
    outcome = await turn(fake, model, MemoryTurnLog(), 8)
    assert isinstance(outcome, Answered)
    assert outcome.text == "done"
    assert len(outcome.results) == 16
    seen = fake.of("main")
    assert [s.said() for s in seen[-2:]] == [LIMIT, NUDGE]
    for before, after in itertools.pairwise(seen):
        assert json.dumps(after.body["tools"]) == json.dumps(before.body["tools"])
        old, new = (json.dumps(s.messages()) for s in (before, after))
        assert new.startswith(old.removesuffix("]"))


async def test_an_overflow_is_folded_and_the_turn_goes_on(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.script("main", calls(("run", {"c": "ls"})), overflow(), text("done"))
    fake.script("critic", text("They said hello."))
    log = MemoryTurnLog()
    outcome = await turn(fake, model, log, 8)
    assert isinstance(outcome, Answered)
    [folded] = [write for write in log.writes if isinstance(write, Folded)]
    last = fake.of("main")[-1].messages()
    assert [message["role"] for message in last] == ["system", "user"]
    assert last[1]["content"] == folded.summary
    for kept in ("The standing goal: do it", "do it", "They said hello."):
        assert kept in folded.summary


async def test_a_refused_key_ends_the_turn_with_a_sentence(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.script("main", refusal(401, "Incorrect API key provided.", code="invalid_api_key"))
    outcome = await turn(fake, model, MemoryTurnLog(), 8)
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert len(fake.of("main")) == 1


@pytest.mark.parametrize("profile", list(JudgeProfile))
async def test_the_judge_asks_once_with_a_schema_and_reads_the_verdict(
    fake: FakeOpenAI, model: OpenAIModel, profile: JudgeProfile
) -> None:
    reason = "Shown: b.txt is blue. Not shown: nothing."
    seen = WorkspaceFile("b.txt", 4, "blue")
    fake.script("judge", verdict(done=True, reason=reason))
    subject = JudgeInput(goal="make it blue", answer="It is blue.", workspace=[seen])
    outcome = await judge(model, subject, profile=profile, timeout_s=5)
    assert outcome.word == Verdict(done=True, reason=reason)
    assert outcome.usage.output_tokens > 0
    [asked] = fake.of("judge")
    assert "make it blue" in asked.said()
