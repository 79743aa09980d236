"""What each role may do: the one table that commands, budgets and sessions are held to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from core.messages import Role


class Right(StrEnum):
    """Something that a person may be allowed to do."""

    TALK = "talk"
    SET_GOALS = "set goals"
    CHANGE_BUDGETS = "change budgets"
    SEE_ALL_SESSIONS = "see other chats' sessions"
    CHOOSE_MODEL = "choose the model"
    BIND_WORKSPACE = "bind the workspace"
    CHANGE_GATES = "change the gates"
    PAIR = "let people in"


_MEMBER = frozenset({Right.TALK, Right.SET_GOALS})

RIGHTS: Mapping[Role, frozenset[Right]] = {Role.MEMBER: _MEMBER, Role.OWNER: frozenset(Right)}


def may(role: Role, right: Right) -> bool:
    """Whether a role has a right."""
    return right in RIGHTS[role]


def least(right: Right) -> Role:
    """The lowest role that has a right."""
    return Role.MEMBER if may(Role.MEMBER, right) else Role.OWNER
