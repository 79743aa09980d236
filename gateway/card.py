"""The goal's status message: edited in place while the goal lives, latest wins, best effort."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace

import structlog

from core.errors import PursuitError, TransientError
from core.goals.contract import show_duration
from core.goals.goal import GoalStatus
from core.goals.texts import and_cost, brief
from core.messages import Address, Button, LaneKey, RemoteId, Say
from core.ports import Platform
from core.sessions.lane_tasks import LaneTasks
from core.sessions.machine import CARD_ACTIVE, CARD_PAUSED
from core.sessions.outgoing import CardFacts
from core.sessions.ports import Store
from gateway.delivery import REPEAT
from gateway.platforms import Platforms

log = structlog.get_logger(__name__)

PACE_S = 2.0
REMEMBERED = 1_000

BUTTONS: dict[GoalStatus, tuple[Button, ...]] = {
    GoalStatus.ACTIVE: CARD_ACTIVE,
    GoalStatus.PAUSED: CARD_PAUSED,
    GoalStatus.BLOCKED: CARD_PAUSED,
}


class Cards:
    """Keeps status messages up to date; `run` is its life."""

    def __init__(self, store: Store, platforms: Platforms) -> None:
        self._store = store
        self._platforms = platforms
        self._cards = LaneTasks(self._keep, "card")
        self._shown: OrderedDict[LaneKey, tuple[RemoteId, Say]] = OrderedDict()

    def enlist(self, lane: LaneKey) -> None:
        """The lane's goal has changed."""
        self._cards.enlist(lane)

    async def run(self) -> None:
        """Keep cards until cancelled."""
        await self._cards.run()

    async def _keep(self, lane: LaneKey) -> None:
        wait: float | None = PACE_S  # changes come in pairs: a turn's end, then its verdict
        while wait is not None:
            await asyncio.sleep(wait)
            wait = await self._show(lane)

    async def _show(self, lane: LaneKey) -> float | None:
        """Bring the message up to date; how long to wait where the chat must cool down first,
        None when there is nothing more to do."""
        facts = await self._store.card(lane)
        address = Address.of(lane)
        platform = self._platforms.get(address.platform)
        if facts is None or platform is None:
            return None
        what = Say(text_of(facts), buttons=BUTTONS.get(facts.goal.status, ()))
        before = self._shown.get(lane)
        if before == (facts.remote, what):
            return None  # an edit that changes nothing would count all the same
        try:
            await platform.edit(address, facts.remote, what)
        except PursuitError as error:
            log.debug("card_failed", lane=lane, error=str(error))
            return error.retry_after if isinstance(error, TransientError) else None
        self._shown[lane] = (facts.remote, what)
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)
        if before is not None and before[0] != facts.remote and before[1].buttons:
            await self._retire(platform, address, *before)
        return None

    async def _retire(
        self, platform: Platform, address: Address, remote: RemoteId, what: Say
    ) -> None:
        """Take the buttons off a message that another one has replaced: they would act on the
        lane's goal of now."""
        try:
            await platform.edit(address, remote, replace(what, buttons=()))
        except PursuitError as error:
            log.debug("card_not_retired", lane=address.key, error=str(error))


def text_of(facts: CardFacts) -> str:
    """The status message: the line it began as, its mark included, then how the goal stands."""
    goal, spent = facts.goal, facts.spent
    used = f"{goal.turns}/{goal.budget.turns} turns"
    lines = [
        REPEAT + facts.first_line if facts.repeated else facts.first_line,
        f"{goal.status.value} · {used} · {spent.tokens:,} tokens{and_cost(spent.cost)} · "
        f"{show_duration(goal.seconds)}",
    ]
    if goal.reason:
        lines.append(f"Last verdict: {brief(goal.reason, 300)}")
    return "\n".join(lines)
