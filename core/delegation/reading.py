"""Reads an acceptance judge's reply, and holds its quotes against what it was shown. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from core.delegation.verdict import Grade, Graded
from core.fence import one_line
from core.ports import Reply
from core.replies import unstuck, whole_json
from core.transcript import Json

REPLY_LIMIT = 40_000
QUOTE_LIMIT = 300
WHY_LIMIT = 300
REASONING_LIMIT = 1_000
SHORT_QUOTE = 8
"""A quote under so many characters must stand as words of its own."""

NO_WORD = "the judge said nothing about it"
TWO_WORDS = "the judge said two different things about it"
NO_WHY = "no reason was given"
NOT_SHOWN = "the judge's quote is nowhere in what it was shown"
NO_QUOTE = "the judge quoted no evidence"

_GAPS = re.compile(r"\.{3,}|…")
_MARKS = re.compile(r"[\"'`*\\“”„«»‘’]")
_BREAKS = re.compile(r"\\[nrt]|\s+")
_ENDS = " .,;:!?()[]{}<>-–—"


@dataclass(frozen=True, slots=True)
class Reading:
    """A judge's word on every criterion that it was asked about, by number."""

    graded: Mapping[int, Graded]
    reasoning: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """There is none, and why."""

    why: str


def read_reply(
    reply: Reply, asked: Collection[int], evidence: str, *, strict: bool = False
) -> Reading | Unreadable:
    """The word that a reply is, and never one that it merely mentions.

    The whole reply, perhaps in one code fence, must be the JSON object that was asked for. A pass
    whose quote is not in `evidence` is unclear; `strict` asks a quote of every pass.
    """
    if not reply.text.strip():
        return Unreadable("the judge's reply was empty")
    try:
        said = whole_json(reply.text) if len(reply.text) <= REPLY_LIMIT else None
    except ValueError as error:
        cut = "cut at its output limit" if reply.cut else f"not one JSON object ({error})"
        return Unreadable(f"the judge's reply was {cut}")
    listed = said.get("criteria") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(listed, list):
        return Unreadable('the judge\'s reply was not an object with a list "criteria"')
    words = _words(listed, asked)
    if not words:
        return Unreadable("the judge's reply had no word on any criterion that it was asked about")
    shown = _normal(evidence)
    graded = {
        n: _held(words.get(n, Graded(n, Grade.UNCLEAR, why=NO_WORD)), shown, strict=strict)
        for n in asked
    }
    return Reading(graded, _line(said.get("reasoning"), REASONING_LIMIT))


def found(quote: str, shown: str) -> bool:
    """Whether a quote stands in `shown` (normalised), its parts between gaps in their order."""
    at = 0
    for part in _parts(quote):
        end = r"\b" if len(part) < SHORT_QUOTE else ""
        match = re.compile(_bounded(part, end)).search(shown, at)
        if match is None:
            return False
        at = match.end()
    return True


def _words(listed: list[Json], asked: Collection[int]) -> dict[int, Graded]:
    words: dict[int, Graded] = {}
    for item in listed:
        word = _word(item)
        if word is None or word.n not in asked:
            continue
        before = words.setdefault(word.n, word)
        if before.result != word.result:
            words[word.n] = Graded(word.n, Grade.UNCLEAR, why=TWO_WORDS)
    return words


def _word(item: Json) -> Graded | None:
    """One entry, its quote still whole; None for what is none."""
    if not isinstance(item, dict):
        return None
    n, result, quote = item.get("n"), item.get("result"), item.get("quote")
    grades = {grade.value: grade for grade in Grade}
    grade = grades.get(result.strip().lower()) if isinstance(result, str) else None
    if grade is None or isinstance(n, bool) or not isinstance(n, int):
        return None
    why = _line(item.get("why"), WHY_LIMIT) or NO_WHY
    return Graded(n, grade, quote if isinstance(quote, str) else "", why)


def _held(word: Graded, shown: str, *, strict: bool) -> Graded:
    against = ""
    if word.result is Grade.PASS:
        if not any(_parts(word.quote)):
            against = NO_QUOTE if strict else ""
        elif not found(word.quote, shown):
            against = NOT_SHOWN
    line = replace(word, quote=_line(word.quote, QUOTE_LIMIT))
    if not against:
        return line
    return replace(line, result=Grade.UNCLEAR, why=one_line(f"{against}: {word.why}", WHY_LIMIT))


def _parts(quote: str) -> list[str]:
    return [part for piece in _GAPS.split(quote) if (part := _normal(piece).strip(_ENDS))]


def _normal(text: str) -> str:
    """Without case, quotation marks, emphasis and the kind of white space."""
    return " ".join(_MARKS.sub("", _BREAKS.sub(" ", text)).casefold().split())


def _bounded(part: str, end: str) -> str:
    words = re.escape(part)
    return f"{end if part[0].isalnum() else ''}{words}{end if part[-1].isalnum() else ''}"


def _line(text: Json | None, limit: int) -> str:
    return one_line(unstuck(text), limit) if isinstance(text, str) else ""
