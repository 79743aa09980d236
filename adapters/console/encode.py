"""From the core's outbound values to what a terminal shows. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from adapters.console.clean import clean, one_line
from core.escalations import token
from core.escalations.card import WAYS
from core.escalations.record import Kind
from core.messages import Button, Outbound, Say

MOST = 20_000
"""Characters of a message with buttons; a terminal would take any number."""

_GOAL_CONTROLS = frozenset({"/goal pause", "/goal resume", "/goal clear", "/goal status", "/stop"})
_DECISION = re.compile(r"[✓✗⌛⏹⚠] E\d+ ")
_TYPED = {
    Kind.APPROVE: "Type yes or no",
    Kind.CHOOSE: "Type the number",
    Kind.TEXT: "Type your answer",
}
_REMINDER = re.compile(r"⏰ E\d+ ")


def parts(text: str) -> tuple[Outbound, ...]:
    """A terminal has no limit: one message, whatever the length."""
    return (Say(text, markdown=True),)


def shown(what: Say) -> Say:
    """The message with everything in it safe to print, and what it asks to do as it is done
    here."""
    buttons = tuple(Button(one_line(b.label), one_line(b.command)) for b in what.buttons)
    text = clean(what.text).strip("\n")
    return replace(what, text=_typed(text) if is_question(what) else text, buttons=buttons)


def _typed(card: str) -> str:
    """A card whose last paragraph, which is the host's own, says how to answer by typing."""
    before, gap, last = card.rpartition("\n\n")
    for kind, way in WAYS.items():
        last = last.replace(f" {way}, or use /", f" {_TYPED[kind]}, or use /")
    return f"{before}{gap}{last}"


def is_goal_status(what: Say) -> bool:
    """Whether this is the goal's status message, which is edited all the time.

    It is known by its buttons, all of which steer the goal. A terminal shows its edits in the
    live lines over the prompt, and leaves the scrollback alone.
    """
    return bool(what.buttons) and all(b.command in _GOAL_CONTROLS for b in what.buttons)


def is_question(what: Say) -> bool:
    """Whether this is a card that asks a person, by its buttons."""
    return any(token.is_ours(button.command) for button in what.buttons)


def is_decision(text: str) -> bool:
    """Whether this begins with what became of a question."""
    return bool(_DECISION.match(text))


def decision(before: Say | None, after: Say) -> str:
    """The line that says what became of a question, "" when the edit is not about that. Of a
    reminder, and of a card that an earlier process printed, its first line tells."""
    stands_in = before is None or _REMINDER.match(before.text)
    known = is_decision(after.text) if stands_in else before is not None and is_question(before)
    return after.text.partition("\n")[0] if known and not after.buttons else ""


def untold(text: str, told: str) -> str:
    """What is left of a message that begins with the line that was told last, if it does."""
    first, _, rest = text.partition("\n")
    return rest if told and first == told else text


def file_note(caption: str, path: str) -> Say:
    """The message that stands for a file: where it lies."""
    lines = (clean(caption).strip("\n"), f"📄 {one_line(path)}")
    return Say("\n".join(line for line in lines if line))


def readable_size(size: int) -> str:
    """A number of bytes for people."""
    if size < 1 << 10:
        return f"{size} bytes"
    return f"{size / (1 << 10):.0f} KB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MB"
