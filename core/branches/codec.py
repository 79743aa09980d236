"""A run's JSON form, as it is stored with the work that it belongs to. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import assert_never

from core.branches.faults import TableError
from core.branches.outcomes import human_of
from core.branches.parsing import restored
from core.branches.report import Quote
from core.branches.run import (
    Case,
    Checking,
    DecidedBy,
    Ended,
    Final,
    Overseeing,
    Phase,
    Run,
    Running,
    State,
    Status,
    Validating,
    WaitingHuman,
    status,
)
from core.transcript import Json

FORM = 2


def dump(state: State) -> str:
    """The state as JSON text; equal states give equal bytes."""
    stored: dict[str, Json] = {"form": FORM, "status": status(state).value}
    match state:
        case Validating(goal):
            stored["goal"] = goal
        case Ended(final):
            stored["final"] = final_json(final)
        case Run(phase=phase):
            stored |= {
                "goal": state.goal,
                "original": state.original.to_json(),
                "table": state.table.to_json(),
                "phase": _phase_json(phase),
                "seen": list(state.seen),
                "instruction": state.instruction,
                "children": state.children,
                "overseers": state.overseers,
                "bad_words": state.bad_words,
                "rounds": state.rounds,
            }
        case _:
            assert_never(state)
    return json.dumps(stored, ensure_ascii=False)


def load(text: str) -> State:
    """The state that `dump` wrote. Raises ValueError for a form this version cannot read."""
    stored = json.loads(text)
    if not isinstance(stored, dict) or stored.get("form") != FORM:
        raise ValueError(f"a branch run of an unknown form; this version reads {FORM}")
    try:
        return _state(stored)
    except (KeyError, TypeError, TableError) as error:
        raise ValueError(f"a branch run that cannot be read: {error!r}") from error


def _state(stored: Mapping[str, object]) -> State:
    where = Status(str(stored["status"]))
    if where is Status.VALIDATING:
        return Validating(str(stored["goal"]))
    if "final" in stored:
        return Ended(final_of(_object(stored["final"])))
    return Run(
        goal=str(stored["goal"]),
        original=restored(stored["original"]),
        table=restored(stored["table"]),
        phase=_phase(where, _object(stored["phase"])),
        seen=_texts(stored["seen"]),
        instruction=str(stored["instruction"]),
        children=_whole(stored["children"]),
        overseers=_whole(stored["overseers"]),
        bad_words=_whole(stored["bad_words"]),
        rounds=_whole(stored["rounds"]),
    )


def _phase_json(phase: Phase) -> dict[str, Json]:
    match phase:
        case Running(faults):
            return {"faults": list(faults)}
        case Checking(report, repaired):
            return {"report": report, "repaired": repaired}
        case Overseeing(case, complaint):
            return {"case": asdict(case), "complaint": complaint}
        case WaitingHuman(case, question):
            return {"case": asdict(case), "question": question}
        case _:
            assert_never(phase)


def _phase(where: Status, stored: Mapping[str, object]) -> Phase:
    match where:
        case Status.RUNNING:
            return Running(_texts(stored["faults"]))
        case Status.CHECKING:
            return Checking(str(stored["report"]), stored["repaired"] is True)
        case Status.OVERSEER:
            return Overseeing(_case(_object(stored["case"])), str(stored["complaint"]))
        case Status.WAITING_HUMAN:
            return WaitingHuman(_case(_object(stored["case"])), str(stored["question"]))
        case _:
            raise ValueError(f"a branch run without a phase: {where}")


def _case(stored: Mapping[str, object]) -> Case:
    return Case(
        why=str(stored["why"]),
        label=str(stored["label"]),
        condition=str(stored["condition"]),
        expected=str(stored["expected"]),
        observed=str(stored["observed"]),
        tried=_texts(stored["tried"]),
        quotes=_quotes(stored["quotes"]),
        question=str(stored["question"]),
        human=human_of(stored["human"]),
    )


def final_json(final: Final) -> dict[str, Json]:
    """What a run came to, all of it."""
    return asdict(final)


def final_of(stored: Mapping[str, object]) -> Final:
    """What `final_json` gave. Raises KeyError, TypeError or ValueError for what is none."""
    return Final(
        outcome=Status(str(stored["outcome"])),
        summary=str(stored["summary"]),
        branch=str(stored["branch"]),
        quotes=_quotes(stored["quotes"]),
        decided_by=DecidedBy(str(stored["decided_by"])),
        person=str(stored["person"]),
        escalations=_whole(stored["escalations"]),
        reason=str(stored["reason"]),
        aborts=stored["aborts"] is True,
    )


def _quotes(stored: object) -> tuple[Quote, ...]:
    items = [_object(item) for item in _list(stored)]
    return tuple(
        Quote(str(item["call_id"]), str(item["excerpt"]), str(item["source"])) for item in items
    )


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"no object: {value!r:.80}")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"no list: {value!r:.80}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in _list(value))


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"no whole number: {value!r:.80}")
    return value
