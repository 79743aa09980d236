"""One model of a provider behind the `Model` port, over the openai SDK.

Always streams, and owns the only retry layer. It knows nothing of turns, tools or goals.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import openai
import stamina
import structlog

from adapters.openai.accumulate import ChatStream, Heard
from adapters.openai.dialect import Dialect, refused, without
from adapters.openai.encode import (
    chat_body,
    effort_of,
    estimated_input,
    estimated_tokens,
    responses_body,
)
from adapters.openai.errors import FAULTS, CutStream, NotAnApi, Where, failure_of, words_of
from adapters.openai.options import ModelOptions
from adapters.openai.prices import PriceTag
from adapters.openai.provider import Provider
from adapters.openai.responses import ResponseStream
from core.ports import Completion, FailureKind, ModelFailure, Reply, Request, Usage

_ATTEMPTS = 3
_WAIT_MAX_S = 8.0

OnText: TypeAlias = Callable[[str], None]
Listener: TypeAlias = ChatStream | ResponseStream


class _Failed(Exception):
    """Carries a failure through the retries; its text is fit for a log."""

    def __init__(self, failure: ModelFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class _Call:
    """One `complete`: when it must be over, on the loop's clock, and what went wrong so far."""

    request: Request
    on_text: OnText | None
    ends: float
    last: ModelFailure | None = None
    listener: Listener | None = None


