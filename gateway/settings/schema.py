"""Every setting there is, with its default, one frozen model per group.

Values only: nothing here reads a file or the environment. A part of the program is handed its
own group (`settings.goals`), never the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, PrivateAttr, SecretStr

from gateway.errors import KeyPath, dotted
from gateway.settings.asking import Escalations
from gateway.settings.chats import Access, Platforms
from gateway.settings.values import (
    Count,
    Dollars,
    Folder,
    Group,
    HttpUrl,
    Name,
    Port,
    Seconds,
    Text,
    unique,
)
from gateway.settings.work import TOOLSETS, Command, Delegation, Mcp, Toolsets

DEFAULT_OPENAI_MODEL = "gpt-5-mini"
"""What runs when the environment has an OpenAI key and names no model."""

LOCAL_MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
"""The embedded model's id, as the catalogue of `adapters.local_model` has it."""

_ASKED_LATE = frozenset({"providers", "delegation"})


class Provider(Group):
    """An endpoint that serves models."""

    kind: Literal["openai", "local"] = "openai"
    """`openai`: any OpenAI-compatible endpoint; `local`: the embedded model, which takes no
    other key."""
    base_url: HttpUrl | None = None
    """The endpoint, with its `/v1`; null is OpenAI's own."""
    api_key: SecretStr | None = None
    """Its key; null for servers that want none."""
    api_mode: Literal["chat", "responses"] = "chat"
    """The API it speaks: chat completions, or responses."""
    timeout_s: Seconds = 120
    """How long a model call may take, its retries included."""
    stall_s: Seconds = 90
    """The longest silence within a call, the wait for its first word included."""


class Price(Group):
    """What a model costs, in US dollars for a million tokens."""

    input: Dollars
    """Input tokens."""
    output: Dollars
    """Output tokens."""
    cached: Dollars | None = None
    """Input tokens that the provider had cached; null costs as much as fresh ones."""


class Model(Group):
    """A model of the catalogue, under the name that chats and settings use."""

    provider: Name
    """A name under `providers`."""
    model: Text
    """The model's id at that provider."""
    tier: Count = 1
    """1 is the strongest; a child runs on its parent's tier or a lower one, and compaction and
    the acceptance judge are on the lowest by default."""
    context_tokens: Annotated[int, Field(ge=2048, le=100_000_000)] | None = None
    """The window's size; null takes 128000, or the embedded model's own."""
    max_output_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """The most one call may produce; null takes 8192, or the embedded model's own."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """null leaves it to the provider; the embedded model runs at 0."""
    vision: bool = False
    """Images that people send go to the model as images."""
    price: Price | None = None
    """null takes the public price list's, where it knows the model."""
    params: dict[str, JsonValue] = Field(default_factory=dict)
    """More fields for the request, sent as they are, such as `{reasoning_effort: low}`."""


class Agent(Group):
    """The agent that works on turns."""

    model: Name | None = None
    """A name under `models`; null takes the first one there."""
    max_steps: Count = 60
    """Model calls in one turn before it must answer."""
    max_concurrent_turns: Count = 1000
    """Turns at work at once, over all chats."""
    max_model_calls: Count = 256
    """Model calls in flight at once."""
    show_thoughts: bool = False
    """Show what the `think` tool writes in the progress message."""
    toolsets: Toolsets = TOOLSETS
    """What the agent may use; unless set, `mcp:<name>` of every enabled MCP server too, and with
    the embedded model `[terminal, file]` alone."""


class Goals(Group):
    """Budgets that a goal starts with; null is no limit."""

    max_turns: Count = 20
    """Turns that the agent takes by itself."""
    max_tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None
    """Tokens, in and out, judge included."""
    max_cost: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """US dollars, where prices are known."""
    max_seconds: Seconds | None = None
    """Working time in seconds."""


class Task(Group):
    """The model of an auxiliary task: a catalogue name, or a provider and a raw model id."""

    provider: Name | None = None
    """A name under `providers`; then `model` is the raw id there."""
    model: Text | None = None
    """A name under `models`, or the raw id when `provider` is set; null is the task's default."""
    timeout_s: Seconds = 30
    """How long one call may take; 180 on the embedded model unless set."""


class Auxiliary(Group):
    """The models of the tasks beside the agent's own."""

    goal_judge: Task = Task()
    """Judges after each turn whether the goal is done; default: the agent's model."""
    acceptance_judge: Task = Task()
    """Judges whether delegated work meets its criteria; default: the model of the lowest tier."""
    compaction: Task = Task()
    """Folds a long session's oldest turns; default: the model of the lowest tier."""
    critic: Task = Task()
    """Reads answers before they are delivered, see `gates.critic`; default: the agent's model."""


class Critic(Group):
    """A model that reads each answer, with receipts of what was done, before it is delivered."""

    enabled: bool = False
    """It reads the answers of all chats; `/critic on` and `off` change that for one."""
    model: Name | None = None
    """A name under `models`; null takes `auxiliary.critic`."""
    instructions: str = ""
    """What it is to look at beside the task, in your words."""
    timeout_s: Seconds | None = None
    """How long one call may take; null takes that of `auxiliary.critic`."""


