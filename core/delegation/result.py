"""A child's structured result, as its parent, the chat and the store read it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from core.branches import codec
from core.branches.run import EVIDENCE_TOLD, DecidedBy, Final
from core.branches.run import Status as Outcome
from core.delegation.acceptance.verdict import Ruling, Verdict
from core.ports import Usage
from core.tools.tool import one_line
from core.transcript import Json, Receipt

EVIDENCE_SHOWN = 3
ENDS = "The branch table ends the work here: say what is done and what is open."


class Status(StrEnum):
    """How a child's work ended. The last four are ends of a branch table's run alone."""

    OK = "ok"
    """It answered, or its run was resolved; whether the work is right is the verdict's to say."""
    FAILED = "failed"
    BLOCKED = "blocked"
    """A budget does not cover its next call."""
    INTERRUPTED = "interrupted"
    """A restart cut a local agent runner, of which nothing is stored."""
    DECLINED = "declined"
    """A person said no."""
    UNANSWERED = "unanswered"
    """Nobody answered in time, and the work goes on without."""
    UNDELIVERABLE = "undeliverable"
    """The question to a person reached nobody."""
    CANCELLED = "cancelled"
    """It came to nothing: stopped, asked too often, or nobody answered and the table ends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one run of a child came to; `text` is its report. `final` is how a branch table's run
    ended, None where there is no table."""

    status: Status
    text: str = ""
    error: str = ""
    final: Final | None = None

    @property
    def judged(self) -> bool:
        """Whether it is held against acceptance criteria: the work of a branch table's run only
        where a child or an overseer resolved it."""
        final = self.final
        return final is None or (
            final.outcome is Outcome.RESOLVED
            and final.decided_by in {DecidedBy.CHILD, DecidedBy.OVERSEER}
        )

    def to_json(self) -> dict[str, Json]:
        """The stored form."""
        stored: dict[str, Json] = {
            "status": self.status.value,
            "text": self.text,
            "error": self.error,
        }
        return stored if self.final is None else {**stored, "final": codec.final_json(self.final)}

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> Work:
        """The work that `to_json` stored."""
        return cls(
            status=Status(str(stored["status"])),
            text=str(stored["text"]),
            error=str(stored["error"]),
            final=_final_of(stored.get("final")),
        )


def _final_of(stored: object) -> Final | None:
    return codec.final_of(stored) if isinstance(stored, dict) else None


def of_table(final: Final) -> Work:
    """The work of a branch table's run that ended so."""
    word = final.outcome.value
    return Work(
        status=Status.OK if final.outcome is Outcome.RESOLVED else Status(word),
        text=final.summary,
        error=f"{final.reason.rstrip('.')}. {ENDS}" if final.aborts else final.reason,
        final=final,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """All that a parent gets of a child. `calls` and `used` are its own model calls, of all its
    runs; `summary` is its report, cut where it was long; `seconds` is the wall time since it was
    first begun; `evidence` are its last receipts; `escalations` is how often its calls or its
    branch table, in all its runs, called in a person or an overseer."""

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
    escalations: int = 0

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
        told: dict[str, Json] = {"status": self.work.status.value, **self._outcome()}
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
            "escalations": self.escalations,
            **self._evidence(),
        }

    def _outcome(self) -> dict[str, Json]:
        final, error = self.work.final, self.work.error
        if final is None:
            return {"summary": self.summary, **({"error": error} if error else {})}
        told: dict[str, Json] = {
            "outcome": final.outcome.value,
            "branch": final.branch or None,
            "summary": self.summary,
            "decided_by": final.decided_by.value,
        }
        if final.person:
            told["person"] = final.person
        if error:
            told["error" if final.outcome is Outcome.RESOLVED else "reason"] = error
        return told

    def _evidence(self) -> dict[str, Json]:
        """Of a branch table's run the quotes that the host has found, and nothing else."""
        final = self.work.final
        shown: list[Json] = [*self.evidence]
        if final is not None:
            shown = [quote.to_json() for quote in final.quotes[:EVIDENCE_TOLD]]
        return {"evidence": shown} if shown else {}


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
