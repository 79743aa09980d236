"""What the children of one call are doing, for the chat's status message. Pure but for a clock.

Best effort: it is told of events and shows the latest; nothing reads it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.agent.events import ModelAsked, ToolEnded, ToolStarted, TurnEvent
from core.ports import Line
from core.tools.definitions import ICONS, OTHER_ICON
from core.tools.tool import one_line

TITLE_CHARS = 40
DOING_CHARS = 60


@dataclass(slots=True)
class Seat:
    """One child: its step counted from 1, what it does now, how it ended. `doing` is asked
    whenever it is shown: a child's own children have a board that moves on."""

    title: str
    began: float
    step: int = 0
    doing: Line = "waiting"
    ended: str = ""

    def line(self, now: float) -> str:
        """One line for people."""
        if self.ended:
            return f"  {self.ended}"
        doing = self.doing if isinstance(self.doing, str) else self.doing()
        step = f"step {self.step}" if self.step else ""
        parts = (step, age(now - self.began), one_line(doing, DOING_CHARS))
        return f"  {one_line(self.title, TITLE_CHARS)}: {' · '.join(filter(None, parts))}"


@dataclass(slots=True)
class Board:
    """All children of one call; `monotonic` tells seconds."""

    monotonic: Callable[[], float]
    seats: list[Seat] = field(default_factory=list)

    @classmethod
    def of(cls, titles: Sequence[str], monotonic: Callable[[], float]) -> Board:
        """A board with a seat for each child."""
        return cls(monotonic, [Seat(title, monotonic()) for title in titles])

    def start(self, seat: int) -> None:
        """A child begins."""
        self.seats[seat].began, self.seats[seat].doing = self.monotonic(), "starting"

    def emit(self, seat: int, event: TurnEvent) -> None:
        """Take note of what a child does."""
        at = self.seats[seat]
        match event:
            case ModelAsked(step):
                at.step, at.doing = step + 1, "thinking"
            case ToolStarted(call, summary):
                icon = ICONS.get(call.name, OTHER_ICON)
                at.doing = f"{icon} {summary}"
            case ToolEnded():
                at.doing = "thinking"
            case _:
                pass

    def say(self, seat: int, doing: Line) -> None:
        """What a child does, in words."""
        self.seats[seat].doing = doing

    def end(self, seat: int, line: str, *, good: bool) -> None:
        """How a child ended."""
        took = age(self.monotonic() - self.seats[seat].began)
        self.seats[seat].ended = f"{'✓' if good else '✗'} {line} ({took})"

    def text(self) -> str:
        """The lines for the status message."""
        now = self.monotonic()
        working = sum(not seat.ended for seat in self.seats)
        many = f"{working} of {len(self.seats)} children" if len(self.seats) > 1 else "a child"
        head = f"{ICONS['delegate_task']} {many} at work"
        return "\n".join([head, *(seat.line(now) for seat in self.seats)])


def age(seconds: float) -> str:
    """Seconds as people read them: `7s`, `2m05s`."""
    whole = int(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60:02d}s"
