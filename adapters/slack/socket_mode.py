"""Receiving by Socket Mode: the loop that keeps one connection, and the worker behind it.

The library's own client answers each envelope in a task of its own, in any order, and waits for
ever for a connection that is refused; so the loop is ours. Envelopes are handled one at a time
and acknowledged after the commit; commands, presses and lanes that wait for Slack's word about a
message go beside the others. Ends only by cancellation or an error that a person must mend.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

import aiohttp
from aiohttp import WSMsgType
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from adapters.slack import errors
from adapters.slack.decode import MALFORMED
from adapters.slack.handover import Handover, Status
from adapters.slack.link import Link
from adapters.slack.options import SlackOptions
from core.backoff import Backoff
from core.errors import Misconfigured, TransientError, UserError
from core.messages import LaneKey, PlatformName
from core.ports import Intake
from core.pulse import Pulse
from core.transcript import Json

EVENTS = "events_api"
AGAIN = frozenset({Status.UNSAVED, Status.UNDECIDED})
"""Tried again here, before anything newer of its lane."""
MAX_ENVELOPE = 4 * 1024 * 1024
LOST_SOCKET = (aiohttp.ClientError, OSError)

log = logging.getLogger(__name__)

Socket: TypeAlias = aiohttp.ClientWebSocketResponse


@dataclass(frozen=True, slots=True)
class Envelope:
    """What came, and the socket to acknowledge it on."""

    request: SocketModeRequest
    socket: Socket


class SocketMode:
    """One app's connection."""

    def __init__(  # noqa: PLR0913 - wiring, all keyword-only
        self,
        *,
        link: Link,
        app: AsyncApp,
        handover: Handover,
        intake: Intake,
        pulse: Pulse,
        options: SlackOptions,
        group: asyncio.TaskGroup,
    ) -> None:
        self._link = link
        self._app = app
        self._handover = handover
        self._intake = intake
        self._pulse = pulse
        self._options = options
        self._group = group
        self._backoff = Backoff(options.backoff_s, options.backoff_cap_s)
        self._envelopes: asyncio.Queue[Envelope] = asyncio.Queue()
        self._interactions: set[asyncio.Task[None]] = set()
        self._held: dict[LaneKey, deque[Envelope]] = {}
        """The lanes that wait for Slack's word about a message, with what came for them."""
        self._came = 0
        self._behind = True
        self._is_greeted = False

    async def run(self) -> None:
        """Stay connected until cancelled. Raises UserError for a refused app token."""
        self._group.create_task(self._work(), name="slack-envelopes")
        while True:
            try:
                refreshed = await self._connection()
            except TransientError as err:
                self._lost(str(err))
                await self._backoff.pause(err.retry_after or 0.0)
            except LOST_SOCKET as err:
                # The address in an error's text holds a ticket.
                self._lost(f"no connection: {type(err).__name__}")
                await self._backoff.pause()
            else:
                if not refreshed:
                    self._lost("the socket was closed")
                    await self._backoff.pause()

    async def _connection(self) -> bool:
        """One socket's life. Returns whether Slack asked for another one."""
        url = await self._ticket()
        async with (
            self._link.wire() as wire,
            wire.session.ws_connect(
                url,
                autoping=False,
                max_msg_size=MAX_ENVELOPE,
                timeout=aiohttp.ClientWSTimeout(ws_close=self._options.close_s),
            ) as socket,
        ):
            return await self._listen(socket)

    async def _ticket(self) -> str:
        try:
            async with self._link.client() as client:
                answer = await client.apps_connections_open(app_token=self._options.app_token)
        except errors.FAILED_CALL as err:
            secrets = self._options.secrets
            error = errors.translate(err, secrets, refused=errors.APP_REFUSED)
            match error:
                case TransientError():
                    raise error from None
                case UserError():
                    code = errors.code_of(err)
                    raise Misconfigured(errors.APP_REFUSED.format(code=code)) from None
                case _:
                    raise TransientError(f"no connection: {error}") from None
        return str(answer.get("url"))

    async def _listen(self, socket: Socket) -> bool:
        self._pulse.touch()
        self._is_greeted = False
        late = asyncio.get_running_loop().time() + self._options.deaf_s
        while True:
            if not self._is_greeted and asyncio.get_running_loop().time() > late:
                raise TransientError("the socket is open, but Slack does not say hello")
            message = await self._next(socket)
            if message is None:
                continue
            self._pulse.touch()
            match message.type:
                case WSMsgType.TEXT:
                    if self._read(message.data, socket):
                        await self._drained()
                        return True
                case WSMsgType.PING:
                    await socket.pong(message.data)
                case WSMsgType.CLOSE | WSMsgType.CLOSING | WSMsgType.CLOSED | WSMsgType.ERROR:
                    return False
                case _:
                    pass

    async def _next(self, socket: Socket) -> aiohttp.WSMessage | None:
        """The next frame; None after a silence, in which the socket is pinged.

        Raises TransientError for a socket that is deaf.
        """
        if self._pulse.silent_s > self._options.deaf_s:
            raise TransientError(f"the socket is deaf, silent for {self._pulse.silent_s:.0f} s")
        try:
            async with asyncio.timeout(self._options.ping_s):
                return await socket.receive()
        except TimeoutError:
            async with asyncio.timeout(self._options.close_s):
                await socket.ping()
            return None

    def _read(self, raw: str, socket: Socket) -> bool:
        """Take one text frame. Returns whether the socket is to be replaced."""
        try:
            told: Json = json.loads(raw)
            if not isinstance(told, dict):
                raise TypeError(raw[:20])
            kind = told.get("type")
            request = SocketModeRequest.from_dict(told)
        except MALFORMED as err:
            self._handover.step_over(err)
            return False
        if kind == "hello":
            self._greeted(told)
        elif kind == "disconnect":
            log.info("Slack wants a new connection: %s", told.get("reason"))
            return True
        elif request is not None:
            self._take(Envelope(request, socket))
        return False

    def _take(self, envelope: Envelope) -> None:
        self._came += 1
        if envelope.request.type == EVENTS:
            self._envelopes.put_nowait(envelope)
            return
        # A person waits for it, and Slack for 3 s at most, whatever the messages wait for.
        task = self._group.create_task(self._handle(envelope), name="slack-interaction")
        self._interactions.add(task)
        task.add_done_callback(self._interactions.discard)

    def _greeted(self, hello: dict[str, Json]) -> None:
        self._is_greeted = True
        self._backoff.reset()
        self._pulse.heard()
        others = hello.get("num_connections")
        if isinstance(others, int) and others > 1:
            log.warning(
                "%d connections are open for this app: another process, or an old one of ours. "
                "Slack deals the events out among them.",
                others,
            )
        if self._behind:
            self._behind = False
            self._group.create_task(self._settle(), name="slack-backlog")

    async def _settle(self) -> None:
        """Slack does not say where the backlog ends: it comes at once, then there is a pause."""
        came = -1
        while came != self._came:
            came = self._came
            await self._envelopes.join()
            await asyncio.sleep(self._options.settle_s)
        self._intake.caught_up(PlatformName.SLACK)

    async def _drained(self) -> None:
        """Acknowledge what is there before the socket goes, for as long as closing may take."""
        try:
            async with asyncio.timeout(self._options.close_s):
                await self._envelopes.join()
                if self._interactions:
                    await asyncio.wait(self._interactions)
        except TimeoutError:
            log.debug("the socket goes before all is saved; Slack brings it again")

    async def _work(self) -> None:
        while True:
            envelope = await self._envelopes.get()
            try:
                if not self._is_held(envelope):
                    await self._handle(envelope)
            finally:
                self._envelopes.task_done()

    def _is_held(self, envelope: Envelope) -> bool:
        """Whether it goes beside the others, in its lane's order: something of the lane has to
        wait for Slack's word."""
        lane, asks = self._handover.place_in_line(envelope.request.payload) or (None, False)
        if lane is None:
            return False
        if lane in self._held:
            self._held[lane].append(envelope)
            return True
        if asks:
            self._held[lane] = deque([envelope])
            self._group.create_task(self._work_off(lane), name="slack-held")
        return asks

    async def _work_off(self, lane: LaneKey) -> None:
        waiting = self._held[lane]
        while waiting:
            await self._handle(waiting[0])
            waiting.popleft()
        del self._held[lane]

    async def _handle(self, envelope: Envelope) -> None:
        backoff = Backoff(self._options.backoff_s, self._options.backoff_cap_s)
        while (response := await self._dispatch(envelope.request)) is not None:
            if envelope.request.type != EVENTS or response.status not in AGAIN:
                break
            if response.status == Status.UNSAVED:
                self._pulse.fault("what came in cannot be saved")
            await backoff.pause()
            if response.status == Status.UNSAVED:
                self._pulse.heard()
        # What met a fault is brought again.
        if response is None or response.status == Status.TAKEN:
            await self._acknowledge(envelope, response)

    async def _dispatch(self, request: SocketModeRequest) -> BoltResponse | None:
        """Bolt's answer, None for a request that it cannot even take."""
        try:
            asked = AsyncBoltRequest(mode="socket_mode", body=request.payload)
        except MALFORMED as err:
            self._handover.step_over(err)
            return None
        response: BoltResponse = await self._app.async_dispatch(asked)
        return response

    async def _acknowledge(self, envelope: Envelope, response: BoltResponse | None) -> None:
        payload = json.loads(response.body) if response and response.body else None
        told = SocketModeResponse(envelope_id=envelope.request.envelope_id, payload=payload)
        try:
            async with asyncio.timeout(self._options.close_s):
                await envelope.socket.send_str(json.dumps(told.to_dict()))
        except LOST_SOCKET as err:
            log.debug("not acknowledged, Slack brings it again: %s", type(err).__name__)

    def _lost(self, reason: str) -> None:
        self._pulse.fault(reason)
        log.warning("Socket Mode: %s", reason)
