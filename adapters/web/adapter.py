"""The web chat as a `Platform`: wires the server, the page's events and the files together.

A message is delivered once it is among what pages are shown: whether a page is open does not
matter, for the next one reads it back.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

from aiohttp import web

from adapters.web.api import Api
from adapters.web.chats import Chats
from adapters.web.encode import Asks, Shown, asks_a_person, posted
from adapters.web.files import Files
from adapters.web.guard import Guard
from adapters.web.hub import Hub
from adapters.web.login import Attempts, Logins
from adapters.web.options import Door, MenuEntry, Past, WebOptions
from adapters.web.pages import Pages
from adapters.web.parts import MOST, parts
from adapters.web.refusals import Refusals
from adapters.web.server import Listener, address, application
from adapters.web.stream import Stream
from core.errors import PermanentError
from core.messages import (
    Address,
    Attachment,
    Outbound,
    PlatformName,
    RemoteId,
    Say,
    SendFile,
)
from core.ports import Clock, Health, Intake, Mark, Sent
from core.splitting import Room

SWEEP_S = 3600.0


class WebPlatform:
    """The one page. Sending works before, during and after `run`."""

    name = PlatformName.WEB
    repeats_s = 0.0

    def __init__(
        self,
        options: WebOptions,
        *,
        past: Past,
        clock: Clock,
        door: Door,
        commands: Sequence[MenuEntry] = (),
    ) -> None:
        self._options = options
        self._past = past
        self._door = door
        self._clock = clock
        self._commands = commands
        self._hub = Hub(secrets.token_hex(6))
        self._files = Files(options.folder / "web", options.max_upload)
        self._attempts = Attempts(clock)
        self._refusals = Refusals()
        self._listening = ""

    @property
    def address(self) -> str:
        """Where the page is, "" while nobody can open it."""
        return self._listening

    async def run(self, intake: Intake) -> None:
        """Serve until cancelled. Raises UserError when the address cannot be listened on."""
        options = self._options
        logins = await asyncio.to_thread(Logins, options.folder, options.token, self._clock)
        guard = Guard(logins, options.port, options.origins)
        self._hub.reopen()
        try:
            async with asyncio.TaskGroup() as group:
                routes = self._routes(intake, guard, logins, group)
                await self._serve(Listener(options, application(guard, routes)), intake)
        except BaseExceptionGroup as failures:
            raise _only(failures) from None

    async def _serve(self, listener: Listener, intake: Intake) -> None:
        try:
            port = await listener.start()
            self._listening = address(self._options.host, port)
            self._options.announce(self._listening)
            intake.caught_up(self.name)  # what browsers could not send they send by themselves
            while True:
                await asyncio.to_thread(self._files.sweep, self._clock.now())
                await asyncio.sleep(SWEEP_S)
        finally:
            self._listening = ""
            self._hub.close()
            await listener.close()

    def _routes(
        self, intake: Intake, guard: Guard, logins: Logins, group: asyncio.TaskGroup
    ) -> Sequence[web.RouteDef]:
        chats = Chats(self._past, self._hub, self._files)
        pages = Pages(guard, logins, self._attempts, self._door, chats)
        stream = Stream(self._hub, guard, self._options.ping_s)
        api = Api(
            intake=intake,
            past=self._past,
            chats=chats,
            files=self._files,
            hub=self._hub,
            clock=self._clock,
            refusals=self._refusals,
            commands=self._commands,
            group=group,
        )
        events = web.get("/api/chats/{chat}/events", stream.serve)
        return (*pages.routes(), *api.routes(), events)

    def health(self) -> Health:
        """The page can be opened or not; that nobody looks at it is no fault."""
        where = self._listening
        return Health(
            ok=bool(where), silent_s=0.0, detail=f"listening on {where}" if where else "closed"
        )

    def parts(self, text: str) -> tuple[Outbound, ...]:
        """A Markdown text as messages of a readable length."""
        return parts(text)

    @property
    def room(self) -> Room:
        """As much as a message of an answer may have."""
        return Room(MOST)

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """Show a message or offer a file. Raises PermanentError for a file that is gone."""
        now = self._clock.now()
        match what:
            case Say():
                asks = Asks.OPEN if asks_a_person(what) else Asks.NOT
                remote = RemoteId(secrets.token_urlsafe(12))
                shown = Shown(remote, what, now, asks=asks)
            case SendFile():
                kept = await asyncio.to_thread(self._files.keep, what)
                shown = Shown(RemoteId(kept.id), kept, now, what.caption)
            case _:
                assert_never(what)
        self._show(address, shown, "message")
        self._hub.list_changed()
        return Sent(shown.remote, now)

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Let a message read differently, wherever it is shown."""
        feed = self._hub.feed(address.chat)
        before = feed.shown.get(remote)
        if before is not None and not isinstance(before.what, Say):
            raise PermanentError("A file has no text to change.")
        if before is not None and before.what == what:
            return
        # Of a message that an earlier process sent, the store alone knows when that was.
        changed = Shown(remote, what, 0.0) if before is None else before.edited(what)
        self._show(address, changed, "edit")
        if not what.buttons:  # what it asked is over, so one thing less waits in that chat
            self._hub.list_changed()

    def _show(self, address: Address, shown: Shown, event: str) -> None:
        self._hub.feed(address.chat).show(shown)
        self._hub.publish(address.chat, event, posted(shown))

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Show what a turn does below the last message; it leaves no message behind."""
        activity = self._hub.feed(address.chat).activity
        activity.since = activity.since or self._clock.now()
        activity.turn, activity.text = turn, text
        activity.version += 1
        self._hub.stir()
        return None

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """Mark a person's message, and show that something runs while WORKING."""
        feed = self._hub.feed(address.chat)
        activity = feed.activity
        match state:
            case Mark.WORKING:
                fresh = not activity.since
                activity.since = activity.since or self._clock.now()
            case Mark.DONE | Mark.FAILED:
                fresh = bool(activity.since)
                activity.since, activity.text, activity.turn = 0.0, "", 0
            case Mark.SEEN:
                fresh = False
            case _:
                assert_never(state)
        if fresh:
            activity.version += 1
            self._hub.list_changed()
        if remote and feed.marks.get(remote) != state.value:
            feed.mark(remote, state.value)
            self._hub.publish(address.chat, "mark", {"id": remote, "mark": state.value})

    async def download(self, attachment: Attachment, to: Path) -> None:
        """Copy a file that a browser sent."""
        await asyncio.to_thread(self._files.fetch, attachment, to)


def _only(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error of a group of one, else the group."""
    first = failures.exceptions[0]
    return first if len(failures.exceptions) == 1 else failures
