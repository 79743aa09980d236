"""Who may talk, decided at one place: deny by default, by the platform's ids only.

The lists of the configuration come first, then the people who were let in by pairing. What each
role may do is `core.rights`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.messages import Address, PlatformName, Principal, Role, Sender
from core.pairing import invitation
from core.people import People, Refusal

WEB_OWNER = "owner"
"""The sender id of whoever holds the web chat's token."""


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
