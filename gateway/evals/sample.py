"""A part of the labelled rows that stands for all of them. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from gateway.evals.rows import Row

Key = TypeVar("Key", bound=Hashable)


def sample(rows: Sequence[Row], size: int, seed: int) -> tuple[Row, ...]:
    """`size` of the rows, the same for a seed, in their order: of each set its share, and of that
    each kind and label theirs. A share that is not whole is rounded so that the sizes add up."""
    if size >= len(rows):
        return tuple(rows)
    chance = random.Random(seed)  # noqa: S311 - a sample, no secret
    chosen: set[str] = set()
    sets = _grouped(rows, lambda row: row.rows.value)
    for name, of_set in _shares(sets, size).items():
        strata = _grouped(sets[name], lambda row: (row.kind, row.done))
        for key, count in _shares(strata, of_set).items():
            chosen.update(row.id for row in chance.sample(strata[key], count))
    return tuple(row for row in rows if row.id in chosen)


def _grouped(rows: Sequence[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _shares(groups: Mapping[Key, Sequence[Row]], size: int) -> dict[Key, int]:
    """How many of each group; the largest remainders get what rounding down has left, the first
    of those that are alike."""
    total = sum(map(len, groups.values()))
    exact = {key: size * len(rows) / total for key, rows in groups.items()}
    shares = {key: int(share) for key, share in exact.items()}
    by_remainder = sorted(exact, key=lambda key: shares[key] - exact[key])
    for key in by_remainder[: size - sum(shares.values())]:
        shares[key] += 1
    return shares
