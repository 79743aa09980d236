"""What one person alone is told: why something was refused, what a press did. Best effort, so
nothing here raises for Slack's part."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from slack_sdk.webhook.async_client import AsyncWebhookClient

from adapters.slack import errors
from adapters.slack.encode import aside
from adapters.slack.link import Link
from adapters.slack.outgoing import Outgoing
from core.errors import PursuitError
from core.messages import Message, Press, Say
from core.transcript import Json

log = logging.getLogger(__name__)


class Asides:
    """Notes that nobody else sees and that are kept nowhere."""

    def __init__(self, link: Link, outgoing: Outgoing) -> None:
        self._link = link
        self._outgoing = outgoing

    async def tell(self, inbound: Message | Press, text: str, answer_url: str = "") -> None:
        """Say it to who wrote or pressed. `answer_url` is Slack's address for answers to a
        command or a press; without one a chat of two is told, and elsewhere the person alone."""
        where = inbound.address
        if answer_url:
            thread = {"thread_ts": where.thread} if where.thread else {}
            told = aside(text, threaded=bool(where.thread))
            await self._respond(answer_url, {**told, "replace_original": False, **thread})
            return
        try:
            if inbound.private:
                await self._outgoing.say(where, Say(text))
            else:
                # Slack shows no such note in a thread that only begins with this message.
                thread_ts = where.thread if where.thread != inbound.remote else ""
                await self._outgoing.whisper(where.chat, thread_ts, inbound.sender.id, text)
        except PursuitError as err:
            log.warning("a refusal could not be told: %s", err)

    async def _respond(self, url: str, body: Mapping[str, Json]) -> None:
        try:
            async with self._link.wire() as wire:
                hook = AsyncWebhookClient(
                    url,
                    session=wire.session,
                    retry_handlers=[],
                    logger=logging.getLogger("slack_sdk"),
                )
                hook.proxy = None
                answer = await hook.send_dict(dict(body))
        except errors.FAILED_CALL as err:
            log.warning("an answer to a command was not taken: %s", type(err).__name__)
        else:
            if answer.status_code != 200:
                log.warning("an answer to a command was refused: %s", answer.status_code)
