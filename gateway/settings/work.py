"""The settings of what work is done with: toolsets, kinds of children, MCP servers."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from gateway.settings.values import Count, Folder, Group, HttpUrl, Name, Seconds, Text, unique

TOOLSETS = ("terminal", "file", "delegation", "think", "ask", "send")
"""The toolsets that are there in any set-up."""
OF_SERVER = "mcp:"
"""What the toolset of an MCP server begins with, before the server's name."""

ENV_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
HEADER_NAME = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$"
SERVER_NAME = r"^[a-z0-9_-]{1,32}$"
URL_WITH_QUERY = r"^https?://[^\s/?#]+[^\s#]*$"

_SERVER_TOOLSET = re.compile(OF_SERVER + SERVER_NAME.strip("^"))
_PROXIES = ("http", "https", "socks5", "socks5h")


def _toolset(word: str) -> str:
    if word not in TOOLSETS and not _SERVER_TOOLSET.match(word):
        raise PydanticCustomError("toolset", "not a toolset")
    return word


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    return text


def _env_value(value: SecretStr) -> SecretStr:
    _no_nul(value.get_secret_value())
    return value


def _header_value(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text.isprintable() or text != text.strip():
        raise ValueError("must be one line without spaces round it")
    return value


def _proxy(value: SecretStr) -> SecretStr:
    try:
        parts = urlsplit(value.get_secret_value())
        fits = parts.scheme in _PROXIES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        fits = False
    if not fits or parts.path.strip("/") or parts.query or re.search(r"\s", parts.netloc):
        raise ValueError(
            "must be a proxy's address that begins with http://, https://, socks5:// or "
            "socks5h://, such as socks5://127.0.0.1:1080"
        )
    return value


Toolset = Annotated[
    str,
    AfterValidator(_toolset),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(TOOLSETS)},
                {"type": "string", "pattern": f"^{OF_SERVER}{SERVER_NAME.strip('^')}"},
            ]
        }
    ),
]
Toolsets = Annotated[tuple[Toolset, ...], AfterValidator(unique)]
Word = Annotated[str, AfterValidator(_no_nul)]
Command = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_no_nul)
]
Program = Annotated[str, StringConstraints(min_length=1), AfterValidator(_no_nul)]
Environment = dict[
    Annotated[str, StringConstraints(pattern=ENV_NAME)],
    Annotated[SecretStr, AfterValidator(_env_value)],
]
Headers = dict[
    Annotated[str, StringConstraints(pattern=HEADER_NAME)],
    Annotated[SecretStr, AfterValidator(_header_value)],
]
ServerName = Annotated[str, StringConstraints(pattern=SERVER_NAME)]


class Profile(Group):
    """A named kind of child: a model with tools of its own, or a local agent runner."""

    nickname: Text | None = None
    """What people and the model are shown beside its name."""
    summary: Text | None = None
    """What it is good for, shown to the model that chooses."""
    model: Text | None = None
    """A name under `models`, or the raw id when `provider` is set; null inherits the model of
    who delegates."""
    provider: Name | None = None
    """A name under `providers`; then `model` is the raw id there."""
    base_url: HttpUrl | None = None
    """Goes over the provider's."""
    api_key: SecretStr | None = None
    """Goes over the provider's."""
    api_mode: Literal["chat", "responses"] | None = None
    """Goes over the provider's."""
    proxy: Annotated[SecretStr, AfterValidator(_proxy)] | None = None
    """The proxy that its model is called through: an http, https, socks5 or socks5h address."""
    toolsets: Toolsets | None = None
    """What it may use, of what who delegates may; null inherits all of that, `[]` is nothing."""
    max_iterations: Count | None = None
    """Model calls that it may make; null takes `delegation.max_iterations`."""
    system_prompt: Text | None = None
    """Replaces the first layer of its system prompt: who it is."""
    constraints: Text | None = None
    """What it is told before its task."""
    tier: Count | None = None
    """The tier of a raw model; null takes the agent's own."""
    acp_command: Program | None = None
    """The program of a local agent runner, in place of a model."""
    acp_args: tuple[Word, ...] = ()
    """The runner's arguments."""
    acp_mode: Literal["acp", "text"] = "acp"
    """`acp` speaks the Agent Client Protocol with it; `text` adds the task as its last argument
    and takes what it prints."""
    acp_env: Environment = Field(default_factory=dict)
    """All of its environment beside the sandbox's own."""
    acp_network: bool | None = None
    """It may use the network; null as `workspace.network`."""
    members: bool = False
    """Members may have this runner started, not owners only."""


class Delegation(Group):
    """Work that the agent hands to children, by `delegate_task`."""

    max_children: Annotated[int, Field(ge=1, le=100)] = 3
    """Tasks in one call, worked side by side."""
    max_depth: Annotated[int, Field(ge=1, le=10)] = 1
    """How deep it goes: 1 is children that cannot delegate."""
    max_iterations: Count = 50
    """Model calls that a child may make, unless its profile says otherwise."""
    runner_timeout_s: Seconds = 3600
    """How long a local agent runner may work on one task."""
    escalation_model: Text | None = None
    """The overseer of branch tables that name none: a name under `models`; null is the model of
    who delegates, and so is one above its tier."""
    allow_acp_per_call: bool = False
    """The model may name a runner's program and arguments by itself."""
    profiles: dict[Name, Profile] = Field(default_factory=dict)
    """Kinds of children that the model can choose from, by a name of your choice."""


class McpServer(Group):
    """An MCP server: a program that is started, or an address. It is the toolset `mcp:<name>`."""

    command: Program | None = None
    """The program to start; it speaks over its standard input and output."""
    args: tuple[Word, ...] = ()
    """The program's arguments."""
    env: Environment = Field(default_factory=dict)
    """Variables that are added to the program's environment."""
    cwd: Folder | None = None
    """Where the program is started; null is an empty folder, `mcp` in the data folder."""
    url: Annotated[str, StringConstraints(pattern=URL_WITH_QUERY)] | None = None
    """The server's address, in place of a program (streamable HTTP)."""
    headers: Headers = Field(default_factory=dict)
    """More headers for requests to that address."""
    timeout_s: Seconds = 60
    """How long one call may take."""
    start_s: Seconds = 10
    """How long the first session waits for the server."""
    members: bool = False
    """Members may use it too, not owners only."""
    enabled: bool = True
    """Use it."""


class Mcp(Group):
    """MCP servers, whose tools the agent can use."""

    servers: dict[ServerName, McpServer] = Field(default_factory=dict)
    """The servers, by a name of your choice, which begins the names of their tools."""
