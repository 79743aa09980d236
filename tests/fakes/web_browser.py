"""A browser with the page open, without the page: the same requests, in the same order.

It logs in, reads a chat and follows its events, comes back by itself after a break, and sends
what a person writes in order, again and again under the same id until it is taken. What it shows
is kept as the page keeps it: each message once, by its id, in the order of its time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import unquote

import aiohttp

PAUSE_S = 0.05

T = TypeVar("T")


class _Text(HTMLParser):
    """The words of some HTML, as they are read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"br", "p", "li", "tr"}:
            self.words.append("\n")


def words_of(html: str) -> str:
    """What a person reads of some HTML."""
    reader = _Text()
    reader.feed(html)
    reader.close()
    return "".join(reader.words)


@dataclass(slots=True)
class Item:
    """One message on the page; `what` is as the gateway told it."""

    what: dict[str, Any]
    at: float
    edits: int = 0
    content: bytes = b""

    @property
    def text(self) -> str:
        """What is read."""
        html = str(self.what["html"])
        return words_of(html).strip("\n") if self.what["kind"] == "answer" else words_of(html)


@dataclass(slots=True)
class Window:
    """One chat on the page."""

    items: dict[str, Item] = field(default_factory=dict)
    activity: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    position: str = ""
    resets: int = 0
    reading: bool = False

    def by(self, who: str) -> list[Item]:
        """One side's messages in the order a person reads them."""
        return [item for item in self.items.values() if item.what["who"] == who]

    def put(self, what: dict[str, Any], *, edit: bool = False, content: bytes = b"") -> None:
        """A message as it reads now; an edit of what is not here is none."""
        key = f"{what['who']}:{what['id']}"
        old = self.items.get(key)
        if old is not None:
            before = (old.what["text"], old.what.get("buttons"))
            old.edits += edit and before != (what["text"], what.get("buttons"))
            old.what, old.content = what, content or old.content
        elif not edit:
            self.items[key] = Item(what, float(what["at"]), content=content)
            self.items = dict(sorted(self.items.items(), key=lambda pair: pair[1].at))


@dataclass(slots=True)
class _Letter:
    chat: str
    body: dict[str, object]


