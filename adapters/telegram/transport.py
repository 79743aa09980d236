"""python-telegram-bot's HTTP over aiohttp: one connection pool, with Telegram's cool-downs.

PTB's own runs on httpx, which takes several times the CPU for a call and looks at all idle
connections for each (docs/adr/0007). Logs nothing: every URL holds the token. What aiohttp raised
is the `__cause__` of the error, which tells whether bytes were written.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Sequence

import aiohttp
from telegram._utils.defaultvalue import DefaultValue
from telegram._utils.types import ODVInput
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

from adapters.telegram.errors import Flooded
from core.transcript import Json

EMPTY_BATCH = b'{"ok":true,"result":[]}'
KEEPALIVE_S = 30.0


class Calls(BaseRequest):
    """A pool of `size` connections. The session is made in the first call, inside a loop."""

    __slots__ = ("_connect_s", "_read_s", "_session", "_size", "_tls")

    def __init__(self, *, size: int, read_s: float, connect_s: float, tls: ssl.SSLContext) -> None:
        super().__init__()
        self._size = size
        self._read_s = read_s
        self._connect_s = connect_s
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float:
        """See `BaseRequest.read_timeout`."""
        return self._read_s

    async def initialize(self) -> None:
        """See `BaseRequest.initialize`; the first call does it as well."""
        self._opened()

    async def shutdown(self) -> None:
        """Close the connections; a later call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._size, ssl=self._tls, keepalive_timeout=KEEPALIVE_S
                ),
                headers={"User-Agent": self.USER_AGENT},
                trust_env=True,  # proxies are named by HTTPS_PROXY
            )
        return self._session

    async def do_request(  # noqa: PLR0913, PLR0917 - the signature is the base class's
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: ODVInput[float] = BaseRequest.DEFAULT_NONE,
        write_timeout: object = BaseRequest.DEFAULT_NONE,
        connect_timeout: object = BaseRequest.DEFAULT_NONE,
        pool_timeout: object = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """Send it; raises `Flooded` for a 429 that names its time.

        Of the timeouts only `read_timeout` counts. With files it is the limit of the whole call;
        a request without is small enough to be written at once.
        """
        read_s = self._read_s if isinstance(read_timeout, DefaultValue) else read_timeout
        files = request_data is not None and request_data.contains_files
        limits = aiohttp.ClientTimeout(
            total=read_s if files else None, sock_connect=self._connect_s, sock_read=read_s
        )
        try:
            async with self._opened().request(
                method, url, data=_body(request_data), timeout=limits, allow_redirects=False
            ) as answer:
                code, payload = answer.status, await answer.read()
        except TimeoutError as error:
            raise TimedOut from error
        except (aiohttp.ClientError, OSError) as error:
            raise NetworkError(f"{type(error).__name__}: {error}") from error
        if code == 429 and (seconds := _told_to_wait(payload)):
            raise Flooded(seconds)
        return self.keep(code, payload)

    def keep(self, code: int, payload: bytes) -> tuple[int, bytes]:
        """What PTB gets to see of an answer."""
        return code, payload


class Updates(Calls):
    """The getUpdates connection; keeps each batch raw.

    PTB turns a batch into objects as a whole, so that one malformed update takes all with it.
    Here the batch is put aside before PTB sees it, and its members are parsed one by one.
    """

    __slots__ = ("batch",)

    batch: Sequence[Json]

    def keep(self, code: int, payload: bytes) -> tuple[int, bytes]:
        """Put the batch of a good answer aside for `Link.updates`."""
        self.batch = ()
        if code != 200:
            return code, payload
        try:
            result = json.loads(payload)["result"]
        except (ValueError, KeyError, TypeError):
            return code, payload  # not the Bot API's: PTB says so
        if not isinstance(result, list):
            return 502, b""
        self.batch = result
        return code, EMPTY_BATCH


def _body(data: RequestData | None) -> aiohttp.FormData | dict[str, str] | None:
    if data is None:
        return None
    if not data.contains_files:
        return data.json_parameters or None
    form = aiohttp.FormData(data.json_parameters)
    for name, (file_name, content, kind) in data.multipart_data.items():
        form.add_field(name, content, filename=file_name, content_type=kind)
    return form


def _told_to_wait(payload: bytes) -> float:
    try:
        return float(json.loads(payload)["parameters"]["retry_after"])
    except (ValueError, KeyError, TypeError):
        return 0.0
