"""Slack as a `Platform`: wires receiving and sending; decides nothing itself.

Only this module is the package's face. It starts no task outside of `run`, and every error
that leaves it is one of the core's.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import NoReturn

from adapters.slack import errors
from adapters.slack.asides import Asides
from adapters.slack.decode import Me
from adapters.slack.downloads import Downloads
from adapters.slack.encode import ROOM
from adapters.slack.ephemera import Ephemera
from adapters.slack.events import EventsServer
from adapters.slack.front import front
from adapters.slack.handover import Handover, Known
from adapters.slack.link import Link
from adapters.slack.options import SlackOptions
from adapters.slack.outgoing import Outgoing
from adapters.slack.pacing import Pacing
from adapters.slack.parts import parts
from adapters.slack.people import People
from adapters.slack.places import Places
from adapters.slack.socket_mode import SocketMode
from adapters.slack.threads import Threads
from core.backoff import Backoff
from core.errors import PursuitError, TransientError
from core.messages import Address, Attachment, Outbound, PlatformName, RemoteId, Say, SendFile
from core.ports import Clock, Health, Hold, Intake, Mark, Sent
from core.pulse import Pulse
from core.splitting import Room

log = logging.getLogger(__name__)


class SlackPlatform:
    """One app in one workspace. Sending works before, during and after `run`."""

    name = PlatformName.SLACK
    repeats_s = 0.0

    def __init__(
        self,
        options: SlackOptions,
        *,
        clock: Clock,
        hold: Hold,
        known: Known,
    ) -> None:
        """`known` says whom the intake will hear. The intake alone decides; the answer
        only keeps Slack from being asked things on a stranger's behalf."""
        self._options = options
        self._known = known
        self._hold = hold
        silence_s = options.deaf_s if options.events is None else 3 * options.check_s
        self._clock = clock
        self._pulse = Pulse(clock, silence_s)
        self._link = Link(options)
        self._pacing = Pacing(
            clock,
            extras_per_minute=options.extras_per_minute,
            progress_gap_s=options.progress_gap_s,
        )
        self._people = People(self._link, clock, options.name_s)
        self._places = Places(self._link, clock, options.name_s)
        self._threads = Threads(self._link, options.thread_s)
        self._outgoing = Outgoing(self._link, self._pacing, self._threads, clock, options.secrets)
        self._asides = Asides(self._link, self._outgoing)
        self._ephemera = Ephemera(self._link, self._pacing)
        self._downloads = Downloads(self._link, options)

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled; closing takes no longer than `close_s`.

        Raises UserError for a refused token, a second process with it, or a taken port; network
        faults are retried inside.
        """
        self._pulse.begin()
        with self._hold():
            self._link.open()
            try:
                async with asyncio.TaskGroup() as group:
                    await self._receive(intake, await self._introduce(), group)
            except BaseExceptionGroup as failures:
                self._pulse.fault("stopped")
                _raise_expected(failures)
            finally:
                await self._link.close()

    def health(self) -> Health:
        """How the connection is."""
        return self._pulse.health()

    def parts(self, text: str) -> tuple[Outbound, ...]:
        """A Markdown text as messages that fit."""
        return parts(text)

    @property
    def room(self) -> Room:
        """How much one message with buttons holds."""
        return ROOM

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """Post a message or a file."""
        match what:
            case Say():
                return await self._outgoing.say(address, what)
            case SendFile():
                return await self._outgoing.post_file(address, what)

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Replace a message's text and buttons."""
        await self._outgoing.edit(address, remote, what)

    async def show_progress(
        self,
        address: Address,
        turn: int,
        remote: RemoteId | None,
        text: str,
    ) -> RemoteId | None:
        """Show what a turn is doing, best effort; raises TransientErrors only."""
        return await self._ephemera.progress(address, remote, text)

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """React to a person's message and tell that work goes on, best effort."""
        await self._ephemera.mark(address, remote, state)

    async def download(self, attachment: Attachment, to: Path) -> None:
        """Fetch a file of at most 100 MB. Raises UserError for one that cannot be had."""
        await self._downloads.fetch(attachment, to)

    async def _introduce(self) -> Me:
        """Ask who we are, until there is an answer."""
        backoff = Backoff(self._options.backoff_s, self._options.backoff_cap_s)
        while True:
            try:
                async with self._link.client() as client:
                    answer = await client.auth_test()
            except errors.FAILED_CALL as err:
                error = errors.translate(err, self._options.secrets)
                if not isinstance(error, TransientError):
                    raise error from None
                self._pulse.fault(f"no connection: {error}")
                log.warning("Slack does not answer: %s", error)
                await backoff.pause(error.retry_after or 0.0)
            else:
                told = {name: str(answer.get(name) or "") for name in _WHO}
                return Me(told["user_id"], told["bot_id"], told["team_id"], told["user"])

    async def _receive(self, intake: Intake, me: Me, group: asyncio.TaskGroup) -> None:
        options = self._options
        handover = Handover(
            intake=intake,
            known=self._known,
            me=me,
            people=self._people,
            places=self._places,
            threads=self._threads,
            asides=self._asides,
            clock=self._clock,
            saving_s=options.saving_s,
            group=group,
        )
        events = options.events
        app = front(me, handover, options.bot_token, events.signing_secret if events else "")
        way = "Socket Mode" if events is None else "HTTP events"
        log.info("Slack is known: %s in %s, by %s", me.name, me.team, way)
        if events is None:
            receiver = SocketMode(
                link=self._link,
                app=app,
                handover=handover,
                intake=intake,
                pulse=self._pulse,
                options=options,
                group=group,
            )
            await receiver.run()
        else:
            server = EventsServer(
                link=self._link,
                app=app,
                handover=handover,
                intake=intake,
                pulse=self._pulse,
                options=options,
                events=events,
            )
            await server.run()


_WHO = ("user_id", "bot_id", "team_id", "user")


def _raise_expected(failures: BaseExceptionGroup[BaseException]) -> NoReturn:
    """Raise the core's error that ended the tasks, else the group as it is."""
    expected, _ = failures.split(PursuitError)
    while expected is not None:
        first = expected.exceptions[0]
        if not isinstance(first, BaseExceptionGroup):
            raise first from None
        expected = first
    raise failures
