"""From what a parent wrote to a valid branch table. Pure.

Takes the object form, the list form with its trailing `default`, and the text of either. All
faults are collected, each with its place in the object form; nothing has run by then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from core.branches.faults import Code, TableError
from core.branches.outcomes import Outcomes
from core.branches.reading import Reading, below
from core.branches.table import (
    DEFAULT_DEPTH,
    MAX_CONDITIONS,
    MAX_DEPTH,
    Branch,
    Condition,
    RankedModel,
    Report,
    Table,
    called,
)
from core.errors import UserError
from core.fence import one_line
from core.replies import kind, whole_json
from core.transcript import Json

MAX_BRANCHES = 12
"""The most branches of one condition."""
MAX_CHECKS = 12
CONDITION_CHARS = 1_000
CHECK_CHARS = 300
NAME_CHARS = 200
TEXT_CHARS = 100_000
TABLE_CHARS = 40_000
"""The most characters of a table's text as it is given, and of its canonical JSON."""

_ID = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}\Z")
_TABLE_KEYS = ("escalation_model", "max_escalation_depth", "conditions", "default")
_CONDITION_KEYS = ("id", "condition", "description", "checks", "branches", "branch")
_DEFAULT_FIX = (
    'add "default": {"action": "escalate", "tier": "overseer"} beside conditions, or in the list'
    " form a last entry `- default: {action: escalate, tier: overseer}`"
)

ReadText: TypeAlias = Callable[[str], Json]
"""Reads YAML into plain values. Raises UserError or ValueError."""


def parse(
    given: object,
    catalogue: Sequence[RankedModel],
    parent: RankedModel,
    *,
    human_route: bool,
    read_text: ReadText,
) -> Table:
    """The table of a task whose delegating agent runs on `parent`.

    `human_route` says whether a person can be reached from where the task came: without one no
    branch may ask a person, and depth 0, which sends every escalation to one, is a fault too.
    Raises TableError with all faults.
    """
    reading = _Tables(catalogue, parent, human_route=human_route)
    table = reading.table(_object_form(given, read_text, reading))
    if not reading.faults and len(table.canonical) > TABLE_CHARS:
        reading.bad("", f"it is too long; at most {TABLE_CHARS:,} characters in all")
    if reading.faults:
        raise TableError(reading.faults)
    return table


def read_again(given: object, *, read_text: ReadText) -> Table:
    """The table of a task that was begun with it; models and routes are not looked at again, for
    settings may have changed since. Raises TableError for what is no table."""
    reading = _Tables((), None, human_route=True)
    table = reading.table(_object_form(given, read_text, reading))
    if reading.faults:
        raise TableError(reading.faults)
    return table


def restored(stored: object) -> Table:
    """The table whose `to_json` was stored; models and routes are not looked at again. Raises
    TableError for what is none."""
    reading = _Tables((), None, human_route=True)
    table = reading.table(stored)
    if reading.faults:
        raise TableError(reading.faults, "the stored branch table")
    return table


def added(given: object, table: Table) -> tuple[Condition, ...]:
    """The conditions that are to be added to a table, numbered on from its own. Their ids must be
    new, and all together at most 24; none may ask a person. Raises TableError."""
    reading = _Tables((), None, human_route=False)
    conditions = reading.conditions(given, table.conditions)
    if reading.faults:
        raise TableError(reading.faults, "the patch")
    return conditions


def _object_form(given: object, read_text: ReadText, reading: Reading) -> object:
    """The object form, unless there is a fault; then something that has further faults at most."""
    if isinstance(given, str):
        given = _from_text(given, read_text, reading)
    if not isinstance(given, list):
        return given
    *before, last = given or [None]
    table: dict[str, object] = {"conditions": before}
    if isinstance(last, dict) and "default" in last:
        table["default"] = last["default"]
        for key in last:
            if key != "default":
                fix = "the default entry holds nothing else; make it an entry of its own"
                reading.bad(below(f"[{len(before)}]", key), fix)
    else:
        table["conditions"] = given
    return table


def _from_text(text: str, read_text: ReadText, reading: Reading) -> object:
    if len(text) > TEXT_CHARS:
        reading.bad("", f"the text is too long; at most {TEXT_CHARS:,} characters")
        return None
    with suppress(ValueError):  # not all JSON is YAML: that has rules of its own for characters
        return whole_json(text)
    try:
        return read_text(text)
    except (UserError, ValueError) as error:
        reading.bad("", f"{one_line(str(error), 300)}. Give the table as JSON instead of a text")
        return None


