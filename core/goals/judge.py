"""The judge's question and its verdict: what it is shown, and what counts as its word.

It calls the judge model once and decides nothing about the goal; the goal's machine does. Text
from the agent and its tools is data here and can never be read as a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

from core.evidence import SeenCall, excerpt, receipt_line
from core.fence import clip, fenced, one_line, plain
from core.goals import local_judge, prompts
from core.goals.contract import MAX_BYTES
from core.goals.events import Unavailable, Unreadable, Verdict, Word
from core.goals.machine import MAX_WAIT_S
from core.judging import Silence, reply_of
from core.ports import Model, Request, Usage
from core.replies import unstuck, whole_json
from core.shown import call_line, objection
from core.transcript import Json, User

REASON_LIMIT = 300
FILES_SHOWN = 40
VERDICT_LIMIT = 20_000
SAMPLE_LIMIT = 200
NO_REASON = "no reason was given"


class JudgeProfile(StrEnum):
    """How much the judge model can read: FULL for most, LOCAL for the small one."""

    FULL = "full"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class _Limits:
    goal: int
    answer: int
    receipts: int
    head: int


_LIMITS = {
    JudgeProfile.FULL: _Limits(goal=MAX_BYTES, answer=4_096, receipts=12, head=300),
    # The local model's window has 8,192 tokens, of which the rest of the question takes half.
    JudgeProfile.LOCAL: _Limits(goal=4_096, answer=1_024, receipts=4, head=80),
}


def judge_reads(profile: JudgeProfile) -> int:
    """The most that a goal with its contract and criteria may come to, in bytes of UTF-8: it is
    shown whole, since a part that the judge never saw could not be missed by it."""
    return _LIMITS[profile].goal


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """A file as the host finds it now: path in the workspace, bytes, the start of its text."""

    path: str
    size: int
    head: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeInput:
    """All that the judge is shown. `receipts` are oldest first; `contract` maps contract keys to
    their text; `workspace` is None where nobody looked."""

    goal: str
    answer: str
    contract: Mapping[str, str] = field(default_factory=dict)
    criteria: Sequence[str] = ()
    receipts: Sequence[SeenCall] = ()
    workspace: Sequence[WorkspaceFile] | None = None

    @property
    def may_wait(self) -> bool:
        """Whether a process that the agent started still runs."""
        return any(seen.receipt.background for seen in self.receipts)


@dataclass(frozen=True, slots=True)
class JudgeOutcome:
    """The judge's word and what the call used; `sample` is the start of an unreadable reply."""

    word: Word
    usage: Usage
    sample: str = ""


async def judge(
    model: Model,
    subject: JudgeInput,
    *,
    profile: JudgeProfile = JudgeProfile.FULL,
    timeout_s: float = 30.0,
) -> JudgeOutcome:
    """Ask the judge once; `timeout_s` as in `reply_of`. Failures are words, not raises."""
    request = replace(judge_request(subject, profile), deadline_s=timeout_s)
    said = await reply_of(model.complete(request), timeout_s)
    if isinstance(said, Silence):
        return JudgeOutcome(Unavailable(said.why), said.usage)
    if not said.text.strip():
        return JudgeOutcome(Unavailable("the judge's reply was empty"), said.usage)
    word = read_verdict(said.text, may_wait=subject.may_wait)
    if profile is JudgeProfile.LOCAL:
        word = _borne_out(word, subject)
    sample = one_line(said.text[:1_000], SAMPLE_LIMIT) if isinstance(word, Unreadable) else ""
    return JudgeOutcome(word, said.usage, sample)


def judge_request(subject: JudgeInput, profile: JudgeProfile = JudgeProfile.FULL) -> Request:
    """The one call: the rules as system text, the evidence as a message."""
    limits = _LIMITS[profile]
    said = clip(plain(subject.answer), limits.answer)
    line = call_line if profile is JudgeProfile.LOCAL else receipt_line
    calls = "\n".join(map(line, excerpt(subject.receipts, limits.receipts)))
    files = _files(subject.workspace or (), limits)
    match profile:
        case JudgeProfile.LOCAL:
            asked = local_judge.question(goal=_goal(subject), said=said, calls=calls, files=files)
            return Request(
                system=local_judge.SYSTEM,
                messages=local_judge.conversation(asked),
                schema=local_judge.SCHEMA,
            )
        case JudgeProfile.FULL:
            may_wait = subject.may_wait
            return Request(
                system=prompts.judge_system(may_wait=may_wait),
                messages=(User(_question(subject, said, calls, files)),),
                schema=verdict_schema(may_wait=may_wait),
            )
        case _:
            assert_never(profile)


