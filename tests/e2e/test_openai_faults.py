"""The real SDK against the fake server: everything that breaks, and how soon it is told."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.openai.model import OpenAIModel
from adapters.openai.options import ProviderOptions
from adapters.openai.provider import Provider
from core.errors import UserError
from core.ports import FailureKind, Reply
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import (
    Scripted,
    html,
    overflow,
    rate_limited,
    refusal,
    server_error,
    text,
)
from tests.fakes.openai_rig import ASK, KEY, at, failure, model_of, reply
from tests.fakes.openai_wordings import OVERFLOWS


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI(api_key=KEY) as server:
        yield server


@pytest.fixture
async def model(fake: FakeOpenAI) -> AsyncIterator[OpenAIModel]:
    async with model_of(at(fake.base_url)) as made:
        yield made


@pytest.mark.parametrize("fault", ["cut", "drop", "error", "corrupt"])
async def test_a_stream_that_breaks_is_asked_for_again(
    fake: FakeOpenAI, model: OpenAIModel, fault: str
) -> None:
    fake.script("main", text("Hello there", fault=fault, split=6), text("Hello again", split=6))
    heard: list[str] = []
    outcome = await model.complete(ASK, heard.append)
    assert isinstance(outcome, Reply)
    assert outcome.text == "Hello again"
    assert heard == ["Hello ", "there", "Hello ", "again"]


@pytest.mark.parametrize("fault", ["cut", "drop", "error", "corrupt"])
async def test_a_stream_that_always_breaks_fails_after_three_tries(
    fake: FakeOpenAI, model: OpenAIModel, fault: str
) -> None:
    fake.default("main", text("x" * 400, fault=fault))
    got = await failure(model)
    assert got.kind is FailureKind.TRANSIENT
    assert got.usage.output_tokens == 100, "what was heard has been paid for"
    assert fake.count == 3


@pytest.mark.parametrize("answer", [server_error(500), server_error(503), rate_limited(0.001)])
async def test_a_passing_fault_is_not_seen(
    fake: FakeOpenAI, model: OpenAIModel, answer: Scripted
) -> None:
    fake.script("main", answer, answer, text("ok"))
    assert (await reply(model)).text == "ok"


async def test_a_silent_stream_is_given_up_after_the_stall_limit(fake: FakeOpenAI) -> None:
    async with model_of(replace(at(fake.base_url), stall_s=0.2)) as model:
        fake.script("main", text("Hel", fault="stall"), text("Hello"))
        assert (await reply(model)).text == "Hello"
        fake.default("main", text("never", gate="shut"))
        got = await failure(model)
    assert (got.kind, got.message) == (
        FailureKind.TRANSIENT,
        f"{fake.base_url} sent nothing for 0.2 s",
    )


async def test_the_deadline_bounds_a_call_with_its_retries(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.default("main", text("never", gate="shut"))
    got = await failure(model, replace(ASK, deadline_s=0.05))
    assert got.kind is FailureKind.TRANSIENT
    assert got.message == f"fake at {fake.base_url} did not finish its answer within 0.05 s"
    await fake.requests[0].gone.wait()


async def test_the_deadline_tells_what_went_wrong_before_it(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.script("main", server_error(503), text("never", gate="shut"))
    got = await failure(model, replace(ASK, deadline_s=0.6))
    assert "503" in got.message


async def test_a_wait_beyond_the_deadline_is_handed_to_the_caller(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.default("main", rate_limited(60))
    got = await failure(model)
    assert (got.kind, got.retry_after, fake.count) == (FailureKind.TRANSIENT, 60.0, 1)


@pytest.mark.parametrize("style", sorted(OVERFLOWS))
async def test_overflow_is_told_at_once(fake: FakeOpenAI, model: OpenAIModel, style: str) -> None:
    fake.default("main", overflow(style))
    assert (await failure(model)).kind is FailureKind.OVERFLOW
    assert fake.count == 1


async def test_overflow_in_mid_stream_is_overflow(fake: FakeOpenAI, model: OpenAIModel) -> None:
    words = "the request exceeds the available context size"
    fake.default("main", text("x", fault="error", error=words))
    assert (await failure(model)).kind is FailureKind.OVERFLOW


@pytest.mark.parametrize("status", [200, 404])
async def test_a_web_page_points_to_the_base_url(
    fake: FakeOpenAI, model: OpenAIModel, status: int
) -> None:
    fake.default("main", html(status))
    got = await failure(model)
    assert got.kind is FailureKind.PERMANENT
    assert "providers.fake.base_url" in got.message
    assert "<" not in got.message


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
async def test_a_refusal_is_not_repeated(
    fake: FakeOpenAI, model: OpenAIModel, status: int
) -> None:
    fake.default("main", refusal(status, f"your key {KEY} is no good"))
    got = await failure(model)
    assert (got.kind, fake.count) == (FailureKind.PERMANENT, 1)
    assert "your key *** is no good" in got.message


async def test_a_wrong_key_names_the_setting(fake: FakeOpenAI) -> None:
    fake.api_key = "another"
    async with model_of(at(fake.base_url)) as model:
        got = await failure(model)
    assert "set providers.fake.api_key" in got.message


async def test_the_content_filter_is_a_failure(fake: FakeOpenAI, model: OpenAIModel) -> None:
    fake.default("main", text("I", finish="content_filter"))
    assert (await failure(model)).kind is FailureKind.PERMANENT


async def test_a_closed_port_cannot_be_reached() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with model_of(at(f"http://127.0.0.1:{port}/v1")) as model:
            got = await failure(model)
    assert got.kind is FailureKind.TRANSIENT
    assert got.message.startswith(f"cannot reach http://127.0.0.1:{port}/v1 (")
    assert "providers.fake.base_url" in got.message


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("localhost:8080", {}),
        ("http://[::1", {}),
        ("http://localhost/v1", {"proxy": "ftp://localhost"}),
        ("http://localhost/v1", {"api_key": "ключ"}),
    ],
)
def test_settings_that_cannot_be_sent_are_refused_at_once(url: str, more: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"^providers\.p[.:]"):
        Provider(ProviderOptions(name="p", base_url=url, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("held", ["gate", "gate_after"])
async def test_cancelling_hangs_up_at_once(
    fake: FakeOpenAI, model: OpenAIModel, held: str
) -> None:
    fake.default("main", text("some words", **{held: "shut"}))
    heard = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        call = group.create_task(model.complete(ASK, lambda _: heard.set()), name="call")
        seen = await fake.wait_for_requests(1)
        if held == "gate_after":
            await heard.wait()
        call.cancel()
        async with asyncio.timeout(5):
            await seen[0].gone.wait()
    assert call.cancelled()
    assert fake.count == 1


async def test_after_a_cancelled_call_the_model_goes_on(
    fake: FakeOpenAI, model: OpenAIModel
) -> None:
    fake.script("main", text("some words", gate_after="shut"), text("ok"))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(model.complete(ASK), name="call")
        await fake.wait_for_requests(1)
        call.cancel()
    assert (await reply(model)).text == "ok"


async def test_the_key_is_in_no_log(
    fake: FakeOpenAI,
    model: OpenAIModel,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.script("main", refusal(500, f"bad key {KEY}"), refusal(401, f"bad key {KEY}"))
    await failure(model)
    printed = capsys.readouterr()
    assert "bad key ***" in printed.out + printed.err + caplog.text
    assert KEY not in printed.out + printed.err + caplog.text
