"""What the tools of MCP servers are called here: `mcp__<server>__<tool>`. Pure.

A session keeps the names it was told, so a name depends on the configuration and on its own
server's list alone, never on which servers are connected.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping

PREFIX = "mcp__"
NAME_CHARS = 64
"""What the common model APIs take, of letters, digits, - and _."""
LABEL_CHARS = 24


def labels(servers: Collection[str]) -> Mapping[str, str]:
    """Each server's part of the names. It holds no "__", so that a name can be taken apart."""
    plain = {server: _label(server) for server in servers}
    taken = Counter(plain.values())
    return {
        server: label if taken[label] == 1 or label == server else _marked(label, server)
        for server, label in plain.items()
    }


def tool_names(label: str, tools: Collection[str]) -> Mapping[str, str]:
    """The names of a server's tools, by the server's own."""
    room = NAME_CHARS - len(f"{PREFIX}{label}__")
    plain = {tool: _cut(re.sub(r"[^A-Za-z0-9_-]", "_", tool), tool, room) for tool in tools}
    taken = Counter(plain.values())
    return {
        tool: f"{PREFIX}{label}__"
        + (name if taken[name] == 1 or name == tool else _cut(name, tool, room, marked=True))
        for tool, name in plain.items()
    }


def label_of(name: str) -> str:
    """The server's part of a name, "" for one that is no MCP tool's."""
    label, parted, _ = name.removeprefix(PREFIX).partition("__")
    return label if parted and name.startswith(PREFIX) else ""


def _label(server: str) -> str:
    label = re.sub(r"[^A-Za-z0-9-]+", "_", server).strip("_")
    return label if 0 < len(label) <= LABEL_CHARS else _marked(label[:LABEL_CHARS], server)


def _marked(label: str, server: str) -> str:
    return f"{label[: LABEL_CHARS - 7]}_{_mark(server)}".strip("_")


def _cut(name: str, whole: str, room: int, *, marked: bool = False) -> str:
    if len(name) <= room and not marked:
        return name
    return f"{name[: room - 7]}_{_mark(whole)}"


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
