"""An overseer's reply: what it decides, and what it may not touch. Pure.

The whole reply must be the JSON object that was asked for; a decision that it merely mentions is
none. A patch adds conditions: whatever else of the table it names makes it no patch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from core.branches.events import Patch, Resolve, ToHuman, Unusable, Word
from core.branches.faults import Code, Fault, TableError
from core.branches.parsing import TABLE_CHARS, added
from core.branches.table import MAX_CONDITIONS, Condition, Escalate, Human, Route, Table
from core.fence import one_line, plain
from core.ports import Reply
from core.replies import whole_json

REPLY_CHARS = 40_000
SUMMARY_CHARS = 2_000
QUESTION_CHARS = 1_000

_KEYS = frozenset({"decision", "reason", "branch", "summary", "conditions", "question"})


def read(reply: Reply, table: Table) -> Word:
    """The word that a reply is on a run whose latest table this is."""
    if len(reply.text) > REPLY_CHARS:
        return Unusable(f"the reply was longer than {REPLY_CHARS:,} characters")
    try:
        said = whole_json(reply.text)
    except ValueError as error:
        cut = "cut at its output limit" if reply.cut else f"not one JSON object ({error})"
        return Unusable(f"the reply was {cut}")
    if not isinstance(said, dict):
        return Unusable("the reply was not a JSON object")
    if strange := [key for key in said if key not in _KEYS]:
        named = ", ".join(one_line(key, 40) for key in strange[:3])
        return Unusable(f"the reply has keys that no decision has: {named}")
    match said.get("decision"):
        case "resolve":
            return _resolve(said, table)
        case "patch":
            return _patch(said, table)
        case "human":
            question = _text(said.get("question"), QUESTION_CHARS)
            return ToHuman(question) if question else Unusable("the question is missing")
        case _:
            return Unusable("decision must be resolve, patch or human")


def patched(table: Table, conditions: tuple[Condition, ...]) -> Table:
    """The table with conditions added at its end. Raises TableError for any that may not be."""
    faults = []
    if not conditions or len(table.conditions) + len(conditions) > MAX_CONDITIONS:
        count = f"a table has at most {MAX_CONDITIONS} conditions, and a patch adds at least one"
        faults.append(Fault(Code.TOO_MANY_BRANCHES, "conditions", count))
    taken = {condition.id for condition in table.conditions}
    said = {_words(condition): condition for condition in table.conditions}
    for n, condition in enumerate(conditions):
        if condition.id in taken:
            path = f"conditions[{n}].id"
            why = f"{condition.id!r} is there already; a patch only adds"
            faults.append(Fault(Code.DUPLICATE_ID, path, why))
        taken.add(condition.id)
        same = said.get(_words(condition))
        if same is not None and same.content != condition.content:
            path = f"conditions[{n}].condition"
            why = f"it is that of {same.id}; a patch may not say otherwise what follows"
            faults.append(Fault(Code.BAD_SCHEMA, path, why))
        for name, branch in condition.branches:
            if isinstance(branch, Escalate) and (
                branch.route is Route.HUMAN or branch.human != Human()
            ):
                path = f"conditions[{n}].{f'branches.{name}' if name else 'branch'}"
                why = "a patch may not say how or when a person is asked; decide human instead"
                faults.append(Fault(Code.NO_HUMAN_ROUTE, path, why))
    longer = replace(table, conditions=(*table.conditions, *conditions))
    if len(longer.canonical) > TABLE_CHARS:
        why = f"with them the table is longer than {TABLE_CHARS:,} characters"
        faults.append(Fault(Code.BAD_SCHEMA, "conditions", why))
    if faults:
        raise TableError(faults, "the patch")
    return longer


def _words(condition: Condition) -> str:
    return " ".join(condition.text.casefold().split())


def _resolve(said: Mapping[str, object], table: Table) -> Word:
    summary = _text(said.get("summary"), SUMMARY_CHARS)
    label = said.get("branch") or ""
    if not summary:
        return Unusable("the summary of the outcome is missing")
    if not isinstance(label, str) or (label and table.find(label) is None):
        named = ", ".join(table.labels[:40])
        return Unusable(f"branch must be one of {named}, or empty")
    return Resolve(label, summary)


def _patch(said: Mapping[str, object], table: Table) -> Word:
    try:
        conditions = added(said.get("conditions"), table)
        patched(table, conditions)
    except TableError as error:
        return Unusable(str(error))
    return Patch(conditions)


def _text(given: object, limit: int) -> str:
    text = plain(given).strip() if isinstance(given, str) else ""
    return text if len(text) <= limit else text[: limit - 1] + "…"
