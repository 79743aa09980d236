"""Asks Discord what a bot may do, for `pursuit doctor`. Changes nothing there.

It does not sign in: sign-ins are counted, and too many reset the token.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import aiohttp

from core.findings import Finding, fault, well
from core.transcript import Json

TOKEN, INTENTS, SIGN_INS = "discord token", "discord intents", "discord sign-ins"
MESSAGE_CONTENT = 1 << 18 | 1 << 19
"""An application's flags: the intent, or the same for a bot in few servers."""
_PAGE = "https://discord.com/developers/applications"
_BROKEN = (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError)


async def probe(http: aiohttp.ClientSession, token: str, api_base: str) -> AsyncIterator[Finding]:
    """What is well and what is not."""
    try:
        status, me = await _asked(http, f"{api_base}/users/@me", token)
        if status != 200:
            yield _refused(status)
            return
        yield well(TOKEN, f"it is the one of {me.get('username')}")
        _, application = await _asked(http, f"{api_base}/applications/@me", token)
        yield _intents(application.get("flags"))
        _, door = await _asked(http, f"{api_base}/gateway/bot", token)
    except _BROKEN as error:
        yield fault(
            TOKEN,
            f"Discord does not answer ({type(error).__name__})",
            why="without it the bot neither hears nor speaks",
            fix="Check this machine's network and proxy, and platforms.discord.api_base if it "
            "is set.",
        )
        return
    for finding in _sign_ins(door.get("session_start_limit")):
        yield finding


async def _asked(
    http: aiohttp.ClientSession, url: str, token: str
) -> tuple[int, Mapping[str, Json]]:
    agent = "DiscordBot (https://github.com, 1.0)"
    headers = {"Authorization": f"Bot {token}", "User-Agent": agent}
    async with http.get(url, headers=headers) as answer:
        body: Json = json.loads(await answer.text())
        return answer.status, body if isinstance(body, dict) else {}


def _refused(status: int) -> Finding:
    if status in {401, 403}:
        return fault(
            TOKEN,
            f"Discord refuses the token ({status})",
            why="it was reset, or is not copied whole; the bot cannot start",
            fix=f"{_PAGE}: your application, Bot, Reset Token; put it into "
            "platforms.discord.token.",
        )
    return fault(
        TOKEN,
        f"Discord answers with an error ({status})",
        why="the bot cannot start while it does",
        fix="Wait and try again; look at platforms.discord.api_base if it is set.",
    )


def _intents(flags: Json) -> Finding:
    if isinstance(flags, int) and flags & MESSAGE_CONTENT:
        return well(INTENTS, "message content is switched on")
    return fault(
        INTENTS,
        "the Message Content intent is switched off",
        why="Discord closes the connection of a bot that wants it (4014), so it cannot start",
        fix=f"{_PAGE}: your application, Bot, Privileged Gateway Intents: switch on Message "
        "Content Intent and save.",
    )


def _sign_ins(limit: Json) -> tuple[Finding, ...]:
    remaining = limit.get("remaining") if isinstance(limit, dict) else None
    if remaining != 0:
        return ()
    return (
        fault(
            SIGN_INS,
            "no sign-in is left today",
            why="a bot may sign in 1,000 times a day; something restarts it in a loop",
            fix="Stop the other processes with this token, and wait a day; or reset the token.",
        ),
    )
