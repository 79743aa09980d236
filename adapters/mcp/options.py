"""What a configured MCP server is. Loads no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """One server: a program that is spoken to over its standard input and output (`command`), or
    an address of streamable HTTP (`url`); exactly one of them is set.

    `env` is all that the program gets beside a few harmless variables, such as PATH and HOME, and
    `mark`, by which it and what it started are found when they outlive the gateway.
    `start_s` bounds connecting, `timeout_s` one call. `members` opens its tools
    to members.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    mark: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 60.0
    start_s: float = 10.0
    members: bool = False

    @property
    def toolset(self) -> str:
        """The toolset that its tools belong to."""
        return f"mcp:{self.name}"

    def key(self, field_name: str) -> str:
        """The setting that a person changes."""
        return f"mcp.servers.{self.name}.{field_name}"
