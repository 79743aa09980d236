"""What the console needs of the place where a person types and reads.

There are two: a terminal, and plain lines where there is none. A front shows what it is given
and says what it heard; it knows nothing of lanes, goals or the gateway. Every text that it is
given is clean already.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from core.messages import Say


@dataclass(frozen=True, slots=True)
class Typed:
    """A whole text that the person sent off; `begun` is the monotonic time of its first key."""

    text: str
    begun: float = field(default=float("inf"), compare=False)


@dataclass(frozen=True, slots=True)
class Oversized:
    """A text of `size` bytes, too long to be kept."""

    size: int


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The person asks for the running turn to stop."""


Heard: TypeAlias = Typed | Oversized | Interrupted

Hear: TypeAlias = Callable[[Heard], Awaitable[bool]]
"""Takes what was heard, in order; False ends the conversation."""


class Front(Protocol):
    """One person's screen and keyboard. Methods that print raise OSError when nobody reads."""

    interactive: bool
    """Whether a person sits before it: buttons then have numbers that may be typed."""

    async def greet(self) -> None:
        """Show the first screen, where there is one."""
        ...

    async def run(self, hear: Hear) -> None:
        """Listen until the person leaves, the input ends or nobody reads any more."""
        ...

    async def say(self, what: Say) -> None:
        """Print a message of the bot."""
        ...

    async def say_status(self, what: Say) -> None:
        """Print the goal's status when it comes up first."""
        ...

    async def note(self, text: str) -> None:
        """Print a remark of the console itself; best effort."""
        ...

    async def progress(self, turn: int, text: str) -> None:
        """Show what the turn does just now; "" takes it away. Best effort."""
        ...

    def pin(self, what: Say | None) -> None:
        """Keep the goal's status in sight, None for none."""
        ...

    def busy(self, *, working: bool) -> None:
        """Show whether something is running."""
        ...
