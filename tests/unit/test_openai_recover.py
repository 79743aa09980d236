"""Tool calls that a model wrote as text: taken where the whole text is one, and only there."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from adapters.openai.accumulate import ChatStream, Heard


def answered(text: str, tools: Sequence[str] = ("run", "read")) -> Heard:
    stream = ChatStream("7", tools)
    stream.feed({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]})
    return stream.end()


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "run", "arguments": {"c": 1}}',
        '```json\n{"name": "run", "arguments": {"c": 1}}\n```',
        '<tool_call>\n{"name": "run", "arguments": {"c": 1}}\n</tool_call>',
        '<tool_call>{"name": "run", "arguments": {"c": 1}}',
        '```\n<tool_call>{"name": "run", "parameters": {"c": 1}}</tool_call>\n```',
        ' {"type": "function", "name": "run", "arguments": "{\\"c\\": 1}"} ',
    ],
)
def test_a_call_written_as_the_whole_text_is_recovered(text: str) -> None:
    heard = answered(text)
    assert not heard.text
    assert [(call.name, json.loads(call.arguments)) for call in heard.calls] == [("run", {"c": 1})]
    assert heard.calls[0].id


@pytest.mark.parametrize(
    "text",
    [
        'Use this: {"name": "run", "arguments": {"c": 1}}',
        '{"name": "run", "arguments": {"c": 1}} now',
        '{"name": "format_disk", "arguments": {}}',
        '{"name": "run"}',
        '{"name": "run", "arguments": [1]}',
        '{"name": "run", "arguments": "ls"}',
        '{"name": "run", "arguments": {}, "age": 3}',
        '{"name": ["run"], "arguments": {}}',
        '{"name": "run", "arguments": {"c": 1}',
        '["run"]',
        "```\nls\n```",
        "",
    ],
)
def test_any_other_text_stays_text(text: str) -> None:
    heard = answered(text)
    assert (heard.text, heard.calls) == (text, ())


def test_text_is_never_a_call_where_no_tools_were_offered() -> None:
    text = '{"name": "run", "arguments": {}}'
    assert answered(text, tools=()).text == text
