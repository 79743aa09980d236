"""The core's text as Discord takes it. Pure: no I/O, no clock.

Nobody is pinged whatever a text says: every post goes out with no mentions allowed.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapters.discord.decode import cleaned
from adapters.discord.markup import adapted, escaped
from core.messages import Button
from core.splitting import Room

MAX_UNITS = 2000
MAX_LABEL = 80
MAX_CUSTOM_ID = 100
MAX_BUTTONS = 25
SPARE = 32
"""Left for the mark of a message that may be a second copy."""
PREFIX = "pursuit:"
"""What the custom ids of our buttons begin with."""


def units(text: str) -> int:
    """The length in UTF-16 code units, of which Discord's own count is never more."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def render(markdown: str) -> str:
    """Markdown in Discord's dialect; text that renders to nothing goes out as it is."""
    source = cleaned(markdown).strip("\n")
    made = adapted(source).strip("\n")
    return made if made.strip() else verbatim(markdown)


def verbatim(text: str) -> str:
    """Text without markup, shown as it is and cut to one message's length."""
    plain = cleaned(text).strip("\n")
    made = escaped(plain)
    while units(made) > MAX_UNITS:
        over = units(made) - MAX_UNITS
        plain = cut(plain, max(1, units(plain) - max(1, over // 2)))
        made = escaped(plain)
    return made if made.strip() else "…"


def shown(text: str, *, markdown: bool) -> str:
    """A message's content; verbatim when the markup does not fit after all."""
    if markdown:
        made = render(text)
        if units(made) <= MAX_UNITS:
            return made
    return verbatim(text)


def weight(text: str) -> int:
    """The units of a text however it goes out, formatted or escaped."""
    plain = escaped(cleaned(text).strip("\n"))
    return max(units(render(text)), units(plain))


ROOM = Room(MAX_UNITS - SPARE, weight)
"""What one message holds."""


def cut(text: str, limit: int) -> str:
    """The text within `limit` UTF-16 units, with "…" at the end of a cut one."""
    if units(text) <= limit:
        return text
    kept = text.encode("utf-16-le", "surrogatepass")[: 2 * (limit - 1)]
    return kept.decode("utf-16-le", "ignore") + "…"


def custom_ids(buttons: Sequence[Button]) -> tuple[tuple[str, str], ...]:
    """Label and custom id of each button: the id carries the command line, so that a press
    means the same after a restart. See `command_of`.

    Raises ValueError for a command that does not fit or too many buttons.
    """
    if len(buttons) > MAX_BUTTONS:
        raise ValueError(f"{len(buttons)} buttons, Discord takes {MAX_BUTTONS}")
    made = tuple((cut(b.label, MAX_LABEL), f"{PREFIX}{b.command}") for b in buttons)
    for _, custom_id in made:
        if units(custom_id) > MAX_CUSTOM_ID:
            raise ValueError(f"button command over {MAX_CUSTOM_ID - len(PREFIX)}: {custom_id!r}")
    return made


def command_of(custom_id: str) -> str:
    """What a button stands for; one that we did not make stands for its id."""
    return custom_id.removeprefix(PREFIX)
