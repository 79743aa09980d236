"""Receiving by HTTP events: our own small server behind the operator's TLS proxy.

Bolt checks each request's signature and age. Slack gets its 200 only after the commit, and
brings again what got another answer.
"""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier

from adapters.slack import errors
from adapters.slack.decode import MALFORMED
from adapters.slack.handover import Handover, Status
from adapters.slack.link import Link
from adapters.slack.options import EVENTS_PATH, Events, SlackOptions
from core.errors import TransientError, UserError
from core.messages import PlatformName
from core.ports import Intake
from core.pulse import Pulse

MAX_BODY = 4 * 1024 * 1024

log = logging.getLogger(__name__)


class EventsServer:
    """Listens, and looks from time to time whether Slack still takes our token."""

    def __init__(  # noqa: PLR0913 - wiring, all keyword-only
        self,
        *,
        link: Link,
        app: AsyncApp,
        handover: Handover,
        intake: Intake,
        pulse: Pulse,
        options: SlackOptions,
        events: Events,
    ) -> None:
        self._link = link
        self._app = app
        self._handover = handover
        self._intake = intake
        self._pulse = pulse
        self._options = options
        self._events = events
        self._verifier = SignatureVerifier(events.signing_secret)

    async def run(self) -> None:
        """Serve until cancelled. Raises UserError when the port is taken."""
        served = web.Application(client_max_size=MAX_BODY)
        served.router.add_post(EVENTS_PATH, self._receive)
        runner = web.AppRunner(served, access_log=None, shutdown_timeout=self._options.close_s)
        await runner.setup()
        try:
            await self._listen(runner)
            self._pulse.heard()
            # What Slack could not deliver it brings when it likes: no backlog is to be waited for.
            self._intake.caught_up(PlatformName.SLACK)
            await self._watch()
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        host, port = self._events.host, self._events.port
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as err:
            raise UserError(
                f"platforms.slack.events cannot listen on {host}:{port}: {err.strerror}."
            ) from None
        log.info("listening for Slack's events on %s", runner.addresses)

    async def _receive(self, request: web.Request) -> web.Response:
        try:
            asked = await to_bolt_request(request)
        except MALFORMED as err:
            # Bolt cannot even build it, so its signature has not been looked at yet.
            if not self._verifier.is_valid_request(await request.read(), dict(request.headers)):
                return web.Response(status=401)
            self._handover.step_over(err)
            return web.Response()
        response = await self._app.async_dispatch(asked)
        if response.status == Status.UNSAVED:
            self._pulse.fault("what came in cannot be saved")
        elif response.status == Status.TAKEN:
            self._pulse.heard()
        return await to_aiohttp_response(response)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._options.check_s)
            try:
                async with self._link.client() as client:
                    await client.auth_test()
            except errors.FAILED_CALL as err:
                error = errors.translate(err, self._options.secrets)
                if not isinstance(error, TransientError):
                    raise error from None
                self._pulse.fault(f"Slack does not answer: {error}")
                log.warning("Slack does not answer: %s", error)
                await self._link.rebuild()
            else:
                self._pulse.heard()
