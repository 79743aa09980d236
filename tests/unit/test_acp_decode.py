"""A runner's messages as values, the hostile and the newer ones too."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.acp import decode
from adapters.acp.asked import TITLE_CHARS, Told
from adapters.acp.decode import Called, Planned, Said


def seen(**update: object) -> object:
    return decode.update({"sessionId": "s", "update": update}, "s")


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b"\xff\xfe",
        b"42",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b"1" * 5_000,
        b'{"id": [1], "result": 1}',
        b'{"id": 1, "error": "no object"}',
        b'{"method": 3}',
    ],
)
def test_a_line_that_is_no_message_is_none(line: bytes) -> None:
    assert decode.message(line) is None


def test_requests_notifications_and_answers_are_messages() -> None:
    for text in ('{"id": 1, "method": "a"}', '{"method": "a"}', '{"id": "x", "result": null}'):
        assert decode.message(text.encode()) == json.loads(text)


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda i: st.dictionaries(st.text(), i))
)
def test_no_parameters_of_an_update_raise(params: object) -> None:
    assert decode.update(params, "s") is None


def test_a_message_may_bring_text_a_link_and_an_embedded_text() -> None:
    kind = "agent_message_chunk"
    resource = {"uri": "file:///a", "text": "inside"}
    link = {"type": "resource_link", "name": "a", "uri": "file:///a"}
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    assert seen(sessionUpdate=kind, content={"type": "text", "text": "hi"}) == Said("hi")
    assert seen(sessionUpdate=kind, content={"type": "resource", "resource": resource}) == Said(
        "inside"
    )
    assert seen(sessionUpdate=kind, content=link) == Said("[a](file:///a)")
    assert seen(sessionUpdate=kind, content=image) == Said("")


def test_calls_and_plans_are_short_lines() -> None:
    call = {"toolCallId": "1", "title": "\x1b[1mA\n" + "b" * 1000}
    begun = seen(sessionUpdate="tool_call", **call)
    assert isinstance(begun, Called)
    assert (begun.begun, begun.status, len(begun.title)) == (True, "", TITLE_CHARS)
    assert seen(sessionUpdate="tool_call_update", toolCallId="1", status="failed") == Called(
        "1", "", "failed", begun=False, told=Told()
    )
    entries = [
        {"content": "a", "priority": "low", "status": "completed"},
        {"content": "b\nb", "priority": "low", "status": "in_progress"},
    ]
    assert seen(sessionUpdate="plan", entries=entries) == Planned("plan 2/2: b b")
    assert seen(sessionUpdate="plan", entries=entries[:1]) is None


def test_another_session_and_an_unknown_update_are_not_looked_at() -> None:
    content = {"type": "text", "text": "hi"}
    params = {
        "sessionId": "x",
        "update": {"sessionUpdate": "agent_message_chunk", "content": content},
    }
    assert decode.update(params, "s") is None
    assert seen(sessionUpdate="from_the_future") is None
