"""Who may talk, decided at one place: deny by default, by the platform's ids only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.messages import Address, PlatformName, Principal, Role, Sender


@dataclass(frozen=True, slots=True)
class Allowlist:
    """One platform's people by id. `chats` limits where members are heard, empty for
    everywhere; it admits nobody."""

    owners: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()


class Access:
    """Gives people their role; display names never count."""

    def __init__(self, lists: Mapping[PlatformName, Allowlist]) -> None:
        self._lists = lists

    def admit(self, sender: Sender, where: Address) -> Principal | None:
        """The sender with their rights in that chat, None for a stranger."""
        role = self.role(where.platform, sender.id, where.chat)
        return None if role is None else Principal(sender.id, sender.name, role)

    def role(self, platform: PlatformName, person: str, chat: str) -> Role | None:
        """The role a person has in a chat right now; a goal's setter is asked about again
        before each of its turns."""
        if platform is PlatformName.CONSOLE:
            return Role.OWNER  # whoever sits at the terminal owns the process
        allowed = self._lists.get(platform, Allowlist())
        if person in allowed.owners:
            return Role.OWNER
        if person in allowed.members and (not allowed.chats or chat in allowed.chats):
            return Role.MEMBER
        return None
