"""What a headless run tells: the events and their fields, masked, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from core.agent.events import (
    ContextFolded,
    FoldFailed,
    GateRan,
    ToolEnded,
    ToolStarted,
    ToolWaits,
    TurnEvent,
)
from core.gates.chain import Unverified
from core.gates.gate import Gate, GateEvent
from core.gates.wanted import NO_GATES, Wanted
from core.goals import texts
from core.messages import LaneKey, Outbound, Say, SendFile, TurnId
from core.ports import Waiting
from core.sessions.lane import Outcome
from core.sessions.ports import Ending, TurnRef
from core.transcript import Json, Receipt, ToolCall, ToolResult
from gateway.headless.advice import followable
from gateway.headless.report import Report
from gateway.headless.result import EXIT, Spent, Status

RUNNING = Path(__file__).parents[2] / "docs" / "running.md"
SECRET = "s3cret"
REF = TurnRef(LaneKey("console|local|/here||"), TurnId(1), 1)
CALL = ToolCall("c1", "run", f'{{"command": "echo {SECRET}"}}')
RAN = ToolResult(CALL, "it ran", Receipt(ok=True, summary=f"echo {SECRET}", exit_code=0))
LOOKED = GateEvent(
    gate=Gate.VERIFY, result="failed", reason=f"saw {SECRET}", bounce=0, budget=2, ms=1
)
TOLD: Mapping[type[TurnEvent], TurnEvent] = {
    ToolStarted: ToolStarted(CALL, f"echo {SECRET}"),
    ToolEnded: ToolEnded(RAN),
    ToolWaits: ToolWaits(Waiting(CALL, ("E1",))),
    GateRan: GateRan(LOOKED),
    ContextFolded: ContextFolded(1),
    FoldFailed: FoldFailed(1, f"it says {SECRET}"),
}
UNTOLD = {"ModelAsked", "TextStreamed", "ModelReplied", "StepDone"}


def answered(
    answer: str = "Done.", *, checked: Wanted = NO_GATES, ruling: Unverified | None = None
) -> Ending:
    """A turn that ended with an answer."""
    return Ending(
        outcome=Outcome.ANSWERED,
        seconds=0.1,
        answer=answer,
        posts=(Say(answer),),
        checked=checked,
        ruling=ruling,
    )


class Heard:
    """A report, and all that it has told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.events: list[Mapping[str, Json]] = []
        self.report = Report(tell=self._tell, redact=lambda text: text.replace(SECRET, "***"))

    def _tell(self, line: str, data: Mapping[str, Json]) -> None:
        self.lines.append(line)
        self.events.append(data)


@pytest.fixture
def heard() -> Heard:
    """A run in which everything has happened once, each time with a secret in it."""
    one = Heard()
    for event in TOLD.values():
        one.report.happened(event)
    one.report.ended(REF, answered(f"It is {SECRET}."))
    said: tuple[Outbound, ...] = (
        Say("It is ***."),  # as the chat has it, where answers are masked already
        Say(f"⚠ {SECRET}"),
        SendFile(f"{SECRET}.txt", SECRET),
    )
    for what in said:
        one.report.heard(what)
    one.report.finish(None)
    one.events.append(one.report.result.data(Spent()))
    return one


def documented() -> dict[str, set[str]]:
    """The events of the table in docs/running.md, with their fields."""
    _, _, section = RUNNING.read_text(encoding="utf-8").partition("### What happens, as JSON")
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|", section.partition("\n## ")[0], re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", fields)) for name, fields in rows}


def test_the_documented_events_and_fields_are_those_that_are_told(heard: Heard) -> None:
    told = {str(event["event"]): set(event) - {"event"} for event in heard.events}
    assert told == documented()


def test_each_thing_that_happens_is_told_or_left_out_on_purpose() -> None:
    assert {event.__name__ for event in get_args(TurnEvent)} == UNTOLD | {
        event.__name__ for event in TOLD
    }


def test_each_status_is_documented_with_its_exit_code() -> None:
    page = RUNNING.read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `result` \|.*$", page, re.MULTILINE)
    assert {f"`{status}`" for status in Status} <= set(re.findall(r"`\w+`", row))
    codes = {
        int(code)
        for row in re.findall(r"^\| ([\d, ]+) \|", page, re.MULTILINE)
        for code in row.split(", ")
    }
    assert {*EXIT.values(), 2, 74, 141} <= codes


def test_secrets_are_masked_in_the_lines_and_in_each_field(heard: Heard) -> None:
    assert SECRET not in repr((heard.lines, heard.events))
    assert all("***" in repr(e) for e in heard.events if e["event"] not in {"waits", "folded"})


def result_of(*endings: Ending) -> tuple[Status, str]:
    """What comes of a run whose turns ended so, each after a look of a gate at the first."""
    at = Heard()
    at.report.happened(GateRan(LOOKED))
    for ending in endings:
        at.report.ended(REF, ending)
    at.report.finish(None)
    return at.report.result.status, at.report.result.reason


def test_a_run_is_as_verified_as_its_last_answer() -> None:
    looked, alone = answered(checked=Wanted(verify=("true",))), answered()
    refused = answered(ruling=Unverified(Gate.CRITIC, "no receipt"))
    assert result_of(looked, alone) == (Status.DONE, "")
    assert result_of(alone, looked) == (Status.VERIFIED, "")
    assert result_of(alone, answered(checked=Wanted(critic=True))) == (Status.VERIFIED, "")
    assert result_of(looked, refused) == (Status.UNVERIFIED, "critic: no receipt")


def test_no_line_about_a_goals_end_advises_a_command_that_nobody_hears() -> None:
    for line in (
        texts.out_of_turns(1, 1),
        texts.blocked("no way"),
        texts.paused(texts.cost_cap_cannot_hold("main")),
        texts.paused(texts.gate_fault("critic", "silent", 3)),
    ):
        assert "/goal" in line
        assert "/goal" not in followable(line)
        assert followable(line)[:10] == line[:10]


def test_what_people_wrote_is_told_as_it_is() -> None:
    line = texts.was_set("Explain: Use /goal resume to keep going, or /goal clear to stop.", 20)
    assert followable(line) == line
