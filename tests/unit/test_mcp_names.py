"""What the tools of MCP servers are called."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.mcp.names import label_of, labels, tool_names
from adapters.mcp.options import ServerOptions

ADMITTED = re.compile(r"[a-zA-Z0-9_-]{1,64}")
texts = st.text(max_size=80)


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("github", "create_issue", "mcp__github__create_issue"),
        ("my-hub", "a.b/c d", "mcp__my-hub__a_b_c_d"),
        ("a__b", "c", "mcp__a_b__c"),
        ("_x_", "_y", "mcp__x___y"),
    ],
)
def test_a_name_is_made_of_its_server_and_its_tool(server: str, tool: str, name: str) -> None:
    assert tool_names(labels([server])[server], [tool])[tool] == name
    assert label_of(name) == labels([server])[server]


def test_a_long_name_is_cut_with_a_mark_that_tells_it_from_others() -> None:
    first, second = "x" * 100 + "1", "x" * 100 + "2"
    names = tool_names("hub", [first, second])
    assert len(set(names.values())) == 2
    assert all(len(name) == 64 for name in names.values())
    assert tool_names("hub", [first])[first] == names[first]


def test_of_tools_that_look_alike_the_one_so_called_keeps_its_name() -> None:
    names = tool_names("hub", ["a.b", "a_b", "a b"])
    assert names["a_b"] == "mcp__hub__a_b"
    assert len(set(names.values())) == 3


def test_servers_that_look_alike_have_labels_of_their_own() -> None:
    found = labels(["a.b", "a_b", "a b"])
    assert found["a_b"] == "a_b"
    assert len(set(found.values())) == 3


@given(st.sets(texts, max_size=6), st.sets(texts, max_size=6))
def test_every_name_is_admitted_unique_and_leads_back_to_its_server(
    servers: set[str], tools: set[str]
) -> None:
    found = labels(servers)
    named = [(found[s], name) for s in servers for name in tool_names(found[s], tools).values()]
    assert len({name for _, name in named}) == len(servers) * len(tools)
    for label, name in named:
        assert ADMITTED.fullmatch(name)
        assert label_of(name) == label


@pytest.mark.parametrize("name", ["run", "mcp__", "mcp__hub", "xmcp__hub__a"])
def test_other_names_lead_to_no_server(name: str) -> None:
    assert label_of(name) == ""


def test_options_show_no_secrets() -> None:
    options = ServerOptions(name="x", url="u", headers={"a": "secret"}, env={"B": "secret"})
    assert "secret" not in repr(options)
    assert options.toolset == "mcp:x"
