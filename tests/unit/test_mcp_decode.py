"""What servers list and answer, as values; whatever a server may send."""

from __future__ import annotations

import json

import mcp.types as sdk
import pytest

from adapters.mcp.clues import masked
from adapters.mcp.decode import MAX_TOOLS, clean, offers, said


def tool(name: str = "a", schema: object = None, description: str | None = None) -> sdk.Tool:
    shape = {"type": "object"} if schema is None else schema
    return sdk.Tool.model_validate(
        {"name": name, "inputSchema": shape, "description": description}, by_name=False
    )


def deep(levels: int) -> object:
    node: object = {}
    for _ in range(levels):
        node = {"not": node}
    return {"type": "object", "properties": {"a": node}}


def test_tools_come_by_name_with_their_schema_and_words() -> None:
    found = offers([tool("b"), tool("a", {}, "Do it.\x1b[31m\r\nNow.\x00")])
    assert [offer.name for offer in found.tools] == ["a", "b"]
    assert found.tools[0].description == "Do it.\nNow."
    assert found.tools[0].parameters == {"type": "object", "properties": {}}


def test_a_description_is_cut() -> None:
    (offer,) = offers([tool(description="x" * 5_000)]).tools
    assert len(offer.description) == 1_000


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "string"}, "not an object's"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "no valid JSON schema"),
        ({"type": "object", "properties": 3}, "no valid JSON schema"),
        ({"type": "object", "description": "x" * 20_001}, "more than 20000"),
        ({"type": "object", "default": float("nan")}, "no plain JSON"),
        (deep(5_000), ""),
    ],
)
def test_a_schema_that_would_spoil_the_prompt_leaves_its_tool_out(
    schema: object, why: str
) -> None:
    made = sdk.Tool.model_construct(name="bad", input_schema=schema, description="")
    found = offers([made, tool("good")])
    assert [offer.name for offer in found.tools] == ["good"]
    assert why in found.left_out["bad"]


def test_a_server_may_have_so_many_tools() -> None:
    found = offers([tool(f"t{n:03}") for n in range(MAX_TOOLS + 2)])
    assert len(found.tools) == MAX_TOOLS
    assert set(found.left_out) == {"t100", "t101"}


def test_a_name_that_is_listed_twice_is_the_firsts() -> None:
    found = offers([tool("a", description="1"), tool("a", description="2")])
    assert [offer.description for offer in found.tools] == ["1"]
    assert "a" in found.left_out


def test_arguments_are_checked_and_nothing_is_fetched_for_it() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "kind": {"enum": ["x", "y"]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    (offer,) = offers([tool(schema=schema)]).tools
    assert offer.check({"n": 1}) == []
    assert offer.check({}) == ["'n' is a required property"]
    assert offer.check({"n": 0}) == ["n: 0 is less than the minimum of 1"]
    assert "more" in offer.check({"n": 1, "more": 2})[0]
    assert len(offer.check({"n": 1, "kind": "z" * 9_000})[0]) < 200
    remote = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}
    (offer,) = offers([tool(schema=remote)]).tools
    assert offer.check({"a": 1}) == []


def test_texts_are_joined_and_cleaned() -> None:
    blocks = [{"type": "text", "text": "a\x07"}, {"type": "text", "text": "b\tc\n"}]
    result = sdk.CallToolResult.model_validate({"content": blocks, "isError": True}, by_name=False)
    assert (said(result).text, said(result).ok) == ("a\nb\tc\n", False)


def test_structured_content_shows_only_where_no_text_does() -> None:
    both = {"content": [{"type": "text", "text": "42"}], "structuredContent": {"result": 42}}
    only = {"content": [], "structuredContent": {"result": "ä"}}
    shown = [said(sdk.CallToolResult.model_validate(r, by_name=False)).text for r in (both, only)]
    assert shown == ["42", json.dumps({"result": "ä"}, ensure_ascii=False)]


def test_secrets_of_the_settings_do_not_show_in_reasons() -> None:
    assert masked("token abcdefgh of me", ["abcdefgh", "me"]) == "token [redacted] of me"
    assert clean("\x1b[1mbold\x1b[0m\x9b") == "bold"
