"""Which threads are ours: where the bot has written or was called by somebody admitted, it hears
everybody without a mention.

Slack itself is the memory: a thread that is not known since the start is read once. There a
mention counts for the one who wrote it only, as strangers mention too.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Reading:
    """A thread that is being read: who called us on the pages so far, and where to go on."""

    callers: set[str] = field(default_factory=set)
    cursor: str = ""
    pages: int = 0


class Threads:
    """The threads of channels, by channel and first message: for each the people who called us
    there, None for one that is ours."""

    def __init__(self, link: Link, patience_s: float) -> None:
        self._link = link
        self._patience_s = patience_s
        self._begun: OrderedDict[tuple[str, str], Reading] = OrderedDict()
        self._known: OrderedDict[tuple[str, str], frozenset[str] | None] = OrderedDict()

    def join(self, channel: str, thread: str) -> None:
        """The bot takes part in it from now on."""
        if thread:
            self._keep((channel, thread), None)

    def knows(self, channel: str, thread: str) -> bool:
        """Whether `hears` answers without asking Slack."""
        return (channel, thread) in self._known

    async def hears(self, channel: str, thread: str, sender: str, me: Me) -> bool:
        """Whether the sender's words there are for the bot.

        Raises TransientError when Slack cannot say now; what was read till then is kept.
        """
        key = (channel, thread)
        if key not in self._known:
            found = await self._read(channel, thread, me)
            if key not in self._known:  # we may have joined it meanwhile
                self._keep(key, found)
        callers = self._known[key]
        return callers is None or sender in callers

    async def _read(self, channel: str, thread: str, me: Me) -> frozenset[str] | None:
        key = (channel, thread)
        reading = self._begun.setdefault(key, Reading())
        if len(self._begun) > REMEMBERED:
            self._begun.popitem(last=False)
        try:
            async with asyncio.timeout(self._patience_s), self._link.client() as client:
                found = await _callers(client, key, reading, me)
        except errors.FAILED_CALL as err:
            error = errors.translate(err, ())
            if isinstance(error, TransientError):
                raise error from None
            self._begun.pop(key, None)
            log.warning("a thread cannot be read, so a mention is needed there: %s", error)
            return frozenset()
        self._begun.pop(key, None)
        return found

    def _keep(self, key: tuple[str, str], callers: frozenset[str] | None) -> None:
        self._known[key] = callers
        self._known.move_to_end(key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


async def _callers(
    client: AsyncWebClient, key: tuple[str, str], reading: Reading, me: Me
) -> frozenset[str] | None:
    """Who mentions us there; None when we have written ourselves."""
    channel, thread = key
    while reading.pages < MOST_PAGES:
        answer = await client.conversations_replies(
            channel=channel, ts=thread, limit=PAGE, cursor=reading.cursor or None
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
                reading.callers.add(str(message.get("user")))
        reading.pages += 1
        reading.cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
        if not reading.cursor:
            break
    return frozenset(reading.callers)
