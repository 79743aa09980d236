"""The agent's tools as one registry: those of its workspace, its children's, and MCP servers'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from adapters.workspace.tools import WorkspaceTools
from core.agent.loop import LoopOptions, Prefix
from core.agent.prompts import PromptSize, system_prompt
from core.delegation.ports import ChildStore, Runners, Staff
from core.delegation.runners import LiveRunners
from core.delegation.task import Offer
from core.delegation.tool import DelegateTask
from core.delegation.worker import Profile
from core.delegation.working import Surroundings
from core.escalations.desk import Desk
from core.messages import Role
from core.ports import Clock, Model
from core.sessions.ports import Caps
from core.tools.ask import ask_tool
from core.tools.registry import TOOLSETS, Registry, ToolSource
from core.tools.send import Outbox, send_tool
from core.tools.think import think_tool
from gateway.compose.setup import Life
from gateway.settings import Settings, chosen
from gateway.settings.document import parse_value


class Servers(ToolSource, Protocol):
    """The MCP servers of a run; `roles` are the least that may use the toolset of each."""

    @property
    def roles(self) -> Mapping[str, Role]:
        """By toolset."""
        ...

    async def run(self) -> None:
        """Keep them connected until cancelled."""
        ...

    async def ready(self) -> None:
        """Return when each is connected, or has had its time to."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """Where children are kept, and what holds their model calls to the goal's budgets."""

    children: ChildStore
    caps: Caps


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The ways out of tools into the chat: what they send there, and what they ask."""

    outbox: Outbox
    desk: Desk


class Equipment:
    """The tools of a run; `servers` None where no MCP server is configured."""

    def __init__(
        self,
        settings: Settings,
        workspace: WorkspaceTools,
        channels: Channels,
        staff: Staff,
        servers: Servers | None,
    ) -> None:
        self._settings = settings
        self._workspace = workspace
        self._desk = channels.desk
        self._staff = staff
        self._servers = servers
        self._live = LiveRunners()
        agent = chosen(settings, "agent")
        self._delegate = DelegateTask(_offer(settings, staff), small=agent.local)
        tools = (
            *workspace.tools,
            think_tool(show=settings.agent.show_thoughts),
            ask_tool(channels.desk),
            send_tool(workspace.stage, channels.outbox),
            self._delegate,
        )
        sources = () if servers is None else (servers,)
        roles = {**TOOLSETS, **(servers.roles if servers else {})}
        self.registry = Registry(tools, roles, sources).granting(settings.agent.toolsets)
        size = PromptSize.SHORT if agent.local else PromptSize.FULL
        self._system = system_prompt(toolsets=settings.agent.toolsets, size=size)

    def speak_as(self, profile: Profile) -> None:
        """Tell new sessions who they are as a child of that profile is told."""
        self._system = system_prompt(
            persona=profile.persona,
            toolsets=self._settings.agent.toolsets,
            constraints=profile.constraints,
            size=PromptSize.SHORT if chosen(self._settings, "agent").local else PromptSize.FULL,
        )

    def attach(self, books: Books, runners: Runners, clock: Clock, compactor: Model) -> None:
        """Give children what they work with; once, before the first call."""
        self._delegate.attach(
            Surroundings(
                staff=self._staff,
                store=books.children,
                caps=books.caps,
                checks=self._workspace.checks,
                runners=runners,
                live=self._live,
                clock=clock,
                compactor=compactor,
                tools=self.registry,
                runner_timeout_s=self._settings.delegation.runner_timeout_s,
                desk=self._desk,
            )
        )

    @property
    def options(self) -> LoopOptions:
        """The limits of the agent's turns."""
        return LoopOptions(
            max_steps=self._settings.agent.max_steps, resumable=self.registry.resumables
        )

    @property
    def lives(self) -> Mapping[str, Life]:
        """What runs beside the program."""
        servers = {} if self._servers is None else {"mcp servers": self._servers.run}
        return {"local runners": self._live.run, **servers}

    async def prefix(self) -> Prefix:
        """What a new session is told, for as long as it lives."""
        if self._servers is not None:
            await self._servers.ready()
        return Prefix(self._system, self.registry.specs())


def _offer(settings: Settings, staff: Staff) -> Offer:
    delegation = settings.delegation
    return Offer(
        catalogue=staff.catalogue,
        profiles=staff.profiles,
        max_children=delegation.max_children,
        max_depth=delegation.max_depth,
        max_iterations=delegation.max_iterations,
        acp_per_call=delegation.allow_acp_per_call,
        escalation_model=delegation.escalation_model or "",
        read_text=parse_value,
    )
