"""The SDK's errors, and a stream's own, as failures that say what helps. Does no I/O.

Every sentence names the endpoint's address and what to change, by the name of the place where
the person has it: a key of the file, or a variable. A key never gets into one, not even where the
server repeats it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp
import httpx2
import openai

from adapters.openai.accumulate import StreamError
from core.ports import FailureKind, ModelFailure


class CutStream(Exception):
    """The stream ended before the answer did."""


class NotAnApi(Exception):
    """The endpoint answered 200 with something that is no completion, such as a web page."""


# What a call can raise that is the provider's fault: a corrupt chunk comes out of the SDK as the
# bare error of the json module or of the UTF-8 decoder.
FAULTS = (
    openai.OpenAIError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    json.JSONDecodeError,
    UnicodeDecodeError,
    StreamError,
    CutStream,
    NotAnApi,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What the sentences name: the address, the places of its settings, the key to keep out.

    `base_url_key` is "" for the embedded model, whose address and key nobody sets, `proxy_key`
    where no setting names a proxy.
    """

    model_id: str
    base_url: str
    api: str
    base_url_key: str
    api_key_key: str
    model_key: str
    connect_s: float
    stall_s: float
    proxy_key: str = ""
    secret: str = field(default="", repr=False)

    @property
    def endpoint(self) -> str:
        """The address without a user, a password or a query; the embedded model by its name."""
        if not self.base_url_key:
            return "the embedded model"
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def or_another(self) -> str:
        """The question whether this is the right endpoint at all, behind a colon."""
        if not self.base_url_key:
            return ""
        return f": is it a {self.api} endpoint, and is {self.base_url_key} right?{self.v1()}"

    def v1(self) -> str:
        """A hint at the usual end of the address, where it has no version."""
        if not self.base_url_key or _VERSION.search(urlsplit(self.base_url).path):
            return ""
        return " (it usually ends in /v1)"

    def redacted(self, text: str) -> str:
        """A server's text without the key."""
        return text.replace(self.secret, "***") if self.secret else text


# The words for a request that is longer than the window, of OpenAI and what imitates it.
_OVERFLOW = re.compile(
    "|".join(
        (
            r"context_length_exceeded|model_context_window_exceeded|exceed_context_size",
            r"maximum context length|maximum prompt length|maximum model length",
            r"max(?:imum)? (?:context|sequence) (?:window|size|length)",
            r"exceeds? (?:the |your |this )?(?:model'?s? )?(?:available |maximum )?context",
            r"exceeds? the (?:available )?(?:context|maximum number of tokens)",
            r"prompt is too long|input is too long|request_too_large|too many input tokens",
            r"prompt contains \d+ tokens.*too large",
            r"input length and `?max_tokens`? exceed|context (?:window|limit) (?:is )?exceeded",
            r"exceeds? context limit|reduce the length of the (?:messages|input|prompt)",
            r"context the overflows|tokens in your prompt.*exceed|larger than the context",
        )
    )
)
_NATIVE = (aiohttp.ClientError, OSError)  # OSError: a TimeoutError too
_VERSION = re.compile(r"/v\d")
_NO_CREDIT = re.compile(r"insufficient_quota|insufficient.{0,12}(?:credit|balance|fund)|billing")


def failure_of(error: Exception, where: Where) -> ModelFailure:
    """The failure that one of FAULTS means."""
    match error:
        case openai.APIStatusError():
            return _refusal(error.status_code, error.body, where, retry_after(error.response))
        case openai.APIConnectionError():
            return _no_connection(error.__cause__, where)
        case openai.APIError() | StreamError():
            return _in_stream(error.body, where)
        case NotAnApi():
            said = f"{where.endpoint} answered with {error}, not with a model's reply"
            return ModelFailure(FailureKind.PERMANENT, said + where.or_another())
        case CutStream():
            return _transient(
                f"{where.endpoint} ended the answer before it was complete{where.or_another()}"
            )
        case json.JSONDecodeError() | UnicodeDecodeError():
            return _transient(
                f"{where.endpoint} sent an answer that cannot be read{where.or_another()}"
            )
        case _:
            return _no_connection(error, where)


def words_of(body: object) -> str:
    """All that an error body says, for looking for words in it; nothing of a web page."""
    if isinstance(body, str):
        return "" if body.lstrip().startswith("<") else body
    return json.dumps(body, ensure_ascii=False, default=str) if body else ""


