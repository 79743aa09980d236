"""Telegram as a `Platform`: wires receiving, sending and the menu; decides nothing itself.

Only this module is the package's face. It starts no task outside of `run`, and every error
that leaves it is one of the core's.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from telegram import BotCommand
from telegram.error import BadRequest, InvalidToken, TelegramError

from adapters.telegram import errors
from adapters.telegram.decode import Me, moved
from adapters.telegram.encode import ROOM
from adapters.telegram.ephemera import Ephemera
from adapters.telegram.handover import Handover
from adapters.telegram.link import Link
from adapters.telegram.menu import menu, same_menu
from adapters.telegram.options import MenuEntry, TelegramOptions
from adapters.telegram.outgoing import Outgoing
from adapters.telegram.pacing import Pacing
from adapters.telegram.parts import parts
from adapters.telegram.polling import Poller
from core.backoff import Backoff
from core.errors import Misconfigured, PermanentError, PursuitError, TransientError, UserError
from core.messages import (
    Address,
    Attachment,
    Message,
    Outbound,
    PlatformName,
    Press,
    RemoteId,
    Say,
    SendFile,
)
from core.ports import Clock, Health, Hold, Intake, Mark, Sent
from core.pulse import Pulse
from core.splitting import Room

MAX_DOWNLOAD = 20 * 1024 * 1024
DOWNLOAD_S = 120.0
TOO_BIG = "The file {name} is too large: Telegram lets a bot fetch at most 20 MB."
IN_GROUP = "In the group: "
"""What a refusal begins with that is told to a person alone."""

log = logging.getLogger(__name__)


class TelegramPlatform:
    """One bot on Telegram. Sending works before, during and after `run`."""

    name = PlatformName.TELEGRAM
    repeats_s = 0.0

    def __init__(
        self,
        settings: TelegramOptions,
        *,
        commands: Sequence[MenuEntry] = (),
        clock: Clock,
        hold: Hold,
    ) -> None:
        self.account = settings.account
        self._options = settings
        self._menu = menu(commands)
        self._clock = clock
        self._hold = hold
        self._intake: Intake | None = None
        self._pulse = Pulse(clock, settings.heartbeat_s)
        self._link = Link(settings)
        self._pacing = Pacing(
            clock,
            group_per_minute=settings.group_per_minute,
            progress_gap_s=settings.progress_gap_s,
        )
        self._outgoing = Outgoing(self._link, self._pacing, settings.secret, self._on_moved)
        self._ephemera = Ephemera(self._link, self._pacing, self._outgoing, clock, settings.secret)

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled; closing takes no longer than `close_s`.

        Raises UserError for a refused token, a second process with it, or a webhook that cannot
        be; network faults are retried inside.
        """
        self._pulse.begin()
        self._intake = intake
        with self._hold():
            self._link.open()
            try:
                async with asyncio.TaskGroup() as group:
                    me = await self._introduce()
                    way = "polling" if self._options.webhook is None else "webhook"
                    log.info("Telegram is connected: @%s, by %s", me.username, way)
                    group.create_task(self._offer_menu(), name="telegram-menu")
                    await self._receive(intake, me, group)
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
        match what:
            case Say():
                return await self._outgoing.say(address, what)
            case SendFile():
                return await self._outgoing.post_file(address, what)

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Replace a message's text and buttons."""
        await self._outgoing.edit(address, remote, what)

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Show what a turn is doing, best effort; raises only for an edit in doubt."""
        return await self._ephemera.progress(address, turn, remote, text)

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """React to a person's message and show typing while WORKING, best effort."""
        await self._ephemera.mark(address, remote, state)

    async def download(self, attachment: Attachment, to: Path) -> None:
        """Fetch a file of at most 20 MB. Raises UserError for a larger one."""
        if attachment.size > MAX_DOWNLOAD:
            raise UserError(TOO_BIG.format(name=attachment.name))
        try:
            async with self._link.bot() as bot:
                file = await bot.get_file(attachment.ref)
                content = await file.download_as_bytearray(read_timeout=DOWNLOAD_S)
        except TelegramError as err:
            if isinstance(err, BadRequest) and errors.too_big(err):
                raise UserError(TOO_BIG.format(name=attachment.name)) from None
            raise errors.translate(err, self._options.secret) from None
        try:
            await asyncio.to_thread(to.write_bytes, content)
        except OSError as err:
            raise UserError(
                f"The file {attachment.name} cannot be saved: {err.strerror}."
            ) from None

    async def _introduce(self) -> Me:
        """Ask who we are, until there is an answer."""
        backoff = Backoff(self._options.backoff_s, self._options.backoff_cap_s)
        while True:
            try:
                async with self._link.bot() as bot:
                    user = await bot.get_me()
                    if self._options.webhook is None:
                        await bot.delete_webhook(drop_pending_updates=False)
            except InvalidToken:
                raise Misconfigured(errors.REFUSED_AT_DOOR) from None
            except TelegramError as err:
                error = errors.translate(err, self._options.secret)
                self._pulse.fault(f"no connection: {error}")
                log.warning("Telegram does not answer: %s", error)
                wait_s = error.retry_after if isinstance(error, TransientError) else None
                await backoff.pause(wait_s or 0.0)
                if self._pulse.wants_rebuild():
                    await self._link.rebuild()
            else:
                return Me(user.id, user.username or "")

    async def _receive(self, intake: Intake, me: Me, group: asyncio.TaskGroup) -> None:
        handover = Handover(
            link=self._link,
            intake=intake,
            me=me,
            tell=self._tell,
            clock=self._clock,
            saving_s=self._options.saving_s,
            group=group,
        )
        hook = self._options.webhook
        if hook is None:
            poller = Poller(self._link, intake, handover, self._pulse, self._options)
            await poller.run()
        else:
            # An HTTP server costs 0.15 s and 10 MB to import; few bots need it.
            module = importlib.import_module("adapters.telegram.webhook")
            server = module.WebhookServer(
                self._link, intake, handover, self._pulse, self._options, hook
            )
            await server.run()

    async def _offer_menu(self) -> None:
        """Set the native command menu, when it is not what Telegram shows already."""
        try:
            async with self._link.bot() as bot:
                current: Sequence[BotCommand] = await bot.get_my_commands()
                if not same_menu(current, self._menu):
                    await bot.set_my_commands(self._menu)
        except TelegramError as err:
            error = errors.translate(err, self._options.secret)
            log.warning("the command menu is not set: %s", error)

    async def _tell(self, inbound: Message | Press, text: str) -> None:
        """Tell a refusal to the person alone. Who has never written to the bot is told in the
        group, as a reply to their message; of a press nothing is said there."""
        try:
            if not inbound.private and await self._told_alone(inbound, text):
                return
            if inbound.private or isinstance(inbound, Message):
                await self._outgoing.say(inbound.address, Say(text, reply_to=inbound.remote))
        except PursuitError as err:
            log.warning("a refusal could not be told: %s", err)

    async def _told_alone(self, inbound: Message | Press, text: str) -> bool:
        """Whether the person has a chat with the bot that takes the text; a private chat has its
        person's id."""
        alone = replace(inbound.address, chat=inbound.sender.id, thread="", user="")
        try:
            await self._outgoing.say(alone, Say(f"{IN_GROUP}{text}"))
        except PermanentError:
            return False
        return True

    async def _on_moved(self, old: int, new: int) -> None:
        """A send met a group's new id: its lanes must follow."""
        if self._intake is None:
            return
        try:
            await self._intake.accept([moved(self.account, old, new)])
        except TransientError as err:
            log.warning("chat %d is %d now, not saved yet: %s", old, new, err)


def _raise_expected(failures: BaseExceptionGroup[BaseException]) -> NoReturn:
    """Raise the core's error that ended the tasks, else the group as it is."""
    expected, _ = failures.split(PursuitError)
    while expected is not None:
        first = expected.exceptions[0]
        if not isinstance(first, BaseExceptionGroup):
            raise first from None
        expected = first
    raise failures