class _Tables(Outcomes):
    """Reads tables; `parent` None looks up no models."""

    def __init__(
        self, catalogue: Sequence[RankedModel], parent: RankedModel | None, *, human_route: bool
    ) -> None:
        super().__init__(human_route=human_route)
        self._catalogue = catalogue
        self._parent = parent

    def table(self, given: object) -> Table:
        """A whole table in the object form."""
        fields: Mapping[str, object] = {}
        if given is not None or not self.faults:  # else its text could not be read: that says it
            fields = self.fields(given, "", _TABLE_KEYS)
        if not isinstance(given, dict):
            return Table(conditions=(), default=Report())
        conditions = self.conditions(fields.get("conditions", []), ())
        default: Branch = Report()
        if "default" in fields:
            default = self.branch(fields["default"], "default")
        else:
            self.fault(Code.MISSING_DEFAULT, "default", f"there is none; {_DEFAULT_FIX}")
        return Table(
            conditions=conditions,
            default=default,
            escalation_model=self._model(fields.get("escalation_model", "")),
            depth=self._depth(fields.get("max_escalation_depth", DEFAULT_DEPTH)),
        )

    def conditions(self, given: object, there: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """The conditions of a list, beside those that are there already."""
        items = self.items(given, "conditions", "conditions")
        if isinstance(given, list) and not items:
            self.bad("conditions", f"there are none; give 1 to {MAX_CONDITIONS}")
        room = MAX_CONDITIONS - len(there)
        if len(items) > room:
            beside = f" beside the {len(there)} that are there" if there else ""
            self.fault(
                Code.TOO_MANY_BRANCHES,
                "conditions",
                f"there are {len(items)}{beside}; at most {MAX_CONDITIONS} are allowed in all."
                " Join some, or leave the least likely to the default",
            )
        first = len(there) + 1
        read = tuple(
            self._condition(item, f"conditions[{n}]", f"c{first + n}")
            for n, item in enumerate(items[: max(room, 0)])
        )
        self._check_ids(read, {condition.id: "of the table" for condition in there})
        return read

    def _check_ids(self, conditions: Sequence[Condition], taken: dict[str, str]) -> None:
        for n, condition in enumerate(conditions):
            here = f"conditions[{n}]"
            if condition.id in taken:
                self.fault(
                    Code.DUPLICATE_ID,
                    f"{here}.id",
                    f"{condition.id!r} is the id {taken[condition.id]} already (without an id the"
                    f" n-th condition is cn); give each an id of its own",
                )
            taken.setdefault(condition.id, f"of {here}")

    def _condition(self, given: object, path: str, place: str) -> Condition:
        if isinstance(given, dict) and "default" in given:
            fix = "default stands beside conditions; in the list form it is the last entry"
            self.bad(f"{path}.default", fix)
            given = {key: value for key, value in given.items() if key != "default"}
            if not given:
                return Condition(place, "", (), ())
        fields = self.fields(given, path, _CONDITION_KEYS)
        name = fields.get("id", place)
        if not isinstance(name, str) or not _ID.match(name):
            fix = "an id is a lower-case letter and up to 31 more letters, digits or _"
            self.bad(f"{path}.id", f"{fix}. Rename it or leave it out")
            name = place
        checks = self.texts(
            fields.get("checks", []), f"{path}.checks", limit=CHECK_CHARS, most=MAX_CHECKS
        )
        is_object = isinstance(given, dict)
        text = self._condition_text(fields, path) if is_object else ""
        branches = self._branches(fields, path) if is_object else ()
        return Condition(name, text, checks, branches)

    def _condition_text(self, fields: Mapping[str, object], path: str) -> str:
        key = "condition" if "condition" in fields else "description"
        if key not in fields:
            self.bad(f"{path}.condition", "it is missing; say in words what must be the case")
            return ""
        if key == "condition" and fields.get("description", fields[key]) != fields[key]:
            self.bad(f"{path}.description", "it is another name of condition; give one of them")
        return self.text(fields[key], f"{path}.{key}", CONDITION_CHARS).strip()

    def _branches(self, fields: Mapping[str, object], path: str) -> tuple[tuple[str, Branch], ...]:
        if ("branch" in fields) == ("branches" in fields):
            found = "both are there" if "branch" in fields else "neither is there"
            fix = "give branches (names with what follows) or branch (one for all)"
            self.bad(path, f"{found}; {fix}")
            return ()
        if "branch" in fields:
            return (("", self.branch(fields["branch"], f"{path}.branch")),)
        given, path = fields["branches"], f"{path}.branches"
        if not isinstance(given, dict):
            self.bad(path, f"it must be an object of names with branches, not {kind(given)}")
            return ()
        if len(given) > MAX_BRANCHES:
            self.fault(
                Code.TOO_MANY_BRANCHES,
                path,
                f"there are {len(given)}; at most {MAX_BRANCHES} are allowed. Join some, or split"
                " the condition",
            )
        read = []
        for name, branch in list(given.items())[:MAX_BRANCHES]:
            here = below(path, name)
            if not isinstance(name, str) or not _BRANCH.match(name):
                self.bad(here, "a branch's name is up to 32 letters, digits, _ or -; rename it")
            read.append((str(name), self.branch(branch, here)))
        return tuple(read)

    def _depth(self, given: object) -> int:
        path = "max_escalation_depth"
        if isinstance(given, bool) or not isinstance(given, int):
            self.bad(path, f"it must be a whole number from 0 to {MAX_DEPTH}, not {kind(given)}")
            return DEFAULT_DEPTH
        if not 0 <= given <= MAX_DEPTH:
            fix = f"it is {given if abs(given) < 10**9 else 'far out'}"
            self.fault(Code.DEPTH_RANGE, path, f"{fix}; give 0 to {MAX_DEPTH}")
            return DEFAULT_DEPTH
        if given == 0 and not self.human_route:
            self.fault(
                Code.NO_HUMAN_ROUTE,
                path,
                "at depth 0 every escalation goes to a person, and none can be reached from here;"
                f" give 1 to {MAX_DEPTH}",
            )
        return given

    def _model(self, given: object) -> str:
        path = "escalation_model"
        name = self.text(given, path, NAME_CHARS).strip() if given != "" else ""
        parent = self._parent
        if parent is None or not name:
            return name
        found = called(self._catalogue, name)
        for model in found:
            if model.tier >= parent.tier:
                return model.name
        allowed = ", ".join(m.name for m in self._catalogue if m.tier >= parent.tier)
        fix = f"Name one of: {allowed}" if allowed else "Leave it out"
        if found:
            self.fault(
                Code.TIER_ABOVE_PARENT,
                path,
                f"{found[0].name} is tier {found[0].tier}, above your own tier {parent.tier}."
                f" {fix}",
            )
        else:
            what = f"there is no model {one_line(name, 60)!r}"
            self.fault(Code.UNKNOWN_MODEL, path, f"{what}. {fix}")
        return ""
