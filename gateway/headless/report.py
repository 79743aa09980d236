"""Tells a headless run as it happens, as lines for people or as JSON, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.agent.events import (
    ContextFolded,
    FoldFailed,
    GateRan,
    ToolEnded,
    ToolStarted,
    ToolWaits,
    TurnEvent,
)
from core.escalations.outcome import waiting_for
from core.gates.gate import GateEvent, told
from core.goals import texts
from core.goals.goal import Goal
from core.messages import Outbound, Say, SendFile
from core.sessions.ports import Ending, TurnRef
from core.transcript import Json, ToolResult
from gateway.headless.advice import followable
from gateway.headless.result import Result, came
from gateway.narrator import tool_line

_PAUSED = texts.paused("")
Tell = Callable[[str, Mapping[str, Json]], None]
"""Takes what happened: a text for people, "" for what they are not told, and the same as data."""


@dataclass(slots=True, kw_only=True)
class Report:
    """A `Watch` that tells. `redact` takes secrets, and what could steer a terminal, out of what
    it tells; `told_answers` says that answers are told as they come, as those of a goal are."""

    tell: Tell
    redact: Callable[[str], str]
    told_answers: bool = False
    _last: Ending | None = None
    _expected: list[str] = field(default_factory=list)
    _goal: Goal | None = None
    _paused: str = ""
    """Why the goal was paused last, as it was told."""
    _finished: bool = False

    def happened(self, event: TurnEvent) -> None:
        """See `Watch.happened`."""
        match event:
            case ToolStarted(call, summary):
                self._note("", event="tool_started", tool=call.name, summary=summary)
            case ToolEnded(result):
                self._note(tool_line(result), event="tool_ended", **_call(result))
            case ToolWaits(waiting):
                note = waiting_for(waiting.asked)
                self._note(f"✋ {note}", event="waits", tool=waiting.call.name, note=note)
            case GateRan(gate):
                self._note(told(gate), event="gate", **_gate(gate))
            case ContextFolded():
                self._note("[context] folded into a summary", event="folded")
            case FoldFailed(_, reason):
                self._note(f"[context] not folded: {reason}", event="not_folded", reason=reason)
            case _:
                pass

    def ended(self, ref: TurnRef, ending: Ending) -> None:
        """See `Watch.ended`."""
        self._last = ending
        self._expected += [
            self.redact(post.text) for post in ending.posts if isinstance(post, Say)
        ]

    def heard(self, what: Outbound) -> None:
        """The bot says something in its chat, redacted."""
        match what:
            case Say(text) if text in self._expected:
                self._expected.remove(text)
                self._note(text if self.told_answers else "", event="answer", text=text)
            case Say(text):
                line = followable(text)
                if line.startswith(_PAUSED):
                    self._paused = line.removeprefix(_PAUSED)
                self._note(line, event="said", text=line)
            case SendFile(name, caption):
                line = " ".join(filter(None, (f"📄 {name}", caption)))
                self._note(line, event="file", name=name, caption=caption)

    def finish(self, goal: Goal | None) -> None:
        """All is done; `goal` is what there was of one."""
        self._goal, self._finished = goal, True

    @property
    def result(self) -> Result:
        """What came of it."""
        last = self._last if self._finished else None
        status, reason = came(last, self._goal, self._paused)
        answer = "" if self._last is None else self.redact(self._last.answer)
        return Result(status=status, answer=answer, reason=self.redact(reason))

    def _note(self, line: str, **data: Json) -> None:
        self.tell(self.redact(line), _redacted(data, self.redact))


def _call(result: ToolResult) -> dict[str, Json]:
    receipt = result.receipt
    return {
        "tool": result.call.name,
        "summary": receipt.summary,
        "ok": receipt.ok,
        "exit_code": receipt.exit_code,
        "seconds": round(receipt.seconds, 3),
    }


def _gate(event: GateEvent) -> dict[str, Json]:
    return {
        "gate": event.gate.value,
        "result": event.result,
        "reason": event.reason,
        "bounce": event.bounce,
        "budget": event.budget,
        "ms": event.ms,
    }


def _redacted(data: Mapping[str, Json], redact: Callable[[str], str]) -> dict[str, Json]:
    return {key: redact(v) if isinstance(v, str) else v for key, v in data.items()}
