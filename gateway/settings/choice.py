"""Which model does what: the names in the settings followed to a provider and a model id. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

from gateway.settings.schema import Model, Provider, Settings, Task
from gateway.settings.work import OF_SERVER

Job: TypeAlias = Literal["agent", "goal_judge", "compaction", "acceptance_judge", "critic"]
"""What the settings choose a model for."""
Purpose: TypeAlias = Job | Literal["child", "overseer"]
"""What a model is called for."""
JOBS: tuple[Job, ...] = ("agent", "goal_judge", "compaction", "acceptance_judge", "critic")
LOCAL_TOOLSETS = ("terminal", "file")
"""The embedded model takes few tools."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A model to call: `name` is its catalogue name, or provider/id for a raw one."""

    name: str
    model: Model
    provider: Provider

    @property
    def local(self) -> bool:
        """Whether it is the embedded model."""
        return self.provider.kind == "local"


def catalogue(settings: Settings, name: str) -> Choice:
    """The catalogue's model of that name. Raises KeyError when there is none."""
    model = settings.models[name]
    return Choice(name, model, settings.providers[model.provider])


def chosen(settings: Settings, job: Job) -> Choice:
    """The model for a job, by loaded settings."""
    match job:
        case "agent":
            return catalogue(settings, settings.agent.model or next(iter(settings.models)))
        case "goal_judge":
            default = settings.agent.model or next(iter(settings.models))
            return _of_task(settings, settings.auxiliary.goal_judge, default)
        case "compaction":
            return _of_task(settings, settings.auxiliary.compaction, _lowest_tier(settings))
        case "acceptance_judge":
            judge = settings.auxiliary.acceptance_judge
            return _of_task(settings, judge, _lowest_tier(settings, independent=True))
        case "critic":
            if settings.gates.critic.model is not None:
                return catalogue(settings, settings.gates.critic.model)
            default = settings.agent.model or next(iter(settings.models))
            return _of_task(settings, settings.auxiliary.critic, default)


def raw(settings: Settings, provider: str, model_id: str, tier: int | None = None) -> Choice:
    """A model that is in no catalogue; without a `tier` it is on the agent's own."""
    tier = tier or chosen(settings, "agent").model.tier
    model = Model(provider=provider, model=model_id, tier=tier)
    return Choice(f"{provider}/{model_id}", model, settings.providers[provider])


def of_profile(settings: Settings, name: str) -> Choice | None:
    """A profile's own model, by loaded settings; None where it has none, inherits one, or wants
    a variable for its name that has no value."""
    profile = settings.delegation.profiles[name]
    if profile.model is None:
        return None
    if profile.provider is not None:
        return raw(settings, profile.provider, profile.model, profile.tier)
    return catalogue(settings, profile.model) if profile.model in settings.models else None


def toolsets(settings: Settings) -> tuple[str, ...]:
    """What the agent may use: as it is set, or what its model can do with."""
    agent = settings.agent
    if "toolsets" in agent.model_fields_set:
        return agent.toolsets
    if chosen(settings, "agent").local:
        return LOCAL_TOOLSETS
    servers = (name for name, server in settings.mcp.servers.items() if server.enabled)
    return (*agent.toolsets, *(f"{OF_SERVER}{name}" for name in servers))


def delegates(settings: Settings) -> bool:
    """Whether the agent can hand work to children."""
    return "delegation" in toolsets(settings)


def jobs(settings: Settings) -> tuple[Job, ...]:
    """The jobs that there are in this set-up: without delegation nobody judges its results."""
    return tuple(job for job in JOBS if job != "acceptance_judge" or delegates(settings))


def uses_local_model(settings: Settings) -> bool:
    """Whether any job, a child by its profile or the overseer runs on the embedded model."""
    profiles = settings.delegation.profiles if delegates(settings) else ()
    own = (of_profile(settings, name) for name in profiles)
    overseer = settings.delegation.escalation_model if delegates(settings) else None
    overseers = () if overseer is None else (catalogue(settings, overseer),)
    used = (*(chosen(settings, job) for job in jobs(settings)), *filter(None, own), *overseers)
    return any(choice.local for choice in used)


def no_such(kind: str, name: str, known: Mapping[str, object]) -> str:
    """What to say of a model or a provider that is not there."""
    close = get_close_matches(name, known, 1)
    if close:
        return f"there is no {kind} {name!r}; did you mean `{close[0]}`?"
    if not known:
        return f"there is no {kind} {name!r}: there are none under `{kind}s`"
    listed = ", ".join(sorted(known))
    return f"there is no {kind} {name!r} under `{kind}s` (there: {listed})"


def _of_task(settings: Settings, task: Task, default: str) -> Choice:
    if task.provider is None:
        return catalogue(settings, task.model or default)
    return raw(settings, task.provider, task.model or "")


def _lowest_tier(settings: Settings, *, independent: bool = False) -> str:
    """The weakest model's name: the highest tier number, among equals the agent's own, or for an
    `independent` judge another."""
    agent = chosen(settings, "agent").name

    def rank(name: str) -> tuple[int, bool]:
        return settings.models[name].tier, (name == agent) is not independent

    return max(settings.models, key=rank)
