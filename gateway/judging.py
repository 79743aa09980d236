"""Asks the goal judge whenever a lane comes to rest with an open judgement.

It never delays a turn: the answer is out before it starts, and a verdict that comes too late is
dropped by the store, which asks for another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from core.agent.sizes import request_size
from core.errors import TransientError
from core.goals.events import Unavailable, Verdict
from core.goals.judge import (
    JudgeInput,
    JudgeOutcome,
    JudgeProfile,
    WorkspaceFile,
    judge,
    judge_request,
)
from core.messages import LaneKey
from core.ports import Clock, Model, Usage
from core.sessions.lane_tasks import LaneTasks
from core.sessions.ports import (
    GOAL_JUDGE,
    CapReached,
    Estimate,
    OpenJudgement,
    Reserved,
    Signals,
    Store,
    UsageOf,
)

log = structlog.get_logger(__name__)

RETRY_S = 5.0


class Evidence(Protocol):
    """The state of a lane's workspace, as the host sees it."""

    async def files(self, lane: LaneKey) -> Sequence[WorkspaceFile]:
        """The files of the lane's workspace, newest first, capped."""
        ...


class Follows(Protocol):
    """Who acts on what a verdict brings about."""

    def follow(self, signals: Signals) -> None:
        """See `Lanes.follow`."""
        ...


class Court:
    """Runs judgements, one at a time for a lane; `run` is its life.

    `retry_s` is how long it waits before it asks a store again whose disk was full.
    """

    retry_s = RETRY_S

    def __init__(
        self,
        store: Store,
        evidence: Evidence,
        clock: Clock,
        model: Model,
        *,
        profile: JudgeProfile,
        timeout_s: float,
    ) -> None:
        self._store = store
        self._evidence = evidence
        self._clock = clock
        self._model = model
        self._profile = profile
        self._timeout_s = timeout_s
        self._lanes: Follows | None = None
        self._sittings = LaneTasks(self._sit, "judge")

    def attach(self, lanes: Follows) -> None:
        """Name who follows the verdicts; once, before `run`."""
        self._lanes = lanes

    def enlist(self, lane: LaneKey) -> None:
        """The lane has an open judgement."""
        self._sittings.enlist(lane)

    async def run(self) -> None:
        """Judge until cancelled."""
        await self._sittings.run()

    async def _sit(self, lane: LaneKey) -> None:
        asked = await self._store.open_judgement(lane)
        if asked is None or self._lanes is None:
            return
        booked: Reserved | CapReached | None = None
        started = self._clock.monotonic()
        try:
            subject = await self._subject(lane, asked)
            booked = await self._book(lane, asked, subject)
            if isinstance(booked, CapReached):
                return
            started = self._clock.monotonic()
            outcome = await judge(
                self._model, subject, profile=self._profile, timeout_s=self._timeout_s
            )
        except Exception as error:  # a judgement ends with its turn's border: fail open
            log.exception("judge_crashed", lane=lane)
            outcome = JudgeOutcome(Unavailable(f"the judge failed: {error}"), Usage())
        log.info(
            "judged",
            lane=lane,
            goal=asked.goal.id,
            word=type(outcome.word).__name__,
            done=isinstance(outcome.word, Verdict) and outcome.word.done,
            reason=outcome.word.reason,
            **({"sample": outcome.sample} if outcome.sample else {}),
        )
        spent = UsageOf(
            session=asked.session,
            goal=asked.goal.id,
            purpose=GOAL_JUDGE,
            model=self._model.name,
            usage=outcome.usage,
            reservation=booked.id if isinstance(booked, Reserved) else None,
            seconds=self._clock.monotonic() - started,
        )
        await self._report(lane, asked, outcome, spent)

    async def _subject(self, lane: LaneKey, asked: OpenJudgement) -> JudgeInput:
        return JudgeInput(
            goal=asked.goal.text,
            answer=asked.answer,
            contract=dict(asked.goal.contract),
            criteria=asked.goal.criteria,
            receipts=asked.receipts,
            workspace=await self._evidence.files(lane),
        )

    async def _book(
        self, lane: LaneKey, asked: OpenJudgement, subject: JudgeInput
    ) -> Reserved | CapReached | None:
        """Check the call against the goal's caps; one that is reached has paused the goal."""
        budget = asked.goal.budget
        if budget.tokens is None and budget.cost is None and budget.seconds is None:
            return None
        request = judge_request(subject, self._profile)
        size = request_size(request)
        most = Usage(size, 0, self._model.max_output_tokens)
        estimate = Estimate(size + most.output_tokens, self._model.price(most), most.output_tokens)
        while True:
            try:
                booked, signals = await self._store.reserve_verdict(
                    lane, asked, estimate, now=self._clock.now()
                )
            except TransientError as error:  # a full disk is no fault of the judge
                log.error("verdict_not_booked", lane=lane, error=str(error))
                await asyncio.sleep(self.retry_s)
            else:
                break
        if self._lanes is not None:
            self._lanes.follow(signals)
        return booked

    async def _report(
        self, lane: LaneKey, asked: OpenJudgement, outcome: JudgeOutcome, spent: UsageOf
    ) -> None:
        while self._lanes is not None:
            try:
                signals = await self._store.judged(
                    lane, asked, outcome.word, spent, now=self._clock.now()
                )
            except TransientError as error:
                log.error("verdict_not_saved", lane=lane, error=str(error))
                await asyncio.sleep(self.retry_s)
            else:
                self._lanes.follow(signals)
                return
