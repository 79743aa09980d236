"""The SDK's errors as failures: their kinds, their sentences, and the key that stays out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import aiohttp
import httpx2
import openai
import pytest
from aiohttp.client_reqrep import ConnectionKey
from openai._vendor.httpx_aiohttp.transport import map_aiohttp_exceptions

from adapters.openai.accumulate import StreamError
from adapters.openai.errors import CutStream, NotAnApi, Where, failure_of, retry_after
from adapters.openai.options import ModelOptions, Price, ProviderOptions
from adapters.openai.prices import PriceTag
from core.ports import FailureKind, ModelFailure, Usage
from tests.fakes.openai_wordings import OVERFLOWS

KEY = "sk-very-secret"
WHERE = Where(
    model_id="vendor/sonnet",
    base_url="https://user:pw@example.org/v1?x=1",
    api="chat-completions",
    base_url_key="providers.router.base_url",
    api_key_key="providers.router.api_key",
    model_key="models.sonnet.model",
    connect_s=5,
    stall_s=90,
    secret=KEY,
)
AT = "https://example.org/v1"
LOOK = "is it a chat-completions endpoint, and is providers.router.base_url right?"
REQUEST = httpx2.Request("POST", "https://example.org/v1/chat/completions")


def refused(
    status: int, error: object, headers: Mapping[str, str] | None = None
) -> openai.APIStatusError:
    response = httpx2.Response(status, headers=headers, json=error, request=REQUEST)
    return openai.APIStatusError("refused", response=response, body=error)


def failure(status: int, message: str = "no", **more: object) -> ModelFailure:
    return failure_of(refused(status, {"message": message, **more}), WHERE)


@pytest.mark.parametrize(
    ("status", "names"),
    [
        (400, "models.sonnet"),
        (401, "providers.router.api_key"),
        (402, "providers.router.api_key"),
        (403, "models.sonnet.model"),
        (404, "models.sonnet.model"),
        (404, "providers.router.base_url"),
        (422, "models.sonnet"),
    ],
)
def test_a_permanent_failure_names_what_to_change(status: int, names: str) -> None:
    found = failure(status)
    assert found.kind is FailureKind.PERMANENT
    assert names in found.message


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_these_may_go_well_later(status: int) -> None:
    assert failure(status).kind is FailureKind.TRANSIENT


def test_a_spent_account_is_no_rate_limit() -> None:
    found = failure(429, "You exceeded your current quota", code="insufficient_quota")
    assert found.kind is FailureKind.PERMANENT
    assert "no credit left" in found.message


@pytest.mark.parametrize("style", sorted(OVERFLOWS))
def test_overflow_is_known_in_every_wording(style: str) -> None:
    status, error = OVERFLOWS[style]
    assert failure_of(refused(status, error), WHERE).kind is FailureKind.OVERFLOW
    if status == 400:
        assert failure_of(StreamError(error), WHERE).kind is FailureKind.OVERFLOW


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Invalid value for 'content': expected a string, got null.",
        "image is too large",
    ],
)
def test_other_refusals_are_no_overflow(message: str) -> None:
    assert failure(400, message).kind is FailureKind.PERMANENT


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT",
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:27:00 GMT",
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_in_all_its_forms(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(httpx2.Response(429, headers=headers)) == wait
    found = failure_of(refused(429, {"message": "slow down"}, headers), WHERE)
    assert (found.kind, found.retry_after) == (FailureKind.TRANSIENT, wait)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"message": "Provider disconnected", "code": 502}, FailureKind.TRANSIENT),
        ({"message": "odd"}, FailureKind.TRANSIENT),
        ({"message": "slow", "type": "rate_limit_error"}, FailureKind.TRANSIENT),
        ({"message": "bad key", "code": "401"}, FailureKind.PERMANENT),
        ({"message": "paid up", "code": "insufficient_quota"}, FailureKind.PERMANENT),
    ],
)
def test_an_error_in_mid_stream_goes_by_its_code(
    body: dict[str, object], kind: FailureKind
) -> None:
    assert failure_of(StreamError(body), WHERE).kind is kind
    sdk = openai.APIError("broke", REQUEST, body=body)
    assert failure_of(sdk, WHERE).kind is kind


PLACE = ConnectionKey("example.org", 443, True, False, None, None, None)


def no_connection(cause: Exception) -> ModelFailure:
    """What the SDK raises for an error of aiohttp, mapped by its transport as it maps it."""
    error = openai.APIConnectionError(request=REQUEST)
    try:
        with map_aiohttp_exceptions():
            raise cause
    except httpx2.HTTPError as mapped:
        error.__cause__ = mapped
    return failure_of(error, WHERE)


def test_an_unreachable_endpoint_is_named_without_its_password() -> None:
    refused = ConnectionRefusedError(111, "Connection refused")
    found = no_connection(aiohttp.ClientConnectorError(PLACE, refused))
    assert found.kind is FailureKind.TRANSIENT
    assert found.message == (
        "cannot reach https://example.org/v1 (Connection refused): "
        "is it running, and is providers.router.base_url right?"
    )


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            aiohttp.ConnectionTimeoutError(),
            "cannot reach https://example.org/v1: no connection in 5 s",
        ),
        (aiohttp.SocketTimeoutError(), "https://example.org/v1 sent nothing for 90 s"),
        (aiohttp.ServerDisconnectedError(), "the connection to https://example.org/v1 broke"),
        (aiohttp.ClientOSError(104, "reset"), "the connection to https://example.org/v1 broke"),
        (aiohttp.ClientPayloadError(), "the connection to https://example.org/v1 broke"),
    ],
)
def test_a_lost_connection_says_how_it_was_lost(cause: Exception, words: str) -> None:
    found = no_connection(cause)
    assert (found.kind, found.message) == (FailureKind.TRANSIENT, words)


def test_an_address_that_cannot_be_called_is_permanent() -> None:
    assert no_connection(aiohttp.InvalidUrlClientError("x")).kind is FailureKind.PERMANENT
    page = failure_of(NotAnApi("a web page"), WHERE)
    assert page.kind is FailureKind.PERMANENT
    assert "providers.router.base_url" in page.message


@pytest.mark.parametrize("error", [CutStream(), json.JSONDecodeError("x", "y", 0)])
def test_a_broken_answer_may_be_whole_the_next_time(error: Exception) -> None:
    assert failure_of(error, WHERE).kind is FailureKind.TRANSIENT


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 429, 500])
def test_the_key_is_in_no_message_even_where_the_server_says_it(status: int) -> None:
    found = failure(status, f"Incorrect API key provided: {KEY}.")
    assert KEY not in repr(found)
    assert "***" in found.message
    assert KEY not in repr(WHERE)
    assert KEY not in repr(ProviderOptions(name="a", base_url="http://b", api_key=KEY))


def test_a_servers_sentence_is_short_and_never_a_page() -> None:
    assert len(failure(400, "no " * 1_000).message) < 500
    page = openai.APIStatusError(
        "x", response=httpx2.Response(502, request=REQUEST), body="<html>x"
    )
    assert failure_of(page, WHERE).message == f"{AT} failed with status 502: {LOOK}"
    plain = failure_of(refused(500, "out of memory"), WHERE)
    assert plain.message == f"{AT} failed with status 500 (out of memory): {LOOK}"


def test_an_ill_server_is_told_from_a_busy_one() -> None:
    assert failure(501).message == f"{AT} failed with status 501 (no): {LOOK}"
    busy = failure(503).message
    assert busy == f"{AT} failed with status 503 (no): it may be overloaded; try again later"
    cut = failure_of(CutStream(), WHERE).message
    assert cut == f"{AT} ended the answer before it was complete: {LOOK}"


def test_what_came_from_the_environment_is_named_by_its_variable() -> None:
    where = replace(
        WHERE,
        base_url="http://127.0.0.1:8080",
        base_url_key="the environment variable OPENAI_BASE_URL",
        api_key_key="the environment variable OPENAI_API_KEY",
        model_key="the environment variable OPENAI_MODEL",
    )
    for status, names in (
        (400, ["OPENAI_MODEL"]),
        (401, ["OPENAI_API_KEY"]),
        (403, ["OPENAI_API_KEY", "OPENAI_MODEL"]),
        (404, ["OPENAI_MODEL", "OPENAI_BASE_URL"]),
        (501, ["OPENAI_BASE_URL"]),
    ):
        told = failure_of(refused(status, {"message": "no"}), where).message
        assert told.startswith("http://127.0.0.1:8080 ")
        assert all(f"the environment variable {name}" in told for name in names)
        assert "providers." not in told
        assert "models." not in told


@pytest.mark.parametrize(
    ("url", "hinted"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://127.0.0.1:8080/api", True),
        ("http://127.0.0.1:8080/v1", False),
        ("https://example.org/v1beta/openai", False),
    ],
)
def test_an_unknown_path_without_a_version_hints_at_it(url: str, *, hinted: bool) -> None:
    told = failure_of(refused(404, {"message": "no"}), replace(WHERE, base_url=url)).message
    assert ("it usually ends in /v1" in told) is hinted


@pytest.mark.parametrize("status", [400, 401, 404, 500, 501])
def test_of_the_embedded_model_no_setting_is_named(status: int) -> None:
    where = replace(WHERE, base_url="http://127.0.0.1:5000", base_url_key="")
    told = failure_of(refused(status, {"message": "no"}), where).message
    assert told.startswith("the embedded model ")
    assert told.endswith(f"with status {status} (no)")
    cut = failure_of(CutStream(), where).message
    assert cut == "the embedded model ended the answer before it was complete"


def tag(price: Price | None = None, url: str = "https://openrouter.ai/api/v1") -> PriceTag:
    return PriceTag("mine", url, "anthropic/claude-sonnet-4", price)


def test_an_explicit_price_wins_and_cached_input_has_its_own() -> None:
    usage = Usage(1_000_000, 400_000, 1_000_000)
    assert tag(Price(2.0, 10.0)).of(usage) == pytest.approx(12.0)
    assert tag(Price(2.0, 10.0, 0.5)).of(usage) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 10)


def test_a_listed_model_costs_what_the_list_says() -> None:
    fresh, cached = tag().of(Usage(1_000, 0, 100)), tag().of(Usage(1_000, 500, 100))
    assert fresh is not None
    assert cached is not None
    assert 0 < cached < fresh < 0.1
    assert PriceTag("openrouter", "https://proxy.example/v1", tag().model).of(Usage(9))


def test_of_a_model_on_ones_own_machine_no_price_is_known() -> None:
    own = tag(url="http://127.0.0.1:8080/v1")
    assert own.of(Usage(1_000, 0, 100)) is None
    assert own.of(Usage(1_000, 0, 100)) is None


def test_the_embedded_model_is_known_to_be_free() -> None:
    embedded = ProviderOptions(
        name="local", base_url="http://127.0.0.1:1/v1", api_key="", embedded=True
    )
    assert PriceTag.of_model(ModelOptions(name="m", model="m"), embedded).of(Usage(9, 0, 9)) == 0.0


def test_model_options_have_defaults_that_send_nothing_special() -> None:
    options = ModelOptions(name="m", model="m")
    assert (options.temperature, options.price, dict(options.params)) == (None, None, {})
