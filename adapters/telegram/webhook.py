"""Receiving by webhook: our own small HTTP server behind the operator's TLS proxy.

Telegram gets its 200 only after the commit, and delivers again what got another answer.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
from urllib.parse import urlsplit

from aiohttp import web
from telegram import Bot
from telegram.error import BadRequest, InvalidToken, TelegramError

from adapters.telegram import errors
from adapters.telegram.handover import Handover
from adapters.telegram.link import ALLOWED_UPDATES, Link
from adapters.telegram.options import TelegramOptions, Webhook
from core.errors import Misconfigured, TransientError, UserError
from core.messages import PlatformName
from core.ports import Intake
from core.pulse import Pulse

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name
MAX_BODY = 2 * 1024 * 1024
CATCH_UP_S = 0.5

log = logging.getLogger(__name__)


class WebhookServer:
    """Listens, keeps the webhook set, and watches it from the other side."""

    def __init__(
        self,
        link: Link,
        intake: Intake,
        handover: Handover,
        pulse: Pulse,
        options: TelegramOptions,
        hook: Webhook,
    ) -> None:
        self._link = link
        self._intake = intake
        self._handover = handover
        self._pulse = pulse
        self._options = options
        self._hook = hook
        self._secret = hook.secret or secrets.token_urlsafe(32)
        self._in_order = asyncio.Lock()
        self._is_set = False

    async def run(self) -> None:
        """Serve until cancelled. Raises UserError when the port is taken or the URL refused."""
        app = web.Application(client_max_size=MAX_BODY)
        path = self._hook.path or urlsplit(self._hook.url).path or "/"
        app.router.add_post(path, self._receive)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=self._options.close_s)
        await runner.setup()
        try:
            await self._listen(runner)
            await self._keep_set()
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        try:
            await web.TCPSite(runner, self._hook.host, self._hook.port).start()
        except OSError as err:
            raise UserError(
                f"platforms.telegram.webhook cannot listen on {self._hook.host}:"
                f"{self._hook.port}: {err.strerror}."
            ) from None

    async def _receive(self, request: web.Request) -> web.Response:
        given = request.headers.get(SECRET_HEADER, "").encode()
        if not hmac.compare_digest(given, self._secret.encode()):
            return web.Response(status=403)
        try:
            raw = json.loads(await request.read())
        except ValueError:
            return web.Response(status=400)
        async with self._in_order:
            batch = self._handover.read([raw])
            try:
                await self._handover.commit(batch, None)
            except TransientError as err:
                self._pulse.fault(f"what came in cannot be saved: {err}")
                log.warning("an update is not saved, Telegram will bring it again: %s", err)
                return web.Response(status=503)
        self._pulse.heard()
        return web.Response()

    async def _keep_set(self) -> None:
        """Set the webhook, and look at it from time to time: silence alone says nothing."""
        pending = True
        while True:
            try:
                pending = await self._look(behind=pending)
            except InvalidToken:
                raise Misconfigured(errors.REFUSED_AT_DOOR) from None
            except TelegramError as err:
                text = errors.redact(err.message, self._options.secret)
                self._pulse.fault(f"the webhook cannot be checked: {text}")
                log.warning("checking the webhook failed: %s", text)
                if self._pulse.wants_rebuild():
                    await self._link.rebuild()
                await asyncio.sleep(self._options.backoff_s)
            else:
                await asyncio.sleep(CATCH_UP_S if pending else self._options.heartbeat_s / 3)

    async def _look(self, *, behind: bool) -> bool:
        """Returns whether the first backlog is still on its way."""
        async with self._link.bot() as bot:
            info = await bot.get_webhook_info()
            if not self._is_set or info.url != self._hook.url:
                await self._set(bot)
                info = await bot.get_webhook_info()
        self._pulse.heard()
        if behind and not info.pending_update_count:
            self._intake.caught_up(PlatformName.TELEGRAM)
        return behind and bool(info.pending_update_count)

    async def _set(self, bot: Bot) -> None:
        try:
            await bot.set_webhook(
                self._hook.url,
                max_connections=1,  # more of them would bring updates out of order
                allowed_updates=ALLOWED_UPDATES,
                drop_pending_updates=False,
                secret_token=self._secret,
            )
        except BadRequest as err:
            text = errors.redact(err.message, self._options.secret)
            raise UserError(f"Telegram refuses platforms.telegram.webhook.url: {text}") from None
        self._is_set = True