class Gates(Group):
    """What an answer has to pass before it is delivered."""

    verify: Annotated[tuple[Command, ...], AfterValidator(unique)] = ()
    """Commands that are run in the workspace, in this order, and must exit with 0; each may take
    `workspace.timeout_s`. They run in the sandbox, and no policy looks at them."""
    critic: Critic = Critic()
    """A model that reads each answer, with receipts of what was done, before it is delivered."""
    max_bounces: Annotated[int, Field(ge=0, le=20)] = 2
    """How often a turn's answer is sent back, by all gates together; then it is delivered with a
    line that says what it did not pass."""


class Lanes(Group):
    """How messages queue."""

    groups: Literal["shared", "per_user"] = "shared"
    """One conversation for a group, or one for each of its people."""
    busy: Literal["queue", "steer", "interrupt"] = "queue"
    """A message during a turn: waits, is read at the turn's next step, or ends the turn."""
    collect: bool = False
    """Answer messages that waited together in one turn."""


class Workspace(Group):
    """Where the agent's tools work and what they may touch."""

    root: Folder | None = None
    """Each chat's own folder is in `workspaces` below this one; null is the data folder."""
    allow: tuple[Folder, ...] = ()
    """Folders that an owner may make a chat's workspace, by `/workspace`."""
    extra: tuple[Folder, ...] = ()
    """More folders that the file tools and commands may use, such as `/tmp`. One of the guarded
    places of a home folder, such as `~/.aws`, is opened by being named here."""
    sandbox: Literal["bwrap", "none"] = "bwrap"
    """`bwrap` runs commands in bubblewrap; `none` runs them with all your own rights."""
    network: bool = False
    """Commands in the sandbox may use the network."""
    timeout_s: Seconds = 120
    """How long a command may run."""
    dangerous: Literal["ask", "refuse", "allow"] = "ask"
    """A command that the policy finds dangerous: `ask` shows it to the owners and waits, `refuse`
    never runs it, `allow` runs it unasked. What would ruin the machine never runs."""


class Logs(Group):
    """The log on standard error; with a terminal chat, in `pursuit.log` in the data directory."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that is logged."""
    format: Literal["auto", "console", "json"] = "auto"
    """`auto` is `console` on a terminal and `json` elsewhere."""


class Health(Group):
    """The health and metrics pages, for load balancers and Prometheus."""

    enabled: bool = False
    """Serve `/healthz`, `/readyz` and `/metrics`."""
    host: Text = "127.0.0.1"
    """The interface to listen on."""
    port: Port = 8421
    """The port to listen on."""
    token: SecretStr | None = None
    """What a reader sends as `Authorization: Bearer …`; null makes one at the first start and
    keeps it in `health_token` in the data folder."""


class Settings(Group):
    """All of Pursuit's settings."""

    providers: dict[Name, Provider] = Field(default_factory=dict)
    """Endpoints, by a name of your choice."""
    models: dict[Name, Model] = Field(default_factory=dict)
    """The catalogue, by a name of your choice. None at all: `OPENAI_API_KEY` or
    `OPENAI_BASE_URL` (and `OPENAI_MODEL`) from the environment, else the embedded model."""
    agent: Agent = Agent()
    """The agent that works on turns."""
    goals: Goals = Goals()
    """Budgets that a goal starts with."""
    auxiliary: Auxiliary = Auxiliary()
    """The models of the tasks beside the agent's own."""
    delegation: Delegation = Delegation()
    """Work that the agent hands to children, by `delegate_task`."""
    lanes: Lanes = Lanes()
    """How messages queue."""
    gates: Gates = Gates()
    """What an answer has to pass before it is delivered."""
    escalations: Escalations = Escalations()
    """Questions to people, in the chat that the work came from."""
    access: Access = Access()
    """Who may talk; nobody unless listed."""
    platforms: Platforms = Platforms()
    """The chat platforms."""
    workspace: Workspace = Workspace()
    """Where the agent's tools work."""
    mcp: Mcp = Mcp()
    """MCP servers, whose tools the agent can use."""
    logs: Logs = Logs()
    """What is logged and how."""
    health: Health = Health()
    """The health and metrics pages."""
    _origins: dict[KeyPath, str] = PrivateAttr(default_factory=dict)
    _unset: dict[KeyPath, str] = PrivateAttr(default_factory=dict)

    def came_from(self, origins: Mapping[KeyPath, str]) -> None:
        """Note where the settings that no file has came from, for `place`."""
        self._origins.update(origins)

    def place(self, path: KeyPath) -> str:
        """What a person changes for a setting: the variable it came from, else its key."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._origins:
                return f"the {self._origins[path[:end]]}"
        return dotted(path)

    def left_out(self, unset: Mapping[KeyPath, str]) -> None:
        """Note the settings of children whose variable has no value, for `unset_below`."""
        self._unset.update({p: name for p, name in unset.items() if p[0] in _ASKED_LATE})

    def unset_below(self, path: KeyPath) -> Mapping[KeyPath, str]:
        """The settings at `path` and below it that were left out, with the variable that each
        wants: of providers and profiles, which nothing looks at before a child starts."""
        return {at: name for at, name in self._unset.items() if at[: len(path)] == path}
