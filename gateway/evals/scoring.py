"""Scores of a model on labelled rows, with the interval that each share is likely in. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from gateway.evals.rows import Rows
from gateway.evals.seats import Word

Z = 1.959964
"""The standard normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A row that was asked; `again` is the word on the same row reordered, None where it was not
    asked so."""

    id: str
    rows: Rows
    kind: str
    done: bool
    word: Word
    again: Word | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    of: int
    count: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share behind it, (0, 1) where nothing was counted."""
        if self.of == 0:
            return 0.0, 1.0
        share, square = self.count / self.of, Z * Z / self.of
        middle = (share + square / 2) / (1 + square)
        half = Z * sqrt(share * (1 - share) / self.of + square / (4 * self.of)) / (1 + square)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        if self.of == 0:
            return "–"
        low, high = self.interval
        percent = 100 * self.count / self.of
        return f"{self.count}/{self.of} = {percent:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What the rows come to: those not done that passed, those done that failed, those without a
    verdict, and those whose word stayed the same when they were reordered."""

    rows: int
    false_pass: Share
    false_fail: Share
    unverified: Share
    agreement: Share


def score(asked: Sequence[Asked]) -> Score:
    """The score of some rows."""
    twice = [row for row in asked if row.again is not None]
    return Score(
        rows=len(asked),
        false_pass=_share(asked, lambda row: not row.done, lambda row: row.word is Word.PASS),
        false_fail=_share(asked, lambda row: row.done, lambda row: row.word is Word.FAIL),
        unverified=_share(asked, lambda _: True, lambda row: row.word is Word.UNVERIFIED),
        agreement=_share(twice, lambda _: True, lambda row: row.word is row.again),
    )


def table(asked: Sequence[Asked], title: str) -> str:
    """The scores as a Markdown table: set by set, then kind by kind, then all rows."""
    lines = [
        f"| {title} | rows | false pass | false fail | unverified | agreement reordered |",
        "|---|---|---|---|---|---|",
    ]
    for name in Rows:
        of_set = [row for row in asked if row.rows is name]
        if not of_set:
            continue
        lines.append(_line(f"**{name}**", of_set))
        kinds = dict.fromkeys(row.kind for row in of_set)
        lines += [_line(kind, [row for row in of_set if row.kind == kind]) for kind in kinds]
    lines.append(_line("**all**", asked))
    return "\n".join(lines)


def _line(name: str, asked: Sequence[Asked]) -> str:
    s = score(asked)
    cells = (name, s.rows, s.false_pass, s.false_fail, s.unverified, s.agreement)
    return f"| {' | '.join(map(str, cells))} |"


def _share(
    asked: Sequence[Asked], among: Callable[[Asked], bool], counts: Callable[[Asked], bool]
) -> Share:
    rows = [row for row in asked if among(row)]
    return Share(len(rows), sum(map(counts, rows)))
