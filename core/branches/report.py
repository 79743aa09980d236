"""The child's one way to answer: `report_branch`, and what of its report the host can bear out.

Pure. A model's word is taken for what it observed, never for what a tool said: an excerpt counts
only where it stands in that very call's result, white space aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core.branches.table import DEFAULT, Choice, Report, Table
from core.errors import UserError
from core.fence import one_line, plain
from core.ports import ToolSpec
from core.tools.arguments import Arguments, parse
from core.tools.definitions import THINK
from core.transcript import Json, ToolResult

NAME = "report_branch"
DESCRIPTION = (
    "Report which branch of the branch table matches, with evidence. Call it once, alone, when"
    " the step is done; your work ends with it."
)
LOW = "the child was not sure of it"
MAX_QUOTES = 8
EXCERPT_CHARS = 600
SHORT_EXCERPT = 8
"""An excerpt under so many characters must stand as words of its own."""
OBSERVED_CHARS = 2_000
EXPECTED_CHARS = 600
MAX_TRIED, TRIED_CHARS = 10, 200
FAULTS_TOLD = 8
SOURCE_CHARS = 120

_NUMBERED = re.compile(r"(?:check\s*)?#?(\d{1,2})\s*[.):-]?\s*(.*)\Z", re.DOTALL)


class CheckAnswer(Arguments):
    """One check of the chosen condition."""

    check: str
    met: bool


class Excerpt(Arguments):
    """A piece of a tool's result, copied."""

    tool_call_id: str
    excerpt: str


class ReportArguments(Arguments):
    """A child's report; null counts as left out."""

    branch: str
    confidence: Literal["high", "medium", "low"]
    observed: str
    checks: list[CheckAnswer] | None = None
    evidence: list[Excerpt] | None = None
    expected: str | None = None
    tried: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """An excerpt that the host has found in a call's result; `source` says on one line what the
    call did, for an echo proves no more than that it was said."""

    call_id: str
    excerpt: str
    source: str = ""

    def to_json(self) -> dict[str, Json]:
        """As results show it and the store keeps it."""
        return {"tool_call_id": self.call_id, "excerpt": self.excerpt, "source": self.source}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a child says of its step, cut to its limits; the quotes are borne out, the rest is its
    own word."""

    label: str
    observed: str
    expected: str = ""
    tried: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Accepted:
    """The report stands; its label is one of the table's."""

    account: Account


@dataclass(frozen=True, slots=True)
class Repair:
    """The child may mend its report, once."""

    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToDefault:
    """The default branch it is; `account` is None where the report could not be read."""

    account: Account | None
    reason: str


Checked: TypeAlias = Accepted | Repair | ToDefault


@dataclass(frozen=True, slots=True)
class SeenResult:
    """A call's result as the child read it, and what the call did on one line."""

    text: str
    source: str = ""


def spec(table: Table) -> ToolSpec:
    """The tool, with the legal labels of this table."""
    labels: list[Json] = [*table.labels]
    checks = _list_of(
        {"check": _TEXT, "met": {"type": "boolean"}},
        "One for every check of the chosen condition, the check copied.",
    )
    evidence = _list_of(
        {"tool_call_id": _TEXT, "excerpt": _TEXT},
        "Short pieces copied exactly from tool results, each with the id of its call.",
    )
    fields: dict[str, Json] = {
        "observed": {**_TEXT, "description": "What you found, in one to three sentences."},
        "expected": {**_TEXT, "description": "What was to be expected, where that differs."},
        "tried": {"type": "array", "items": _TEXT, "description": "What you did, step by step."},
        "checks": checks,
        "evidence": evidence,
        "confidence": {"type": "string", "enum": ["high", "medium", "low"]},
        "branch": {"type": "string", "enum": labels},
    }
    needed: list[Json] = ["observed", "checks", "evidence", "confidence", "branch"]
    return ToolSpec(
        NAME, DESCRIPTION, {"type": "object", "properties": fields, "required": needed}
    )


_TEXT: dict[str, Json] = {"type": "string"}


def _list_of(fields: dict[str, Json], description: str) -> Json:
    item: Json = {"type": "object", "properties": fields, "required": list(fields)}
    return {"type": "array", "items": item, "description": description}


def tagged(call_id: str, text: str) -> str:
    """A tool's result as a child in Branch Table mode reads it: a model is not told the ids of its
    calls in any other way."""
    return f"[{call_id}]\n{text}"


def citable(results: Iterable[ToolResult]) -> dict[str, SeenResult]:
    """What may be quoted, by call id, untagged. Not among it: what repeats the model's own words,
    which are its thoughts and the complaints about its reports."""
    return {
        result.call.id: SeenResult(result.text, one_line(result.receipt.summary, SOURCE_CHARS))
        for result in results
        if result.call.name not in {NAME, THINK.name}
    }


