"""The fake Discord's gateway: sessions with their events, over a real WebSocket.

A session outlives its socket: what happens meanwhile is kept and replayed on RESUME. Events and
their contents are gated by the intents that the session was opened with, as simcord does it.
"""

from __future__ import annotations

import asyncio
import copy
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import discord
from aiohttp import WSCloseCode, WSMsgType, web
from simcord import intents as gates
from simcord.backend import Backend, serializers

Obj: TypeAlias = dict[str, Any]

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
BAD_TOKEN, BAD_INTENTS = 4004, 4014


@dataclass(eq=False)
class Socket:
    """One connection; `deaf` ones are open and say nothing, as a zombie's."""

    ws: web.WebSocketResponse
    pack: Callable[[str], bytes | str]
    outbox: asyncio.Queue[Obj | int | None] = field(default_factory=asyncio.Queue)
    deaf: bool = False

    def put(self, packet: Obj | int | None) -> None:
        """Send a packet, close with a code, or cut (None)."""
        if not self.deaf:
            self.outbox.put_nowait(packet)


@dataclass(eq=False)
class SessionState:
    """What the gateway keeps of one IDENTIFY."""

    id: str
    intents: discord.Intents
    events: list[Obj] = field(default_factory=list)
    seq: int = 0
    socket: Socket | None = None

    def tell(self, event: str, data: Mapping[str, Any]) -> None:
        """Number an event, keep it, and send it when there is a socket."""
        self.seq += 1
        packet: Obj = {"op": DISPATCH, "t": event, "s": self.seq, "d": data}
        self.events.append(packet)
        if self.socket is not None:
            self.socket.put(packet)


