"""The model that recites, as `pursuit eval` uses it."""

from __future__ import annotations

from adapters.scripted_model.model import ScriptedModel
from core.ports import FailureKind, ModelFailure, Reply, Request, ToolSpec, Usage
from core.transcript import Assistant, Result, ToolCall, User

ASKED = Request(system="be brief", messages=(User("what is it"),))


async def test_it_says_its_lines_in_order_and_fails_for_good_when_they_are_spent() -> None:
    model = ScriptedModel("agent", [Reply("one"), lambda request: Reply(request.system)])
    heard: list[str] = []
    first = await model.complete(ASKED, heard.append)
    second = await model.complete(ASKED)
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert (first.text, second.text, heard, model.left) == ("one", "be brief", ["one"], 0)
    third = await model.complete(ASKED)
    assert isinstance(third, ModelFailure)
    assert third.kind is FailureKind.PERMANENT
    assert "asked 3 times" in third.message


async def test_its_tokens_are_the_words_of_all_that_it_reads_and_writes() -> None:
    call = ToolCall("c1", "run", '{"command": "ls -a"}')
    request = Request(
        system="be brief",
        messages=(User("go on"), Assistant("", (call,)), Result("c1", "three words here")),
        tools=(ToolSpec("run", "Runs it.", {"type": "object"}),),
    )
    model = ScriptedModel("agent", [Reply("", (call,))])
    said = await model.complete(request)
    assert said.usage == Usage(input_tokens=2 + 2 + 4 + 3 + 5, output_tokens=4)
    assert model.price(said.usage) == 0.0
