"""`delegate_task` as a model is told of it: its schema is built from the settings. Pure.

A session keeps the one it began with, so the same settings must give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from core.branches import schema as branches
from core.delegation.acceptance import criteria
from core.delegation.task import Effort, Offer
from core.delegation.worker import Profile, Ranked
from core.ports import ToolSpec
from core.transcript import Json

NAME = "delegate_task"
DESCRIPTION = (
    "Hand a task to a child agent, or up to {most} tasks to children that work in parallel. A"
    " child works in your workspace with your tools, sees nothing of this conversation, and"
    " returns one result. With acceptance_criteria an independent judge checks its work."
)


SHORT = "Hand one task to a child agent that works in your workspace and reports back."
"""The same for the small embedded model, which loses itself in a long schema."""


def short_spec(offer: Offer) -> ToolSpec:
    """The tool for the small embedded model: one task, and nothing that it need not say."""
    goal: dict[str, Json] = {"type": "string"}
    texts: dict[str, Json] = {"type": "array", "items": {"type": "string"}}
    fields: dict[str, Json] = {"goal": goal, "acceptance_criteria": texts}
    if offer.profiles:
        fields["profile"] = _profiles(offer.profiles)
    return ToolSpec(NAME, SHORT, {"type": "object", "properties": fields, "required": ["goal"]})


def spec(offer: Offer) -> ToolSpec:
    """The tool, with the models and profiles that there are."""
    fields = _fields(offer)
    goal: dict[str, Json] = {"type": "string", "description": "What is to be reached, in full."}
    # Every request pays for these texts, so they are told once.
    task: dict[str, Json] = {
        "type": "object",
        "properties": {
            "goal": {"type": "string"},
            **_without_words(fields),
            "branch_table": {"type": "object"},
        },
        "required": ["goal"],
    }
    tasks: dict[str, Json] = {
        "type": "array",
        "maxItems": offer.max_children,
        "items": task,
        "description": "Several tasks instead of goal. The fields above are defaults for theirs,"
        " criteria are added to theirs.",
    }
    return ToolSpec(
        NAME,
        DESCRIPTION.format(most=offer.max_children),
        {"type": "object", "properties": {"goal": goal, **fields, "tasks": tasks}},
    )


def _without_words(fields: dict[str, Json]) -> dict[str, Json]:
    return {
        name: {key: value for key, value in schema.items() if key != "description"}
        for name, schema in fields.items()
        if isinstance(schema, dict)
    }


def _fields(offer: Offer) -> dict[str, Json]:
    text: dict[str, Json] = {"type": "string"}
    texts: dict[str, Json] = {"type": "array", "items": {"type": "string"}}
    fields: dict[str, Json] = {
        "context": {**text, "description": "All that the child must know beside its goal."},
        "profile": _profiles(offer.profiles),
        "model": {**text, "description": _models(offer.catalogue)},
        "reasoning_effort": {"type": "string", "enum": list(get_args(Effort))},
        "toolsets": {**texts, "description": "Of yours; [] for none. Default: profile's or all."},
        "acceptance_criteria": dict(criteria.SCHEMA),
        "retry_on_fail": {"type": "integer", "enum": [0, 1]},
        "branch_table": dict(branches.SCHEMA),
    }
    if not offer.profiles:
        del fields["profile"]
    if offer.acp_per_call:
        fields["acp_command"] = {**text, "description": "A local agent runner's program."}
        fields["acp_args"] = texts
    return fields


def _profiles(profiles: Sequence[Profile]) -> dict[str, Json]:
    names: list[Json] = [profile.name for profile in profiles]
    return {
        "type": "string",
        "enum": names,
        "description": "; ".join(map(_told, profiles)) or "None.",
    }


def _told(profile: Profile) -> str:
    name = f"{profile.name} ({profile.nickname})" if profile.nickname else profile.name
    return f"{name}: {profile.summary}" if profile.summary else name


def _models(catalogue: Sequence[Ranked]) -> str:
    names = ", ".join(f"{model.name} (tier {model.tier})" for model in catalogue)
    return f"Default: yours. Not above your own tier, 1 is the strongest: {names}."
