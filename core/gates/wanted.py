"""Which gates a turn's answer has to pass: those of the settings, of its chat and of its goal.

Pure; the chat's own are kept in the store under its lane.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.gates.chain import Unverified
from core.gates.gate import Gate
from core.messages import LaneKey

MAX_COMMANDS = 20
"""The most that a chat, or a goal, has of its own."""
MAX_COMMAND = 1_000
NOT_LOOKED = "the turn was over before it had looked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The commands of the verify gate, in their order, and whether the critic reads the answer."""

    verify: tuple[str, ...] = ()
    critic: bool = False

    def __bool__(self) -> bool:
        """Whether there is any gate."""
        return bool(self.verify) or self.critic

    def and_goal(self, gates: Sequence[str]) -> Wanted:
        """With those of a goal, behind the others."""
        return replace(self, verify=_once(*self.verify, *gates))

    def unmet(self, checked: Wanted) -> Unverified | None:
        """What an answer lacks that no gate objects to: `checked` are the gates that have looked
        at it. None when it lacks nothing."""
        missing = next((one for one in self.verify if one not in checked.verify), "")
        if missing:
            return Unverified(Gate.VERIFY, f"`{missing}` has not been run", unavailable=True)
        if self.critic and not checked.critic:
            return Unverified(Gate.CRITIC, NOT_LOOKED, unavailable=True)
        return None


NO_GATES = Wanted()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGates:
    """What was set in a chat: more commands, and the critic on or off; None leaves that to the
    settings."""

    verify: tuple[str, ...] = ()
    critic: bool | None = None

    def on_top_of(self, settings: Wanted) -> Wanted:
        """The gates of the chat's turns."""
        return Wanted(
            verify=_once(*settings.verify, *self.verify),
            critic=settings.critic if self.critic is None else self.critic,
        )


def _once(*commands: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(commands))


def gates_key(lane: LaneKey) -> str:
    """Where a chat's own gates are kept."""
    return f"gates:{lane}"


def dump(gates: ChatGates) -> str:
    """The JSON text of a chat's gates, "" for none."""
    if gates == ChatGates():
        return ""
    stored = {"verify": gates.verify, "critic": gates.critic}
    return json.dumps(stored, ensure_ascii=False)


def load(text: str | None) -> ChatGates:
    """The gates that `dump` wrote. Raises ValueError or KeyError for any other text."""
    if not text:
        return ChatGates()
    stored = json.loads(text)
    return ChatGates(verify=tuple(stored["verify"]), critic=stored["critic"])


def refused(command: str, had: Sequence[str]) -> str:
    """Why a command is not added to those there are, "" when it may be."""
    if command in had:
        return "That command is there already."
    if len(had) >= MAX_COMMANDS:
        return f"There are {MAX_COMMANDS} commands already; remove one first."
    if len(command) > MAX_COMMAND:
        return f"A command has at most {MAX_COMMAND} characters; put it into a script."
    return ""
