"""Puts a labelled row before a model, in each of the seats from which Pursuit has work judged.

The question and the reading of the reply are the product's own; nothing is worded here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from core.delegation.acceptance import verify
from core.delegation.acceptance.criteria import Judged
from core.delegation.acceptance.prompts import Delivered
from core.delegation.acceptance.reading import NO_QUOTE, NOT_SHOWN, TWO_WORDS
from core.delegation.acceptance.verdict import Grade, Ruling
from core.delegation.acceptance.verdict import Verdict as Acceptance
from core.delegation.ports import Judge
from core.delegation.worker import Ranked
from core.evidence import seen_in
from core.fence import one_line
from core.gates import critic
from core.gates.critic import CriticInput
from core.gates.gate import Impossible, Passed, Rejected, reason_of
from core.gates.keeper import put_to_critic
from core.goals.events import Verdict
from core.goals.judge import JudgeInput, JudgeProfile, WorkspaceFile, judge
from core.judging import WHY_LIMIT
from core.ports import Completion, Model, ModelFailure, Request, Usage
from gateway.evals.rows import Row
from gateway.evals.words import Lack, Said, Word, unverified

NO_REPLY = "there was no reply in time"
DISBELIEVED = (NOT_SHOWN, NO_QUOTE, TWO_WORDS)
"""How an acceptance judge is told that a pass does not count."""


class Seat(StrEnum):
    """Who judges."""

    GOAL = "goal"
    """Whether a goal is reached, from the answer, the receipts and the files."""
    ACCEPTANCE = "acceptance"
    """Whether a child's work meets its criteria, from the receipts and its output."""
    CRITIC = "critic"
    """Whether an answer may be delivered, from the task and the receipts."""


@dataclass(frozen=True, slots=True)
class Judging:
    """A model in a seat; `small` as the embedded one, `timeout_s` for a call."""

    model: Model
    small: bool
    timeout_s: float


async def ask(seat: Seat, row: Row, judging: Judging) -> Said:
    """What the model makes of the row from that seat."""
    heard = Heard(judging.model)
    said = await _SEATS[seat](row, replace(judging, model=heard))
    if heard.failure and not said.decided:
        return unverified(Lack.CALL, one_line(heard.failure, WHY_LIMIT))
    return said


class Heard:
    """A model; `failure` says why its last call gave no reply, "" when it did."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.context_tokens = model.context_tokens
        self.max_output_tokens = model.max_output_tokens
        self.failure = ""
        self._model = model

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """The model's own."""
        self.failure = NO_REPLY  # should the call be cut off
        said = await self._model.complete(request, on_text)
        self.failure = said.message if isinstance(said, ModelFailure) else ""
        return said

    def price(self, usage: Usage) -> float | None:
        """The model's own."""
        return self._model.price(usage)


async def _goal(row: Row, judging: Judging) -> Said:
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
        return unverified(Lack.VERDICT, outcome.word.reason)
    return Said(Word.PASS if outcome.word.done else Word.FAIL)


async def _acceptance(row: Row, judging: Judging) -> Said:
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
    match verdict.verdict:
        case Ruling.PASS:
            return Said(Word.PASS)
        case Ruling.FAIL:
            return Said(Word.FAIL)
        case _:
            return _unclear(verdict)


def _unclear(verdict: Acceptance) -> Said:
    """Why there is no ruling: a pass that does not count goes before what was left open."""
    whys = [graded.why for graded in verdict.criteria if graded.result is Grade.UNCLEAR]
    disbelieved = [why for why in whys if why.startswith(DISBELIEVED)]
    if disbelieved and not verdict.error:
        return unverified(Lack.BELIEF, disbelieved[0])
    return unverified(Lack.VERDICT, verdict.error or whys[0])


async def _critic(row: Row, judging: Judging) -> Said:
    criteria = "\n".join(f"- {text}" for text in row.criteria if text != row.task)
    shown = CriticInput(
        task=f"{row.task}\n{criteria}".strip(),
        answer=row.answer,
        receipts=seen_in(row.results),
    )
    sizes = critic.LOCAL if judging.small else critic.FULL
    result = await put_to_critic(shown, judging.model.complete, judging.timeout_s, sizes)
    match result:
        case Passed():
            return Said(Word.PASS)
        case Rejected() | Impossible():
            return Said(Word.FAIL)
        case _:
            return unverified(Lack.VERDICT, reason_of(result))


_SEATS: Mapping[Seat, Callable[[Row, Judging], Awaitable[Said]]] = {
    Seat.GOAL: _goal,
    Seat.ACCEPTANCE: _acceptance,
    Seat.CRITIC: _critic,
}
