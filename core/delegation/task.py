"""From the arguments of `delegate_task` to the tasks of its children. Pure.

A call is checked whole before any child starts: raises UserError that a model can act on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from core.branches.parsing import ReadText, read_again
from core.branches.parsing import parse as parse_table
from core.branches.table import Table, overseer_model
from core.delegation import tiers
from core.delegation.acceptance import criteria
from core.delegation.acceptance.criteria import Criterion
from core.delegation.worker import Agent, Profile, Ranked, Runner, Worker
from core.errors import UserError
from core.messages import Role
from core.ports import Caller
from core.replies import whole_json
from core.tools.arguments import Arguments, Line

DELEGATION = "delegation"
TERMINAL = "terminal"
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class TaskFields(Arguments):
    """What a task and a whole call have in common: who works, and what will be checked. Null and
    an empty name count as left out: small models fill in every field."""

    context: str | None = None
    profile: str | None = None
    model: str | None = None
    reasoning_effort: Effort | None = None
    toolsets: list[str] | None = None
    acceptance_criteria: JsonValue = None
    retry_on_fail: Annotated[int, Field(ge=0, le=1)] | None = None
    branch_table: JsonValue = None
    acp_command: Line | None = None
    acp_args: list[Line] | None = None


class TaskArguments(TaskFields):
    """One task of a batch."""

    goal: str = Field(min_length=1)


class DelegateArguments(TaskFields):
    """A call: one task, or a batch to whose tasks the other fields are defaults."""

    goal: str | None = None
    tasks: list[TaskArguments] | None = None


@dataclass(frozen=True, slots=True)
class Branching:
    """A task's branch table, and who is asked as its overseer; `client` as in `Task`."""

    table: Table
    overseer: Agent
    client: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One child's work. `profile` is None without one; `client` is the profile whose provider
    serves the child's model, "" where the catalogue's does; `branching` None without a table."""

    goal: str
    worker: Worker
    context: str = ""
    profile: Profile | None = None
    client: str = ""
    criteria: tuple[Criterion, ...] = ()
    retry: bool = False
    branching: Branching | None = None

    @property
    def title(self) -> str:
        """What people are shown: who works, where that has a name, and what on."""
        return f"{self.profile.title}: {self.goal}" if self.profile else self.goal


@dataclass(frozen=True, slots=True)
class Delegator:
    """Who delegates: the agent, and the role of the person it acts for; `reaches` says whether a
    person can be asked for it."""

    caller: Caller
    role: Role
    reaches: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What the settings allow: the models and profiles, and the limits under `delegation`.
    `read_text` reads a branch table that comes as a text and is no JSON."""

    catalogue: tuple[Ranked, ...]
    profiles: tuple[Profile, ...] = ()
    max_children: int = 3
    max_depth: int = 1
    max_iterations: int = 50
    acp_per_call: bool = False
    escalation_model: str = ""
    read_text: ReadText = whole_json

    def profile(self, name: str) -> Profile:
        """The profile of that name. Raises UserError with the names that there are."""
        found = next((profile for profile in self.profiles if profile.name == name), None)
        if found is None:
            names = ", ".join(profile.name for profile in self.profiles)
            known = f"Profiles: {names}." if names else "None is set up, so leave profile out."
            raise UserError(f"There is no profile {name[:60]!r}. {known}")
        return found

    def parent(self, caller: Caller) -> Ranked:
        """The model of the agent that delegates; one that nobody ranked is of the lowest tier."""
        own = self.profile(caller.client).model if caller.client else None
        found = own or next((m for m in self.catalogue if m.name == caller.model), None)
        lowest = tiers.lowest(self.catalogue).tier if self.catalogue else 1
        return found or Ranked(caller.model, lowest, caller.model)


