"""The fake Bot API by remote control, for tests whose bot or fake is a process of its own.

JSON over HTTP on the same port, `user` being {"id", "name"} or left out for Anna:

    POST /control/say    {text, chat?, topic?, user?}     -> {message_id, update_id, chat}
    POST /control/press  {chat, message_id, label, user?} -> {query}
    POST /control/edit   {chat, message_id, text}         -> {update_id}
    POST /control/redeliver {update_id}                   -> {}
    POST /control/fault  {method, kind, times?, chat?, …} -> {}   kinds: too_many (retry_after),
                         status (code, description), reset, lost, html
    POST /control/group  {title?, forum?}                 -> {chat}
    GET  /control/sent?chat=&count=1&timeout=5            -> the bot's messages, waits for them
    GET  /control/chat?chat=                              -> all messages, as shown now
    GET  /control/state                                   -> {calls: {method: n}, pending, offsets}

`sent` answers 408 when the messages do not come in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from tests.fakes.telegram_faults import KINDS
from tests.fakes.telegram_world import ANNA, Obj, Person, Seen

if TYPE_CHECKING:
    from tests.fakes.telegram_api import FakeTelegram

FAULT_WORDS = frozenset({"method", "kind", "times", "chat"})


def add_control(app: web.Application, fake: FakeTelegram) -> None:
    """Serve the control paths for a fake."""
    control = _Control(fake)
    app.router.add_post("/control/say", control.say)
    app.router.add_post("/control/press", control.press)
    app.router.add_post("/control/edit", control.edit)
    app.router.add_post("/control/redeliver", control.redeliver)
    app.router.add_post("/control/fault", control.fault)
    app.router.add_post("/control/group", control.group)
    app.router.add_get("/control/sent", control.sent)
    app.router.add_get("/control/chat", control.chat)
    app.router.add_get("/control/state", control.state)


def _person(body: Obj) -> Person:
    given = body.get("user")
    return ANNA if given is None else Person(int(given["id"]), str(given.get("name", "Somebody")))


def _shown(seen: Seen) -> Obj:
    return {
        "message_id": seen.id,
        "author": seen.author.id,
        "by_bot": seen.by_bot,
        "text": seen.text,
        "thread": seen.thread,
        "buttons": seen.buttons,
        "edits": seen.edits,
        "reaction": seen.reaction,
        "document": seen.document,
        "reply_to": seen.reply_to,
    }


class _Control:
    def __init__(self, fake: FakeTelegram) -> None:
        self._fake = fake

    async def say(self, request: web.Request) -> web.Response:
        body = await request.json()
        seen = self._fake.say(
            str(body["text"]),
            user=_person(body),
            chat=body.get("chat"),
            topic=int(body.get("topic", 0)),
        )
        told = {"message_id": seen.id, "update_id": seen.update_id, "chat": seen.chat}
        return web.json_response(told)

    async def press(self, request: web.Request) -> web.Response:
        body = await request.json()
        message = self._message(body)
        query = self._fake.press(message, str(body["label"]), user=_person(body))
        return web.json_response({"query": query})

    async def edit(self, request: web.Request) -> web.Response:
        body = await request.json()
        number = self._fake.edit(self._message(body), str(body["text"]))
        return web.json_response({"update_id": number})

    async def redeliver(self, request: web.Request) -> web.Response:
        self._fake.redeliver(int((await request.json())["update_id"]))
        return web.json_response({})

    async def fault(self, request: web.Request) -> web.Response:
        body = await request.json()
        details = {key: value for key, value in body.items() if key not in FAULT_WORDS}
        fault = KINDS[body["kind"]](**details)
        times = int(body.get("times", 1))
        self._fake.fault(str(body["method"]), fault, times=times, chat=body.get("chat"))
        return web.json_response({})

    async def group(self, request: web.Request) -> web.Response:
        body = await request.json()
        forum = bool(body.get("forum", False))
        return web.json_response(
            {"chat": self._fake.group(body.get("title", "Team"), forum=forum)}
        )

    async def sent(self, request: web.Request) -> web.Response:
        ask = request.query
        try:
            found = await self._fake.sent(
                int(ask["chat"]), int(ask.get("count", "1")), float(ask.get("timeout", "5"))
            )
        except AssertionError as err:
            return web.json_response({"error": str(err)}, status=408)
        return web.json_response([_shown(seen) for seen in found])

    async def chat(self, request: web.Request) -> web.Response:
        found = self._fake.chat(int(request.query["chat"]))
        return web.json_response([_shown(seen) for seen in found])

    async def state(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "calls": dict(self._fake.counts),
                "pending": len(self._fake.world.updates),
                "offsets": self._fake.queue.offsets[-20:],
            }
        )

    def _message(self, body: Obj) -> Seen:
        return self._fake.world.chats[int(body["chat"])].messages[int(body["message_id"])]
