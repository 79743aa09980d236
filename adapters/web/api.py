"""What the page asks for and sends: chats, messages, presses, files. JSON over HTTP.

A message is answered with 200 only after it is stored. What could not be stored gets 503 and
may be sent again under the same id: it is taken once, or refused every time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from aiohttp import web

from adapters.web import decode
from adapters.web.chats import Chats
from adapters.web.encode import IMAGES, listed
from adapters.web.files import BLOCK, Files
from adapters.web.guard import UNREADABLE, refused, unsaved
from adapters.web.hub import Hub
from adapters.web.options import MenuEntry, Past
from adapters.web.refusals import Refusals
from core.errors import TransientError
from core.messages import (
    Ack,
    Address,
    Handled,
    Inbound,
    PlatformName,
    Press,
    Queued,
    Refused,
    RemoteId,
)
from core.ports import Clock, Intake
from core.sessions.conversation import Place
from core.transcript import Json

MAX_BODY = 2 * 1024 * 1024
SAVING_S = 2.0
"""A press that is not stored by then is answered all the same: a person presses again soon."""
SAVING = "Saving …"
LATE = "That press was not saved. Press again."


class Api:
    """Handlers of the page's requests; `intake` takes what people send."""

    def __init__(  # noqa: PLR0913 - wiring, all keyword-only
        self,
        *,
        intake: Intake,
        past: Past,
        chats: Chats,
        files: Files,
        hub: Hub,
        clock: Clock,
        refusals: Refusals,
        commands: Sequence[MenuEntry],
        group: asyncio.TaskGroup,
    ) -> None:
        self._group = group
        self._intake = intake
        self._past = past
        self._chats = chats
        self._files = files
        self._hub = hub
        self._clock = clock
        self._refusals = refusals
        self._commands = commands

    def routes(self) -> Sequence[web.RouteDef]:
        """What is served here."""
        return (
            web.get("/api/start", self.start),
            web.get("/api/chats", self.list_chats),
            web.get("/api/chats/{chat}", self.read),
            web.get("/api/chats/{chat}/questions", self.questions),
            web.post("/api/chats/{chat}/messages", self.say),
            web.post("/api/chats/{chat}/presses", self.press),
            web.post("/api/chats/{chat}/files", self.upload),
            web.get("/files/{file}/{name}", self.download),
        )

    async def start(self, request: web.Request) -> web.Response:
        """What the page needs once: the menu, the limits, the chats."""
        commands: list[Json] = [
            {
                "name": entry.name,
                "summary": entry.summary,
                "usage": list(entry.usage),
                "words": list(entry.words),
            }
            for entry in self._commands
        ]
        return web.json_response(
            {"commands": commands, "max_upload": self._files.limit, "chats": await self._list()}
        )

    async def list_chats(self, request: web.Request) -> web.Response:
        """All chats, the one spoken in last first."""
        return web.json_response({"chats": await self._list()})

    async def _list(self) -> list[Json]:
        facts = await self._past.chats(PlatformName.WEB)
        return listed(facts, {fact.lane: Address.of(fact.lane).chat for fact in facts})

    async def read(self, request: web.Request) -> web.Response:
        """A chat as it stands, or an earlier page of it."""
        return web.json_response(
            await self._chats.snapshot(_chat(request), before=_before(request))
        )

    async def questions(self, request: web.Request) -> web.Response:
        """What was asked of people in a chat, and what became of it."""
        return web.json_response({"questions": await self._chats.questions(_chat(request))})

    async def say(self, request: web.Request) -> web.Response:
        """Take a message."""
        chat = _chat(request)
        wanted = decode.wanted(await _body(request))
        files = [await asyncio.to_thread(self._files.attach, file) for file in wanted.files]
        quoted = self._hub.feed(chat).text_of(RemoteId(wanted.reply))
        message = decode.message(chat, wanted, files, self._clock.now(), quoted)
        ack = await self._accept(message)
        if isinstance(ack, Refused):
            return _refusal(ack)
        told = self._chats.said(chat, message)
        behind = ack.behind if isinstance(ack, Queued) else 0
        return web.json_response({"message": told | {"behind": behind}})

    async def press(self, request: web.Request) -> web.Response:
        """Take a press on a button. One that is not stored soon is told so, and goes on."""
        chat = _chat(request)
        pressed = decode.press(chat, await _body(request), self._clock.now())
        saving = self._group.create_task(self._press(pressed), name="web-press")
        await asyncio.wait({saving}, timeout=SAVING_S)
        if saving.done():
            return saving.result()
        saving.add_done_callback(partial(self._tell_late, chat))
        return web.json_response({"text": SAVING})

    async def _press(self, pressed: Press) -> web.Response:
        try:
            ack = await self._accept(pressed)
        except TransientError as error:
            return unsaved(error)
        if isinstance(ack, Refused):
            return _refusal(ack)
        return web.json_response({"text": ack.text if isinstance(ack, Handled) else ""})

    def _tell_late(self, chat: str, saving: asyncio.Task[web.Response]) -> None:
        """What became of a press that was answered before anybody knew."""
        if not saving.cancelled() and saving.result().status != 200:
            self._hub.publish(chat, "remark", {"text": LATE})

    async def _accept(self, inbound: Inbound) -> Ack:
        [ack] = await self._intake.accept((inbound,))
        self._hub.list_changed()
        return self._refusals.settled(inbound.dedupe, ack)

    async def upload(self, request: web.Request) -> web.Response:
        """Take a file in, which a message then names."""
        _chat(request)
        if (request.content_length or 0) > self._files.limit:
            return refused(413, self._files.too_large)
        blocks = request.content.iter_chunked(BLOCK)
        try:
            kept = await self._files.receive(request.query.get("name", ""), blocks)
        except TransientError as error:
            return refused(507, str(error))
        return web.json_response({"id": kept.id, "name": kept.name, "size": kept.size})

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Give a file out, as something to keep and never to run."""
        found = await asyncio.to_thread(self._files.find, request.match_info["file"])
        if found is None:
            raise web.HTTPNotFound
        kept, path = found
        mime = kept.mime if kept.mime in IMAGES else "application/octet-stream"
        name = quote(kept.name, safe="")
        headers = {
            "Content-Type": mime,
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
            "Cache-Control": "private, max-age=86400, immutable",
        }
        return web.FileResponse(path, headers=headers)


def _chat(request: web.Request) -> str:
    chat = request.match_info["chat"]
    if not decode.is_chat(chat):
        raise web.HTTPNotFound
    return chat


def _before(request: web.Request) -> Place | None:
    inbox, _, outbox = request.query.get("before", "").partition(".")
    if not (inbox.isdecimal() and outbox.isdecimal()):
        return None
    return Place(int(inbox[:18]), int(outbox[:18]))


async def _body(request: web.Request) -> Any:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType
    try:
        return json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise web.HTTPBadRequest(text=UNREADABLE) from error


def _refusal(ack: Refused) -> web.Response:
    return refused(409, ack.text or "Not taken.")
