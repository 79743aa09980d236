"""The branch table as a parameter of `delegate_task`. Values only.

Every request of every session pays for it, so it says the canonical form in few words; what it
leaves open is checked, and told with its place, when a table is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.branches.table import DEFAULT_DEPTH, MAX_CONDITIONS, MAX_DEPTH
from core.branches.template import VARIABLES
from core.transcript import Json

_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "array", "items": _TEXT}
_BRANCH: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["report", "report_with_evidence", "escalate"]},
        "format": _TEXT,
        "tier": {"type": "string", "enum": ["overseer", "human"]},
        "prompt": _TEXT,
        "human": {
            "type": "object",
            "properties": {
                "kind": {"type": "string", "enum": ["approve", "choose", "text"]},
                "options": _TEXTS,
                "timeout_s": {"type": "number"},
                "on_timeout": {"type": "string", "enum": ["deny", "abort"]},
            },
        },
    },
    "required": ["action"],
}
_ANY_BRANCH: Json = {"type": "object"}
_CONDITION: Json = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "condition": _TEXT,
        "checks": _TEXTS,
        "branches": {"type": "object", "additionalProperties": _ANY_BRANCH},
        "branch": _ANY_BRANCH,
    },
    "required": ["condition"],
}
SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "description": (
        "Outcomes you foresee: a cheap child tries the step, matches what it sees, reports the"
        " branch with checked evidence. Each condition has branches (name: branch) or one branch;"
        " a branch is shaped like default: report (format), or escalate (tier, prompt; human:"
        " how a person is asked). format and prompt may hold"
        f" {' '.join(f'{{{name}}}' for name in VARIABLES)}."
    ),
    "properties": {
        "escalation_model": _TEXT,
        "max_escalation_depth": {
            "type": "integer",
            "description": f"0 to {MAX_DEPTH}, default {DEFAULT_DEPTH}",
        },
        "conditions": {"type": "array", "items": _CONDITION, "maxItems": MAX_CONDITIONS},
        "default": dict(_BRANCH),
    },
    "required": ["conditions", "default"],
}
"""Beside it a list with a trailing default, and the YAML text of either, are taken."""