def check(
    arguments: str, table: Table, calls: Mapping[str, SeenResult], *, repaired: bool
) -> Checked:
    """What a report comes to: `arguments` is the call's JSON text as it came, `calls` are those of
    this child that `citable` gives, `repaired` says whether it was sent back once already."""
    try:
        report = parse(ReportArguments, arguments, NAME)
    except UserError as error:
        return _sent_back((one_line(str(error), 300),), None, repaired=repaired)
    choice = table.find(report.branch.strip())
    excerpts = [_borne_out(excerpt, calls) for excerpt in report.evidence or ()]
    account = _account(report, [quote for quote in excerpts if isinstance(quote, Quote)])
    if report.confidence == "low":
        return ToDefault(account, LOW)
    faults: list[str] = []
    if choice is None:
        faults.append(_no_branch(report.branch, table))
    else:
        faults.extend(_check_faults(choice, report.checks or ()))
        if choice.label != DEFAULT:  # an excerpt too many changes nothing there: it is dropped
            faults.extend(fault for fault in excerpts if isinstance(fault, str))
        faults.extend(_lacks_evidence(choice, account))
    return _sent_back(tuple(faults), account, repaired=repaired) if faults else Accepted(account)


def _sent_back(faults: tuple[str, ...], account: Account | None, *, repaired: bool) -> Checked:
    if not repaired:
        return Repair(faults[:FAULTS_TOLD])
    return ToDefault(account, f"the child's report could not be used, twice: {faults[0]}")


def _account(report: ReportArguments, quotes: Sequence[Quote]) -> Account:
    return Account(
        label=one_line(report.branch, 80),
        observed=_cut(report.observed, OBSERVED_CHARS),
        expected=_cut(report.expected or "", EXPECTED_CHARS),
        tried=tuple(one_line(text, TRIED_CHARS) for text in (report.tried or [])[:MAX_TRIED]),
        quotes=tuple(dict.fromkeys(quotes))[:MAX_QUOTES],
    )


def _no_branch(given: str, table: Table) -> str:
    named = ", ".join(table.labels[:40])
    return f"there is no branch {one_line(given, 60)!r}; branch is one of {named}"


def _lacks_evidence(choice: Choice, account: Account) -> tuple[str, ...]:
    wanted = isinstance(choice.branch, Report) and choice.branch.with_evidence
    if not wanted or account.quotes:
        return ()
    return (f"{choice.label} needs evidence: give at least one excerpt from a tool's result",)


def _check_faults(choice: Choice, answers: Sequence[CheckAnswer]) -> tuple[str, ...]:
    """Checks without an answer, or with two that differ."""
    said: dict[int, set[bool]] = {}
    for answer in answers:
        said.setdefault(_number(answer.check, choice.checks), set()).add(answer.met)
    faults = []
    for n, text in enumerate(choice.checks):
        met = said.get(n, set())
        if len(met) != 1:
            what = "has two different answers" if met else "is not answered"
            faults.append(f"the check {one_line(text, 120)!r} of {choice.label} {what}")
    return tuple(faults)


def _number(given: str, checks: Sequence[str]) -> int:
    """Which check is meant: by its words, or by its number; -1 for none of them."""
    plain_words = [_words(text) for text in checks]
    if _words(given) in plain_words:
        return plain_words.index(_words(given))
    numbered = _NUMBERED.match(given.strip().casefold())
    if numbered is None:
        return -1
    n, rest = int(numbered[1]) - 1, _words(numbered[2])
    return n if n in range(len(checks)) and rest in {"", plain_words[n]} else -1


def _words(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .,;:!?\"'`")


def _borne_out(given: Excerpt, calls: Mapping[str, SeenResult]) -> Quote | str:
    """The quote, or what is wrong with it."""
    name = given.tool_call_id.strip()
    seen = calls.get(name) or calls.get(name.strip("[]"))
    if seen is None:
        return f"there is no call {one_line(name, 60)!r} that could be quoted"
    excerpt = _folded(given.excerpt)
    shown = repr(one_line(excerpt, 80))
    if not any(character.isalnum() for character in excerpt):
        return f"the excerpt {shown} says nothing; copy words from the result"
    if len(excerpt) > EXCERPT_CHARS:
        return f"the excerpt {shown} is longer than {EXCERPT_CHARS} characters; copy less"
    if not _stands_in(excerpt, _folded(seen.text)):
        where = one_line(name, 60)
        return f"the excerpt {shown} is not in the result of {where}; copy it letter by letter"
    return Quote(name if name in calls else name.strip("[]"), excerpt, seen.source)


def _stands_in(excerpt: str, text: str) -> bool:
    """Whether a piece stands in a text: a number not within a longer one, and a short piece as
    words of its own, since a letter stands in any text."""
    before = r"(?<!\d)(?<!\d[.,])" if excerpt[0].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if excerpt[-1].isdigit() else ""
    if len(excerpt) < SHORT_EXCERPT:  # only ASCII scripts are sure to put spaces between words
        before += r"(?<![A-Za-z0-9_])" if excerpt[0].isascii() and excerpt[0].isalnum() else ""
        after += r"(?![A-Za-z0-9_])" if excerpt[-1].isascii() and excerpt[-1].isalnum() else ""
    return re.search(f"{before}{re.escape(excerpt)}{after}", text) is not None


def _folded(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, limit: int) -> str:
    clean = plain(text).strip()
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
