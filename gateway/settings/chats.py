"""The settings of the chat platforms and of who may talk on them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, SecretStr, StringConstraints

from gateway.settings.values import Group, HttpsUrl, HttpUrl, Port, Text, unique

SlackId = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9]{4,20}$")]


class NumberedAccess(Group):
    """Who may talk to the bot, by numeric id; nobody unless listed or paired."""

    owners: tuple[int, ...] = ()
    """People with every right."""
    members: tuple[int, ...] = ()
    """People who may talk and set goals."""
    chats: tuple[int, ...] = ()
    """Where members are heard; empty is everywhere. Admits nobody by itself."""
    pairing: bool = False
    """A stranger's private message gets a code, with which an owner can let them in."""


class SlackAccess(Group):
    """Who may talk to the app, by Slack's member id (`U…`); nobody unless listed or paired."""

    owners: tuple[SlackId, ...] = ()
    """People with every right."""
    members: tuple[SlackId, ...] = ()
    """People who may talk and set goals."""
    chats: tuple[SlackId, ...] = ()
    """Where members are heard, by channel id; empty is everywhere. Admits nobody by itself."""
    pairing: bool = False
    """A stranger's direct message gets a code, with which an owner can let them in."""


class Access(Group):
    """Who may talk, by platform. The console's user and the holder of the web token are owners."""

    telegram: NumberedAccess = NumberedAccess()
    """Telegram's people."""
    discord: NumberedAccess = NumberedAccess()
    """Discord's people."""
    slack: SlackAccess = SlackAccess()
    """Slack's people."""


class Webhook(Group):
    """Telegram posts updates here instead of being polled."""

    url: HttpsUrl
    """The public address that Telegram posts to."""
    host: Text = "127.0.0.1"
    """The interface to listen on, behind your reverse proxy."""
    port: Port = 8443
    """The port to listen on."""
    secret: SecretStr | None = None
    """A word of letters, digits, `_` and `-` that proves a post is Telegram's; null makes a
    fresh one at each start."""


class Telegram(Group):
    """The Telegram bot."""

    enabled: bool = False
    """Start it."""
    token: SecretStr | None = None
    """The token from @BotFather."""
    base_url: HttpUrl | None = None
    """A self-hosted Bot API server, such as `http://127.0.0.1:8081/bot`; null is Telegram's."""
    base_file_url: HttpUrl | None = None
    """Where that server gives files, such as `http://127.0.0.1:8081/file/bot`."""
    webhook: Webhook | None = None
    """null polls, which needs no public address."""


class Discord(Group):
    """The Discord bot."""

    enabled: bool = False
    """Start it."""
    token: SecretStr | None = None
    """The bot's token from https://discord.com/developers/applications."""
    api_base: HttpUrl | None = None
    """Another REST API, such as `http://127.0.0.1:8082/api/v10`; null is Discord's."""
    gateway_url: Annotated[str, StringConstraints(pattern=r"^wss?://\S+$")] | None = None
    """Another gateway, such as `ws://127.0.0.1:8083`; null is Discord's."""


class SlackEvents(Group):
    """Slack posts events here instead of using Socket Mode."""

    signing_secret: SecretStr
    """The app's signing secret, under Basic Information."""
    host: Text = "127.0.0.1"
    """The interface to listen on, behind your reverse proxy."""
    port: Port = 8444
    """The port to listen on; requests go to the path `/slack/events`."""


class Slack(Group):
    """The Slack app."""

    enabled: bool = False
    """Start it."""
    bot_token: SecretStr | None = None
    """The bot token (`xoxb-…`), under OAuth & Permissions."""
    app_token: SecretStr | None = None
    """The app-level token (`xapp-…`) for Socket Mode, under Basic Information."""
    base_url: HttpUrl | None = None
    """Another Web API, such as `http://127.0.0.1:8085/api/`; null is Slack's."""
    events: SlackEvents | None = None
    """null uses Socket Mode, which needs no public address."""


Origins = Annotated[tuple[HttpUrl, ...], AfterValidator(unique)]


class Web(Group):
    """The built-in web chat."""

    enabled: bool | None = None
    """Start it; null starts it where no other platform is enabled."""
    host: Text = "127.0.0.1"
    """The interface to listen on."""
    port: Port = 8420
    """The port to listen on."""
    token: SecretStr | None = None
    """What a browser logs in with; null makes one at the first start and keeps it."""
    origins: Origins = ()
    """Further addresses that browsers may use, such as `https://pursuit.example.org` behind a
    reverse proxy."""


class Platforms(Group):
    """The chat platforms."""

    telegram: Telegram = Telegram()
    """The Telegram bot."""
    discord: Discord = Discord()
    """The Discord bot."""
    slack: Slack = Slack()
    """The Slack app."""
    web: Web = Web()
    """The built-in web chat."""
