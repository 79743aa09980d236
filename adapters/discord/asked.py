"""An interaction that waits for its one answer, which Discord wants within 3 s.

What a command did is told by the outbox; this only ends the waiting that the person sees. What
became of an answer to a question is told here, to that person alone. Best effort: an answer that
fails is logged, since the command has had its effect.
"""

from __future__ import annotations

import asyncio
import logging

import discord

from adapters.discord import errors
from adapters.discord.encode import MAX_UNITS, cut, verbatim
from core.messages import Ack, Duplicate, Handled, Queued, Refused

SAVING = "saving…"
SAVED = "saved"

log = logging.getLogger(__name__)


class Asked:
    """One command or press. `echo` is what the chat is shown of it, "" for a press. `confirms`
    says that the text of a confirmation is for that person, as no outbox tells it."""

    def __init__(
        self, interaction: discord.Interaction, echo: str = "", *, confirms: bool = False
    ) -> None:
        self._interaction = interaction
        self._echo = echo
        self._confirms = confirms
        self._turn = asyncio.Lock()
        self._done = False
        self._is_saving = False

    @property
    def number(self) -> int:
        """The interaction's id."""
        return self._interaction.id

    async def say_saving(self, after_s: float) -> None:
        """Unless it was answered by then."""
        await asyncio.sleep(after_s)
        async with self._turn:
            if self._done:
                return
            self._is_saving = await self._try_to_say(SAVING)

    async def answer(self, ack: Ack) -> None:
        """End the waiting: it is saved, or refused. A stranger is told nothing: their command
        fails, their press does nothing."""
        async with self._turn:
            self._done = True
            match ack:
                case Refused(text=text):
                    await self._refuse(text)
                case Handled(text=text) if self._confirms and text:
                    await self._tell(text)
                case Handled() | Queued():
                    await self._confirm(public=True)
                case Duplicate():
                    await self._confirm(public=False)

    async def _refuse(self, text: str) -> None:
        if self._is_saving or text:
            await self._tell(text)
        elif not self._echo:
            await self._try_to_defer()

    async def _tell(self, text: str) -> None:
        """Say something that only the person sees."""
        if self._is_saving:
            await self._change(text)
        else:
            await self._try_to_say(text)

    async def _confirm(self, *, public: bool) -> None:
        if self._is_saving:
            await self._change(self._echo or SAVED)
        elif self._echo:
            await self._try_to_say(self._echo, public=public)
        else:
            await self._try_to_defer()

    async def _try_to_say(self, text: str, *, public: bool = False) -> bool:
        try:
            await self._interaction.response.send_message(
                cut(verbatim(text), MAX_UNITS),
                ephemeral=not public,
                suppress_embeds=True,
                allowed_mentions=discord.AllowedMentions.none(),
            )
        except errors.CALL_ERRORS as err:
            log.debug("an interaction was not answered: %s", type(err).__name__)
            return False
        return True

    async def _try_to_defer(self) -> None:
        try:
            await self._interaction.response.defer()
        except errors.CALL_ERRORS as err:
            log.debug("a press was not answered: %s", type(err).__name__)

    async def _change(self, text: str) -> None:
        """Replace "saving…", which only the person sees; nothing stays of it for ""."""
        try:
            if text:
                await self._interaction.edit_original_response(content=verbatim(text))
            else:
                await self._interaction.delete_original_response()
        except errors.CALL_ERRORS as err:
            log.debug("an interaction's answer was not changed: %s", type(err).__name__)
