"""Branch tables as people and models write them, and the models of a small catalogue."""

# ruff: noqa: E501

from __future__ import annotations

from core.branches.parsing import parse
from core.branches.table import Table
from core.delegation.worker import Ranked
from core.transcript import Json
from gateway.settings.document import parse_value

OPUS = Ranked("opus", 1, "lab.example/v1/claude-opus-4", "claude-opus-4")
SONNET = Ranked("sonnet", 2, "lab.example/v1/claude-sonnet-4", "claude-sonnet-4")
TINY = Ranked("tiny", 3, "127.0.0.1:9/v1/vendor/tiny-1b", "vendor/tiny-1b")
CATALOGUE = (OPUS, SONNET, TINY)

YAML_LIST = """\
- condition: "Page loads successfully"
  checks:
    - "Feature Y toggle is visible"
    - "Feature Y toggle is functional"
  branches:
    ok: {action: report_with_evidence}
    not_found: {action: escalate, tier: overseer, prompt: "Could not find toggle — possibly renamed or removed"}
    broken: {action: escalate, tier: overseer, prompt: "Toggle found but click failed — investigate"}
- condition: "Page returns 404 or redirect"
  branch: {action: escalate, tier: human, prompt: "URL may be dead — verify or provide alternative"}
- condition: "Page requires authentication"
  branch: {action: report, format: "Auth-gated — can't verify without credentials"}
- default: {action: escalate, tier: overseer, prompt: "Unexpected state: {observed_state}"}
"""

OVERSEER: Json = {"action": "escalate", "tier": "overseer"}
JSON_OBJECT: Json = {
    "escalation_model": "sonnet",
    "max_escalation_depth": 2,
    "conditions": [
        {
            "description": "Page loads successfully",
            "checks": ["X toggle visible", "X toggle clickable"],
            "branches": {"ok": {"action": "report"}, "not_found": OVERSEER, "broken": OVERSEER},
        }
    ],
    "default": OVERSEER,
}


def read(
    given: object,
    *,
    parent: Ranked = OPUS,
    catalogue: tuple[Ranked, ...] = CATALOGUE,
    human_route: bool = True,
) -> Table:
    """The table that a parent on `parent` gives."""
    return parse(given, catalogue, parent, human_route=human_route, read_text=parse_value)


def table(*conditions: Json, default: Json = OVERSEER, depth: int = 2) -> Table:
    """A table of these conditions."""
    return read({"conditions": [*conditions], "default": default, "max_escalation_depth": depth})
