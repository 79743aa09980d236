"""A profile's proxy: its model's calls really go that way, over the real SDK on loopback."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from core.ports import FailureKind, ModelFailure, Reply
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import text
from tests.fakes.openai_rig import at, failure, model_of
from tests.fakes.proxies import FakeProxy
from tests.fakes.staff_rig import staffed

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """The library leaves a connection whose handshake failed to the garbage collector."""
    yield
    gc.collect()


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        server.default("child", text("I am small", split=2))
        yield server


def profile(proxy: str) -> str:
    return f"own: {{model: small, proxy: '{proxy}'}}"


@pytest.mark.parametrize("user", ["", "ann"])
@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_calls_pass_through_the_proxy(
    tmp_path: Path, fake: FakeOpenAI, scheme: str, user: str
) -> None:
    async with (
        FakeProxy(scheme, user, "p@ss" if user else "") as proxy,
        staffed(tmp_path, fake, profile(proxy.url)) as rig,
    ):
        done = await rig.child("own")
        assert isinstance(done, Reply)
        assert done.text == "I am small"
        target = urlsplit(fake.base_url).netloc
        assert proxy.asked == [target]
        await rig.ask(rig.listed("small"))
        assert proxy.asked == [target], "who has no proxy goes straight"


async def test_a_hundred_calls_at_once_pass_through_a_socks_proxy(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    fake.default("child", lambda _: text("at last", gate="g"))
    async with (
        FakeProxy("socks5") as proxy,
        staffed(tmp_path, fake, profile(proxy.url), slots=200) as rig,
    ):
        calls = [asyncio.create_task(rig.child("own")) for _ in range(100)]
        await fake.wait_for_requests(100)
        fake.open("g")
        done = await asyncio.gather(*calls)
        assert {type(each) for each in done} == {Reply}


async def test_a_profiles_proxy_is_told_by_its_key(tmp_path: Path, fake: FakeOpenAI) -> None:
    async with FakeProxy("socks5") as proxy:
        gone = proxy.url
    async with staffed(tmp_path, fake, profile(gone)) as rig:
        done = await rig.child("own")
    assert isinstance(done, ModelFailure)
    assert "is that running, and is delegation.profiles.own.proxy right?" in done.message


async def failure_by(proxy: str, fake: FakeOpenAI) -> str:
    """What a call says that cannot pass a proxy."""
    async with model_of(replace(at(fake.base_url), proxy=proxy, proxy_key="its.proxy")) as model:
        done = await failure(model)
    assert done.kind is FailureKind.TRANSIENT
    assert done.message.endswith(
        "it goes through a proxy: is that running, and is its.proxy right?"
    )
    return done.message


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_a_proxy_that_is_not_there_says_so(fake: FakeOpenAI, scheme: str) -> None:
    async with FakeProxy(scheme) as proxy:
        gone = proxy.url
    assert (await failure_by(gone, fake)).startswith(f"cannot reach {fake.base_url} (")


@pytest.mark.parametrize(
    ("scheme", "to"), [("http", "https:"), ("http", "http:"), ("socks5", "http:")]
)
async def test_a_proxy_that_does_not_let_us_in_says_so_without_the_password(
    fake: FakeOpenAI, scheme: str, to: str
) -> None:
    target = fake.base_url.replace("http:", to)
    async with FakeProxy(scheme, "ann", "right") as proxy:
        wrong = proxy.url.replace("right", "hunter-22")
        async with model_of(replace(at(target), proxy=wrong, proxy_key="its.proxy")) as model:
            done = await failure(model)
    assert "is its.proxy right?" in done.message
    assert "hunter" not in done.message


async def test_a_proxy_that_cannot_reach_the_model_says_so(fake: FakeOpenAI) -> None:
    async with FakeProxy("socks5", refuses=True) as proxy:
        assert "Connection refused" in await failure_by(proxy.url, fake)


async def test_a_proxy_that_speaks_something_else_is_told_too(fake: FakeOpenAI) -> None:
    async with FakeProxy("http") as proxy:
        odd = proxy.url.replace("http:", "socks5:")
        assert "Malformed reply" in await failure_by(odd, fake)
