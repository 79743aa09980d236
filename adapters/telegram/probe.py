"""Asks Telegram what a bot's token may do, for `pursuit doctor`. Changes nothing there.

It speaks plain HTTP: no update is taken, so a bot that runs is not disturbed. The token is in
every URL, so none is shown.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import aiohttp

from core.findings import Finding, fault, warning, well
from core.transcript import Json

TOKEN, PRIVACY, WEBHOOK = "telegram token", "telegram privacy mode", "telegram webhook"
_BROKEN = (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError)


async def probe(
    http: aiohttp.ClientSession, token: str, base_url: str, *, polls: bool
) -> AsyncIterator[Finding]:
    """What is well and what is not; `polls` says that no webhook is configured."""
    try:
        status, me = await _asked(http, f"{base_url}{token}/getMe")
    except _BROKEN as error:
        yield fault(
            TOKEN,
            f"Telegram does not answer ({type(error).__name__})",
            why="without it the bot neither hears nor speaks",
            fix="Check this machine's network and proxy, and platforms.telegram.base_url if it "
            "is set.",
        )
        return
    user = me.get("result")
    if status != 200 or not isinstance(user, dict):
        yield _refused(status)
        return
    yield well(TOKEN, f"it is the one of @{user.get('username')}")
    if user.get("can_read_all_group_messages"):
        yield well(PRIVACY, "off: in groups the bot hears every message")
    else:
        yield warning(
            PRIVACY,
            "privacy mode is on",
            why="in groups Telegram gives the bot only commands, replies to it and mentions, so "
            "it cannot see what a conversation was about; private chats are not affected",
            fix="If you use it in groups: /setprivacy at @BotFather, choose the bot, Disable; "
            "then remove the bot from each group and add it again.",
        )
    try:
        _, hook = await _asked(http, f"{base_url}{token}/getWebhookInfo")
    except _BROKEN:
        return
    for finding in _webhook(hook.get("result"), polls=polls):
        yield finding


async def _asked(http: aiohttp.ClientSession, url: str) -> tuple[int, Mapping[str, Json]]:
    async with http.get(url) as answer:
        body: Json = json.loads(await answer.text())
        return answer.status, body if isinstance(body, dict) else {}


def _refused(status: int) -> Finding:
    if status in {401, 403, 404}:
        return fault(
            TOKEN,
            f"Telegram refuses the token ({status})",
            why="it was revoked, or is not copied whole; the bot cannot start",
            fix="Send /token to @BotFather, choose the bot, and put the token into "
            "platforms.telegram.token (better: into the variable or credential it comes from).",
        )
    return fault(
        TOKEN,
        f"Telegram answers with an error ({status})",
        why="the bot cannot start while it does",
        fix="Wait and try again; look at platforms.telegram.base_url if it is set.",
    )


def _webhook(info: Json, *, polls: bool) -> tuple[Finding, ...]:
    if not isinstance(info, dict):
        return ()
    url, error = info.get("url"), info.get("last_error_message")
    if polls and url:
        return (
            warning(
                WEBHOOK,
                "another program has set a webhook for this bot",
                why="Pursuit removes it when it starts, and that program then hears nothing",
                fix="Stop the other program, or make a bot of its own for it at @BotFather.",
            ),
        )
    if not polls and url and error:
        return (
            fault(
                WEBHOOK,
                f"Telegram cannot reach it: {error}",
                why="people's messages wait at Telegram",
                fix="Check platforms.telegram.webhook.url, its certificate and the reverse proxy "
                "in front of host and port.",
            ),
        )
    return ()