class FakeGateway:
    """All sessions of one bot."""

    def __init__(self, backend: Backend, token: str, changed: Callable[[], None]) -> None:
        self.url = ""
        self.token = token
        self.allowed_intents = discord.Intents.all()
        """What is switched on in the portal; asking for more closes with 4014."""
        self.heartbeat_s = 30.0
        self.identified = 0
        self.resumed = 0
        self.beats = 0
        self.refuses = False
        """No new socket is let in."""
        self.describing_s: float | None = 0.0
        """How long after READY the servers are described; None: an outage, they are not."""
        self.unanswered = False
        """Sockets are let in, but nobody says hello."""
        self._backend = backend
        self._changed = changed
        self._sessions: dict[str, SessionState] = {}
        self._sockets: set[Socket] = set()
        self._newest: tuple[str, Obj] | None = None
        backend.subscribers.append(self._emitted)

    # What a test does to it

    def reconnect(self) -> None:
        """op 7: come back on another socket."""
        self._to_all({"op": RECONNECT, "d": None})

    def invalidate(self, *, resumable: bool) -> None:
        """op 9: the session is gone, or not quite."""
        if not resumable:
            self._sessions.clear()
        self._to_all({"op": INVALID, "d": resumable})

    def close(self, code: int) -> None:
        """Close every socket with a code."""
        self._to_all(code)

    def cut(self) -> None:
        """Break every socket."""
        self._to_all(None)

    def deafen(self) -> None:
        """Answer nothing any more on the sockets there are, not even heartbeats."""
        for socket in self._sockets:
            socket.deaf = True

    def push(self, event: str, data: Mapping[str, Any]) -> None:
        """Any event at all to every session, malformed ones too."""
        for session in self._sessions.values():
            session.tell(event, data)

    def again(self) -> None:
        """The newest thing that a person did, told to every session once more."""
        assert self._newest is not None
        self.push(*self._newest)

    def _to_all(self, packet: Obj | int | None) -> None:
        for socket in self._sockets:
            socket.put(packet)

    # The server

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One socket's life."""
        if self.refuses:
            return web.Response(status=503)
        ws = web.WebSocketResponse(autoping=True, compress=False, timeout=0.5)
        await ws.prepare(request)
        socket = Socket(ws, _packer(request.query.get("compress", "")))
        self._sockets.add(socket)
        if not self.unanswered:
            beat_ms = int(self.heartbeat_s * 1000)
            socket.put({"op": HELLO, "d": {"heartbeat_interval": beat_ms, "_trace": ["fake"]}})
        writer = asyncio.create_task(self._write(socket), name="gateway-writer")
        try:
            async for message in ws:
                if message.type is WSMsgType.TEXT:
                    self._received(socket, json.loads(message.data))
        finally:
            self._sockets.discard(socket)
            for session in self._sessions.values():
                if session.socket is socket:
                    session.socket = None
            writer.cancel()
            self._changed()
        return ws

    async def shut(self) -> None:
        """End all sockets."""
        for socket in list(self._sockets):
            await socket.ws.close(code=WSCloseCode.GOING_AWAY, drain=False)

    async def _write(self, socket: Socket) -> None:
        while True:
            packet = await socket.outbox.get()
            match packet:
                case None:
                    transport = socket.ws._req.transport if socket.ws._req else None
                    if transport is not None:
                        transport.abort()
                    return
                case int():
                    await socket.ws.close(code=packet)
                    return
            shown = socket.pack(json.dumps(packet).replace(*self.rewrite))
            if isinstance(shown, bytes):
                await socket.ws.send_bytes(shown)
            else:
                await socket.ws.send_str(shown)

    rewrite: tuple[str, str] = ("", "")
    """Where files are, and where they are said to be."""

    def _received(self, socket: Socket, packet: Obj) -> None:
        match packet["op"]:
            case 1:
                self.beats += 1
                socket.put({"op": ACK, "d": None})
            case 2:
                self._identify(socket, packet["d"])
            case 6:
                self._resume(socket, packet["d"])
        self._changed()

    def _identify(self, socket: Socket, asked: Obj) -> None:
        self.identified += 1
        if asked["token"] != self.token:
            socket.put(BAD_TOKEN)
            return
        intents = discord.Intents._from_value(int(asked["intents"]))
        if intents.value & ~self.allowed_intents.value:
            socket.put(BAD_INTENTS)
            return
        session = SessionState(f"session-{self.identified}", intents, socket=socket)
        self._sessions[session.id] = session
        backend = self._backend
        session.tell(
            "READY",
            {
                "v": 10,
                "user": serializers.user_payload(backend.bot_user),
                "guilds": [{"id": str(g), "unavailable": True} for g in backend.guilds],
                "private_channels": [],
                "session_id": session.id,
                "resume_gateway_url": self.url,
                "application": {"id": str(backend.application_id), "flags": 0},
            },
        )
        if self.describing_s is None:
            return
        if self.describing_s:
            asyncio.get_running_loop().call_later(self.describing_s, self._describe, session)
        else:
            self._describe(session)

    def _describe(self, session: SessionState) -> None:
        for guild in self._backend.guilds.values():
            told = serializers.guild_create_payload(self._backend, guild)
            self._tell(session, "GUILD_CREATE", {**told, "unavailable": False})

    def _resume(self, socket: Socket, asked: Obj) -> None:
        session = self._sessions.get(asked["session_id"])
        if session is None or asked["token"] != self.token:
            socket.put({"op": INVALID, "d": False})
            return
        self.resumed += 1
        session.socket = socket
        for packet in list(session.events):
            if packet["s"] > asked["seq"]:
                socket.put(packet)
        session.tell("RESUMED", {"_trace": ["fake"]})

    def _emitted(self, event: str, payload: Mapping[str, Any]) -> None:
        by_bot = payload.get("author", {}).get("bot", False)
        if event == "INTERACTION_CREATE" or (event == "MESSAGE_CREATE" and not by_bot):
            self._newest = (event, copy.deepcopy(dict(payload)))
        for session in self._sessions.values():
            self._tell(session, event, payload)
        self._changed()

    def _tell(self, session: SessionState, event: str, payload: Mapping[str, Any]) -> None:
        """As the session's intents let it through."""
        gate = gates.required_intent(event, payload)
        if gate is not None and not getattr(session.intents, gate):
            return
        data = copy.deepcopy(dict(payload))
        bot = self._backend.bot_user.id
        if event == "MESSAGE_CREATE" and not session.intents.message_content:
            gates.censor_message(data, bot, backend=self._backend)
        if event == "GUILD_CREATE":
            gates.prune_guild_create(data, session.intents, bot)
            data["threads"] = [self._joined(thread) for thread in data.get("threads", ())]
        if event in {"THREAD_CREATE", "THREAD_UPDATE"}:
            data = self._joined(data)
        session.tell(event, data)

    def _joined(self, thread: Obj) -> Obj:
        """A thread with our membership, which Discord tells and simcord does not."""
        known = self._backend.channels[int(thread["id"])]
        bot = self._backend.bot_user.id
        if bot not in known.thread_members:
            return thread
        return {**thread, "member": serializers.thread_member_payload(known, bot)}


def _packer(kind: str) -> Callable[[str], bytes | str]:
    if kind != "zlib-stream":
        return lambda text: text
    stream = zlib.compressobj()
    return lambda text: stream.compress(text.encode()) + stream.flush(zlib.Z_SYNC_FLUSH)