def plan(
    arguments: DelegateArguments,
    offer: Offer,
    who: Delegator,
    begun: Collection[int] = (),
) -> tuple[Task, ...]:
    """The tasks of a call, in order. `begun` are the places of those whose branch table's run is
    under way or over: their tables were checked then, by the settings of that time."""
    if who.caller.depth >= offer.max_depth:
        raise UserError(
            f"Nothing can be delegated from here: delegation.max_depth is {offer.max_depth}."
        )
    goal = (arguments.goal or "").strip()
    if arguments.tasks is None:
        if not goal:
            raise UserError("goal is missing: say what the child is to reach, or give tasks.")
        return (_Plan(arguments, offer, who, 0 in begun).task(goal, arguments),)
    if goal:
        raise UserError("Give either goal (one task) or tasks (several), not both.")
    count = len(arguments.tasks)
    if not 1 <= count <= offer.max_children:
        raise UserError(
            f"tasks holds {count}; it takes 1 to {offer.max_children} at a time "
            "(delegation.max_children). Hand over the rest in a further call."
        )
    planned = []
    for number, fields in enumerate(arguments.tasks):
        try:
            one = _Plan(arguments, offer, who, number in begun)
            planned.append(one.task(fields.goal.strip(), fields))
        except UserError as error:
            raise UserError(f"tasks[{number}]: {error}") from error
    return tuple(planned)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Plans one task: its own fields go before the call's, and those before its profile's."""

    call: DelegateArguments
    offer: Offer
    who: Delegator
    begun: bool = False

    @property
    def caller(self) -> Caller:
        return self.who.caller

    def task(self, goal: str, fields: TaskFields) -> Task:
        if not goal:
            raise UserError("goal is missing: say what the child is to reach.")
        profile_name = fields.profile or self.call.profile
        profile = self.offer.profile(profile_name) if profile_name else None
        worker, client = self._worker(fields, profile)
        retry = self.call.retry_on_fail if fields.retry_on_fail is None else fields.retry_on_fail
        return Task(
            goal=goal,
            context=(fields.context or self.call.context or "").strip(),
            worker=worker,
            profile=profile,
            client=client,
            criteria=self._criteria(fields),
            retry=bool(retry),
            branching=self._branching(fields),
        )

    def _table(self, fields: TaskFields) -> JsonValue:
        """The task's branch table as it is given, else the call's; None for none."""
        sources = (fields, self.call)
        found = (source.branch_table for source in sources if _has(source, "branch_table"))
        return next(found, None)

    def _branching(self, fields: TaskFields) -> Branching | None:
        """Raises TableError for a table that cannot be used."""
        given = self._table(fields)
        if given is None:
            return None
        offer, parent = self.offer, self.offer.parent(self.caller)
        if self.begun:
            table = read_again(given, read_text=offer.read_text)
        else:
            table = parse_table(
                given,
                offer.catalogue,
                parent,
                human_route=self.who.reaches,
                read_text=offer.read_text,
            )
        model = overseer_model(table, offer.escalation_model, offer.catalogue, parent)
        client = self.caller.client if model == parent else ""
        return Branching(table, Agent(model=model, toolsets=(), max_iterations=1), client)

    def _worker(self, fields: TaskFields, profile: Profile | None) -> tuple[Worker, str]:
        runner = self._runner(fields, profile)
        if runner is not None:
            self._check_runner(fields, profile)
            return runner, ""
        if fields.acp_args is not None or self.call.acp_args is not None:
            raise UserError("acp_args needs acp_command, or a profile that runs a local runner.")
        model, client = self._model(fields, profile)
        toolsets = self._toolsets(fields, profile)
        effort = fields.reasoning_effort or self.call.reasoning_effort or ""
        if profile is None or profile.max_iterations is None:
            most, key = self.offer.max_iterations, "delegation.max_iterations"
        else:
            most = profile.max_iterations
            key = f"delegation.profiles.{profile.name}.max_iterations"
        agent = Agent(
            model=model, toolsets=toolsets, max_iterations=most, limit_key=key, effort=effort
        )
        return agent, client

    def _runner(self, fields: TaskFields, profile: Profile | None) -> Runner | None:
        """Task before call before profile, for the program and for its arguments."""
        own = profile.runner if profile else None
        command = fields.acp_command or self.call.acp_command
        args = fields.acp_args if fields.acp_args is not None else self.call.acp_args
        if (command or args is not None) and not self.offer.acp_per_call:
            raise UserError(
                "acp_command and acp_args cannot be given per call "
                "(delegation.allow_acp_per_call is false); name a profile that runs the runner."
            )
        if not command or (own is not None and command == own.command):
            return own if own is None or args is None else replace(own, args=tuple(args))
        return Runner(command=command, args=tuple(args or ()))

    def _check_runner(self, fields: TaskFields, profile: Profile | None) -> None:
        if self.who.role is not Role.OWNER and not self._open_to_members(fields, profile):
            raise UserError(
                "This local agent runner is for owners, and this turn has a member's rights. Go "
                "on without it, or say in the answer that an owner must ask for this."
            )
        if TERMINAL not in self.caller.toolsets:
            raise UserError("A local agent runner needs the toolset terminal, which you lack.")
        if self._table(fields) is not None:
            raise UserError(
                "A local agent runner takes no branch_table: the host does not see its calls, and "
                "could check no evidence. Leave it out, or name a profile that runs on a model."
            )
        # A batch's own model is for its tasks on a model, unless the batch names the runner too.
        own = fields.acp_command or (fields.profile and not self.call.acp_command)
        sources = [fields] if own else [fields, self.call]
        names = ("model", "reasoning_effort", "toolsets")
        given = [name for name in names if any(_has(source, name) for source in sources)]
        if given:
            raise UserError(
                f"A local agent runner takes no {', '.join(given)}: it has a model and tools of "
                "its own. Leave that out, or name a profile that runs on a model."
            )

    def _open_to_members(self, fields: TaskFields, profile: Profile | None) -> bool:
        """Only as its profile has it: with the owner's key a member chooses no program, and none
        of its arguments."""
        sources = (fields, self.call)
        own = any(_has(source, name) for source in sources for name in ("acp_command", "acp_args"))
        return profile is not None and profile.members and not own

    def _model(self, fields: TaskFields, profile: Profile | None) -> tuple[Ranked, str]:
        catalogue, parent = self.offer.catalogue, self.offer.parent(self.caller)
        wanted = fields.model or self.call.model
        own = profile.model.name if profile and profile.model else ""
        if wanted and wanted != own:
            if profile is not None and profile.bound:
                raise UserError(
                    f"profile {profile.name} has a connection of its own, so it takes no other "
                    "model. Leave model out, or name another profile."
                )
            return tiers.named(catalogue, parent, wanted), ""
        if profile is not None and profile.model is not None:
            tiers.check(profile.model, f"profile {profile.name}", catalogue, parent)
            return profile.model, profile.name
        if profile is None and self._table(fields) is not None:
            lowest = tiers.lowest((parent, *tiers.allowed(catalogue, parent)))
            return lowest, self.caller.client if lowest is parent else ""
        return parent, self.caller.client

    def _toolsets(self, fields: TaskFields, profile: Profile | None) -> tuple[str, ...]:
        """The call's, else the profile's, else the parent's; never more than the parent's."""
        mine = self.caller.toolsets
        deeper = self.caller.depth + 1 < self.offer.max_depth
        usable = tuple(name for name in mine if deeper or name != DELEGATION)
        wanted = fields.toolsets if fields.toolsets is not None else self.call.toolsets
        if wanted is None:
            own = usable if profile is None or profile.toolsets is None else profile.toolsets
            return tuple(name for name in usable if name in own)
        if lacking := [name for name in wanted if name not in usable]:
            raise UserError(
                f"toolsets: {', '.join(lacking)[:200]} cannot be given to a child of yours. "
                f"It can have: {', '.join(usable) or 'none'}."
            )
        return tuple(name for name in usable if name in wanted)

    def _criteria(self, fields: TaskFields) -> tuple[Criterion, ...]:
        own = () if fields is self.call else criteria.parse(fields.acceptance_criteria)
        joined = criteria.join(own, criteria.parse(self.call.acceptance_criteria))
        if lacking := criteria.lacking(joined, self.caller.toolsets):
            raise UserError(lacking)
        return joined


def _has(fields: TaskFields, name: str) -> bool:
    value = getattr(fields, name)
    return value is not None and value != ""
