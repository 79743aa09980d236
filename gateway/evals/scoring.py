"""Scores of a model on labelled rows, with the interval that each share is likely in. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from gateway.evals.rows import Rows
from gateway.evals.words import Lack, Said, Word

Z = 1.959964
"""The standard normal quantile of a two-sided 95 % interval."""
HEADINGS = (
    *("rows", "calls failed", "false pass", "false fail"),
    *("unverified", "no verdict", "agreement reordered"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A row that was asked; `again` is said of the same row reordered, None where it was not
    asked so."""

    id: str
    rows: Rows
    kind: str
    done: bool
    said: Said
    again: Said | None = None

    @property
    def failure(self) -> str:
        """Why a call failed, so that there is nothing to score; "" where none did."""
        words = (self.said, self.again)
        return next((said.why for said in words if said and said.lack is Lack.CALL), "")


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
    word that counts and of these those without a verdict, and those whose verdict stayed the same
    when they were reordered, of those with one both times. The `failed` count in no share."""

    rows: int
    failed: int
    false_pass: Share
    false_fail: Share
    unverified: Share
    no_verdict: Share
    agreement: Share


def score(asked: Sequence[Asked]) -> Score:
    """The score of some rows."""
    heard = [row for row in asked if not row.failure]
    twice = [
        (row.said.word, row.again.word)
        for row in heard
        if row.again is not None and row.said.decided and row.again.decided
    ]
    return Score(
        rows=len(asked),
        failed=len(asked) - len(heard),
        false_pass=_share(
            [row for row in heard if not row.done], lambda row: row.said.word is Word.PASS
        ),
        false_fail=_share(
            [row for row in heard if row.done], lambda row: row.said.word is Word.FAIL
        ),
        unverified=_share(heard, lambda row: not row.said.decided),
        no_verdict=_share(heard, lambda row: row.said.lack is Lack.VERDICT),
        agreement=Share(len(twice), sum(one is other for one, other in twice)),
    )


def table(asked: Sequence[Asked], title: str) -> str:
    """The scores as a Markdown table: set by set, then kind by kind, then all rows."""
    lines = [f"| {' | '.join((title, *HEADINGS))} |", "|---" * (1 + len(HEADINGS)) + "|"]
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
    shares = (s.false_pass, s.false_fail, s.unverified, s.no_verdict, s.agreement)
    return f"| {' | '.join(map(str, (name, s.rows, s.failed, *shares)))} |"


def _share(rows: Sequence[Asked], counts: Callable[[Asked], bool]) -> Share:
    return Share(len(rows), sum(map(counts, rows)))
