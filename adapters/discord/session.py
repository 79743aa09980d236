"""One discord.py client: hears the gateway, offers the commands and buttons, hands all over.

Built anew for each connection: discord.py's own cannot begin again once its first try failed.
Each hook only hands over, without waiting: the library starts one task per event, in order, and
order holds as long as the first step of each is all there is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

import aiohttp
import discord
from discord import app_commands
from discord.http import HTTPClient

from adapters.discord import errors
from adapters.discord.encode import command_of
from adapters.discord.menu import ARGUMENT_SUMMARY, choices, digest, line_of
from adapters.discord.options import DiscordOptions, MenuEntry
from adapters.discord.wire import traced
from core.backoff import Backoff
from core.pulse import Pulse

UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, discord.DiscordException)
"""What discord.py raises over an event that is not as Discord describes it."""
STALE = "This command has changed. Reload Discord (Ctrl+R) and try again."
SOCKET_TRIES_S = 50.0
"""How long sockets are tried on one client; discord.py itself waits a minute for one."""
SOCKET_CAP_S = 10.0

log = logging.getLogger(__name__)


class Hears(Protocol):
    """Who is told what comes in. Nothing here waits."""

    def connected(self) -> None:
        """A new session began: what was missed comes first."""

    def ready(self, session: Session) -> None:
        """The session knows its servers and channels."""

    def heard(self, message: discord.Message) -> None:
        """Somebody wrote."""

    def admits(self, interaction: discord.Interaction) -> bool:
        """Whether whoever asks may talk there."""
        ...

    def commanded(self, interaction: discord.Interaction, line: str) -> None:
        """Somebody gave a command of the menu."""

    def pressed(self, interaction: discord.Interaction, command: str) -> None:
        """Somebody pressed a button."""


class Tree(app_commands.CommandTree["Session"]):
    """The native commands; one that Discord still shows and we have no more is explained."""

    async def on_error(
        self,
        interaction: discord.Interaction[Session],
        error: app_commands.AppCommandError,
    ) -> None:
        """Answer a command that does not fit ours; a stranger is told nothing."""
        log.warning("a command could not be read: %s", error)
        if interaction.client.hears.admits(interaction) and not interaction.response.is_done():
            try:
                await interaction.response.send_message(STALE, ephemeral=True)
            except errors.CALL_ERRORS as err:
                log.debug("a command was not answered: %s", type(err).__name__)


class Sockets(HTTPClient):
    """discord.py's HTTP side, trying for a socket at our own pace.

    The library's own back-off between sockets grows to a quarter of an hour, in which the
    session that could have been resumed is forgotten.
    """

    def __init__(self, options: DiscordOptions, pulse: Pulse, loop: asyncio.AbstractEventLoop):
        super().__init__(loop, http_trace=traced(options.api_base))
        self._options = options
        self._pulse = pulse

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """A socket to the gateway. Raises what the last of the tries raised."""
        cap_s = min(SOCKET_CAP_S, self._options.backoff_cap_s)
        backoff = Backoff(self._options.backoff_s, cap_s)
        until = self.loop.time() + min(SOCKET_TRIES_S, self._options.connect_s)
        while True:
            try:
                return await super().ws_connect(url, compress=compress)
            except (aiohttp.ClientError, OSError) as err:
                if self.loop.time() > until:
                    raise
                self._pulse.fault(f"no connection to the gateway: {type(err).__name__}")
                log.warning("no connection to the gateway: %s", err)
            await backoff.pause()


class Session(discord.Client):
    """A connection to Discord with what it needs to know of the world."""

    def __init__(
        self,
        options: DiscordOptions,
        hears: Hears,
        pulse: Pulse,
        menu: Sequence[MenuEntry],
        synced: Path,
        identify: Backoff,
    ) -> None:
        super().__init__(
            intents=_intents(),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            heartbeat_timeout=options.silence_s,
            guild_ready_timeout=options.settle_s,
            allowed_mentions=discord.AllowedMentions.none(),
            enable_debug_events=True,  # tells of every packet
        )
        self.hears = hears
        self.malformed = 0
        """Events stepped over on this connection."""
        self._options = options
        self._pulse = pulse
        self._synced = synced
        self._identify = identify
        self._described = asyncio.Event()
        self.http = self._connection.http = Sockets(options, pulse, self.loop)
        self._connection.parsers = {
            event: parse if event == "READY" else self._guarded(event, parse)
            for event, parse in self._connection.parsers.items()
        }
        self.tree = Tree(self)
        for entry in menu:
            self.tree.add_command(_native(entry, hears))

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        """Count a packet as a sign of life; all else as the library does."""
        if event == "socket_raw_receive":
            self._pulse.touch()
        else:
            super().dispatch(event, *args, **kwargs)

    async def setup_hook(self) -> None:
        """Offer the commands when they are not the ones offered last."""
        told = digest([command.to_dict(self.tree) for command in self.tree.get_commands()])
        told = f"{self._options.api_base} {self.application_id} {told}\n"
        if told == await asyncio.to_thread(_read, self._synced):
            return
        try:
            await self.tree.sync()
            await asyncio.to_thread(_write, self._synced, told)
        except errors.CALL_ERRORS as err:
            text = errors.redact(str(err), self._options.token)
            log.warning("the commands are not offered: %s", text)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Spread the sessions of one connection: a thousand a day cost the bot its token."""
        if not initial:
            await self._identify.pause(self._options.identify_s)

    async def on_connect(self) -> None:
        """A new session."""
        self.hears.connected()

    async def on_ready(self) -> None:
        """The session knows its world, once all of its servers are described."""
        try:
            async with asyncio.timeout(self._options.describe_s):
                while any(guild.unavailable for guild in self.guilds):
                    self._described.clear()
                    await self._described.wait()
        except TimeoutError:
            log.warning("Discord does not describe all servers; the others are looked at")
        log.info("Discord is connected: %s, in %d servers", self.user, len(self.guilds))
        self._pulse.well()
        self.hears.ready(self)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """A server is described, later than the session."""
        del guild
        self._described.set()

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """The same, as Discord tells it of a server that is new to us."""
        del guild
        self._described.set()

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """One less to wait for."""
        del guild
        self._described.set()

    async def on_resumed(self) -> None:
        """The session goes on, and what was missed has come again."""
        log.info("the session with Discord is resumed")
        self._pulse.well()

    async def on_disconnect(self) -> None:
        """The socket is gone, the session may not be."""
        self._pulse.fault("the connection to the gateway is lost")

    async def on_interaction(self, interaction: discord.Interaction[Self]) -> None:
        """Somebody pressed a button: ours carries what it stands for, so that it outlives the
        process. The library would drop a press that it has no view for without an answer."""
        if interaction.type is discord.InteractionType.component:
            data: Mapping[str, object] = interaction.data or {}
            self.hears.pressed(interaction, command_of(str(data.get("custom_id", ""))))

    async def on_message(self, message: discord.Message) -> None:
        """Somebody wrote."""
        self.hears.heard(message)

    def _guarded(self, event: str, parse: Callable[[object], None]) -> Callable[[object], None]:
        """A parser that steps over what it cannot read: it would end the whole connection."""

        def guarded(data: object) -> None:
            try:
                parse(data)
            except UNREADABLE as err:
                self.malformed += 1
                kind = type(err).__name__
                log.warning(
                    "stepping over a %s, which cannot be read (%s); %d so far",
                    event,
                    kind,
                    self.malformed,
                )

        return guarded


def _native(
    entry: MenuEntry, hears: Hears
) -> app_commands.Command[app_commands.Group, [str], None]:
    """A command with one text argument, completed where the command has words."""

    async def run(interaction: discord.Interaction, text: str = "") -> None:
        hears.commanded(interaction, line_of(entry.name, text))

    async def complete(
        interaction: discord.Interaction, current: str
    ) -> list[app_commands.Choice[str]]:
        if not hears.admits(interaction):
            return []
        return [app_commands.Choice(name=w, value=w) for w in choices(entry, current)]

    run = app_commands.describe(text=ARGUMENT_SUMMARY)(run)
    if entry.words:
        run = app_commands.autocomplete(text=complete)(run)
    return app_commands.Command(name=entry.name, description=entry.summary, callback=run)


def _intents() -> discord.Intents:
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = True
    intents.message_content = True
    return intents


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
