"""Where a slash command is answered. Slack offers them everywhere, also where the app may not
write: there a command counts as given in the person's direct messages with the app."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack import errors
from adapters.slack.link import Link
from core.ports import Clock

REMEMBERED = 5_000
FRESH_S = 600.0

log = logging.getLogger(__name__)


class Places:
    """Asks Slack, and remembers for ten minutes, whether the app is in a channel."""

    def __init__(self, link: Link, clock: Clock, patience_s: float) -> None:
        self._link = link
        self._clock = clock
        self._patience_s = patience_s
        self._known: OrderedDict[tuple[str, str], tuple[str, float]] = OrderedDict()

    async def has(self, channel: str) -> bool:
        """Whether the app is certainly in a channel; false when Slack cannot say now."""
        place, until = self._known.get((channel, ""), ("", 0.0))
        if place and self._clock.monotonic() < until:
            return True
        try:
            async with asyncio.timeout(self._patience_s), self._link.client() as client:
                inside = await _inside(client, channel)
        except errors.FAILED_CALL as err:
            _log_unknown(channel, err)
            return False
        if inside:
            self._keep((channel, ""), channel)
        return inside

    async def of(self, channel: str, user: str) -> str:
        """The channel, or the direct messages with that person where the app is not in it.

        Never raises for what Slack cannot say now: then it is the channel.
        """
        now = self._clock.monotonic()
        for key in ((channel, ""), (channel, user)):
            place, until = self._known.get(key, ("", 0.0))
            if now < until:
                return place
        try:
            async with asyncio.timeout(self._patience_s), self._link.client() as client:
                inside = await _inside(client, channel)
                place = channel if inside else await _direct(client, user)
        except errors.FAILED_CALL as err:
            _log_unknown(channel, err)
            return channel
        self._keep((channel, "" if inside else user), place)
        return place

    def _keep(self, key: tuple[str, str], place: str) -> None:
        self._known[key] = (place, self._clock.monotonic() + FRESH_S)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def _log_unknown(channel: str, err: Exception) -> None:
    reason = errors.code_of(err) or type(err).__name__
    log.warning("whether the app is in %s is not known: %s", channel, reason)


async def _inside(client: AsyncWebClient, channel: str) -> bool:
    try:
        answer = await client.conversations_info(channel=channel)
    except errors.FAILED_CALL as err:
        if errors.code_of(err) == "channel_not_found":
            return False  # a private one, or somebody else's direct messages
        raise
    told = answer.get("channel")
    info = told if isinstance(told, dict) else {}
    return bool(info.get("is_im") or info.get("is_mpim") or info.get("is_member"))


async def _direct(client: AsyncWebClient, user: str) -> str:
    answer = await client.conversations_open(users=user)
    told = answer.get("channel")
    return str(told["id"]) if isinstance(told, dict) and told.get("id") else ""
