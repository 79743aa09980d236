"""What is wrong with a branch table, in words that whoever wrote it can act on. Values only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from core.errors import UserError

FAULTS_TOLD = 5


class Code(StrEnum):
    """The kinds of faults."""

    MISSING_DEFAULT = "missing_default"
    BAD_SCHEMA = "bad_schema"
    DUPLICATE_ID = "duplicate_id"
    UNKNOWN_VARIABLE = "unknown_variable"
    UNKNOWN_MODEL = "unknown_model"
    TIER_ABOVE_PARENT = "tier_above_parent"
    NO_HUMAN_ROUTE = "no_human_route"
    TOO_MANY_BRANCHES = "too_many_branches"
    DEPTH_RANGE = "depth_range"
    CHOOSE_NEEDS_OPTIONS = "choose_needs_options"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its kind, its place (`conditions[2].branches.ok.prompt`, "" for the whole), and
    what is wrong there and how to mend it."""

    code: Code
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} at {self.path or 'the table'}: {self.message}"


class TableError(UserError):
    """A table cannot be used. `faults` holds all of them, `str()` tells the first five."""

    def __init__(
        self, faults: Iterable[Fault], what: str = "nothing was started: branch_table"
    ) -> None:
        self.faults = tuple(faults)
        told = "; ".join(str(fault) for fault in self.faults[:FAULTS_TOLD])
        more = len(self.faults) - FAULTS_TOLD
        rest = f"; and {more} more" if more > 0 else ""
        super().__init__(f"{what} cannot be used. {told}{rest}")

    @property
    def code(self) -> Code:
        """The first fault's kind."""
        return self.faults[0].code

    @property
    def path(self) -> str:
        """The first fault's place."""
        return self.faults[0].path
