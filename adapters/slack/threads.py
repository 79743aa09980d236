"""Which threads are ours: where the bot has written or was called by somebody admitted, it hears
everybody without a mention.

Slack itself is the memory: a thread that is not known since the start is read once. There a
mention counts for the one who wrote it only, as strangers mention too.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack import errors
from adapters.slack.decode import Me
from adapters.slack.link import Link
from core.errors import TransientError

REMEMBERED = 10_000
PAGE = 200
MOST_PAGES = 5
"""Of a longer thread only the first thousand messages are read."""

log = logging.getLogger(__name__)


class Threads:
    """The threads of channels, by channel and first message: for each the people who called us
    there, None for one that is ours."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._known: OrderedDict[tuple[str, str], frozenset[str] | None] = OrderedDict()

    def join(self, channel: str, thread: str) -> None:
        """The bot takes part in it from now on."""
        if thread:
            self._keep((channel, thread), None)

    async def hears(self, channel: str, thread: str, sender: str, me: Me) -> bool:
        """Whether the sender's words there are for the bot.

        Raises TransientError when Slack cannot say now.
        """
        key = (channel, thread)
        if key not in self._known:
            found = await self._read(channel, thread, me)
            if key not in self._known:  # we may have joined it meanwhile
                self._keep(key, found)
        callers = self._known[key]
        return callers is None or sender in callers

    async def _read(self, channel: str, thread: str, me: Me) -> frozenset[str] | None:
        try:
            async with self._link.client() as client:
                return await _callers(client, channel, thread, me)
        except errors.FAILED_CALL as err:
            error = errors.translate(err, ())
            if isinstance(error, TransientError):
                raise error from None
            log.warning("a thread cannot be read, so a mention is needed there: %s", error)
            return frozenset()

    def _keep(self, key: tuple[str, str], callers: frozenset[str] | None) -> None:
        self._known[key] = callers
        self._known.move_to_end(key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


async def _callers(
    client: AsyncWebClient, channel: str, thread: str, me: Me
) -> frozenset[str] | None:
    """Who mentions us there; None when we have written ourselves."""
    cursor = ""
    callers: set[str] = set()
    for _ in range(MOST_PAGES):
        answer = await client.conversations_replies(
            channel=channel, ts=thread, limit=PAGE, cursor=cursor or None
        )
        for message in answer.get("messages") or ():
            if not isinstance(message, dict):
                continue
            writers = message.get("reply_users")
            if message.get("user") == me.user or (
                isinstance(writers, list) and me.user in writers
            ):
                return None
            if f"<@{me.user}" in str(message.get("text")):
                callers.add(str(message.get("user")))
        cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
        if not cursor:
            break
    return frozenset(callers)
