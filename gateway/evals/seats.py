"""Puts a labelled row before a model, in each of the seats from which Pursuit has work judged.

The question and the reading of the reply are the product's own; nothing is worded here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.delegation.acceptance import verify
from core.delegation.acceptance.criteria import Judged
from core.delegation.acceptance.prompts import Delivered
from core.delegation.acceptance.verdict import Ruling
from core.delegation.ports import Judge
from core.delegation.worker import Ranked
from core.evidence import seen_in
from core.gates import critic
from core.gates.critic import CriticInput
from core.gates.gate import Impossible, Passed, Rejected
from core.gates.keeper import RETRIES
from core.goals.events import Verdict
from core.goals.judge import JudgeInput, JudgeProfile, WorkspaceFile, judge
from core.judging import Silence, reply_of
from core.ports import Model
from gateway.evals.rows import Row


class Seat(StrEnum):
    """Who judges."""

    GOAL = "goal"
    """Whether a goal is reached, from the answer, the receipts and the files."""
    ACCEPTANCE = "acceptance"
    """Whether a child's work meets its criteria, from the receipts and its output."""
    CRITIC = "critic"
    """Whether an answer may be delivered, from the task and the receipts."""


class Word(StrEnum):
    """What a model made of a row."""

    PASS = "pass"  # noqa: S105 (no password)
    FAIL = "fail"
    UNVERIFIED = "unverified"
    """It gave no verdict, or none that is believed."""


@dataclass(frozen=True, slots=True)
class Judging:
    """A model in a seat; `small` as the embedded one, `timeout_s` for a call."""

    model: Model
    small: bool
    timeout_s: float


async def ask(seat: Seat, row: Row, judging: Judging) -> Word:
    """What the model makes of the row from that seat."""
    return await _SEATS[seat](row, judging)


async def _goal(row: Row, judging: Judging) -> Word:
    files = [WorkspaceFile(path, len(text.encode()), text) for path, text in row.files.items()]
    outcome = await judge(
        judging.model,
        JudgeInput(
            goal=row.task,
            answer=row.answer,
            criteria=row.criteria,
            receipts=seen_in(row.results),
            workspace=files,
        ),
        profile=JudgeProfile.LOCAL if judging.small else JudgeProfile.FULL,
        timeout_s=judging.timeout_s,
    )
    if not isinstance(outcome.word, Verdict):
        return Word.UNVERIFIED
    return Word.PASS if outcome.word.done else Word.FAIL


async def _acceptance(row: Row, judging: Judging) -> Word:
    bench = Judge(
        model=judging.model,
        ranked=Ranked(judging.model.name, 1, judging.model.name),
        timeout_s=judging.timeout_s,
        small=judging.small,
    )
    verdict, _ = await verify.verify(
        tuple(map(Judged, row.criteria)),
        Delivered(objective=row.task, output=row.answer, receipts=seen_in(row.results)),
        (),
        bench,
    )
    words = {Ruling.PASS: Word.PASS, Ruling.FAIL: Word.FAIL, Ruling.UNVERIFIED: Word.UNVERIFIED}
    return words[verdict.verdict]


async def _critic(row: Row, judging: Judging) -> Word:
    criteria = "\n".join(f"- {text}" for text in row.criteria if text != row.task)
    shown = CriticInput(
        task=f"{row.task}\n{criteria}".strip(),
        answer=row.answer,
        receipts=seen_in(row.results),
    )
    sizes = critic.LOCAL if judging.small else critic.FULL
    request = critic.request(shown, judging.timeout_s, sizes)
    for _ in range(1 + RETRIES):
        said = await reply_of(judging.model.complete(request), judging.timeout_s)
        if isinstance(said, Silence):
            return Word.UNVERIFIED
        match critic.read(said.text):
            case Passed():
                return Word.PASS
            case Rejected() | Impossible():
                return Word.FAIL
            case _:
                continue
    return Word.UNVERIFIED


_SEATS: Mapping[Seat, Callable[[Row, Judging], Awaitable[Word]]] = {
    Seat.GOAL: _goal,
    Seat.ACCEPTANCE: _acceptance,
    Seat.CRITIC: _critic,
}
