"""The fake Discord's REST side: simcord's semantics, with what it leaves out put in front.

That is: `enforce_nonce`, archived threads, the limit of a file, the paging of history, and the
bodies of real HTTP requests. It knows nothing of sockets or faults.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from aiohttp import BodyPartReader, web
from simcord.backend import Backend
from simcord.backend.errors import BackendError
from simcord.http import dispatch, routes  # noqa: F401 - importing the routes registers them

Obj: TypeAlias = dict[str, Any]

MAX_FILE = 10 * 1024 * 1024
OPEN_PATHS = ("interactions/", "webhooks/")
"""These carry a token of their own."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a request, as simcord takes it."""

    filename: str
    fp: io.BytesIO
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, read."""

    method: str
    path: str
    params: dict[str, str]
    body: Any
    files: tuple[Upload, ...] = ()

    @property
    def parts(self) -> list[str]:
        """The path's words."""
        return self.path.strip("/").split("/")

    @property
    def kind(self) -> str:
        """What faults are planned for: send, edit, react, typing, callback, sync, history, …"""
        parts = self.parts
        match (self.method, parts):
            case ("POST", ["channels", _, "messages"]):
                return "send"
            case ("PATCH", ["channels", _, "messages", _]):
                return "edit"
            case ("GET", ["channels", _, "messages"]):
                return "history"
            case ("PUT" | "DELETE", ["channels", _, "messages", _, "reactions", *_]):
                return "react" if self.method == "PUT" else "unreact"
            case ("POST", ["channels", _, "typing"]):
                return "typing"
            case ("PATCH", ["channels", _]):
                return "channel"
            case ("POST", ["interactions", _, _, "callback"]):
                return "callback"
            case ("PUT", ["applications", _, "commands"]):
                return "sync"
            case ("GET", ["users", "@me"]):
                return "me"
        return f"{self.method} {self.path}"

    @property
    def channel(self) -> int | None:
        """The channel it is about."""
        parts = self.parts
        if parts[0] != "channels" or not parts[1].isdecimal():
            return None
        return int(parts[1])


async def read(request: web.Request) -> Asked:
    """The request with its JSON or form."""
    body: Any = None
    files: list[Upload] = []
    if request.content_type == "application/json":
        body = await request.json()
    elif request.content_type.startswith("multipart/"):
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            content = bytes(await part.read())
            if part.name == "payload_json":
                body = json.loads(content)
            else:
                files.append(Upload(part.filename or "file", io.BytesIO(content)))
    path = "/" + unquote(request.match_info["path"])
    return Asked(request.method, path, dict(request.query), body, tuple(files))


class Rest:
    """Answers requests by the world that simcord keeps."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._nonces: dict[tuple[int, str], Obj] = {}
        self.formatted_refused: set[int] = set()
        """Channels whose next formatted post is refused as malformed."""

    def answer(self, asked: Asked) -> Any:
        """The answer's JSON, None for none. Raises BackendError as Discord refuses."""
        if any(len(file.fp.getbuffer()) > MAX_FILE for file in asked.files):
            raise BackendError(413, 40005, "Request entity too large")
        match asked.kind:
            case "send":
                return self._send(asked)
            case "edit":
                self._check_open(asked)
            case "history":
                return self._history(asked)
        return self._pass_on(asked)

    def _pass_on(self, asked: Asked) -> Any:
        return dispatch(
            self._backend,
            asked.method,
            asked.path,
            json=asked.body,
            params=dict(asked.params),
            files=list(asked.files),
        )

    def _send(self, asked: Asked) -> Any:
        self._check_open(asked)
        channel = asked.channel or 0
        nonce = str(asked.body.get("nonce", ""))
        if asked.body.get("enforce_nonce") and (known := self._nonces.get((channel, nonce))):
            return known
        if channel in self.formatted_refused and is_formatted(asked.body.get("content") or ""):
            self.formatted_refused.discard(channel)
            raise BackendError(400, 50035, "Invalid Form Body")
        made = {**self._pass_on(asked), "nonce": nonce}
        if nonce:
            self._nonces[channel, nonce] = made
        return made

    def _check_open(self, asked: Asked) -> None:
        channel = self._backend.channels.get(asked.channel or 0)
        if channel is None or channel.thread_metadata is None:
            return
        if channel.thread_metadata.archived:
            raise BackendError(400, 50083, "Thread is archived")

    def _history(self, asked: Asked) -> Any:
        """After an id Discord gives the oldest first page, the newest of it first."""
        if "after" not in asked.params:
            return self._pass_on(asked)
        limit = int(asked.params.get("limit", 50))
        every = Asked(asked.method, asked.path, {**asked.params, "limit": "100000"}, None)
        return self._pass_on(every)[-limit:]


def is_formatted(content: str) -> bool:
    """Whether Discord would render anything: a mark without a backslash before it."""
    plain = content.replace("\\\\", "")
    return any(
        mark in "*_`~|#[" and (at == 0 or plain[at - 1] != "\\") for at, mark in enumerate(plain)
    )
