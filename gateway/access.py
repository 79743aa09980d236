"""Who may talk, decided at one place: deny by default, by the platform's ids only.

The lists of the configuration come first, then the people who were let in by pairing. What each
role may do is `core.rights`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from core.errors import TransientError
from core.messages import Address, LaneKey, PlatformName, Principal, Role, Sender
from core.pairing import invitation
from core.people import People, Refusal
from core.ports import Clock

WEB_OWNER = "owner"
"""The sender id of whoever holds the web chat's token."""
MOST_KNOCKS = 200
"""Wrong tokens that wait to be written down."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Allowlist:
    """One platform's people by id. `chats` limits where members are heard, empty for
    everywhere; it admits nobody. `pairing` gives strangers who write in private a code."""

    owners: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()
    pairing: bool = False


NOBODY = Allowlist()


class Access:
    """Gives people their role; display names never count."""

    def __init__(
        self, lists: Mapping[PlatformName, Allowlist], people: People | None = None
    ) -> None:
        self._lists = lists
        self._people = people

    def relist(self, lists: Mapping[PlatformName, Allowlist]) -> None:
        """Take other lists from now on; a running turn keeps the rights it began with."""
        self._lists = lists

    def admit(self, sender: Sender, where: Address) -> Principal | None:
        """The sender with their rights in that chat, None for a stranger."""
        role = self.role(where.platform, sender.id, where.chat)
        return None if role is None else Principal(sender.id, sender.name, role)

    def role(self, platform: PlatformName, person: str, chat: str) -> Role | None:
        """The role a person has in a chat right now; a goal's setter is asked about again
        before each of its turns."""
        role = self._known(platform, person)
        chats = self._lists.get(platform, NOBODY).chats
        return None if role is Role.MEMBER and chats and chat not in chats else role

    def people(self, platform: PlatformName) -> tuple[str, ...]:
        """The ids of everybody who may talk there right now, listed or let in by pairing."""
        allowed = self._lists.get(platform, NOBODY)
        book = () if self._people is None else self._people.book().paired
        paired = [one.person for one in book if one.platform is platform]
        return tuple(dict.fromkeys((*sorted(allowed.owners | allowed.members), *paired)))

    def _known(self, platform: PlatformName, person: str) -> Role | None:
        """The role of a person wherever they write."""
        if platform is PlatformName.CONSOLE:
            return Role.OWNER  # whoever sits at the terminal owns the process
        if platform is PlatformName.WEB:
            return Role.OWNER if person == WEB_OWNER else None
        allowed = self._lists.get(platform, NOBODY)
        if person in allowed.owners:
            return Role.OWNER
        if person in allowed.members:
            return Role.MEMBER
        return None if self._people is None else self._people.role(platform, person)

    async def refuse(self, refusals: Sequence[Refusal], *, now: float) -> tuple[str, ...]:
        """Write down who was refused; what each of them is told, mostly nothing.

        Only a stranger is given a code: not a member who writes where members are not heard.
        """
        if self._people is None:
            return ("",) * len(refusals)
        asked = [replace(r, may_pair=r.may_pair and self._may_pair(r)) for r in refusals]
        codes = await self._people.refuse(asked, now=now)
        return tuple(invitation(code) if code else "" for code in codes)

    def _may_pair(self, refusal: Refusal) -> bool:
        pairs = self._lists.get(refusal.platform, NOBODY).pairing
        return pairs and self._known(refusal.platform, refusal.person) is None


class Door:
    """A page that a token opens: writes down the addresses that did not have it, never what
    they sent. One write at a time: a flood of guesses must not hold up what else is stored."""

    def __init__(self, access: Access, clock: Clock, name: str) -> None:
        self._access = access
        self._clock = clock
        self._name = name
        self._knocks: list[str] = []
        self._writing = asyncio.Lock()

    async def refused(self, peer: str) -> None:
        """Somebody at that address had no right token."""
        if len(self._knocks) >= MOST_KNOCKS:
            return
        self._knocks.append(peer)
        async with self._writing:
            knocks, self._knocks = self._knocks, []
            if not knocks:
                return
            try:
                await self._access.refuse(list(map(self._refusal, knocks)), now=self._clock.now())
            except TransientError as error:
                log.error("refusals_not_written", error=str(error), refusals=len(knocks))

    def _refusal(self, peer: str) -> Refusal:
        return Refusal(
            platform=PlatformName.WEB,
            person=f"{peer} ({self._name})",  # rows are kept by person: one for each page
            name="a wrong token",
            chat="",
            lane=LaneKey(""),
            what="login",
        )
