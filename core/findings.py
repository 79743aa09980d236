"""What a look at an installation finds: values only, shared by all that look."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    """It works, but not as a person may think."""
    FAULT = "fault"
    """Something does not work until a person acts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `check` names it; unless it is well, `what` is wrong, `why`
    that matters and `fix` says how to mend it."""

    check: str
    level: Level
    what: str
    why: str = ""
    fix: str = ""


def well(check: str, what: str) -> Finding:
    """All is as it should be."""
    return Finding(check, Level.OK, what)


def warning(check: str, what: str, *, why: str, fix: str) -> Finding:
    """It works, but."""
    return Finding(check, Level.WARNING, what, why, fix)


def fault(check: str, what: str, *, why: str, fix: str) -> Finding:
    """It does not work."""
    return Finding(check, Level.FAULT, what, why, fix)
