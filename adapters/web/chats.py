"""A chat as a page shows it: what the store remembers, under what this process knows better.

The store holds what was said and sent; a message edited since, one still on its way into the
store, and what runs right now are known to the hub alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.web import asked
from adapters.web.decode import PRESSED, address_of, client_id
from adapters.web.encode import Asks, Object, Shown, asks_a_person, posted, told
from adapters.web.files import Files
from adapters.web.hub import Hub
from adapters.web.options import Past
from core.messages import Address, Message, PlatformName, Principal, RemoteId, Role, Say
from core.sessions.conversation import Line, Place, Posted, Told
from core.transcript import Json

PAGE = 100
OWNER = Principal("owner", "You", Role.OWNER)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a chat's messages beside the store's lines: the goal's card, which of
    them ask a person, those that this process sent or edited, and marks."""

    card: tuple[RemoteId, Say] | None
    asks: Mapping[RemoteId, Asks]
    overlay: Mapping[RemoteId, Shown]
    marks: Mapping[RemoteId, str]

    def completed(self, shown: Shown) -> Shown:
        """With what the store knows of a question that it asks."""
        if shown.asks is Asks.DECIDED:
            return shown  # decided in this process, whatever was read a moment before
        fallback = Asks.OPEN if asks_a_person(shown.what) else shown.asks
        return replace(shown, asks=self.asks.get(shown.remote, fallback))


class Chats:
    """Reads chats for pages, and tells pages what was said by others."""

    def __init__(self, past: Past, hub: Hub, files: Files) -> None:
        self._past = past
        self._hub = hub
        self._files = files

    async def latest(self) -> str:
        """The chat spoken in last, "" where nothing was said yet."""
        facts = await self._past.chats(PlatformName.WEB)
        return Address.of(facts[0].lane).chat if facts else ""

    async def snapshot(self, chat: str, *, before: Place | None) -> Object:
        """A page of a chat, and from where on its events make it complete.

        The events' place is taken first: what happens while the store is read is told twice,
        which changes nothing, and never not at all.
        """
        position = self._hub.position
        lane = address_of(chat).key
        found = await self._past.conversation(lane, before=before, limit=PAGE)
        card = await self._past.card(lane)
        questions = await self._past.questions(lane)
        feed = self._hub.feed(chat)
        marks = dict(feed.marks)
        live = () if before else tuple(feed.shown.values())
        overlay = dict(feed.shown)
        activity = feed.activity.told
        known = _Known(card, asked.cards(questions), overlay, marks)
        messages = await asyncio.to_thread(lambda: self._messages(found.lines, known, live))
        earlier = found.earlier
        return {
            "chat": chat,
            "position": position,
            "messages": messages,
            "earlier": f"{earlier.inbox}.{earlier.outbox}" if earlier else "",
            "activity": activity,
            "questions": asked.listed(questions),
        }

    async def questions(self, chat: str) -> list[Json]:
        """What was asked of people in a chat."""
        return asked.listed(await self._past.questions(address_of(chat).key))

    def _messages(self, lines: Sequence[Line], known: _Known, live: Sequence[Shown]) -> list[Json]:
        shown: list[tuple[float, Object]] = []
        stored: set[RemoteId] = set()
        for line in lines:
            match line:
                case Told() if client_id(line.dedupe).startswith(PRESSED):
                    pass
                case Told():
                    mark = known.marks.get(RemoteId(client_id(line.dedupe)), "")
                    shown.append((line.at, told(line, mark)))
                case Posted():
                    stored.add(line.remote)
                    sent = known.overlay.get(line.remote) or self._as_sent(line, known.card)
                    shown.append((line.at, posted(known.completed(replace(sent, at=line.at)))))
        oldest = shown[0][0] if shown else 0.0
        shown.extend(
            (sent.at, posted(known.completed(sent)))
            for sent in live
            if sent.remote not in stored and sent.at and sent.at >= oldest
        )
        return [what for _, what in sorted(shown, key=lambda item: item[0])]

    def _as_sent(self, line: Posted, card: tuple[RemoteId, Say] | None) -> Shown:
        if not isinstance(line.what, Say):
            found = self._files.find(line.remote)
            return Shown(line.remote, found[0] if found else None, line.at, line.what.caption)
        if not line.card:
            return Shown(line.remote, line.what, line.at)
        if card is not None and card[0] == line.remote:
            return Shown(line.remote, card[1], line.at)
        # Another message stands for the goal by now: this one's buttons would act on that.
        return Shown(line.remote, Say(line.what.text), line.at)

    def said(self, chat: str, message: Message) -> Object:
        """A person said something in one window: the others show it too."""
        line = Told(
            dedupe=message.dedupe,
            by=OWNER,
            text=message.text,
            at=message.sent_at,
            attachments=message.attachments,
            command=message.text.startswith("/"),
        )
        what = told(line, self._hub.feed(chat).marks.get(message.remote, ""))
        self._hub.publish(chat, "message", what)
        return what
