"""The Bolt app: proves that a request is Slack's, reads it, and hands it over.

All requests go through one middleware that answers them. Bolt's listeners run unordered in
tasks that nobody holds, and may answer Slack before the commit; so none is registered.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.decode import Me
from adapters.slack.handover import Handover

log = logging.getLogger("slack_bolt")


class Take(AsyncMiddleware):
    """The last middleware: what comes this far is answered here."""

    def __init__(self, handover: Handover) -> None:
        self._handover = handover

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002 - the base class's name
    ) -> BoltResponse:
        """See `AsyncMiddleware.async_process`."""
        answer = await self._handover.take(req.body)
        return BoltResponse(status=answer.status, body=dict(answer.body) if answer.body else "")


def front(me: Me, handover: Handover, bot_token: str, signing_secret: str) -> AsyncApp:
    """The app. It makes no call itself: who we are is known from the start."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=me.team,
            bot_user_id=me.user,
            bot_id=me.bot,
            bot_token=bot_token,
        )

    app = AsyncApp(
        name="pursuit",
        logger=log,
        client=AsyncWebClient(retry_handlers=[]),
        signing_secret=signing_secret,
        authorize=authorize,
        process_before_response=True,
    )
    app.use(Take(handover))
    return app
