"""A slot's JSON form, as it stands in `state_meta` under `goal:<session>`. Pure.

The version is of the form, not of the row: a row is written in its lane's one order, so nothing
compares versions (docs/adr/0009).
"""

from __future__ import annotations

import json
from dataclasses import asdict

from core.gates.chain import Blocked, Unverified
from core.gates.gate import Gate
from core.goals.contract import Budget
from core.goals.goal import Goal, GoalStatus, Judgement, Slot, Stall
from core.messages import Principal, Role, TurnId

FORM = 1


def dump(slot: Slot) -> str:
    """The slot as JSON text; equal slots give equal bytes."""
    goal = asdict(slot.goal) if slot.goal else None
    stored = {"form": FORM, "generation": slot.generation, "goal": goal}
    return json.dumps(stored, ensure_ascii=False)


def load(text: str) -> Slot:
    """The slot that `dump` wrote. Raises ValueError for a form this version cannot read."""
    stored = json.loads(text)
    if stored["form"] != FORM:
        raise ValueError(f"goal state of form {stored['form']}; this version reads {FORM}")
    goal = stored["goal"]
    if goal is None:
        return Slot(stored["generation"])
    setter = goal.pop("setter")
    judgement = goal.pop("judgement")
    return Slot(
        stored["generation"],
        Goal(
            setter=Principal(setter["id"], setter["name"], Role(setter["role"])),
            floor=Role(goal.pop("floor")),
            status=GoalStatus(goal.pop("status")),
            contract=tuple((key, value) for key, value in goal.pop("contract")),
            criteria=tuple(goal.pop("criteria")),
            gates=tuple(goal.pop("gates", ())),
            budget=Budget(**goal.pop("budget")),
            judgement=_judgement(judgement) if judgement else None,
            stall=Stall(**goal.pop("stall")),
            **goal,
        ),
    )


def _judgement(stored: dict[str, object]) -> Judgement:
    turns = stored["turns"]
    return Judgement(
        id=TurnId(int(str(stored["id"]))),
        turns=tuple(TurnId(t) for t in turns) if isinstance(turns, list) else (),
        of_goal=bool(stored["of_goal"]),
        answer=str(stored["answer"]),
        idle=bool(stored["idle"]),
        ruling=_ruling(stored.get("ruling")),
    )


def _ruling(stored: object) -> Unverified | Blocked | None:
    if not isinstance(stored, dict):
        return None
    gate = Gate(stored.pop("gate"))
    return Unverified(gate, **stored) if "unavailable" in stored else Blocked(gate, **stored)
