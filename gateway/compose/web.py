"""The web chat from its settings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from adapters.web.adapter import WebPlatform
from adapters.web.login import TOKEN_FILE, token_of
from adapters.web.options import MenuEntry, WebOptions
from adapters.web.server import address
from core.commands import COMMANDS
from core.messages import LaneKey, PlatformName, RemoteId, Say, SendFile
from core.ports import Platform
from core.sessions.conversation import (
    ChatFact,
    Conversation,
    Line,
    Place,
    Posted,
    Question,
)
from gateway.access import Door
from gateway.card import BUTTONS, text_of
from gateway.compose.setup import Memory, Setup


def web(setup: Setup, *, to: TextIO | None = None, early: bool = False) -> Platform:
    """The page. Its address is written `to` (standard output) once it can be opened, or now where
    that would be too late (`early`), together with the token when that was made just now.

    Raises UserError for a token that is too short or cannot be kept.
    """
    settings, place = setup.settings.platforms.web, setup.settings.place
    given = settings.token.get_secret_value() if settings.token else None
    token, fresh = token_of(setup.data, given, place(("platforms", "web", "token")))
    announce = _announcement(to or sys.stdout, token if fresh else "", setup.data)
    if early:
        announce(address(settings.host, settings.port))
    options = WebOptions(
        token=token,
        folder=setup.data,
        announce=_silent if early else announce,
        host=settings.host,
        port=settings.port,
        origins=settings.origins,
        host_key=place(("platforms", "web", "host")),
        port_key=place(("platforms", "web", "port")),
    )
    return WebPlatform(
        options,
        past=_Past(setup.memory, setup.redact),
        clock=setup.clock,
        door=Door(setup.access, setup.clock, "login"),
        commands=[MenuEntry(spec.name, spec.summary, spec.usage, spec.words) for spec in COMMANDS],
    )


def _announcement(to: TextIO, fresh: str, data: Path) -> Callable[[str], None]:
    told = False

    def announce(where: str) -> None:
        nonlocal told
        if told:  # a server that was built anew is where it was
            return
        told = True
        to.write(f"Web chat: {where}\n")
        if fresh:
            to.write(f"Token:    {fresh}\n(shown only now, kept in {data / TOKEN_FILE})\n")
        to.flush()

    return announce


def _silent(_: str) -> None:
    """It was told already."""


@dataclass(frozen=True, slots=True)
class _Past:
    """The store's memory as the page may show it: what was sent out had its secrets removed."""

    memory: Memory
    redact: Callable[[str], str]

    async def conversation(
        self, lane: LaneKey, *, before: Place | None = None, limit: int = 200
    ) -> Conversation:
        """See `Archive.conversation`."""
        found = await self.memory.conversation(lane, before=before, limit=limit)
        return replace(found, lines=tuple(map(self._clean, found.lines)))

    def _clean(self, line: Line) -> Line:
        match line:
            case Posted(what=Say() as say):
                return replace(line, what=replace(say, text=self.redact(say.text)))
            case Posted(what=SendFile() as file):
                return replace(line, what=replace(file, caption=self.redact(file.caption)))
            case _:
                return line

    async def chats(self, platform: PlatformName) -> tuple[ChatFact, ...]:
        """See `Archive.chats`."""
        return await self.memory.chats(platform)

    async def questions(self, lane: LaneKey) -> tuple[Question, ...]:
        """See `Archive.questions`."""
        found = await self.memory.questions(lane)
        return tuple(map(self._cleaned, found))

    def _cleaned(self, question: Question) -> Question:
        buttons = tuple(
            replace(button, label=self.redact(button.label)) for button in question.buttons
        )
        trail = tuple(replace(line, detail=self.redact(line.detail)) for line in question.trail)
        text, outcome = self.redact(question.text), self.redact(question.outcome)
        return replace(question, text=text, outcome=outcome, buttons=buttons, trail=trail)

    async def card(self, lane: LaneKey) -> tuple[RemoteId, Say] | None:
        """The goal's status message as it should read now."""
        facts = await self.memory.card(lane)
        if facts is None:
            return None
        text = self.redact(text_of(facts))
        return facts.remote, Say(text, buttons=BUTTONS.get(facts.goal.status, ()))
