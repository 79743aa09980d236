"""Discord as a `Platform`: wires receiving, sending and the commands; decides nothing itself.

Only this module is the package's face. It starts no task outside of `run`, and every error
that leaves it is one of the core's.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import discord

from adapters.discord import errors
from adapters.discord.connection import Connection
from adapters.discord.encode import ROOM
from adapters.discord.ephemera import Ephemera
from adapters.discord.handover import Around, Handover
from adapters.discord.link import Link
from adapters.discord.media import Place, place_of
from adapters.discord.menu import menu
from adapters.discord.options import DiscordOptions, MenuEntry
from adapters.discord.outgoing import Outgoing
from adapters.discord.pacing import Pacing
from adapters.discord.parts import parts
from adapters.discord.people import People
from core.errors import PermanentError, PursuitError, UserError
from core.messages import (
    Address,
    Attachment,
    Outbound,
    PlatformName,
    RemoteId,
    Say,
    SendFile,
)
from core.ports import Clock, Health, Hold, Intake, Mark, Sent
from core.pulse import Pulse
from core.splitting import Room

MAX_DOWNLOAD = 25 * 1024 * 1024
DOWNLOAD_S = 120.0
NONCE_BYTES = 12
TOO_BIG = "The file {name} is too large: at most 25 MB are fetched from Discord."

log = logging.getLogger(__name__)


class DiscordPlatform:
    """One bot on Discord. Sending works before, during and after `run`."""

    name = PlatformName.DISCORD
    repeats_s = 120.0

    def __init__(
        self,
        settings: DiscordOptions,
        *,
        commands: Sequence[MenuEntry] = (),
        people: People,
        clock: Clock,
        state_dir: Path,
        hold: Hold,
    ) -> None:
        self.account = settings.account
        self._options = settings
        self._menu = menu(commands)
        self._people = people
        self._clock = clock
        self._state_dir = state_dir
        self._hold = hold
        self._pulse = Pulse(clock, settings.silence_s)
        self._link = Link(settings)
        self._pacing = Pacing(clock, settings.progress_gap_s)
        self._outgoing = Outgoing(self._link, self._pacing, settings)
        self._ephemera = Ephemera(self._pacing, self._outgoing)

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled; closing takes no longer than twice `close_s`.

        Raises UserError for a refused token, a second process with it, or the missing intent;
        network faults are retried inside.
        """
        self._pulse.touch()
        with self._hold():
            try:
                async with asyncio.TaskGroup() as group:
                    handover = Handover(
                        intake=intake,
                        options=self._options,
                        around=Around(self._people, self._pulse, self._clock),
                        tell=self._tell,
                        group=group,
                    )
                    group.create_task(handover.run(), name="discord-handover")
                    await self._connection(handover).run()
            except BaseExceptionGroup as failures:
                self._pulse.fault("stopped")
                _raise_expected(failures)
            finally:
                await self._link.close()

    def health(self) -> Health:
        """How the connection is."""
        return self._pulse.health()

    def parts(self, text: str) -> tuple[Outbound, ...]:
        """A Markdown text as messages that fit."""
        return parts(text)

    @property
    def room(self) -> Room:
        """How much one message with buttons holds."""
        return ROOM

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """Post a message or a file."""
        nonce = key or secrets.token_hex(NONCE_BYTES)
        match what:
            case Say():
                return await self._outgoing.say(address, what, nonce)
            case SendFile():
                return await self._outgoing.post_file(address, what, nonce)

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Replace a message's text and buttons."""
        await self._outgoing.edit(address, remote, what)

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Show what a turn is doing, best effort; raises for an edit in doubt or a rest."""
        del turn  # one message a turn, known by its id
        return await self._ephemera.progress(address, remote, text)

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """React to a person's message and show typing while WORKING, best effort."""
        await self._ephemera.mark(address, remote, state)

    async def download(self, attachment: Attachment, to: Path) -> None:
        """Fetch a file of at most 25 MB. Raises UserError for a larger one."""
        if attachment.size > MAX_DOWNLOAD:
            raise UserError(TOO_BIG.format(name=attachment.name))
        place = place_of(attachment.ref)
        if place is None:
            raise PermanentError(f"{attachment.name} is no file of Discord's.")
        try:
            client = await self._link.client()
            async with asyncio.timeout(DOWNLOAD_S):
                content = await _fetched(client, place)
        except errors.CALL_ERRORS as err:
            raise errors.translate(err, self._options.token, written=False) from None
        try:
            await asyncio.to_thread(to.write_bytes, content)
        except OSError as err:
            raise UserError(
                f"The file {attachment.name} cannot be saved: {err.strerror}."
            ) from None

    def _connection(self, handover: Handover) -> Connection:
        return Connection(
            self._options,
            handover,
            self._pulse,
            self._clock,
            self._menu,
            self._state_dir / f"discord-{self.account}.commands",
        )

    async def _tell(self, address: Address, text: str, remote: RemoteId) -> None:
        try:
            await self.send(address, Say(text, reply_to=remote))
        except PursuitError as err:
            log.warning("a refusal could not be told: %s", err)


async def _fetched(client: discord.Client, place: Place) -> bytes:
    """The file from its address, else from the one that its message names now."""
    try:
        return await client.http.get_from_cdn(place.url)
    except discord.HTTPException as err:
        if err.status not in {403, 404}:
            raise
    channel = client.get_partial_messageable(place.channel)
    message = await channel.fetch_message(place.message)
    forwarded = [file for shot in message.message_snapshots for file in shot.attachments]
    for file in (*message.attachments, *forwarded):
        if file.id == place.file:
            return await client.http.get_from_cdn(file.url)
    raise PermanentError("The file is no longer on Discord.")


def _raise_expected(failures: BaseExceptionGroup[BaseException]) -> NoReturn:
    """Raise the core's error that ended the tasks, else the group as it is."""
    expected, _ = failures.split(PursuitError)
    while expected is not None:
        first = expected.exceptions[0]
        if not isinstance(first, BaseExceptionGroup):
            raise first from None
        expected = first
    raise failures
