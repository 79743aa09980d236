"""Reads an acceptance judge's reply, and holds its quotes against what it was shown. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.delegation.acceptance.verdict import Grade, Graded
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
NOT_SHOWN = "the judge's quote is not in the evidence"
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


@dataclass(frozen=True, slots=True)
class _Word:
    """One entry of a reply, its quotes still whole."""

    n: int
    result: Grade
    quotes: tuple[str, ...]
    why: str


def read_reply(
    reply: Reply,
    evidence: Mapping[int, str],
    *,
    quotes: Sequence[str] = ("quote",),
    strict: bool = False,
) -> Reading | Unreadable:
    """The word that a reply is, and never one that it merely mentions.

    The whole reply, perhaps in one code fence, must be the JSON object that was asked for.
    `evidence` has the numbers that were asked, each with the text that a quote for a pass must be
    from: else it is unclear. `quotes` are the keys of an entry's quotes, of which one must be
    found; `strict` asks a quote of every pass.
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
    graded = _graded(listed, evidence, quotes, strict=strict)
    if not graded:
        return Unreadable("the judge's reply had no word on any criterion that it was asked about")
    unsaid = {n: Graded(n, Grade.UNCLEAR, why=NO_WORD) for n in evidence}
    return Reading({**unsaid, **graded}, _line(said.get("reasoning"), REASONING_LIMIT))


def found(quote: str, shown: str) -> bool:
    """Whether a quote stands in a text, its parts between gaps ("…") in their order. Case, white
    space, quotation marks and emphasis do not matter, nor punctuation at the ends."""
    text, at = _normal(shown), 0
    for part in _parts(quote):
        match = re.compile(_bounded(part)).search(text, at)
        if match is None:
            return False
        at = match.end()
    return True


def _graded(
    listed: list[Json], evidence: Mapping[int, str], quotes: Sequence[str], *, strict: bool
) -> dict[int, Graded]:
    graded: dict[int, Graded] = {}
    first: dict[int, Grade] = {}
    for item in listed:
        word = _word(item, quotes)
        if word is None or word.n not in evidence:
            continue
        if first.setdefault(word.n, word.result) != word.result:
            graded[word.n] = Graded(word.n, Grade.UNCLEAR, why=TWO_WORDS)
        elif word.n not in graded:
            graded[word.n] = _held(word, evidence[word.n], strict=strict)
    return graded


def _word(item: Json, quotes: Sequence[str]) -> _Word | None:
    """One entry; None for what is none."""
    if not isinstance(item, dict):
        return None
    n, result = item.get("n"), item.get("result")
    grades = {grade.value: grade for grade in Grade}
    grade = grades.get(result.strip().lower()) if isinstance(result, str) else None
    if grade is None or isinstance(n, bool) or not isinstance(n, int):
        return None
    given = (item.get(key) for key in quotes)
    texts = tuple(text for text in given if isinstance(text, str) and _parts(text))
    return _Word(n, grade, texts, _line(item.get("why"), WHY_LIMIT) or NO_WHY)


def _held(word: _Word, evidence: str, *, strict: bool) -> Graded:
    """The word, or why a pass is not believed."""
    quote = word.quotes[0] if word.quotes else ""
    result, why = word.result, word.why
    if result is Grade.PASS and word.quotes:
        borne_out = next((text for text in word.quotes if found(text, evidence)), None)
        if borne_out is None:
            result, why = Grade.UNCLEAR, f"{NOT_SHOWN}: {why}"
        else:
            quote = borne_out
    elif result is Grade.PASS and strict:
        result, why = Grade.UNCLEAR, f"{NO_QUOTE}: {why}"
    return Graded(word.n, result, _line(quote, QUOTE_LIMIT), one_line(why, WHY_LIMIT))


def _parts(quote: str) -> list[str]:
    return [part for piece in _GAPS.split(quote) if (part := _normal(piece).strip(_ENDS))]


def _normal(text: str) -> str:
    return " ".join(_MARKS.sub("", _BREAKS.sub(" ", text)).casefold().split())


def _bounded(part: str) -> str:
    """The pattern of a part: a number is no part of a longer one ("2 passed" is not in "12
    passed"), and a short part stands as words of its own, since a letter stands in any text."""
    short = len(part) < SHORT_QUOTE
    before = r"(?<!\d)(?<!\d[.,])" if part[0].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if part[-1].isdigit() else ""
    # Only these scripts put spaces between words.
    before += r"(?<!\w)" if short and part[0].isascii() and part[0].isalnum() else ""
    after += r"(?!\w)" if short and part[-1].isascii() and part[-1].isalnum() else ""
    return f"{before}{re.escape(part)}{after}"


def _line(text: Json, limit: int) -> str:
    return one_line(unstuck(text), limit) if isinstance(text, str) else ""
