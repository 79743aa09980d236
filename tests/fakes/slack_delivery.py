"""How Slack brings what happened: over Socket Mode's sockets, or by signed HTTP posts.

Each envelope is brought in order and again until it is acknowledged: over a new socket when one
opens, by HTTP after a moment. Commands and presses are brought by HTTP once, as Slack does.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSMsgType, web

from tests.fakes.slack_world import APP, Obj

EVENTS, COMMANDS, PRESSES = "events_api", "slash_commands", "interactive"
AGAIN_S = 0.05


@dataclass(slots=True)
class Envelope:
    """Something to bring; `acked` once it was taken, with what `answer` it got at once."""

    id: str
    kind: str
    payload: Obj
    attempts: int = 0
    acked: bool = False
    refused: int = 0
    answer: Obj | None = None
    took_s: float = 0.0
    at: float = 0.0


class Delivery:
    """The envelopes of one app. `url` chooses HTTP, with the secret to sign with."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.envelopes: dict[str, Envelope] = {}
        self.url = ""
        self.signing_secret = ""
        self.sockets: list[web.WebSocketResponse] = []
        self.deaf: list[web.WebSocketResponse] = []
        """Sockets that carry nothing and answer no ping, and yet stay open."""
        self.mute = False
        """While set, new sockets get no hello."""
        self.closed_door = False
        """While set, new sockets are refused."""
        self.pings = 0
        self.opened = 0
        self._numbers = iter(range(1, 1 << 30))
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def bring(self, kind: str, payload: Obj) -> Envelope:
        """Queue something; it is on its way when this returns."""
        envelope = Envelope(f"env-{next(self._numbers)}", kind, payload, at=time.monotonic())
        self.envelopes[envelope.id] = envelope
        self._wake.set()
        return envelope

    def again(self, envelope: Envelope) -> Envelope:
        """Bring it once more: a new envelope with the same event id."""
        return self.bring(envelope.kind, envelope.payload)

    @property
    def pending(self) -> list[Envelope]:
        """What was not acknowledged."""
        return [e for e in self.envelopes.values() if not (e.acked or e.refused)]

    def start(self) -> None:
        """Begin to bring."""
        self._task = asyncio.create_task(self._bring_all(), name="slack-delivery")

    async def stop(self) -> None:
        """Close every socket."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        for socket in list(self.sockets):
            await socket.close()

    # Sockets

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One socket's life."""
        if self.closed_door:
            return web.Response(status=503)
        socket = web.WebSocketResponse(autoping=False, timeout=0.5)
        await socket.prepare(request)
        self.opened += 1
        if not self.mute:
            await socket.send_json(
                {
                    "type": "hello",
                    "num_connections": len(self.sockets) + 1,
                    "connection_info": {"app_id": APP},
                }
            )
        self.sockets.append(socket)
        for envelope in self.pending:
            envelope.attempts = 0
        self._wake.set()
        self._changed()
        try:
            async for message in socket:
                await self._heard(socket, message)
        finally:
            if socket in self.sockets:
                self.sockets.remove(socket)
            self._changed()
        return socket

    async def cut(self) -> None:
        """Cut every socket without a word."""
        for socket in list(self.sockets):
            self.sockets.remove(socket)
            if (transport := getattr(socket._req, "transport", None)) is not None:
                transport.abort()

    def deafen(self) -> None:
        """Let all sockets of this moment go deaf."""
        self.deaf = list(self.sockets)

    async def refresh(self, reason: str = "refresh_requested") -> None:
        """Ask for a new connection on every socket."""
        for socket in list(self.sockets):
            await socket.send_json({"type": "disconnect", "reason": reason})

    async def send_raw(self, text: str) -> None:
        """Send a frame as it is."""
        for socket in list(self.sockets):
            await socket.send_str(text)

    async def _heard(self, socket: web.WebSocketResponse, message: aiohttp.WSMessage) -> None:
        if socket in self.deaf:
            return
        if message.type is WSMsgType.PING:
            self.pings += 1
            await socket.pong(message.data)
            self._changed()
        elif message.type is WSMsgType.TEXT:
            told = json.loads(message.data)
            self._acked(self.envelopes[told["envelope_id"]], told.get("payload"))

    def _acked(self, envelope: Envelope, answer: Obj | None) -> None:
        envelope.acked = True
        envelope.answer = answer
        envelope.took_s = time.monotonic() - envelope.at
        self._changed()

    # Bringing

    async def _bring_all(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                await self._wake.wait()
                self._wake.clear()
                if self.url:
                    await self._post_all(session)
                elif hearing := [s for s in self.sockets if s not in self.deaf]:
                    await self._send_all(hearing[-1])

    async def _send_all(self, socket: web.WebSocketResponse) -> None:
        for envelope in self.pending:
            if envelope.attempts:
                continue
            envelope.attempts += 1
            body = {
                "envelope_id": envelope.id,
                "type": envelope.kind,
                "payload": envelope.payload,
                "accepts_response_payload": envelope.kind != EVENTS,
            }
            try:
                await socket.send_json(body)
            except (ConnectionError, aiohttp.ClientError):
                return

    async def _post_all(self, session: aiohttp.ClientSession) -> None:
        while waiting := self.pending:
            if not await self._post(session, waiting[0]):
                await asyncio.sleep(AGAIN_S)

    async def _post(self, session: aiohttp.ClientSession, envelope: Envelope) -> bool:
        headers, body = self.signed(envelope)
        envelope.attempts += 1
        try:
            async with session.post(self.url, data=body, headers=headers) as answer:
                status, text = answer.status, await answer.text()
        except (aiohttp.ClientError, OSError):
            status, text = 0, ""
        if status == 200:
            self._acked(envelope, json.loads(text) if text.startswith("{") else None)
        elif envelope.kind != EVENTS:
            envelope.refused = status or 1
            self._changed()
        return status == 200

    def signed(self, envelope: Envelope, *, at: float | None = None) -> tuple[dict[str, str], str]:
        """The headers and the body of an HTTP post, signed as Slack does."""
        kind, body = _body(envelope)
        stamp = str(int(time.time() if at is None else at))
        base = f"v0:{stamp}:{body}".encode()
        digest = hmac.new(self.signing_secret.encode(), base, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": kind,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest}",
        }
        if envelope.attempts:
            headers["X-Slack-Retry-Num"] = str(envelope.attempts)
        return headers, body


def copied(envelope: Envelope, **changes: object) -> Envelope:
    """The same with some things changed."""
    return replace(envelope, **changes)  # type: ignore[arg-type]


def _body(envelope: Envelope) -> tuple[str, str]:
    form = "application/x-www-form-urlencoded"
    match envelope.kind:
        case "events_api":
            return "application/json", json.dumps(envelope.payload)
        case "slash_commands":
            return form, urlencode(envelope.payload)
        case _:
            return form, urlencode({"payload": json.dumps(envelope.payload)})
