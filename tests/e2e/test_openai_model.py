"""The real SDK against the fake server: good answers in all the ways that servers send them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.openai.model import OpenAIModel
from adapters.openai.options import ModelOptions, Price
from adapters.openai.provider import Provider
from core.ports import Reply, Usage
from core.transcript import Assistant, Entry, Result, ToolCall, User
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import (
    calls,
    null_choices,
    text,
)
from tests.fakes.openai_rig import ASK, KEY, SCHEMA, at, model_of, reply


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI(api_key=KEY) as server:
        yield server


@pytest.fixture
async def model(fake: FakeOpenAI) -> AsyncIterator[OpenAIModel]:
    async with model_of(at(fake.base_url)) as made:
        yield made


async def test_an_answer_streams_and_comes_whole(fake: FakeOpenAI, model: OpenAIModel) -> None:
    fake.script("main", text("Hello there", split=4, usage=(90, 60, 3)))
    heard: list[str] = []
    outcome = await model.complete(ASK, heard.append)
    assert outcome == Reply("Hello there", (), Usage(90, 60, 3, 0.0))
    assert heard == ["Hell", "o th", "ere"]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"split": 2},
        {"split": 3, "interleaved": True},
        {"split": 3, "interleaved": True, "indexes": "none", "ids": "always"},
        {"split": 3, "indexes": "none"},
        {"split": 3, "indexes": "none", "ids": "never"},
        {"indexes": "zero"},
        {"indexes": "zero", "ids": "never"},
        {"ids": "never"},
        {"ids": "same"},
        {"finish": "stop"},
        {"text": "Let me look.", "noise": True},
        {"whole": True},
    ],
)
async def test_calls_are_the_same_however_they_are_sent(
    fake: FakeOpenAI, model: OpenAIModel, how: dict[str, object]
) -> None:
    fake.script("main", calls(("run", {"c": "ls -la"}), ("read", {"p": "/tmp/ü"}), **how))
    got = await reply(model)
    assert [(call.name, json.loads(call.arguments)) for call in got.calls] == [
        ("run", {"c": "ls -la"}),
        ("read", {"p": "/tmp/ü"}),
    ]
    assert len({call.id for call in got.calls}) == 2
    assert all(call.id for call in got.calls)
    assert got.text == how.get("text", "")


async def test_null_and_empty_chunks_are_stepped_over(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.script("main", null_choices("all is well"))
    assert (await reply(model)).text == "all is well"


async def test_an_answer_at_the_output_limit_is_marked_as_cut(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.script("main", text("and then", finish="length"))
    assert (await reply(model)).cut


async def test_a_call_written_as_text_is_a_call(fake: FakeOpenAI, model: OpenAIModel) -> None:
    fake.script("main", text('```json\n{"name": "run", "arguments": {"c": "ls"}}\n```'))
    got = await reply(model)
    assert (got.text, got.calls[0].name) == ("", "run")


async def test_usage_is_estimated_where_the_server_counts_nothing(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.script("main", text("x" * 40, silent=True))
    used = (await reply(model)).usage
    assert used.output_tokens == 10
    assert used.input_tokens > 10


async def test_a_configured_price_is_charged(fake: FakeOpenAI) -> None:
    priced = ModelOptions(name="m", model="fake", price=Price(1.0, 2.0, 0.1))
    async with model_of(at(fake.base_url), priced) as model:
        fake.script("main", text("ok", usage=(1_000, 500, 100)))
        used = (await reply(model)).usage
        assert used.cost == pytest.approx((500 * 1.0 + 500 * 0.1 + 100 * 2.0) / 1e6)
        assert model.price(used) == used.cost


async def test_a_whole_conversation_keeps_its_bytes(fake: FakeOpenAI, model: OpenAIModel) -> None:
    history: tuple[Entry, ...] = (User("list the files"),)
    fake.script("main", calls(("run", {"c": "ls"})), calls(("run", '{"c": "l')), text("Done."))
    for _ in range(2):
        got = await reply(model, replace(ASK, messages=history))
        history += (Assistant(got.text, got.calls), Result(got.calls[0].id, "a.txt"))
    assert (await reply(model, replace(ASK, messages=history))).text == "Done."
    bodies = [seen.raw.removesuffix(b"]}") for seen in fake.of("main")]
    assert bodies[1].startswith(bodies[0])
    assert bodies[2].startswith(bodies[1])


async def test_models_of_one_provider_share_its_connections(fake: FakeOpenAI) -> None:
    owner = Provider(at(fake.base_url))
    fake.default("main", text("ok"))
    models = [OpenAIModel(ModelOptions(name=name, model=name), owner) for name in "ab"]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(reply(each), name="call") for each in models * 20]
    assert {task.result().text for task in tasks} == {"ok"}
    await owner.close()


async def test_a_proxy_is_asked_for_the_model(fake: FakeOpenAI) -> None:
    fake.script("main", text("ok"))
    proxy = fake.base_url.removesuffix("/v1")
    async with model_of(replace(at("http://model.invalid/v1"), proxy=proxy)) as model:
        assert (await reply(model)).text == "ok"
    assert fake.requests[0].headers["Host"] == "model.invalid"


# Dialects


@pytest.mark.parametrize(
    "field", ["response_format", "stream_options", "temperature", "max_tokens"]
)
async def test_a_refused_field_is_never_sent_again(fake: FakeOpenAI, field: str) -> None:
    fake.refuses = {field}
    fake.default("main", text("fine"))
    fake.default("judge", text("fine"))
    async with model_of(
        at(fake.base_url), ModelOptions(name="m", model="fake", temperature=0.0)
    ) as model:
        for _ in range(2):
            assert (await reply(model, replace(ASK, schema=SCHEMA))).text == "fine"
    assert [field in seen.body for seen in fake.requests] == [True, False, False]


async def test_several_refusals_are_learnt_in_one_call(fake: FakeOpenAI) -> None:
    fake.refuses = {"response_format", "stream_options", "max_tokens"}
    fake.default("main", text("fine"))
    async with model_of(at(fake.base_url)) as model:
        assert (await reply(model, replace(ASK, schema=SCHEMA))).text == "fine"
    assert fake.count == 4


async def test_a_schema_is_sent_strict(fake: FakeOpenAI, model: OpenAIModel) -> None:
    fake.script("judge", text('{"done": true}'))
    await reply(model, replace(ASK, schema=SCHEMA))
    shape = fake.of("judge")[0].body["response_format"]
    assert shape == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
    }


# The responses API


@pytest.fixture
async def responding(fake: FakeOpenAI) -> AsyncIterator[OpenAIModel]:
    async with model_of(replace(at(fake.base_url), api_mode="responses")) as made:
        yield made


async def test_a_conversation_works_over_responses(
    fake: FakeOpenAI, responding: OpenAIModel
) -> None:
    fake.script("main", calls(("run", {"c": "ls"}), split=3), text("One file.", usage=(9, 4, 2)))
    got = await reply(responding)
    assert [(call.name, call.arguments) for call in got.calls] == [("run", '{"c": "ls"}')]
    history = (*ASK.messages, Assistant("", got.calls), Result(got.calls[0].id, "a.txt"))
    heard: list[str] = []
    answer = await responding.complete(replace(ASK, messages=history), heard.append)
    assert answer == Reply("One file.", (), Usage(9, 4, 2, 0.0))
    assert heard == ["One file."]
    assert fake.requests[-1].path == "/v1/responses"


@pytest.mark.parametrize("fault", ["cut", "drop", "error", "corrupt"])
async def test_a_broken_response_is_asked_for_again(
    fake: FakeOpenAI, responding: OpenAIModel, fault: str
) -> None:
    fake.script("main", text("Hello there", fault=fault), text("Hello again"))
    assert (await reply(responding)).text == "Hello again"


async def test_a_response_at_the_output_limit_is_marked_as_cut(
    fake: FakeOpenAI, responding: OpenAIModel
) -> None:
    fake.script("main", text("and then", finish="length"))
    assert (await reply(responding)).cut


async def test_echoed_calls_stay_valid_for_a_strict_server(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    broken = ToolCall("a", "run", '{"c": "l')
    history = (User("hi"), Assistant("", (broken,)), Result("a", "broken arguments"))
    fake.script("main", text("ok"))
    assert (await reply(model, replace(ASK, messages=history))).text == "ok"