def retry_after(response: httpx2.Response) -> float | None:
    """The wait in seconds that a response asks for; a date counts from its own Date header."""
    headers = response.headers
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        return wait if 0 <= wait < float("inf") else None
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
        now = parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (then - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _refusal(status: int, body: object, where: Where, wait: float | None) -> ModelFailure:
    words = words_of(body).lower()
    if status == 413 or (status not in {401, 403, 404, 429} and _OVERFLOW.search(words)):
        return _overflow(where)
    said = _said(body, where)
    if status == 402 or (status == 429 and _NO_CREDIT.search(words)):
        return ModelFailure(
            FailureKind.PERMANENT,
            f"the account at {where.endpoint} has no credit left{said}: top it up, or set "
            f"another key in {where.api_key_key}",
        )
    if status == 429:
        return _transient(f"{where.endpoint} is limiting requests{said}", wait)
    if status in {408, 409, 425} or status >= 500:
        return _transient(
            f"{where.endpoint} failed with status {status}{said}{_look(status, where)}", wait
        )
    return ModelFailure(FailureKind.PERMANENT, _advice(status, said, where))


def _look(status: int, where: Where) -> str:
    """What to look at when a server fails: overload passes, a wrong server does not."""
    if status in {408, 409, 425, 429, 503, 529}:
        return ": it may be overloaded; try again later"
    return where.or_another()


def _advice(status: int, said: str, where: Where) -> str:
    """What to change after a refusal that will repeat itself."""
    if not where.base_url_key:
        return f"{where.endpoint} refused the request with status {status}{said}"
    match status:
        case 401:
            return f"{where.endpoint} does not accept the API key{said}: set {where.api_key_key}"
        case 403:
            return (
                f"{where.endpoint} does not let this key use {where.model_id!r}{said}: check "
                f"{where.api_key_key} and {where.model_key}"
            )
        case 404 | 405:
            return (
                f"{where.endpoint} knows no model {where.model_id!r}{said}: check "
                f"{where.model_key} and {where.base_url_key}{where.v1()}"
            )
        case _:
            return (
                f"{where.endpoint} refused the request with status {status}{said}: check "
                f"{where.model_key.removesuffix('.model')}{_by_proxy(where)}"
            )


def _in_stream(body: object, where: Where) -> ModelFailure:
    """An error object inside a stream: the status is gone, a code may stand for it."""
    words = words_of(body).lower()
    code = _code(body)
    if _OVERFLOW.search(words):
        return _overflow(where)
    if 400 <= code < 500:
        return _refusal(code, body, where, None)
    return _transient(f"{where.endpoint} broke off the answer{_said(body, where)}")


def _no_connection(cause: BaseException | None, where: Where) -> ModelFailure:
    """By aiohttp's own error: the SDK's transport makes a connect timeout of most. To a proxy
    httpx goes by itself, and its names are right."""
    url = where.endpoint
    native = cause.__cause__ if isinstance(cause, httpx2.HTTPError) else None
    match native if isinstance(native, _NATIVE) else cause:
        case aiohttp.ConnectionTimeoutError() | httpx2.ConnectTimeout():
            return _transient(
                f"cannot reach {url}: no connection in {where.connect_s:g} s{_by_proxy(where)}"
            )
        case aiohttp.ClientConnectorError() | aiohttp.ClientHttpProxyError() as error:
            return _unreachable(error, where)
        case httpx2.ConnectError() | httpx2.ProxyError() as error:
            return _unreachable(error, where)
        case TimeoutError() | httpx2.TimeoutException():
            return _transient(f"{url} sent nothing for {where.stall_s:g} s")
        case aiohttp.InvalidURL() | httpx2.InvalidURL() | httpx2.TooManyRedirects():
            look = f"{url} cannot be called: check {where.base_url_key}"
            return ModelFailure(FailureKind.PERMANENT, look)
        case _:
            return _transient(f"the connection to {url} broke{_by_proxy(where)}")


def _unreachable(error: Exception, where: Where) -> ModelFailure:
    key = where.base_url_key
    look = f": is it running, and is {key} right?" if key else ""
    reached = f"cannot reach {where.endpoint} ({_reason(error)})"
    return _transient(reached + (_by_proxy(where) or look))


def _by_proxy(where: Where) -> str:
    """The question that a proxy in between raises."""
    key = where.proxy_key
    return f"; it goes through a proxy: is that running, and is {key} right?" if key else ""


def _reason(error: BaseException) -> str:
    """The system's words at the bottom of a chain of connection errors."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or "the connection failed"


def _said(body: object, where: Where) -> str:
    """The server's own sentence in brackets, short and without the key; "" when it has none."""
    text = body if isinstance(body, str) else ""
    if isinstance(body, Mapping):
        inner = body.get("error")
        told = inner if isinstance(inner, Mapping) else body
        text = str(told.get("message") or told.get("detail") or "")
    text = " ".join(where.redacted(text).split()).rstrip(".")
    if not text or text.startswith("<"):
        return ""
    return f" ({text if len(text) <= 300 else text[:299] + '…'})"


def _code(body: object) -> int:
    if not isinstance(body, Mapping):
        return 0
    for key in ("code", "status_code", "status"):
        code = body.get(key)
        if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()):
            return int(code)
    told = f"{body.get('type')} {body.get('code')}".lower()
    return 429 if "rate_limit" in told or "insufficient_quota" in told else 0


def _overflow(where: Where) -> ModelFailure:
    return ModelFailure(
        FailureKind.OVERFLOW,
        f"the conversation is longer than the window of {where.model_id} at {where.endpoint}",
    )


def _transient(message: str, wait: float | None = None) -> ModelFailure:
    return ModelFailure(FailureKind.TRANSIENT, message, wait)