class FakeBrowser:
    """`async with` opens it and logs in; `open` shows a chat."""

    def __init__(self, base: str, token: str) -> None:
        self.base = base
        self.windows: dict[str, Window] = defaultdict(Window)
        self.sent: list[tuple[str, dict[str, object]]] = []
        self._token = token
        self._letters: deque[_Letter] = deque()
        self._posted = asyncio.Event()
        self._stirred = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._presses: dict[str, asyncio.Task[str]] = {}
        self._readers: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        self.http = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self._tasks.append(asyncio.create_task(self._post_all(), name="browser-posts"))
        await self.log_in()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        tasks = (*self._tasks, *self._readers.values(), *self._presses.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self.http.close()

    async def log_in(self, token: str | None = None) -> int:
        """Send the token; the status of the answer."""
        form = {"token": self._token if token is None else token, "next": "/"}
        async with self.http.post(
            f"{self.base}/login", data=form, headers=self.origin, allow_redirects=False
        ) as answer:
            return answer.status

    @property
    def origin(self) -> dict[str, str]:
        """What a browser tells of the page that sends."""
        return {"Origin": self.base}

    # Reading

    async def open(self, chat: str) -> Window:
        """Show a chat and follow it; returns once it is read."""
        if chat not in self._readers:
            work = self._follow(chat)
            self._readers[chat] = asyncio.create_task(work, name=f"browser-reads-{chat}")
        await self.until(lambda: self.windows[chat].reading)
        return self.windows[chat]

    async def close(self, chat: str) -> None:
        """Close the chat's tab."""
        task = self._readers.pop(chat)
        task.cancel()
        await asyncio.wait({task})

    async def until(self, predicate: Callable[[], T | None], within_s: float = 10.0) -> T:
        """The predicate's first true value, asked anew at every change."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not (value := predicate()):
                    self._stirred.clear()
                    await self._stirred.wait()
                return value
        shown = {c: [i.text for i in w.items.values()] for c, w in self.windows.items()}
        raise AssertionError(f"not seen within {within_s} s: {shown}")

    async def _follow(self, chat: str) -> None:
        window, whole = self.windows[chat], False
        while True:
            try:
                if not whole:
                    await self._read(chat, window)
                    whole = True
                whole = await self._stream(chat, window)
            except (aiohttp.ClientError, ConnectionError, TimeoutError):
                window.reading = False
                await asyncio.sleep(PAUSE_S)

    async def _read(self, chat: str, window: Window) -> None:
        told = await self.get(f"/api/chats/{chat}")
        window.items.clear()
        for what in told["messages"]:
            window.put(what, content=await self._content(what))
        window.position, window.activity = told["position"], told["activity"]
        self._stirred.set()

    async def _stream(self, chat: str, window: Window) -> bool:
        """Follow the events until the stream ends; False when the chat must be read again."""
        headers = {"Last-Event-ID": window.position, "Accept": "text/event-stream"}
        url = f"{self.base}/api/chats/{chat}/events"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=2)
        async with self.http.get(url, headers=headers, timeout=timeout) as answer:
            if answer.status == 401:
                await self.log_in()
                return True
            answer.raise_for_status()
            async for name, data, position in _events(answer.content):
                if name == "reset":
                    window.resets += 1
                    return False
                await self._take(window, name, json.loads(data))
                window.position = position or window.position
                window.reading = True
                self._stirred.set()
        window.reading = False
        return True

    async def _take(self, window: Window, name: str, what: dict[str, Any]) -> None:
        match name:
            case "message" | "edit":
                content = await self._content(what)
                window.put(what, edit=name == "edit", content=content)
            case "mark":
                window.marks[what["id"]] = what["mark"]
            case "activity":
                window.activity = what
            case "remark":
                window.remarks.append(what["text"])

    async def _content(self, what: dict[str, Any]) -> bytes:
        file = what.get("file")
        if not file:
            return b""
        async with self.http.get(self.base + file["url"]) as answer:
            kept = answer.headers["Content-Disposition"]
            what["saved_as"] = unquote(kept.partition("UTF-8''")[2])
            return await answer.read()

    async def get(self, path: str) -> dict[str, Any]:
        """Read some JSON."""
        async with self.http.get(self.base + path) as answer:
            if answer.status == 401:
                await self.log_in()
                raise aiohttp.ClientError("not logged in")
            answer.raise_for_status()
            told: dict[str, Any] = await answer.json()
            return told

    # Writing

    def say(self, chat: str, text: str, *files: str, reply: str = "") -> str:
        """Write a message; its id. It is sent as soon as it can be."""
        id_ = secrets.token_hex(10)
        body: dict[str, object] = {"id": id_, "text": text, "files": list(files), "reply": reply}
        self._letters.append(_Letter(chat, body))
        self._posted.set()
        return id_

    async def upload(self, chat: str, name: str, content: bytes) -> str:
        """Send a file's bytes; its id."""
        url = f"{self.base}/api/chats/{chat}/files"
        async with self.http.post(
            url, params={"name": name}, data=content, headers=self.origin
        ) as answer:
            answer.raise_for_status()
            return str((await answer.json())["id"])

    def press(self, chat: str, remote: str, command: str) -> str:
        """Press a button; a name for `toast`."""
        body: dict[str, object] = {
            "id": secrets.token_hex(10),
            "message": remote,
            "command": command,
        }
        work = self._press(chat, body)
        self._presses[str(body["id"])] = asyncio.create_task(work, name="browser-press")
        return str(body["id"])

    async def toast(self, press: str, within_s: float) -> str:
        """What a press was answered with."""
        async with asyncio.timeout(within_s):
            return await self._presses[press]

    async def _press(self, chat: str, body: dict[str, object]) -> str:
        _, told = await self.post(f"/api/chats/{chat}/presses", body)
        return str(told.get("text", told.get("error")))

    async def post(self, path: str, body: object, **headers: str) -> tuple[int, dict[str, Any]]:
        """Send some JSON once: the status and the answer."""
        if isinstance(body, dict) and "id" in body:
            self.sent.append((path, body))
        async with self.http.post(
            self.base + path, json=body, headers={**self.origin, **headers}
        ) as answer:
            is_json = answer.content_type == "application/json"
            return answer.status, await answer.json() if is_json else {}

    async def _post_all(self) -> None:
        """Send what was written, the head until it is taken."""
        while True:
            self._posted.clear()
            while self._letters:
                if await self._deliver(self._letters[0]):
                    self._letters.popleft()
                else:
                    await asyncio.sleep(PAUSE_S)
            await self._posted.wait()

    async def _deliver(self, letter: _Letter) -> bool:
        window = self.windows[letter.chat]
        try:
            status, told = await self.post(f"/api/chats/{letter.chat}/messages", letter.body)
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            return False
        if status == 401:
            await self.log_in()
            return False
        if status == 200:
            window.put(told["message"])
        else:
            window.errors.append(str(told.get("error", status)))
        self._stirred.set()
        return status < 500


async def _events(stream: aiohttp.StreamReader) -> AsyncIterator[tuple[str, str, str]]:
    """Server-sent events as (name, data, id)."""
    fields: dict[str, str] = {}
    async for raw in stream:
        line = raw.decode().rstrip("\r\n")
        if not line:
            if fields:
                yield fields.get("event", "message"), fields.get("data", ""), fields.get("id", "")
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
