"""What the lines over the prompt say while something runs. Pure: the time is an argument."""

from __future__ import annotations

from dataclasses import dataclass, field

from prompt_toolkit.utils import get_cwidth

from core.messages import Say

Fragments = list[tuple[str, str]]

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_FRAME_S = 0.2
_HINT_S = 2.0
_DOT = " · "
_LEAST_GOAL = 16
_ROWS = 7
"""Lines about children under the one that turns; more of them are counted."""
_SETTLE_S = 0.3
"""What is over sooner shows no spinner, which would only flicker."""


@dataclass(slots=True)
class Live:
    """The state behind the live lines; `unicode` is false on terminals that know only ASCII."""

    unicode: bool = True
    since: float | None = None
    turn: int = 0
    doing: str = ""
    below: tuple[str, ...] = ()
    pinned: tuple[str, str, str] | None = None
    stopping_since: float | None = None
    hint: str = ""
    hint_since: float = field(default=float("-inf"))

    def start(self, now: float) -> None:
        """Something runs."""
        if self.since is None:
            self.since = now

    def stop(self) -> None:
        """Nothing runs any more."""
        self.since = None
        self.doing, self.below = "", ()
        self.stopping_since = None

    def progress(self, turn: int, text: str, now: float) -> None:
        """A turn tells what it does; the newest line counts, with those that belong to it."""
        if not text:
            self.doing, self.below = "", ()
            return
        if turn != self.turn:
            self.turn, self.since = turn, now
        self.start(now)
        self.doing, self.below = _newest(text)

    def pin(self, what: Say | None) -> None:
        """Keep the goal's status in sight with the numbers that press its buttons.

        Its lines are the goal, how it stands, and what was found last.
        """
        if what is None:
            self.pinned = None
            return
        lines = [" ".join(line.split()) for line in what.text.splitlines() if line.strip()]
        numbers = " ".join(f"[{n}] {b.label}" for n, b in enumerate(what.buttons, 1))
        stands = " · ".join(filter(None, (*lines[1:2], numbers)))
        self.pinned = ("".join(lines[:1]), stands, " · ".join(lines[2:]))

    def advise(self, hint: str, now: float) -> None:
        """Show a hint for a moment."""
        self.hint, self.hint_since = hint, now

    def advised(self, now: float) -> bool:
        """Whether the hint is still up."""
        return bool(self.hint) and now - self.hint_since < _HINT_S

    def lines(self, now: float, width: int) -> list[Fragments]:
        """The live lines as styled fragments, each at most `width` cells wide."""
        rows: list[Fragments] = []
        if self.pinned:
            rows.append([("class:pinned", _fitted(*self.pinned, width))])
        if self.advised(now):
            rows.append([("class:hint", shorten(self.hint, width))])
        elif self.since is not None and (self.doing or now - self.since >= _SETTLE_S):
            rows.append(self._working(now - self.since, width))
            rows += [[("class:doing", shorten(line, width))] for line in self.below]
        return rows

    def _working(self, elapsed: float, width: int) -> Fragments:
        frames = _FRAMES if self.unicode else _PLAIN_FRAMES
        frame = frames[int(elapsed / _FRAME_S) % len(frames)]
        stopping = self.stopping_since is not None
        tail = f" · {duration(elapsed)}" + ("" if stopping else " · Ctrl-C stops")
        text = "stopping" if stopping else self.doing or "working"
        room = width - get_cwidth(frame) - 1 - get_cwidth(tail)
        return [
            ("class:spinner", frame + " "),
            ("class:doing", shorten(text, max(room, 8))),
            ("class:hint", tail),
        ]


def _newest(text: str) -> tuple[str, tuple[str, ...]]:
    """The last line of a progress message and the indented ones that belong to it. Calls whose
    lines are indented run side by side, and are told together."""
    blocks: list[list[str]] = []
    for line in filter(str.strip, text.splitlines()):
        if line[0].isspace() and blocks:
            blocks[-1].append(line.rstrip())
        else:
            blocks.append([line.strip()])
    last: list[str] = []
    while blocks and (not last or len(blocks[-1]) > 1 < len(last)):
        last = blocks.pop() + last
    below = last[1:]
    if len(below) > _ROWS:
        below[_ROWS - 1 :] = [f"  … {len(below) - _ROWS + 1} more"]
    return "".join(last[:1]), tuple(below)


def _fitted(goal: str, stands: str, found: str, width: int) -> str:
    """One line: how the goal stands is said whole where that can be, its text as far as it fits
    beside, and what was found last where room is left."""
    room = width - get_cwidth(stands) - len(_DOT) if stands else width
    line = _DOT.join(filter(None, (shorten(goal, max(room, _LEAST_GOAL)), stands)))
    left = width - get_cwidth(line) - len(_DOT)
    if found and left >= _LEAST_GOAL:
        line += _DOT + shorten(found, left)
    return shorten(line, width)


def duration(seconds: float) -> str:
    """Elapsed time for people: 9s, 1m 05s, 2h 03m."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def shorten(text: str, width: int) -> str:
    """The text cut to `width` terminal cells, with an ellipsis where something is missing."""
    if get_cwidth(text) <= width:
        return text
    room, kept = width - 1, []
    for char in text:
        room -= get_cwidth(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept) + "…"
