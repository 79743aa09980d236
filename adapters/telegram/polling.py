"""Long polling. The offset moves only past updates that the intake has committed.

PTB's own updater confirms a batch with its next poll whatever became of it, so the loop is
ours. Ends only by cancellation or an error that a person must mend.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from telegram.error import Conflict, InvalidToken, TelegramError

from adapters.telegram import errors
from adapters.telegram.handover import Batch, Handover
from adapters.telegram.link import BATCH, Link
from adapters.telegram.options import TelegramOptions
from core.backoff import Backoff
from core.errors import Misconfigured, TransientError
from core.messages import PlatformName
from core.ports import Intake
from core.pulse import Pulse
from core.transcript import Json

log = logging.getLogger(__name__)

GATHER_S = 0.02
"""The pause between two polls with updates. What comes in meanwhile comes with the next one, and
the turns of the last one begin before it is made."""


class Poller:
    """The receive loop of one connection."""

    def __init__(
        self,
        link: Link,
        intake: Intake,
        handover: Handover,
        pulse: Pulse,
        options: TelegramOptions,
    ) -> None:
        self._link = link
        self._intake = intake
        self._handover = handover
        self._pulse = pulse
        self._options = options
        self._backoff = Backoff(options.backoff_s, options.backoff_cap_s)
        self._source = f"telegram:{options.account}"

    async def run(self) -> None:
        """Poll for ever. The first poll names no offset: update ids may have begun anew."""
        offset: int | None = None
        behind = True
        while True:
            try:
                raw = await self._link.updates(offset, 0.0 if behind else self._options.poll_s)
            except TelegramError as err:
                await self._recover(err)
                continue
            self._pulse.heard()
            self._backoff.reset()
            if raw:
                offset = await self._take(raw, offset)
                await asyncio.sleep(GATHER_S)
            if behind and len(raw) < BATCH:
                behind = False
                self._intake.caught_up(PlatformName.TELEGRAM)

    async def _take(self, raw: Sequence[Json], offset: int | None) -> int | None:
        batch = self._handover.read(raw)
        if batch.last is None:  # nothing to confirm by: not what the Bot API sends
            self._pulse.fault("getUpdates answers without update ids")
            await self._backoff.pause()
            return offset
        await self._commit(batch, batch.last)
        return batch.last + 1

    async def _commit(self, batch: Batch, last: int) -> None:
        backoff = Backoff(self._options.backoff_s, self._options.backoff_cap_s)
        while True:
            try:
                await self._handover.commit(batch, (self._source, str(last + 1)))
            except TransientError as err:
                self._pulse.fault(f"what came in cannot be saved: {err}")
                log.warning("updates up to %d are not saved yet: %s", last, err)
                await backoff.pause(err.retry_after or 0.0)
            else:
                self._pulse.heard()
                return

    async def _recover(self, err: TelegramError) -> None:
        wait_s = 0.0
        match err:
            case InvalidToken():
                await self._check_token()
                self._pulse.fault("Telegram answered 404 or 401 to a poll")
            case Conflict():
                self._pulse.fault(
                    "another process polls with the same token (409); stop it or change the token"
                )
                log.warning("another process polls with the same token (409)")
                if "webhook" in err.message.lower():
                    await self._drop_webhook()
            case errors.Flooded():
                wait_s = err.retry_after
                self._pulse.fault(f"Telegram asks us to poll again in {wait_s:.0f} s")
            case _:
                text = errors.redact(err.message, self._options.secret)
                self._pulse.fault(f"no connection: {text}")
                log.warning("polling Telegram failed: %s", text)
                if self._pulse.wants_rebuild():
                    log.warning("silent for %.0f s, connecting anew", self._pulse.silent_s)
                    await self._link.rebuild()
        await self._backoff.pause(wait_s)

    async def _check_token(self) -> None:
        """A stray 404 comes from proxies too: only getMe's refusal ends the bot."""
        try:
            async with self._link.bot() as bot:
                await bot.get_me()
        except InvalidToken:
            raise Misconfigured(errors.REFUSED_AT_DOOR) from None
        except TelegramError as err:
            log.debug("getMe failed as well: %s", type(err).__name__)

    async def _drop_webhook(self) -> None:
        try:
            async with self._link.bot() as bot:
                await bot.delete_webhook(drop_pending_updates=False)
        except TelegramError as err:
            log.warning("a webhook is set and stays: %s", type(err).__name__)