def _question(subject: JudgeInput, said: str, calls: str, files: str) -> str:
    blocks = [
        ("GOAL", _goal(subject)),
        ("FILES in the workspace now", "" if subject.workspace is None else files or "(none)"),
        ("FILES written by the agent", _written(subject.receipts)),
        ("RECEIPTS of the last calls", calls or "(none)"),
        ("AGENT'S ANSWER", said or "(empty)"),
    ]
    parts = [f"{title}\n{fenced(text)}" for title, text in blocks if text]
    return "\n".join([*parts, "Is the goal reached?"])


def _goal(subject: JudgeInput) -> str:
    return prompts.kickoff(subject.goal, subject.criteria, subject.contract)


def verdict_schema(*, may_wait: bool) -> dict[str, Json]:
    """The reply's JSON schema; the reason comes first, so that it is thought before judged."""
    fields: dict[str, Json] = {
        "reason": {"type": "string"},
        "done": {"type": "boolean"},
        "blocked": {"type": "boolean"},
    }
    if may_wait:
        fields["wait_s"] = {"type": "number"}
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def read_verdict(text: str, *, may_wait: bool = False) -> Verdict | Unreadable:
    """The verdict that a reply is, and never one that it merely mentions.

    The whole reply, perhaps in one code fence, must be a JSON object with a boolean `done` and a
    text `reason`; `blocked` may be missing and wins over `done`.
    """
    said = _object(text)
    done, blocked, reason = said.get("done"), said.get("blocked", False), said.get("reason")
    if not (isinstance(done, bool) and isinstance(blocked, bool) and isinstance(reason, str)):
        return Unreadable("the judge's reply was not a verdict")
    return Verdict(
        done=done and not blocked,
        reason=one_line(unstuck(reason), REASON_LIMIT) or NO_REASON,
        blocked=blocked,
        wait_s=_wait(said.get("wait_s")) if may_wait and not (done or blocked) else 0.0,
    )


def _borne_out(word: Verdict | Unreadable, subject: JudgeInput) -> Verdict | Unreadable:
    """A small model's "done" counts only when its own reason rests on the evidence."""
    if not isinstance(word, Verdict) or not word.done:
        return word
    limits = _LIMITS[JudgeProfile.LOCAL]
    calls = "\n".join(map(call_line, subject.receipts))
    evidence = f"{calls}\n{_files(subject.workspace or (), limits)}"
    against = objection(word.reason, subject.receipts, task=subject.goal, evidence=evidence)
    return replace(word, done=False, reason=against) if against else word


def _object(text: str) -> Mapping[str, object]:
    """The JSON object that is the whole text, else an empty one."""
    try:
        said = whole_json(text) if len(text) <= VERDICT_LIMIT else None
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _wait(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    # JSON integers may be larger than any float: bound before converting.
    return float(max(0, min(value, MAX_WAIT_S)))


def _files(files: Sequence[WorkspaceFile], limits: _Limits) -> str:
    lines = [
        f"{one_line(file.path, 200)} ({file.size} bytes): "
        + json.dumps(plain(file.head)[: limits.head], ensure_ascii=False)
        for file in files[:FILES_SHOWN]
    ]
    if len(files) > FILES_SHOWN:
        lines.append(f"… and {len(files) - FILES_SHOWN} more")
    return "\n".join(lines)


def _written(seen: Iterable[SeenCall]) -> str:
    sizes = {s.receipt.path: s.receipt.size for s in seen if s.receipt.ok and s.receipt.path}
    newest = list(sizes.items())[-FILES_SHOWN:]
    return "\n".join(f"{one_line(path, 200)} ({size} bytes)" for path, size in newest)
