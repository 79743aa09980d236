"""People's names, which Slack's messages do not carry. For display only, never a right."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

from adapters.slack import errors
from adapters.slack.link import Link
from adapters.slack.reading import one_line
from core.ports import Clock

REMEMBERED = 5_000
FRESH_S = 3600.0
RETRY_S = 60.0

log = logging.getLogger(__name__)


class People:
    """Asks Slack once an hour for a name, and goes without when it does not answer soon."""

    def __init__(self, link: Link, clock: Clock, patience_s: float) -> None:
        self._link = link
        self._clock = clock
        self._patience_s = patience_s
        self._names: OrderedDict[str, tuple[str, float]] = OrderedDict()

    async def name(self, user: str) -> str:
        """The person's display name, "" when it cannot be had; never raises for that."""
        now = self._clock.monotonic()
        known, until = self._names.get(user, ("", 0.0))
        if now < until:
            return known
        try:
            async with asyncio.timeout(self._patience_s), self._link.client() as client:
                answer = await client.users_info(user=user)
                found = _display_name(answer.get("user"))
        except errors.FAILED_CALL as err:
            log.debug("no name for %s: %s", user, errors.code_of(err) or type(err).__name__)
            self._keep(user, known, now + RETRY_S)
            return known
        self._keep(user, found, now + FRESH_S)
        return found

    def remembered(self, user: str) -> str:
        """The name as it was last told, "" where Slack was never asked; asks nobody."""
        return self._names.get(user, ("", 0.0))[0]

    def _keep(self, user: str, name: str, until: float) -> None:
        self._names[user] = (name, until)
        self._names.move_to_end(user)
        if len(self._names) > REMEMBERED:
            self._names.popitem(last=False)


def _display_name(user: object) -> str:
    if not isinstance(user, dict):
        return ""
    profile = user.get("profile")
    named = profile if isinstance(profile, dict) else {}
    for name in (named.get("display_name"), user.get("real_name"), user.get("name")):
        if isinstance(name, str) and name.strip():
            return one_line(name)
    return ""