class OpenAIModel:
    """A `Model`. Models of one provider share its connections and may run side by side.

    A call that breaks before its end is made again, at most twice and within its deadline: a
    model call changes nothing outside. `on_text` then hears the new answer from its beginning,
    with nothing to mark the seam; what it shows is progress, only the reply counts.
    """

    def __init__(self, options: ModelOptions, provider: Provider) -> None:
        at = provider.options
        self.name = options.name
        self.context_tokens = options.context_tokens
        self.max_output_tokens = options.max_output_tokens
        self._options = options
        self._provider = provider
        self._chat = at.api_mode == "chat"
        self._dialect = Dialect(json_schema=at.json_schema, stream_options=at.stream_options)
        self._price = PriceTag.of_model(options, at)
        self._where = Where(
            model_id=options.model,
            base_url=at.base_url,
            api="chat-completions" if self._chat else "responses",
            base_url_key="" if at.embedded else at.base_url_place,
            api_key_key=at.api_key_place,
            model_key=options.model_place,
            connect_s=at.connect_s,
            stall_s=at.stall_s,
            proxy_key=at.proxy_place if at.proxy else "",
            secret=at.api_key,
        )
        self._log = structlog.get_logger(__name__)

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Run one call to its end; see the port."""
        timeout_s = self._provider.options.timeout_s
        limit_s = timeout_s if request.deadline_s is None else request.deadline_s
        call = _Call(request, on_text, asyncio.get_running_loop().time() + limit_s)
        try:
            async with asyncio.timeout_at(call.ends):
                return await self._with_retries(call)
        except TimeoutError:
            return call.last or ModelFailure(
                FailureKind.TRANSIENT,
                f"{self._where.model_id} at {self._where.endpoint} did not finish its answer "
                f"within {limit_s:g} s",
            )

    def price(self, usage: Usage) -> float | None:
        """What `usage` costs in US dollars; None where no price is known."""
        return self._price.of(usage)

    async def _with_retries(self, call: _Call) -> Completion:
        backoff_s = self._provider.options.backoff_s
        attempts = stamina.retry_context(
            on=lambda error: self._again(error, call),
            attempts=_ATTEMPTS,
            timeout=None,
            wait_initial=backoff_s,
            wait_max=_WAIT_MAX_S,
            wait_jitter=backoff_s,
        ).with_name(f"a call of {self.name}", (), {})
        try:
            async for attempt in attempts:
                with attempt:
                    return await self._once(call)
        except _Failed as failed:
            return failed.failure
        raise AssertionError("retries ended without an outcome")

    def _again(self, error: Exception, call: _Call) -> bool | float:
        """Whether to call again, or after how many seconds the server says."""
        if not isinstance(error, _Failed) or error.failure.kind is not FailureKind.TRANSIENT:
            return False
        call.last = error.failure
        wait = error.failure.retry_after
        if wait is None:
            return True
        return wait if asyncio.get_running_loop().time() + wait < call.ends else False

    async def _once(self, call: _Call) -> Reply:
        """One attempt, put again at once in a simpler dialect where the server asks for that."""
        while True:
            sent = self._dialect_for(call.request)
            try:
                return await self._attempt(call, sent)
            except openai.APIStatusError as error:
                field = refused(sent, error.status_code, words_of(error.body))
                failure = failure_of(error, self._where)
                if field is None or failure.kind is FailureKind.OVERFLOW:
                    raise _Failed(failure) from error
                self._dialect = without(self._dialect, field)
                self._log.warning("model.field_refused", model=self.name, field=field)
            except FAULTS as error:
                failure = replace(failure_of(error, self._where), usage=self._spent(call))
                raise _Failed(failure) from error

    async def _attempt(self, call: _Call, sent: Dialect) -> Reply:
        request = call.request
        # The length of the history differs at every step of a session.
        salt = str(len(request.messages))
        tools = [tool.name for tool in request.tools]
        if self._chat:
            path, body = "/chat/completions", chat_body(request, self._options, sent)
            listener: Listener = ChatStream(salt, tools)
        else:
            path, body = "/responses", responses_body(request, self._options, sent)
            listener = ResponseStream(salt, tools)
        call.listener = listener
        await self._listen(path, body, listener, call.on_text)
        return self._reply(listener.end(), request)

    async def _listen(
        self, path: str, body: bytes, listener: Listener, on_text: OnText | None
    ) -> None:
        async with self._provider.stream(path, body) as stream:
            kind = stream.response.headers.get("content-type", "")
            if "html" in kind:
                raise NotAnApi("a web page")
            if kind.startswith("application/json"):
                # The server takes no `stream` and sends the whole answer at once.
                piece = listener.feed(json.loads(await stream.response.aread()))
                if piece and on_text is not None:
                    on_text(piece)
                return
            async for chunk in stream:
                piece = listener.feed(chunk)
                if piece and on_text is not None:
                    on_text(piece)

    def _reply(self, heard: Heard, request: Request) -> Reply:
        usage = self._usage(heard, request)
        match heard.finish:
            case "" | "error":
                raise CutStream
            case "content_filter" if not heard.calls:
                raise _Failed(
                    ModelFailure(
                        FailureKind.PERMANENT,
                        f"the content filter of {self._where.endpoint} stopped the answer: put "
                        f"the request in other words or use another model",
                        usage=usage,
                    )
                )
            case finish:
                return Reply(heard.text, heard.calls, usage, cut=finish == "length")

    def _spent(self, call: _Call) -> Usage:
        """What a broken answer has cost: nothing before its first word."""
        heard = call.listener.end() if call.listener is not None else None
        return self._usage(heard, call.request) if heard is not None and heard.chars else Usage()

    def _usage(self, heard: Heard, request: Request) -> Usage:
        counted = heard.counted
        if counted is None:
            usage = Usage(estimated_input(request), 0, estimated_tokens(heard.chars))
            return replace(usage, cost=self.price(usage) or 0.0)
        usage = Usage(counted.input_tokens, counted.cached_tokens, counted.output_tokens)
        if counted.cost is not None and self._options.price is None:
            return replace(usage, cost=counted.cost)
        return replace(usage, cost=self.price(usage) or 0.0)

    def _dialect_for(self, request: Request) -> Dialect:
        """The dialect less what this request has no use for, so that only what was really sent
        can be taken for refused."""
        heat = self._options.temperature if request.temperature is None else request.temperature
        return replace(
            self._dialect,
            json_schema=self._dialect.json_schema and request.schema is not None,
            stream_options=self._dialect.stream_options and self._chat,
            temperature=self._dialect.temperature and heat is not None,
            effort=self._dialect.effort and bool(effort_of(request, self._options)),
        )
