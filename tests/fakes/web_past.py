"""A past that is kept in memory: what the store would remember of web chats."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from core.escalations.record import State
from core.messages import LaneKey, PlatformName, Principal, RemoteId, Role, Say
from core.sessions.conversation import ChatFact, Conversation, Line, Place, Question, Told

OWNER = Principal("owner", "You", Role.OWNER)


def _opened() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


@dataclass(slots=True)
class FakePast:
    """Add to `lines`; `cards` are the status messages as they should read now, `asked` the
    questions to people, newest first. While `gate` is cleared, chats are not told."""

    lines: dict[LaneKey, list[Line]] = field(default_factory=lambda: defaultdict(list))
    cards: dict[LaneKey, tuple[RemoteId, Say]] = field(default_factory=dict)
    asked: dict[LaneKey, tuple[Question, ...]] = field(default_factory=dict)
    gate: asyncio.Event = field(default_factory=_opened)

    def said(self, lane: LaneKey, text: str) -> None:
        """A person said something there."""
        told = Told(dedupe=f"web:{lane}:{len(self.lines[lane])}", by=OWNER, text=text, at=1.0)
        self.lines[lane].append(told)

    async def conversation(
        self, lane: LaneKey, *, before: Place | None = None, limit: int = 200
    ) -> Conversation:
        """See `Past.conversation`."""
        lines = self.lines.get(lane, [])
        end = len(lines) if before is None else before.inbox
        begin = max(0, end - limit)
        await self.gate.wait()
        return Conversation(tuple(lines[begin:end]), Place(begin, begin) if begin else None)

    async def chats(self, platform: PlatformName) -> tuple[ChatFact, ...]:
        """See `Past.chats`."""
        facts = []
        for lane, lines in self.lines.items():
            said = [line for line in lines if isinstance(line, Told)]
            if said:
                open_ = [one for one in self.asked.get(lane, ()) if one.state == State.OPEN]
                fact = ChatFact(
                    lane=lane, first=said[0].text, last=said[-1].at, waiting=len(open_)
                )
                facts.append(fact)
        return tuple(sorted(facts, key=lambda fact: fact.last, reverse=True))

    async def questions(self, lane: LaneKey) -> tuple[Question, ...]:
        """See `Past.questions`."""
        return self.asked.get(lane, ())

    async def card(self, lane: LaneKey) -> tuple[RemoteId, Say] | None:
        """See `Past.card`."""
        return self.cards.get(lane)
