"""Gives each turn the gates that its answer has to pass, and notes what is changed meanwhile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from core.gates.gate import GateEvent
from core.gates.keeper import Ask, Critic, Keeper, Plan
from core.gates.ports import Commands, GateStore
from core.gates.verify import READING
from core.gates.wanted import Wanted
from core.ports import Clock, ToolContext
from core.transcript import ToolResult

log = structlog.get_logger(__name__)


class KeptRecord:
    """`Record` of `core.gates.ports`: on the store, and on what runs in this process."""

    def __init__(self, store: GateStore) -> None:
        self._store = store
        self._begun: dict[Path, int] = defaultdict(int)
        self._running: dict[Path, int] = defaultdict(int)

    @asynccontextmanager
    async def running(self, context: ToolContext, tool: str) -> AsyncIterator[None]:
        """Note that a call runs while the block does: before it begins, nothing in its workspace
        counts as checked any more, if it is one that may change something."""
        folder = context.workspace
        if tool in READING:
            yield
            return
        self._begun[folder] += 1
        self._running[folder] += 1
        try:
            await self._store.changing(str(folder))
            yield
        finally:
            self._running[folder] -= 1

    def quiet(self, context: ToolContext) -> int | None:
        """See `Record.quiet`."""
        beside = [folder for folder in self._begun if _beside(folder, context.workspace)]
        if any(self._running[folder] for folder in beside):
            return None
        return sum(self._begun[folder] for folder in beside)

    async def unchanged(self, context: ToolContext, commands: str) -> bool:
        """See `Record.unchanged`."""
        if self.quiet(context) is None:
            return False
        return await self._store.unchanged(context.address.key, str(context.workspace), commands)

    async def passed(self, context: ToolContext, commands: str) -> None:
        """See `Record.passed`."""
        await self._store.passed(context.address.key, str(context.workspace), commands)

    async def forget(self, context: ToolContext, commands: str) -> None:
        """See `Record.forget`."""
        await self._store.forget(str(context.workspace), commands)

    async def note(self, context: ToolContext, event: GateEvent) -> None:
        """See `Record.note`."""
        await self._store.note(context.turn, event)

    async def spoken(self, context: ToolContext) -> bool:
        """See `Record.spoken`."""
        return await self._store.spoken(context.turn)


def _beside(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """What a turn gives to its gates: see `Keeper`."""

    context: ToolContext
    task: Callable[[], str]
    ask: Ask
    emit: Callable[[GateEvent], None]
    before: tuple[ToolResult, ...] = ()


class Gatehouse:
    """The gates of all chats: `wanted` by the settings, and by people and goals beside. `critic`
    is there for those who switch it on."""

    def __init__(
        self,
        wanted: Wanted,
        critic: Critic,
        max_bounces: int,
        commands: Commands,
        store: GateStore,
        clock: Clock,
    ) -> None:
        self._wanted = wanted
        self._critic = critic
        self._max_bounces = max_bounces
        self._commands = commands
        self._store = store
        self._clock = clock
        self.record = KeptRecord(store)

    def keeper(self, turn: TurnParts) -> Keeper:
        """The gates of one turn."""
        return Keeper(
            plan=partial(self._plan, turn.context),
            max_bounces=self._max_bounces,
            task=turn.task,
            commands=self._commands,
            record=self.record,
            context=turn.context,
            clock=self._clock,
            ask=turn.ask,
            emit=partial(_tell, turn),
            before=turn.before,
        )

    async def _plan(self, context: ToolContext) -> Plan:
        chat, goal = await self._store.wanted(context.address.key, context.turn)
        wanted = chat.on_top_of(self._wanted).and_goal(goal)
        return Plan(verify=wanted.verify, critic=self._critic if wanted.critic else None)


def _tell(turn: TurnParts, event: GateEvent) -> None:
    log.info(
        "gate",
        lane=turn.context.address.key,
        turn=turn.context.turn,
        gate=event.gate.value,
        result=event.result,
        reason=event.reason,
        bounce=event.bounce,
        budget=event.budget,
        ms=event.ms,
    )
    turn.emit(event)
