"""Asks Slack what an app's tokens may do, for `pursuit doctor`. Changes nothing there.

The address for a socket is asked for and left unused: Slack forgets it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import aiohttp

from adapters.slack.menu import SCOPES
from core.findings import Finding, fault, well
from core.transcript import Json

BOT, SCOPE, APP = "slack bot token", "slack scopes", "slack app token"
_PAGE = "https://api.slack.com/apps"
_BROKEN = (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError)


async def probe(
    http: aiohttp.ClientSession, bot_token: str, app_token: str | None, base_url: str
) -> AsyncIterator[Finding]:
    """What is well and what is not; without an app token HTTP events are used."""
    try:
        me, granted = await _asked(http, f"{base_url}auth.test", bot_token)
        if me.get("ok"):
            yield well(BOT, f"it is the one of {me.get('user')} in {me.get('team')}")
            yield _scopes(granted)
        else:
            yield _bot_refused(me.get("error"))
        if app_token is not None:
            socket, _ = await _asked(http, f"{base_url}apps.connections.open", app_token)
            yield _socket(socket)
    except _BROKEN as error:
        yield fault(
            BOT,
            f"Slack does not answer ({type(error).__name__})",
            why="without it the app neither hears nor speaks",
            fix="Check this machine's network and proxy, and platforms.slack.base_url if it is "
            "set.",
        )


async def _asked(
    http: aiohttp.ClientSession, url: str, token: str
) -> tuple[Mapping[str, Json], frozenset[str]]:
    """Slack's answer, and the scopes that the token has."""
    async with http.post(url, headers={"Authorization": f"Bearer {token}"}) as answer:
        body: Json = json.loads(await answer.text())
        scopes = answer.headers.get("x-oauth-scopes", "").split(",")
        granted = frozenset(scope.strip() for scope in scopes if scope.strip())
        return body if isinstance(body, dict) else {}, granted


def _bot_refused(error: Json) -> Finding:
    return fault(
        BOT,
        f"Slack refuses the bot token ({error})",
        why="it was revoked, or is not copied whole; the app cannot start",
        fix=f"{_PAGE}: your app, OAuth & Permissions, (re)install it, copy the Bot User OAuth "
        "Token (xoxb-…) into platforms.slack.bot_token.",
    )


def _scopes(granted: frozenset[str]) -> Finding:
    missing = sorted(set(SCOPES) - granted)
    if not missing:
        return well(SCOPE, "all that are needed are granted")
    return fault(
        SCOPE,
        f"the app lacks {', '.join(missing)}",
        why="Slack refuses the calls that need them",
        fix=f"{_PAGE}: your app, OAuth & Permissions, Bot Token Scopes: add them and reinstall "
        "the app (or put the shipped manifest under App Manifest).",
    )


def _socket(answer: Mapping[str, Json]) -> Finding:
    if answer.get("ok"):
        return well(APP, "Socket Mode gives a connection")
    return fault(
        APP,
        f"Slack gives no socket ({answer.get('error')})",
        why="by it the app hears messages",
        fix=f"{_PAGE}: your app, Socket Mode: switch it on; Basic Information, App-Level Tokens: "
        "one with the scope connections:write (xapp-…) goes into platforms.slack.app_token.",
    )
