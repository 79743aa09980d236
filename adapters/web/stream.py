"""The live stream of one page: server-sent events that go on where the browser lost them."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web
from aiohttp_sse import EventSourceResponse

from adapters.web.decode import is_chat
from adapters.web.guard import Guard
from adapters.web.hub import Hub

RETRY_MS = 1_000
LOOK_S = 20.0
"""How often an idle stream looks whether its browser is there and still logged in."""


class Stream:
    """The handler of `/api/chats/<chat>/events`."""

    def __init__(self, hub: Hub, guard: Guard, ping_s: float) -> None:
        self._hub = hub
        self._guard = guard
        self._ping_s = ping_s

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Stream until the browser leaves, its login ends, or the server closes."""
        chat = request.match_info["chat"]
        if not is_chat(chat):
            raise web.HTTPNotFound
        feed = self._hub.feed(chat)
        feed.readers += 1
        response = EventSourceResponse(ping_interval=self._ping_s, send_timeout=30.0)
        try:
            await response.prepare(request)
            async with response:
                await _Reader(self._hub, self._guard, request, response, chat).run()
        except (ConnectionResetError, TimeoutError):
            pass  # the browser is gone, and comes again if it wants
        finally:
            feed.readers -= 1
        return response


class _Reader:
    """One page's place in the events."""

    def __init__(
        self,
        hub: Hub,
        guard: Guard,
        request: web.Request,
        response: EventSourceResponse,
        chat: str,
    ) -> None:
        self._hub = hub
        self._guard = guard
        self._request = request
        self._response = response
        self._chat = chat
        said = response.last_event_id or request.query.get("after", "")
        self._number = hub.number_of(said)
        self._activity = -1
        self._chats = hub.chats_version

    async def run(self) -> None:
        await self._response.send("{}", event="open", retry=RETRY_MS)
        while self._response.is_connected() and not self._hub.closing:
            if not self._guard.known(self._request):
                return
            stirred = self._hub.next_stir()
            await self._catch_up()
            try:
                async with asyncio.timeout(LOOK_S):
                    await stirred.wait()
            except TimeoutError:
                continue

    async def _catch_up(self) -> None:
        feed = self._hub.feed(self._chat)
        events = feed.since(self._number)
        if events is None:
            # What is missing cannot be told: the page reads the chat again and comes back.
            self._number = self._hub.number_of(self._hub.position)
            await self._response.send("{}", event="reset")
            events = iter(())
        for event in events:
            position = self._hub.position_of(event.number)
            await self._response.send(event.data, event=event.name, id=position)
            self._number = event.number
        if feed.activity.version != self._activity:
            self._activity = feed.activity.version
            await self._response.send(json.dumps(feed.activity.told), event="activity")
        if self._hub.chats_version != self._chats:
            self._chats = self._hub.chats_version
            await self._response.send("{}", event="chats")
