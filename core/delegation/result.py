"""A child's structured result, as its parent, the chat and the store read it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from core.delegation.acceptance.verdict import Ruling, Verdict
from core.ports import Usage
from core.tools.tool import one_line
from core.transcript import Json, Receipt

EVIDENCE_SHOWN = 3


class Status(StrEnum):
    """How a child's work ended."""

    OK = "ok"
    """It answered; whether the work is right is the verdict's to say."""
    FAILED = "failed"
    STOPPED = "stopped"
    """A person ended it; as long as its parent ends with it, nobody reads this."""
    BLOCKED = "blocked"
    """A budget does not cover its next call."""
    INTERRUPTED = "interrupted"
    """A restart cut a local agent runner, of which nothing is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one run of a child came to; `text` is its report."""

    status: Status
    text: str = ""
    error: str = ""

    def to_json(self) -> dict[str, Json]:
        """The stored form."""
        return {"status": self.status.value, "text": self.text, "error": self.error}

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> Work:
        """The work that `to_json` stored."""
        return cls(
            status=Status(str(stored["status"])),
            text=str(stored["text"]),
            error=str(stored["error"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """All that a parent gets of a child. `calls` and `used` are its own model calls, of all its
    runs; `summary` is its report, cut where it was long; `seconds` is the wall time since it was
    first begun; `evidence` are its last receipts."""

    title: str
    profile: str
    model: str
    tier: int | None
    work: Work
    summary: str = ""
    verdict: Verdict | None = None
    calls: int = 0
    used: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    evidence: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether it ended well and no criterion failed."""
        refuted = self.verdict is not None and self.verdict.verdict is Ruling.FAIL
        return self.work.status is Status.OK and not refuted

    @property
    def line(self) -> str:
        """It in a few words for people."""
        word = self.work.status.value
        if self.verdict is not None:
            checks = "" if self.work.status is Status.OK else "checks "
            word = f"{word}, {checks}{self.verdict.verdict}"
        return f"{one_line(self.title, 40)}: {word}"

    def to_json(self) -> dict[str, Json]:
        """The object that the parent's model reads."""
        used = self.used
        told: dict[str, Json] = {"status": self.work.status.value, "summary": self.summary}
        if self.work.error:
            told["error"] = self.work.error
        if self.verdict is not None:
            told["verdict"] = self.verdict.to_json()
        return told | {
            "model": self.model or None,
            "tier": self.tier,
            "profile": self.profile or None,
            "turns": self.calls,
            "tokens": {
                "in": used.input_tokens,
                "cached": used.cached_tokens,
                "out": used.output_tokens,
            },
            "cost": round(used.cost, 6),
            "seconds": round(self.seconds, 1),
            "escalations": 0,
            **({"evidence": list(self.evidence)} if self.evidence else {}),
        }


def told(results: Sequence[ChildResult], *, batch: bool) -> str:
    """The tool's text: the one object, or for a batch a list in the order of its tasks."""
    objects: list[Json] = [result.to_json() for result in results]
    return json.dumps(objects if batch else objects[0], ensure_ascii=False)


def receipt(results: Sequence[ChildResult], seconds: float) -> Receipt:
    """The host's account of a call: how each child ended."""
    lines = "; ".join(result.line for result in results)
    return Receipt(
        ok=all(result.good for result in results),
        summary=one_line(f"delegate: {lines}", 240),
        seconds=seconds,
    )
