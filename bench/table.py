"""The result as text for people and as JSON for programs. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from bench.stats import Figure, Target

HEAD = ("what", "ours", "bare", "ratio", "target", "")


def table(figures: Sequence[Figure]) -> str:
    """The figures as an aligned table, with their notes below."""
    rows = [HEAD, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["  ".join(_cell(row, widths, column) for column in range(len(HEAD))) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    notes = [f"  {figure.what}: {figure.note}" for figure in figures if figure.note]
    return "\n".join(line.rstrip() for line in (*lines, "", *notes)).rstrip()


def to_json(figures: Sequence[Figure], about: Mapping[str, object]) -> str:
    """The figures with their ratios and verdicts; `about` describes the run."""
    told = [{**asdict(f), "ratio": f.ratio, "met": f.met} for f in figures]
    return json.dumps({"about": dict(about), "figures": told}, indent=2, ensure_ascii=False)


def _row(figure: Figure) -> tuple[str, ...]:
    ratio = figure.ratio
    return (
        figure.what,
        f"{number(figure.ours)} {figure.unit}",
        "" if figure.bare is None else f"{number(figure.bare)} {figure.unit}",
        "" if ratio is None else f"{ratio:.2f}x",
        "" if figure.target is None else _told(figure.target, figure.unit),
        {None: "", True: "ok", False: "missed"}[figure.met],
    )


def _told(target: Target, unit: str) -> str:
    sign = "<=" if target.at_most else ">="
    return f"{sign} {number(target.bound)}{'x' if target.of_ratio else ' ' + unit}"


def number(value: float) -> str:
    """Three digits that count; thousands with commas."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def _cell(row: tuple[str, ...], widths: Sequence[int], column: int) -> str:
    numeric = 0 < column < len(HEAD) - 1
    return row[column].rjust(widths[column]) if numeric else row[column].ljust(widths[column])
