"""The core's text as Telegram takes it: plain text with entities. Pure: no I/O, no clock.

Nothing of the text may get lost, and nothing of it may ping anybody: links into Telegram itself
are dropped, and in groups a name after @ is broken by an invisible character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity
from telegramify_markdown import MessageEntity as Converted
from telegramify_markdown import RenderConfig, convert

from adapters.telegram.decode import cleaned, units
from adapters.telegram.literal import literal
from core.messages import Button
from core.splitting import Room

MAX_UNITS = 4096
MAX_CAPTION = 1024
MAX_ENTITIES = 100
CALLBACK_BYTES = 64
MAX_LABEL = 64
"""Telegram names no limit; its clients show about half of that."""
BUTTONS_IN_ROW = 3
"""So many stand in one row; more stand one below the other, where their labels have room."""
SPARE = 32
"""Left for the mark of a message that may be a second copy."""
MENTION = re.compile(r"(?<!\w)@(?=[A-Za-z0-9_]{3})")
UNSEEN = "\u2060"
"""WORD JOINER: no width, no line break, and no part of a user name."""
OPENABLE = ("http://", "https://", "mailto:", "tel:")
CODE = frozenset({"pre", "code"})


def _config() -> RenderConfig:
    config = RenderConfig.isolated()
    symbol = config.markdown_symbol
    symbol.heading_level_1 = symbol.heading_level_2 = ""
    symbol.heading_level_3 = symbol.heading_level_4 = ""
    symbol.unordered_list_item = "•"
    symbol.task_completed, symbol.task_uncompleted = "☑", "☐"
    return config


CONFIG = _config()


@dataclass(frozen=True, slots=True)
class Rendered:
    """A message's text and entities; offsets and lengths in UTF-16 units."""

    text: str
    entities: tuple[MessageEntity, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether Telegram takes it as one message."""
        return units(self.text) <= MAX_UNITS and len(self.entities) <= MAX_ENTITIES


def render(markdown: str, *, group: bool) -> Rendered:
    """Markdown as text and entities; text that renders to nothing goes out as it is."""
    source = cleaned(markdown)
    text, found = convert(literal(source), latex_escape=False, config=CONFIG)
    if not text.strip():
        return Rendered(unpinged(source).strip() if group else source.strip())
    kept: list[Converted] = []
    behind: list[tuple[int, str]] = []
    for entity in found:
        if entity.type == "custom_emoji":
            continue
        if entity.type == "text_link" and not (entity.url or "").startswith(OPENABLE):
            if entity.url and not entity.url.startswith("tg:"):
                behind.append((entity.offset + entity.length, f" ({entity.url})"))
            continue
        kept.append(entity)
    spread, kept = _inserted(text, kept, behind)
    if group:
        spread, kept = _inserted(spread, kept, _breaks(spread, kept))
    return _trimmed(spread, kept)


def verbatim(text: str, *, group: bool) -> Rendered:
    """Text without markup, cut to one message's length."""
    plain = cleaned(text).strip("\n") or "…"
    return Rendered(cut(unpinged(plain) if group else plain, MAX_UNITS))


def weight(text: str) -> int:
    """The units of a text however it goes out, formatted or as it is, in a group or not."""
    made = render(text, group=True)
    return max(units(made.text), units(unpinged(cleaned(text))))


ROOM = Room(MAX_UNITS - SPARE, weight)
"""What one message holds; formatted text with too many entities goes out as it is."""


def plainer(made: Rendered, source: str, *, group: bool) -> Rendered:
    """What goes out in the place of a rendering that Telegram refuses. Text that code blocks
    set off stays set off: it goes out as it was written, unless that is too long."""
    written = verbatim(source, group=group)
    blocks = any(entity.type == MessageEntity.PRE for entity in made.entities)
    if blocks and weight(source) <= MAX_UNITS:
        return written
    return Rendered(made.text)


def unpinged(text: str) -> str:
    """The text with every @name broken, so that nobody is called."""
    return MENTION.sub(f"@{UNSEEN}", text)


def cut(text: str, limit: int) -> str:
    """The text within `limit` UTF-16 units, with "…" at the end of a cut one."""
    if units(text) <= limit:
        return text
    kept = text.encode("utf-16-le")[: 2 * (limit - 1)]
    return kept.decode("utf-16-le", "ignore") + "…"


def keyboard(buttons: Sequence[Button]) -> InlineKeyboardMarkup | None:
    """The buttons in one row, more than three as a list; a press sends the command back.

    Raises ValueError for a command over Telegram's 64 bytes.
    """
    if not buttons:
        return None
    for button in buttons:
        if len(button.command.encode()) > CALLBACK_BYTES:
            raise ValueError(f"button command over {CALLBACK_BYTES} bytes: {button.command!r}")
    made = [
        InlineKeyboardButton(cut(b.label, MAX_LABEL), callback_data=b.command) for b in buttons
    ]
    return InlineKeyboardMarkup([made] if len(made) <= BUTTONS_IN_ROW else [[b] for b in made])


def _breaks(text: str, entities: Iterable[Converted]) -> list[tuple[int, str]]:
    """Where to break mentions: not in code, where Telegram sees none."""
    code = [(e.offset, e.offset + e.length) for e in entities if e.type in CODE]
    places: list[tuple[int, str]] = []
    at = done = 0
    for match in MENTION.finditer(text):
        at += units(text[done : match.end()])
        done = match.end()
        if not any(start <= at < end for start, end in code):
            places.append((at, UNSEEN))
    return places


def _inserted(
    text: str, entities: list[Converted], additions: Sequence[tuple[int, str]]
) -> tuple[str, list[Converted]]:
    """Text and entities with (offset, text) additions; an entity grows by what falls inside."""
    if not additions:
        return text, entities
    ordered = sorted(additions, key=lambda addition: addition[0])
    data = text.encode("utf-16-le")
    pieces: list[str] = []
    done = 0
    totals = [0]
    for offset, extra in ordered:
        pieces += (data[2 * done : 2 * offset].decode("utf-16-le"), extra)
        done = offset
        totals.append(totals[-1] + units(extra))
    pieces.append(data[2 * done :].decode("utf-16-le"))
    places = [offset for offset, _ in ordered]

    def moved(offset: int, *, is_end: bool) -> int:
        # What is put in at an entity's very start or end stays outside of it.
        count = bisect_right(places, offset - 1 if is_end else offset)
        return offset + totals[count]

    shifted = []
    for entity in entities:
        start = moved(entity.offset, is_end=False)
        end = moved(entity.offset + entity.length, is_end=True)
        shifted.append(entity.copy_with(offset=start, length=end - start))
    return "".join(pieces), shifted


def _trimmed(text: str, entities: Iterable[Converted]) -> Rendered:
    """Without blank lines round it, and with PTB's entities."""
    body = text.lstrip("\n")
    lost = units(text) - units(body)
    body = body.rstrip()
    length = units(body)
    made: list[MessageEntity] = []
    for entity in entities:
        start = max(0, entity.offset - lost)
        end = min(length, entity.offset + entity.length - lost)
        if end > start:
            made.append(
                MessageEntity(
                    entity.type, start, end - start, url=entity.url, language=entity.language
                )
            )
    return Rendered(body, tuple(sorted(made, key=lambda e: (e.offset, -e.length))))
