"""What a runner asks leave for: whole and exact, or put to nobody."""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

import pytest
from acp.schema import PermissionOption, RequestPermissionRequest, ToolCallUpdate
from hypothesis import given
from hypothesis import strategies as st

from adapters.acp import asked
from adapters.acp.asked import CANCELLED, MOST, NO_TEXT, NOT_ONCE, NOTHING_TOLD, Told, Unaskable
from core.delegation.ports import Permission

Kind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
ALWAYS: tuple[Kind, ...] = ("allow_always", "reject_always")
ALL: tuple[Kind, ...] = ("allow_always", "allow_once", "reject_always", "reject_once")


def options(*kinds: Kind) -> list[PermissionOption]:
    return [PermissionOption(option_id=f"the {kind}", name="Yes", kind=kind) for kind in kinds]


def update(**call: object) -> ToolCallUpdate:
    return ToolCallUpdate.model_validate({"toolCallId": "1", **call})


def wants(known: Told | None = None, /, **call: object) -> Permission | Unaskable:
    """What a request with these fields comes to; `known` was told before."""
    request = RequestPermissionRequest(
        session_id="s", tool_call=update(**call), options=options(*ALL)
    )
    return asked.permission(request, known or Told())


def test_everything_that_was_told_is_exact_whatever_the_title_says() -> None:
    raw = {"description": "harmless", "command": "rm -rf /\x1b[8m hidden\n"}
    content = [{"type": "diff", "path": "/work/b", "oldText": "a\n", "newText": "x" * 10_000}]
    places = [{"path": "/work/a", "line": 3}, {"path": "/work/b"}]
    assert wants(
        title="List files", kind="execute", rawInput=raw, content=content, locations=places
    ) == Permission(
        "List files",
        "execute",
        command="rm -rf /\x1b[8m hidden\n",
        arguments='{"description": "harmless"}\n' + json.dumps(_in_order(content[0])),
        paths=("/work/a", "/work/b"),
    )


def _in_order(diff: dict[str, str]) -> dict[str, str]:
    return {key: diff[key] for key in ("path", "oldText", "newText", "type")}


def test_an_input_that_is_no_object_is_shown_as_it_is() -> None:
    assert wants(title="t", rawInput=["bash", "-c", "ls"]) == Permission(
        "t", "other", arguments='["bash", "-c", "ls"]'
    )
    assert wants(title="t", rawInput={"command": ["ls"]}) == Permission(
        "t", "other", arguments='{"command": ["ls"]}'
    )
    assert wants(title="t", rawInput=0) == Permission("t", "other", arguments="0")


def test_what_was_told_of_the_call_before_counts_unless_it_was_told_anew() -> None:
    before = asked.told(
        update(title="Build", kind="edit", rawInput={"command": "make", "n": 1}, locations=[])
    )
    assert wants(before) == Permission("Build", "edit", command="make", arguments='{"n": 1}')
    assert wants(before, kind="execute", rawInput={"m": 2}) == Permission(
        "Build", "execute", arguments='{"m": 2}'
    )
    again = before.then(asked.told(update(rawInput={"command": "ls"}))).then(Told(title="List"))
    assert wants(again) == Permission("List", "edit", command="ls")


def test_where_the_title_is_all_that_is_told_it_is_what_is_approved() -> None:
    title = "rm -rf build\x1b[8m && " + "x" * 500
    permission = wants(title=title, kind="execute", rawInput={}, content=[], locations=[])
    assert isinstance(permission, Permission)
    assert permission.arguments == title
    assert len(permission.title) == asked.TITLE_CHARS
    assert "\x1b" not in permission.title


def test_what_says_nothing_is_put_to_nobody() -> None:
    assert wants() == Unaskable("a tool call", NOTHING_TOLD)
    assert wants(kind="execute", title=" \n") == Unaskable("execute", NOTHING_TOLD)
    assert isinstance(wants(locations=[{"path": "/work/a"}]), Permission)


@pytest.mark.parametrize(
    "call",
    [
        {"rawInput": {"command": "x" * (MOST + 1)}},
        {"rawInput": {"text": "x" * MOST}},
        {"content": [{"type": "diff", "path": "/a", "newText": "x" * MOST}]},
        {"locations": [{"path": f"/a/{n}"} for n in range(MOST)]},
        {"title": "x" * (MOST + 1)},
        {"rawInput": {"command": "x" * (MOST // 2), "b": "x" * (MOST // 2)}},
    ],
)
def test_what_is_too_long_for_any_card_is_put_to_nobody(call: dict[str, object]) -> None:
    refused = wants(**{"title": "Write", **call})
    assert isinstance(refused, Unaskable)
    assert refused.why == asked.TOO_LONG


def test_what_is_nested_too_deeply_or_is_no_text_is_put_to_nobody() -> None:
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    too_deep = asked.told(ToolCallUpdate.model_construct(tool_call_id="1", raw_input=deep))
    assert wants(too_deep, title="t") == Unaskable("t", asked.TOO_LONG)
    surrogate = json.loads('"\\ud800"')
    assert wants(title="t", rawInput={"command": surrogate}) == Unaskable("t", NO_TEXT)


def test_what_can_only_be_allowed_for_always_is_put_to_nobody() -> None:
    call = update(title="Build", rawInput={"command": "make"})
    for kinds in (ALWAYS, ()):
        request = RequestPermissionRequest(session_id="s", tool_call=call, options=options(*kinds))
        assert asked.permission(request, Told()) == Unaskable("Build", NOT_ONCE)


@given(st.lists(st.sampled_from(ALL)), st.booleans())
def test_no_outcome_is_ever_one_for_always(kinds: list[Kind], allowed: bool) -> None:
    outcome = asked.outcome(options(*kinds), allowed=allowed)
    wanted = "allow_once" if allowed else "reject_once"
    if wanted in kinds:
        assert outcome.model_dump()["option_id"] == f"the {wanted}"
    else:
        assert outcome is CANCELLED
