"""Which model does what: the names in the settings followed to a provider and a model id. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from gateway.settings.schema import Model, Provider, Settings, Task

Job: TypeAlias = Literal["agent", "goal_judge", "compaction"]
JOBS: tuple[Job, ...] = ("agent", "goal_judge", "compaction")


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


def uses_local_model(settings: Settings) -> bool:
    """Whether any job runs on the embedded model."""
    return any(chosen(settings, job).local for job in JOBS)


def _of_task(settings: Settings, task: Task, default: str) -> Choice:
    if task.provider is None:
        return catalogue(settings, task.model or default)
    raw = task.model or ""
    tier = chosen(settings, "agent").model.tier
    model = Model(provider=task.provider, model=raw, tier=tier)
    return Choice(f"{task.provider}/{raw}", model, settings.providers[task.provider])


def _lowest_tier(settings: Settings) -> str:
    """The weakest model's name: the highest tier number, the agent's own among equals."""
    agent = chosen(settings, "agent").name
    return max(settings.models, key=lambda name: (settings.models[name].tier, name == agent))
