"""A branch table: the outcomes that a parent foresees, and what follows from each. Values only.

A branch is known by its label: `c1.ok` for the branch `ok` of condition `c1`, `c2` for a condition
with one branch, `__default__` for what is left.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias, TypeVar

from core.escalations.record import Kind, OnTimeout
from core.transcript import Json

DEFAULT = "__default__"
"""The label of the default branch; no condition can have it."""
MAX_CONDITIONS = 24
MAX_DEPTH = 5
DEFAULT_DEPTH = 2
DAY_S = 86_400


class RankedModel(Protocol):
    """A model of the catalogue: `tier` 1 is the strongest."""

    @property
    def name(self) -> str:
        """As settings and chats call it."""
        ...

    @property
    def tier(self) -> int:
        """1 the strongest."""
        ...

    @property
    def model(self) -> str:
        """The raw id, as it is sent to the provider; "" where nobody knows it."""
        ...


M = TypeVar("M", bound=RankedModel)


class Route(StrEnum):
    """Who decides on an escalation; the table's key is `tier`."""

    OVERSEER = "overseer"
    HUMAN = "human"


@dataclass(frozen=True, slots=True, kw_only=True)
class Human:
    """How a person is asked; `options` for `choose` only, `timeout_s` in seconds. Where nobody
    answers, the parent hears so and works on (`deny`), or the run ends (`abort`)."""

    kind: Kind = Kind.TEXT
    options: tuple[str, ...] = ()
    timeout_s: float = DAY_S
    on_timeout: OnTimeout = OnTimeout.ABORT

    def to_json(self) -> dict[str, Json]:
        """The table's form, all of it."""
        options: dict[str, Json] = {"options": list(self.options)} if self.options else {}
        return {
            "kind": self.kind.value,
            **options,
            "timeout_s": self.timeout_s,
            "on_timeout": self.on_timeout.value,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome is told to the parent; `format` is a template, "" for what was observed.
    `with_evidence` asks for at least one quote that the host has found in a tool's result."""

    format: str = ""
    with_evidence: bool = False


@dataclass(frozen=True, slots=True)
class Escalate:
    """Somebody else decides. `prompt` is a template of the question. `human` says how a person is
    asked: at once, or where the overseer hands the question on."""

    route: Route
    prompt: str = ""
    human: Human = field(default_factory=Human)


Branch: TypeAlias = Report | Escalate


@dataclass(frozen=True, slots=True)
class Condition:
    """What may be found, and by which checks. `branches` are names with what follows; a condition
    with one branch has one of the name ""."""

    id: str
    text: str
    checks: tuple[str, ...]
    branches: tuple[tuple[str, Branch], ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its branches."""
        return tuple(_label(self.id, name) for name, _ in self.branches)

    def to_json(self) -> dict[str, Json]:
        """The table's form."""
        checks: dict[str, Json] = {"checks": list(self.checks)} if self.checks else {}
        return {"id": self.id, "condition": self.text, **checks, **self._outcomes()}

    def _outcomes(self) -> dict[str, Json]:
        told: dict[str, Json] = {name: branch_json(branch) for name, branch in self.branches}
        return {"branch": told[""]} if "" in told else {"branches": told}

    @property
    def content(self) -> str:
        """What it says, whatever it is called: two that say the same are equal in it."""
        words = [" ".join(text.casefold().split()) for text in (self.text, *self.checks)]
        return _canonical([*words, self._outcomes()])


@dataclass(frozen=True, slots=True)
class Choice:
    """A branch of a table, by its label; `condition` is None for the default."""

    label: str
    condition: Condition | None
    branch: Branch

    @property
    def checks(self) -> tuple[str, ...]:
        """What must be looked at before it is chosen."""
        return self.condition.checks if self.condition else ()

    @property
    def words(self) -> str:
        """Its condition as people read it."""
        return self.condition.text if self.condition else "none of the conditions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A whole table, valid. `escalation_model` is a name of the catalogue, "" where none is
    given; `depth` is how many overseers may be asked, 0 for none."""

    conditions: tuple[Condition, ...]
    default: Branch
    escalation_model: str = ""
    depth: int = DEFAULT_DEPTH

    @property
    def labels(self) -> tuple[str, ...]:
        """All legal labels, the default's last."""
        return (*(label for c in self.conditions for label in c.labels), DEFAULT)

    @property
    def otherwise(self) -> Choice:
        """The default branch."""
        return Choice(DEFAULT, None, self.default)

    def find(self, label: str) -> Choice | None:
        """The branch of that label, None where there is none."""
        if label == DEFAULT:
            return self.otherwise
        for condition in self.conditions:
            for name, branch in condition.branches:
                if _label(condition.id, name) == label:
                    return Choice(label, condition, branch)
        return None

    def to_json(self) -> dict[str, Json]:
        """The canonical form."""
        model: dict[str, Json] = {}
        if self.escalation_model:
            model["escalation_model"] = self.escalation_model
        conditions: list[Json] = [condition.to_json() for condition in self.conditions]
        return {
            **model,
            "max_escalation_depth": self.depth,
            "conditions": conditions,
            "default": branch_json(self.default),
        }

    @property
    def canonical(self) -> str:
        """The canonical form as text."""
        return _canonical(self.to_json())

    @property
    def fingerprint(self) -> str:
        """The same for tables that say the same: new ids, another order, other white space or a
        condition that is there already make no new table."""
        contents: list[Json] = [*sorted({condition.content for condition in self.conditions})]
        said = _canonical([contents, branch_json(self.default)])
        return hashlib.sha256(said.encode()).hexdigest()


def branch_json(branch: Branch) -> dict[str, Json]:
    """A branch in the table's form; what is as it is by default is left out."""
    match branch:
        case Report(format=template, with_evidence=with_evidence):
            action = "report_with_evidence" if with_evidence else "report"
            return {"action": action, **({"format": template} if template else {})}
        case Escalate(route, prompt, human):
            told: dict[str, Json] = {"action": "escalate", "tier": route.value}
            if prompt:
                told["prompt"] = prompt
            return told if human == Human() else {**told, "human": human.to_json()}


def overseer_model(table: Table, configured: str, catalogue: Sequence[M], parent: M) -> M:
    """The overseer's model: the table's, else `configured` (`delegation.escalation_model`, ""
    for none), else the parent's; one above the parent's tier, or gone, is passed over."""
    for wanted in filter(None, (table.escalation_model, configured)):
        for model in called(catalogue, wanted):
            if model.tier >= parent.tier:
                return model
    return parent


def called(catalogue: Sequence[M], name: str) -> tuple[M, ...]:
    """The models that a table means by `name`, in the catalogue's order: the one of that name,
    else all whose raw id it is. Of several the first that the parent may use is taken."""
    by_name = tuple(model for model in catalogue if model.name == name)
    return by_name or tuple(model for model in catalogue if name and model.model == name)


def _label(condition: str, name: str) -> str:
    return f"{condition}.{name}" if name else condition


def _canonical(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
