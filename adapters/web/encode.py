"""From the core's values to what the page is told, as JSON objects. Pure.

Everything that a model, a file name or a person wrote leaves here either as HTML that passed
`markdown`, or under names that the page only ever shows as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias
from urllib.parse import quote

from adapters.web.decode import client_id
from adapters.web.markdown import clean, plain, render
from core.escalations import token
from core.escalations.commands import Verb
from core.messages import Attachment, Button, RemoteId, Say
from core.sessions.conversation import ChatFact, Told
from core.transcript import Json

Object: TypeAlias = dict[str, Json]

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types that are shown in the page; everything else is a download of unnamed bytes."""
TITLE = 80

_ANSWERS = tuple(f"/{verb.value} " for verb in Verb)
_GOAL_CONTROLS = frozenset({"/goal pause", "/goal resume", "/goal clear", "/stop"})
_CARD = re.compile(
    r"^(?:\(may be a repeat\) )?(?:⊙ Goal set|▶ Goal resumed|▶ Going on with the goal) "
    r"\((?:(?P<used>\d+)/(?P<most>\d+) turns|(?P<budget>\d+)-turn budget)\): "
)
_STATE = re.compile(r"^(?P<status>[a-z]+) · (?P<used>\d+)/(?P<most>\d+) turns · (?P<spent>.+)$")
_VERDICT = "Last verdict: "
_NOTICES = ("⊙ ", "↻ ", "✓ ", "⏸ ", "▶ ", "✗ ", "⛔ ", "⏹ ", "✦ ", "⚠ ", "↓ ")


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that the web chat holds."""

    id: str
    name: str
    mime: str
    size: int


class Asks(StrEnum):
    """How a question's card stands, as far as a page has to know; NOT for any other message."""

    NOT = ""
    OPEN = "open"
    DECIDED = "decided"


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as it is shown: a text, or a file (None when it is gone)."""

    remote: RemoteId
    what: Say | Kept | None
    at: float
    caption: str = ""
    asks: Asks = Asks.NOT

    def edited(self, what: Say) -> Shown:
        """The same message with another text; a question without buttons is decided."""
        asks = Asks.DECIDED if self.asks and not asks_a_person(what) else self.asks
        return replace(self, what=what, asks=asks)


def posted(sent: Shown) -> Object:
    """A message of the bot."""
    base: Object = {"id": sent.remote, "who": "bot", "at": sent.at}
    match sent.what:
        case Say() as say:
            return base | _say(say) | {"asks": sent.asks.value}
        case Kept() as kept:
            file: Json = file_of(kept)
        case None:
            file = None
    caption = clean(sent.caption)
    return base | {"kind": "file", "html": plain(caption), "text": caption, "file": file}


def _say(say: Say) -> Object:
    text = clean(say.text)
    return {
        "kind": kind_of(say),
        "html": render(text) if say.markdown else plain(text),
        "text": text,
        "buttons": [button_of(button) for button in say.buttons],
        "reply": say.reply_to,
        "card": card_of(text),
    }


def asks_a_person(what: Say | Kept | None) -> bool:
    """Whether it is a text whose buttons answer a question."""
    return isinstance(what, Say) and any(
        token.is_ours(button.command) or button.command.startswith(_ANSWERS)
        for button in what.buttons
    )


def button_of(button: Button) -> Object:
    """A button and what it stands for."""
    return {"label": clean(button.label), "command": button.command}


def kind_of(say: Say) -> str:
    """How a message looks: an answer, verbatim text, a goal's card, or a line about the work."""
    if say.markdown:
        return "answer"
    if _CARD.match(say.text):
        return "card"
    if say.buttons and all(button.command in _GOAL_CONTROLS for button in say.buttons):
        return "notice"
    return "notice" if say.text.startswith(_NOTICES) and "\n" not in say.text else "plain"


def card_of(text: str) -> Object | None:
    """A goal's status message in its parts; None for any other message."""
    begins = _CARD.match(text)
    if begins is None:
        return None
    lines = text[begins.end() :].split("\n")
    found = next(((n, m) for n, line in enumerate(lines) if (m := _STATE.match(line))), None)
    if found is None:
        used, most = int(begins["used"] or 0), int(begins["most"] or begins["budget"])
        return _card("\n".join(lines), ("active", used, most), "", "")
    number, state = found
    verdict = "\n".join(lines[number + 1 :]).removeprefix(_VERDICT)
    goal = "\n".join(lines[:number])
    stands = (state["status"], int(state["used"]), int(state["most"]))
    return _card(goal, stands, state["spent"], verdict)


def _card(goal: str, stands: tuple[str, int, int], spent: str, verdict: str) -> Object:
    status, used, most = stands
    return {
        "goal": goal,
        "status": status,
        "used": used,
        "most": most,
        "spent": spent,
        "verdict": verdict,
    }


def told(line: Told, mark: str = "") -> Object:
    """What a person said."""
    text = clean(line.text)
    return {
        "id": client_id(line.dedupe),
        "who": "you",
        "at": line.at,
        "kind": "command" if line.command else "text",
        "html": plain(text),
        "text": text,
        "files": [file_of(kept_of(file)) for file in line.attachments],
        "mark": mark,
    }


def kept_of(file: Attachment) -> Kept:
    """The file that an attachment of ours names."""
    return Kept(file.ref, file.name, file.mime, file.size)


def file_of(kept: Kept) -> Object:
    """A file and where it is fetched."""
    name = clean(kept.name)
    return {
        "id": kept.id,
        "name": name,
        "size": kept.size,
        "image": kept.mime in IMAGES,
        "url": f"/files/{kept.id}/{quote(name, safe='')}",
    }


def listed(facts: Sequence[ChatFact], chat_of: dict[str, str]) -> list[Json]:
    """The list of chats; `chat_of` gives a lane's chat."""
    return [
        {
            "chat": chat_of[fact.lane],
            "title": title_of(fact.first),
            "at": fact.last,
            "busy": fact.busy,
            "goal": fact.goal,
            "waiting": fact.waiting,
        }
        for fact in facts
    ]


def title_of(first: str) -> str:
    """What a chat began with, on one line."""
    line = " ".join(clean(first).split())
    return line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "…"
