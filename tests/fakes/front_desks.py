"""The calls with which Telegram, Discord and Slack say what a token may do, on one server.

The fakes of the platforms themselves are for talking; these are for what a person has set up
wrong: a revoked token, an intent that is off, a missing scope, and a server whose time is not
ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import formatdate
from time import time
from typing import Self

from aiohttp import web

from adapters.slack.menu import SCOPES

CONTENT = 1 << 19


@dataclass(slots=True)
class FrontDesks:
    """`async with` serves; the fields say what is set up, and tests change them."""

    telegram_token: str = "4242:" + "t" * 35
    discord_token: str = "MTIz.abc.def"
    slack_bot_token: str = "xoxb-1-bot"
    slack_app_token: str = "xapp-1-app"
    reads_groups: bool = True
    webhook: dict[str, object] = field(default_factory=dict)
    flags: int = CONTENT
    sign_ins: int = 900
    scopes: tuple[str, ...] = SCOPES
    socket_mode: bool = True
    ahead_s: float = 0.0
    """How far the servers' clocks are before ours."""
    port: int = 0
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/bot{token}/getMe", self._get_me)
        app.router.add_get("/bot{token}/getWebhookInfo", self._webhook_info)
        app.router.add_get("/api/v10/{what:.+}", self._discord)
        app.router.add_post("/slack/{method}", self._slack)
        app.on_response_prepare.append(self._date)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def platforms(self) -> dict[str, dict[str, object]]:
        """All three platforms, as settings that point here."""
        return {
            "telegram": {
                "enabled": True,
                "token": self.telegram_token,
                "base_url": f"{self.url}/bot",
            },
            "discord": {
                "enabled": True,
                "token": self.discord_token,
                "api_base": f"{self.url}/api/v10",
            },
            "slack": {
                "enabled": True,
                "bot_token": self.slack_bot_token,
                "app_token": self.slack_app_token,
                "base_url": f"{self.url}/slack/",
            },
        }

    async def _date(self, _: web.Request, answer: web.StreamResponse) -> None:
        answer.headers["Date"] = formatdate(time() + self.ahead_s, usegmt=True)

    async def _get_me(self, request: web.Request) -> web.Response:
        if request.match_info["token"] != self.telegram_token:
            refusal = {"ok": False, "error_code": 401, "description": "Unauthorized"}
            return web.json_response(refusal, status=401)
        me = {"id": 4242, "is_bot": True, "first_name": "P", "username": "pursuit_bot"}
        me["can_read_all_group_messages"] = self.reads_groups
        return web.json_response({"ok": True, "result": me})

    async def _webhook_info(self, _: web.Request) -> web.Response:
        return web.json_response({"ok": True, "result": {"url": "", **self.webhook}})

    async def _discord(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bot {self.discord_token}":
            return web.json_response({"message": "401: Unauthorized", "code": 0}, status=401)
        answers: dict[str, dict[str, object]] = {
            "users/@me": {"id": "1", "username": "Pursuit", "bot": True},
            "applications/@me": {"id": "1", "name": "Pursuit", "flags": self.flags},
            "gateway/bot": {
                "url": "wss://x",
                "shards": 1,
                "session_start_limit": {"total": 1000, "remaining": self.sign_ins},
            },
        }
        found = answers.get(request.match_info["what"])
        return web.json_response(
            found or {"message": "404: Not Found"}, status=200 if found else 404
        )

    async def _slack(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        match request.match_info["method"]:
            case "auth.test" if token == self.slack_bot_token:
                answer: dict[str, object] = {"ok": True, "user": "pursuit", "team": "Acme"}
                granted = {"x-oauth-scopes": ",".join(self.scopes)}
                return web.json_response(answer, headers=granted)
            case "apps.connections.open" if token == self.slack_app_token and self.socket_mode:
                answer = {"ok": True, "url": "wss://x"}
            case _:
                answer = {"ok": False, "error": "invalid_auth"}
        return web.json_response(answer)
