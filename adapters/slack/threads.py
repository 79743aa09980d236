"""Which threads are ours: where the bot was mentioned or has written, it hears without a mention.

Slack itself is the memory: a thread that is not known since the start is read once.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack import errors
from adapters.slack.decode import Me
from adapters.slack.link import Link
from core.errors import TransientError
from core.transcript import Json

REMEMBERED = 10_000
PAGE = 200
MOST_PAGES = 5
"""Of a longer thread only the first thousand messages are read."""

log = logging.getLogger(__name__)


class Threads:
    """The threads of channels, by channel and first message."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._known: OrderedDict[tuple[str, str], bool] = OrderedDict()

    def join(self, channel: str, thread: str) -> None:
        """The bot takes part in it from now on."""
        if thread:
            self._keep((channel, thread), ours=True)

    async def ours(self, channel: str, thread: str, me: Me) -> bool:
        """Whether the bot takes part in it. Raises TransientError when Slack cannot say now."""
        key = (channel, thread)
        if key in self._known:
            return self._known[key]
        try:
            async with self._link.client() as client:
                found = await _takes_part(client, channel, thread, me)
        except errors.FAILED_CALL as err:
            error = errors.translate(err, ())
            if isinstance(error, TransientError):
                raise error from None
            log.warning("a thread cannot be read, so a mention is needed there: %s", error)
            found = False
        if key not in self._known:  # a mention may have come meanwhile
            self._keep(key, ours=found)
        return self._known[key]

    def _keep(self, key: tuple[str, str], *, ours: bool) -> None:
        self._known[key] = ours
        self._known.move_to_end(key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


async def _takes_part(client: AsyncWebClient, channel: str, thread: str, me: Me) -> bool:
    cursor = ""
    for _ in range(MOST_PAGES):
        answer = await client.conversations_replies(
            channel=channel, ts=thread, limit=PAGE, cursor=cursor or None
        )
        if any(_ours(message, me) for message in answer.get("messages") or ()):
            return True
        cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
        if not cursor:
            return False
    return False


def _ours(message: Json, me: Me) -> bool:
    if not isinstance(message, dict):
        return False
    text = message.get("text")
    writers = message.get("reply_users")
    return (
        message.get("user") == me.user
        or (isinstance(text, str) and f"<@{me.user}" in text)
        or (isinstance(writers, list) and me.user in writers)
    )
