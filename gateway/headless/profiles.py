"""The settings of an agent that works as one of its delegation profiles."""

from __future__ import annotations

from core.errors import UserError
from gateway.settings import Settings
from gateway.settings.choice import no_such, of_profile

RUNNER = (
    "The profile {name} is a local agent runner (delegation.profiles.{name}.acp_command), not an "
    "agent of Pursuit's own. Let the agent delegate to it instead."
)


def as_profile(settings: Settings, name: str) -> Settings:
    """The settings with the profile's model, tools and limit as the agent's own. Raises
    UserError for a profile that is not there or that is no agent."""
    if name not in settings.delegation.profiles:
        raise UserError(no_such("profile", name, settings.delegation.profiles))
    own = settings.delegation.profiles[name]
    if own.acp_command is not None:
        raise UserError(RUNNER.format(name=name))
    agent: dict[str, object] = {}
    models = dict(settings.models)
    if choice := of_profile(settings, name):
        models[choice.name] = choice.model  # a raw one has no entry of its own
        agent["model"] = choice.name
    if own.toolsets is not None:
        agent["toolsets"] = own.toolsets
    if own.max_iterations is not None:
        agent["max_steps"] = own.max_iterations
    return settings.model_copy(
        update={"models": models, "agent": settings.agent.model_copy(update=agent)}
    )
