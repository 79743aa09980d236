"""Numbers of a run and how they are judged. Pure: it measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a figure is held to: of the ratio to the baseline, or of the figure itself.

    `at_most` says which side of the bound is good.
    """

    bound: float
    of_ratio: bool = True
    at_most: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the result.

    `ours` and `bare` are in `unit`; `bare` is None where there is no baseline, `target` None for
    a figure that is only told. `note` explains what the numbers leave open.
    """

    what: str
    unit: str
    ours: float
    bare: float | None = None
    target: Target | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over the baseline; None without one."""
        return self.ours / self.bare if self.bare else None

    @property
    def met(self) -> bool | None:
        """Whether the target holds; None where there is none to hold."""
        if self.target is None:
            return None
        judged = self.ratio if self.target.of_ratio else self.ours
        if judged is None:
            return None
        return judged <= self.target.bound if self.target.at_most else judged >= self.target.bound


def middle(values: Sequence[float]) -> float:
    """The median; 0.0 of nothing."""
    return median(values) if values else 0.0


def share(values: Sequence[float], part: float) -> float:
    """The value below which `part` (0 to 1) of all lie; 0.0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0
