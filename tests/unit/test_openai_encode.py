"""Requests as bytes: their shape, their stability, and what must not be echoed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.openai.dialect import Dialect, refused, without
from adapters.openai.encode import chat_body, estimated_input, responses_body, whole_arguments
from adapters.openai.options import ModelOptions
from core.ports import Request, ToolSpec
from core.transcript import Assistant, Entry, Json, Result, ToolCall, User

OPTIONS = ModelOptions(name="m", model="vendor/m", max_output_tokens=100)
TOOL = ToolSpec("run", "Run a command.", {"type": "object", "properties": {"c": {}}})
CALL = ToolCall("a", "run", '{"c": 1}')
REQUEST = Request(
    system="Be brief.",
    messages=(User("hi"), Assistant("", (CALL,)), Result("a", "ok")),
    tools=(TOOL,),
)


def body_of(request: Request, options: ModelOptions = OPTIONS) -> dict[str, object]:
    decoded = json.loads(chat_body(request, options, Dialect()))
    assert isinstance(decoded, dict)
    return decoded


def test_a_chat_request_says_all_that_the_port_knows() -> None:
    assert body_of(replace(REQUEST, max_tokens=7, temperature=0.0)) == {
        "model": "vendor/m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 7,
        "temperature": 0.0,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "run",
                    "description": "Run a command.",
                    "parameters": {"type": "object", "properties": {"c": {}}},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "run", "arguments": '{"c": 1}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ],
    }


def test_a_responses_request_says_the_same_in_its_own_words() -> None:
    schema = {"type": "object"}
    body = json.loads(responses_body(replace(REQUEST, schema=schema), OPTIONS, Dialect()))
    assert body["instructions"] == "Be brief."
    assert body["store"] is False
    assert body["max_output_tokens"] == 100
    assert body["text"]["format"]["schema"] == schema
    assert body["tools"][0]["name"] == "run"
    assert body["input"] == [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "a", "name": "run", "arguments": '{"c": 1}'},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
    ]
    assert list(body)[-1] == "input"


def test_what_is_not_configured_is_not_sent() -> None:
    body = body_of(Request(system="", messages=(User("hi"),)))
    assert not {"temperature", "tools", "response_format"} & body.keys()
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    plain = Dialect(json_schema=False, stream_options=False, max_tokens=False)
    bare = json.loads(chat_body(replace(REQUEST, schema={"type": "object"}), OPTIONS, plain))
    assert not {"stream_options", "response_format", "max_tokens"} & bare.keys()
    assert bare["max_completion_tokens"] == 100


def test_extra_parameters_win_but_not_over_the_conversation() -> None:
    extra = replace(OPTIONS, params={"max_tokens": 5, "top_p": 0.5, "messages": []})
    body = body_of(REQUEST, extra)
    assert (body["max_tokens"], body["top_p"]) == (5, 0.5)
    assert body["messages"]


def test_images_go_to_models_that_see_and_are_named_to_others() -> None:
    request = Request(system="", messages=(User("look", ("data:image/png;base64,AA",)),))
    seen = body_of(request, replace(OPTIONS, vision=True))["messages"]
    assert seen == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            ],
        }
    ]
    told = chat_body(request, OPTIONS, Dialect()).decode()
    assert "An image was left out: this model takes none." in told
    assert "base64" not in told
    pair = replace(request, messages=(User("look", ("data:a", "data:b")),))
    assert b"2 images were left out" in responses_body(pair, OPTIONS, Dialect())
    shown = json.loads(responses_body(pair, replace(OPTIONS, vision=True), Dialect()))
    assert [part["type"] for part in shown["input"][0]["content"]] == [
        "input_text",
        "input_image",
        "input_image",
    ]


@pytest.mark.parametrize(
    ("came", "echoed"),
    [
        ('{"c": 1}', '{"c": 1}'),
        ('{ "c" :1 }', '{ "c" :1 }'),
        ('{"c": "l', "{}"),
        ("[1]", "{}"),
        ('"ls"', "{}"),
        ("", "{}"),
        ("[" * 100_000, "{}"),
    ],
)
def test_only_whole_arguments_are_echoed(came: str, echoed: str) -> None:
    assert whole_arguments(came) == echoed
    history = (User("hi"), Assistant("", (ToolCall("a", "run", came),)), Result("a", "bad"))
    body = json.loads(responses_body(replace(REQUEST, messages=history), OPTIONS, Dialect()))
    assert body["input"][1]["arguments"] == echoed


def test_half_an_emoji_does_not_make_a_session_unsendable() -> None:
    assert b"a?b" in chat_body(replace(REQUEST, system="a\ud83db"), OPTIONS, Dialect())


ENTRIES: st.SearchStrategy[Entry] = st.one_of(
    st.builds(User, st.text(max_size=10)),
    st.builds(Assistant, st.text(max_size=10)),
    st.builds(
        Assistant,
        st.text(max_size=10),
        st.tuples(st.builds(ToolCall, st.text(), st.text(), st.text(max_size=10))),
    ),
    st.builds(Result, st.text(max_size=5), st.text(max_size=10)),
)


@given(st.lists(ENTRIES, min_size=1, max_size=6), st.integers(1, 6))
def test_a_request_is_a_literal_prefix_of_the_next_one(history: list[Entry], kept: int) -> None:
    for encode in (chat_body, responses_body):
        earlier = replace(REQUEST, messages=tuple(history[:kept]))
        later = replace(REQUEST, messages=tuple(history))
        start = encode(earlier, OPTIONS, Dialect()).removesuffix(b"]}")
        assert encode(later, OPTIONS, Dialect()).startswith(start)


def test_tokens_are_estimated_by_characters() -> None:
    request = Request(system="x" * 40, messages=(User("y" * 40), Assistant("", (CALL,))))
    assert estimated_input(request) == 23
    pictured = replace(request, messages=(User("y" * 40, ("data:" + "z" * 9_000,)),))
    assert estimated_input(pictured) == 1_020


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ("Unknown parameter: 'response_format'", "json_schema"),
        ("Invalid schema for text.format", "json_schema"),
        ('{"loc": ["body", "stream_options"], "type": "extra_forbidden"}', "stream_options"),
        ("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("Unsupported value: 'temperature' does not support 0", "temperature"),
        ("messages must not be empty", None),
    ],
)
def test_a_refused_field_is_known_by_its_name(words: str, field: str | None) -> None:
    assert refused(Dialect(), 400, words) == field
    if field is not None:
        rest = without(Dialect(), field)
        assert getattr(rest, field) is False
        assert refused(rest, 400, words) is None


def test_only_a_refusal_of_the_request_teaches_anything() -> None:
    assert refused(Dialect(), 500, "response_format") is None
    assert refused(Dialect(), 401, "temperature") is None


def test_an_effort_is_asked_for_in_each_apis_own_words() -> None:
    asked = replace(REQUEST, effort="high")
    assert body_of(asked)["reasoning_effort"] == "high"
    response = json.loads(responses_body(asked, OPTIONS, Dialect()))
    assert response["reasoning"] == {"effort": "high"}
    assert "reasoning_effort" not in response


def test_without_an_effort_nothing_is_sent_for_it() -> None:
    assert "reasoning_effort" not in body_of(REQUEST)
    assert "reasoning" not in json.loads(responses_body(REQUEST, OPTIONS, Dialect()))
    assert "reasoning_effort" not in body_of(replace(REQUEST, effort="")), "the model's own"


@pytest.mark.parametrize("params", [{"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}])
def test_a_models_own_words_for_its_effort_win(params: dict[str, Json]) -> None:
    options = replace(OPTIONS, params=params)
    asked = replace(REQUEST, effort="high")
    for body in (chat_body(asked, options, Dialect()), responses_body(asked, options, Dialect())):
        sent = json.loads(body)
        assert {key: sent[key] for key in sent if key.startswith("reasoning")} == params


@pytest.mark.parametrize(
    "words",
    [
        "Unrecognized request argument supplied: reasoning_effort",
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.",
    ],
)
def test_a_refused_effort_is_left_out(words: str) -> None:
    assert refused(Dialect(), 400, words) == "effort"
    without_it = without(Dialect(), "effort")
    assert refused(without_it, 400, words) is None
    asked = replace(REQUEST, effort="high")
    assert chat_body(asked, OPTIONS, without_it) == chat_body(REQUEST, OPTIONS, Dialect())
