"""The core's messages as arguments of Slack's calls. Pure: no I/O, no clock.

Nothing of a text may ping anybody. Each message has forms, best first: what Slack refuses as
formatted goes out as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from adapters.slack.hints import spelled
from adapters.slack.reading import cleaned
from core.escalations.shown import BAR
from core.messages import Button, Say
from core.splitting import Room
from core.transcript import Json

Form: TypeAlias = Mapping[str, Json]
"""Arguments of chat.postMessage or chat.update that make the message's content."""

MAX_MARKDOWN = 11_500
"""Slack takes 12,000 characters."""
MAX_TEXT = 3_900
"""Slack takes 4,000 in an edit."""
MAX_SECTION = 2_900
"""Slack takes 3,000 in a section's text."""
MAX_FALLBACK = 300
MAX_LABEL = 75
MAX_VALUE = 2000
MAX_BUTTONS = 25
BUTTONS_IN_ROW = 3
UNSEEN = "\u2060"
"""WORD JOINER: no width, no line break, and no part of a mention."""
PING = re.compile(r"<(?=[@!#])|(?<!\w)@(?=(?:channel|here|everyone|group)\b)", re.IGNORECASE)
BUTTON_ID = "command-{}"


def posted(what: Say) -> tuple[Form, ...]:
    """A new message, best form first."""
    plain = _plain(what, edit=False)
    if not what.markdown or not what.text.strip():
        return (plain,)
    if what.buttons:
        return (_blocks(what), plain)
    return ({"markdown_text": _formatted(what.text)}, plain)


def edited(what: Say) -> tuple[Form, ...]:
    """A message in another's place. Always with blocks: an edit without keeps the old ones."""
    plain = _plain(what, edit=True)
    return (_blocks(what), plain) if what.markdown and what.text.strip() else (plain,)


def unpinged(text: str) -> str:
    """The text with every mention broken, so that nobody is called."""
    return PING.sub(lambda found: found[0] + UNSEEN, text)


def escaped(text: str) -> str:
    """The text for where Slack reads its own markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def aside(text: str, *, threaded: bool) -> dict[str, Json]:
    """What one person alone reads in answer to a command or a press."""
    return {"response_type": "ephemeral", "text": note(spelled(text, threaded=threaded))}


def note(text: str) -> str:
    """A short text that goes with a file or answers a press, shown as it is."""
    return escaped(unpinged(cut(cleaned(text).strip("\n"), MAX_SECTION)))


def cut(text: str, limit: int) -> str:
    """The text within `limit` characters, with "…" at the end of a cut one."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def units(text: str) -> int:
    """The length in UTF-16 units. Slack does not say what it counts in; nothing counts more."""
    return len(text) + sum(character > "\uffff" for character in text)


def _asked(text: str) -> int:
    """The length of a card as it goes out: broken mentions and spelled hints are longer. In a
    thread the hints are shorter."""
    return units(unpinged(spelled(text, threaded=False)))


ROOM = Room(MAX_MARKDOWN, _asked)
"""What one message with buttons holds, formatted or as it is written."""


def keyboard(buttons: Sequence[Button]) -> list[Json]:
    """The buttons as blocks, up to three in a row, more of them one below the other; what one
    stands for is what a press sends back.

    Raises ValueError for more of them, or longer ones, than Slack takes.
    """
    if len(buttons) > MAX_BUTTONS:
        raise ValueError(f"more than {MAX_BUTTONS} buttons")
    made: list[Json] = []
    for number, button in enumerate(buttons):
        if len(button.command) > MAX_VALUE:
            raise ValueError(f"button command over {MAX_VALUE} characters")
        made.append(
            {
                "type": "button",
                "action_id": BUTTON_ID.format(number),
                "text": {"type": "plain_text", "text": cut(button.label, MAX_LABEL)},
                "value": button.command,
            }
        )
    rows = [made] if len(made) <= BUTTONS_IN_ROW else [[one] for one in made]
    return [{"type": "actions", "elements": row} for row in rows if row]


def _formatted(text: str) -> str:
    return cut(unpinged(cleaned(text)).strip("\n"), MAX_MARKDOWN)


def _blocks(what: Say) -> Form:
    body: Json = {"type": "markdown", "text": _formatted(what.text)}
    return {"blocks": [body, *keyboard(what.buttons)], "text": _fallback(what.text)}


def _plain(what: Say, *, edit: bool) -> Form:
    """The text as it is written; as blocks where there are buttons, or where it would be too
    long for an edit."""
    source = cleaned(what.text).strip("\n")
    text = unpinged(cut(source if source.strip() else "…", MAX_MARKDOWN))
    if not edit and not what.buttons and len(escaped(text)) <= MAX_TEXT:
        return {"text": escaped(text), "mrkdwn": False}
    sections: list[Json] = [
        {"type": "section", "text": {"type": "plain_text", "text": piece, "emoji": False}}
        for piece in _cut_up(text)
    ]
    return {"blocks": [*sections, *keyboard(what.buttons)], "text": _fallback(text)}


def _fallback(text: str) -> str:
    """What notifications show of a message with blocks."""
    return escaped(unpinged(cut(cleaned(text).strip(), MAX_FALLBACK))) or "…"


def _cut_up(text: str) -> list[str]:
    """The text in pieces for sections, cut at line ends where there are any. What stands behind a
    bar goes on behind one: it must not look like a line of the host."""
    pieces: list[str] = []
    rest = text
    while units(rest) > MAX_SECTION:
        most = _fitting(rest)
        line = rest.rfind("\n", 1, most + 1)
        if line > 0:
            piece, rest = rest[:line], rest[line + 1 :]
        else:
            bar = BAR if rest.startswith(BAR) else ""
            piece, rest = rest[:most], bar + rest[most:]
        pieces.append(piece)
    return [*pieces, rest] if rest.strip() or not pieces else pieces


def _fitting(text: str) -> int:
    """How many characters from its beginning fit one section."""
    taken = 0
    for at, character in enumerate(text):
        taken += units(character)
        if taken > MAX_SECTION:
            return at
    return len(text)
