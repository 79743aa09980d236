"""Rows whose label code decides: count, columns, JSON, contains, order; each with a near miss.

The agent claims the same in both, so that only the evidence tells them apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gateway.evals.rows import Row, Rows, reads, writes

EACH = 22
"""Pairs of each kind."""
WORDS = (
    *("apple", "birch", "cedar", "daisy", "elder", "fennel", "grape", "hazel", "iris", "juniper"),
    *("kale", "lemon", "maple", "nettle", "olive", "poppy", "quince", "rose", "sage", "thyme"),
    *("umbel", "violet", "walnut", "yarrow", "zinnia"),
)
COLUMNS = ("name", "price", "stock", "colour", "weight", "city", "year", "owner")
NOTES = "notes.txt"
GREETING = "hello"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing to be done: its file, what is asked of it, a text that is right and one that is
    nearly, and what decides."""

    file: str
    asked: str
    right: str
    wrong: str
    holds: Callable[[str], bool]


def rows() -> Iterator[Row]:
    """All of them. Raises ValueError where a label is not what the code says."""
    for kind, make in KINDS.items():
        for n in range(EACH):
            case = make(n)
            for done, text in ((True, case.right), (False, case.wrong)):
                if case.holds(text) is not done:
                    raise ValueError(f"{kind} {n}: {text!r} is not labelled right")
                yield _row(kind, n, case, text, done=done)


def _row(kind: str, n: int, case: Case, text: str, *, done: bool) -> Row:
    pair = f"{kind}-{n:02}"
    files = {case.file: text, NOTES: GREETING}
    return Row(
        id=f"{pair}-{'done' if done else 'miss'}",
        rows=Rows.CHECKS,
        kind=kind,
        pair=pair,
        done=done,
        task=f"Write {case.file}: {case.asked}. Write {NOTES} with the word {GREETING} too.",
        criteria=(f"{case.file}: {case.asked}", f"{NOTES} holds the word {GREETING}"),
        answer=f"Done. I wrote {case.file} as you wanted it ({case.asked}), and {NOTES}.",
        calls=(*map(writes, files, files.values()), *map(reads, files, files.values())),
        files=files,
    )


def _words(n: int, count: int) -> list[str]:
    """So many different words, others for each n, in no order."""
    return [WORDS[(n * 3 + at * 7) % len(WORDS)] for at in range(count)]


def _count(n: int) -> Case:
    wanted = 3 + n % 6
    words = _words(n, wanted + 1)
    wrong = words if n % 2 else words[: wanted - 1]
    return Case(
        file=f"list{n}.txt",
        asked=f"exactly {wanted} lines, one word on each",
        right="\n".join(words[:wanted]),
        wrong="\n".join(wrong),
        holds=lambda text: len(text.splitlines()) == wanted,
    )


def _columns(n: int) -> Case:
    names = [COLUMNS[(n + at) % len(COLUMNS)] for at in range(3 + n % 2)]
    data = [[f"{word[:3]}{at}" for at in range(len(names))] for word in _words(n, 3)]
    right = [names, *data]
    short, renamed = [names, data[0], data[1][:-1], data[2]], [[*names[:-1], "other"], *data]
    wrong = short if n % 2 else renamed

    def holds(text: str) -> bool:
        lines = [line.split(",") for line in text.splitlines()]
        return lines[0] == names and all(len(line) == len(names) for line in lines)

    return Case(
        file=f"table{n}.csv",
        asked=f"a CSV table with exactly the columns {', '.join(names)}, in every row",
        right="\n".join(map(",".join, right)),
        wrong="\n".join(map(",".join, wrong)),
        holds=holds,
    )


def _json(n: int) -> Case:
    key, number = WORDS[n % len(WORDS)], 10 + n
    right = json.dumps({"name": key, "count": number})
    wrong = (
        right.replace("}", ",}"),
        right.replace('"', "'"),
        json.dumps({"name": key, "count": str(number)}),
        json.dumps({"name": key, "counts": number}),
    )[n % 4]

    def holds(text: str) -> bool:
        try:
            found = json.loads(text)
        except ValueError:
            return False
        return set(found) == {"name", "count"} and isinstance(found["count"], int)

    return Case(
        file=f"data{n}.json",
        asked='valid JSON, an object with exactly the keys "name" and "count", count a number',
        right=right,
        wrong=wrong,
        holds=holds,
    )


def _contains(n: int) -> Case:
    first, second, third = _words(n, 3)
    word = f"{second}-{40 + n}"
    near = (f"{second}-{40 + n}"[:-1], f"{second}-{41 + n}", f"{second}{40 + n}")[n % 3]
    return Case(
        file=f"text{n}.txt",
        asked=f"a line in which the code {word} stands, letter for letter",
        right=f"{first} comes first, then the code {word} and {third}.",
        wrong=f"{first} comes first, then the code {near} and {third}.",
        holds=lambda text: word in text,
    )


def _order(n: int) -> Case:
    given = _words(n, 4 + n % 3)[::-1]  # never sorted already
    words = sorted(given)
    at = n % (len(words) - 1)
    swapped = [*words[:at], words[at + 1], words[at], *words[at + 2 :]]
    return Case(
        file=f"sorted{n}.txt",
        asked=f"the words {', '.join(given)} in alphabetical order, one a line",
        right="\n".join(words),
        wrong="\n".join(swapped),
        holds=lambda text: text.splitlines() == words,
    )


KINDS: dict[str, Callable[[int], Case]] = {
    "count": _count,
    "columns": _columns,
    "json": _json,
    "contains": _contains,
    "order": _order,
}
