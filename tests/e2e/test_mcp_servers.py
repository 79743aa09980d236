"""MCP servers as real processes: one of the protocol's own SDK, over stdio and HTTP, and others
that misbehave."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import groupby

import httpx2
import psutil
import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from adapters.mcp.options import ServerOptions
from adapters.mcp.servers import McpServers
from core.messages import Role
from tests.fakes.mcp_rig import Rig, misfit, real, running, web_server
from tests.scenarios.rig import eventually

together = pytest.mark.asyncio(loop_scope="module")
SECRET = "s3cret-value-of-the-bot"


@pytest.fixture(scope="module", autouse=True)
def bot_environment() -> Iterator[None]:
    """What the program's own environment holds must not reach a server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PURSUIT_TELEGRAM_TOKEN", SECRET)
        yield


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with web_server() as url:
        yield url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(address: str) -> AsyncIterator[Rig]:
    """One server of each kind, for the tests that leave it as it was."""
    web = ServerOptions(name="web", url=address, headers={"x-key": "a-long-secret"}, members=True)
    async with running(real(env={"HUB_MODE": "test"}), web) as found:
        assert found.servers.faults() == {}
        yield found


both = pytest.mark.parametrize("server", ["hub", "web"])


# Calls


@together
@both
async def test_a_call_reaches_its_server_and_its_answer_comes_back(rig: Rig, server: str) -> None:
    result = await rig.call(f"mcp__{server}__echo", {"text": "hi", "times": 2})
    assert result.text == "hihi"
    assert (result.receipt.ok, result.receipt.summary) == (True, f"{server}: echo")
    assert result.receipt.seconds > 0


@together
async def test_two_servers_may_have_tools_of_one_name_and_the_order_is_by_name(rig: Rig) -> None:
    assert {"mcp__hub__echo", "mcp__web__echo"} <= set(rig.names)
    assert rig.names == sorted(rig.names)
    assert rig.registry.granted == ("mcp:hub", "mcp:web")
    only = rig.registry.granting(["mcp:web"]).specs()
    assert {spec.name.split("__")[1] for spec in only} == {"web"}


@together
async def test_a_tool_is_told_with_its_servers_words_and_schema(rig: Rig) -> None:
    spec = next(s for s in rig.registry.specs() if s.name == "mcp__hub__echo")
    assert spec.description == "Say it again."
    assert spec.parameters["required"] == ["text"]
    assert not rig.registry.resumable(spec.name)


@together
async def test_a_name_that_no_api_takes_is_made_plain(rig: Rig) -> None:
    assert (await rig.call("mcp__hub__odd_name_with_dots")).text == "odd"


@together
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "'text' is a required property"),
        ({"text": 1}, "text: 1 is not of type 'string'"),
        ({"text": "a", "times": "many"}, "times: 'many' is not of type 'integer'"),
        ("[1]", "not a JSON object: got list"),
        ('{"text": ', "not a JSON object"),
        ('{"text": "\\ud800"}', "half of a character"),
    ],
)
async def test_wrong_arguments_are_told_and_not_sent(
    rig: Rig, arguments: object, said: str
) -> None:
    result = await rig.call("mcp__hub__echo", arguments)
    assert said in result.text
    assert result.text.endswith("mcp__hub__echo takes: text, times?.")
    assert not result.receipt.ok


@together
@both
async def test_a_tool_that_fails_is_a_result_that_failed(rig: Rig, server: str) -> None:
    result = await rig.call(f"mcp__{server}__fail")
    assert "fail" in result.text
    assert (result.receipt.ok, result.receipt.summary) == (False, f"{server}: fail")


@together
async def test_what_is_no_text_is_described(rig: Rig) -> None:
    result = await rig.call("mcp__hub__media")
    assert result.text.splitlines() == [
        "[an image, image/png, 300 bytes; it is not shown]",
        "[a link to report: file:///report.pdf]",
        "[file:///notes.txt]",
        "the notes",
    ]
    assert (await rig.call("mcp__hub__structured")).text == '{"answer": 42}'
    assert (await rig.call("mcp__hub__nothing")).text == "(it returned nothing)"


@together
@both
async def test_a_long_result_is_cut_and_the_whole_is_kept(rig: Rig, server: str) -> None:
    result = await rig.call(f"mcp__{server}__big", {"size": 2**21})
    assert len(result.text) < 8_200
    assert result.text.startswith("start xxx")
    assert result.text.endswith("xxx end")
    assert "2097162 characters is left out; the whole is in .pursuit/output/1.txt" in result.text
    assert len(rig.kept[-1]) == 2097162


@together
@both
async def test_a_question_to_the_person_is_refused(rig: Rig, server: str) -> None:
    result = await rig.call(f"mcp__{server}__ask")
    assert "not supported" in result.text
    assert not result.receipt.ok


@together
async def test_a_server_sees_nothing_of_the_programs_environment(rig: Rig) -> None:
    seen = (await rig.call("mcp__hub__environment")).text
    assert SECRET not in seen
    assert "HUB_MODE=test" in seen
    assert {line.partition("=")[0] for line in seen.splitlines()} <= {
        *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
        *("HUB_MODE", "LC_CTYPE"),  # LC_CTYPE is Python's own doing
    }


@together
async def test_the_configured_headers_are_sent(rig: Rig) -> None:
    assert (await rig.call("mcp__web__header", {"name": "x-key"})).text == "a-long-secret"


@together
async def test_only_servers_that_say_so_are_for_members(rig: Rig) -> None:
    said = {"text": "hi"}
    assert "is for owners" in (await rig.call("mcp__hub__echo", said, role=Role.MEMBER)).text
    assert (await rig.call("mcp__web__echo", said, role=Role.MEMBER)).text == "hi"


# Calls that are given up


@together
@both
async def test_a_cancelled_call_is_cancelled_at_its_server_too(rig: Rig, server: str) -> None:
    rig.told.clear()
    async with asyncio.TaskGroup() as calls:
        waiting = calls.create_task(rig.call(f"mcp__{server}__wait", {"mark": "me"}))
        await rig.until(lambda: rig.told)
        began = time.monotonic()
        waiting.cancel()
        await asyncio.wait({waiting})
        assert time.monotonic() - began < 0.5
    assert rig.told == [f"{server}: wait: waiting for me"]
    await rig.until_answered(f"mcp__{server}__was_cancelled", {"mark": "me"}, "yes")


@pytest.mark.parametrize("how", ["hang", "deaf"])
async def test_a_call_that_takes_too_long_ends_and_a_hanging_server_is_started_anew(
    how: str,
) -> None:
    async with running(misfit(how, timeout_s=0.3)) as rig:
        pid = _child_pids()
        result = await rig.call("mcp__odd__hang")
        assert result.text.startswith(
            "odd did not answer within 0.3 s (mcp.servers.odd.timeout_s)"
        )
        assert not result.receipt.ok
        if how == "deaf":  # one that still lists its tools is left alone
            await rig.until(lambda: not rig.servers.faults() and _child_pids().isdisjoint(pid))
        else:
            assert not (await rig.call("mcp__odd__hang")).receipt.ok
            assert _child_pids() == pid


# Servers that go and come back


@together
async def test_a_killed_server_fails_its_call_and_comes_back(rig: Rig) -> None:
    result = await rig.call("mcp__hub__die")
    assert result.text.startswith("The connection to the MCP server hub was lost during this call")
    assert not result.receipt.ok
    down = await rig.call("mcp__hub__echo", {"text": "hi"})
    assert "The MCP server hub is not connected" in down.text
    assert "mcp__hub__echo" in rig.names  # a new session has them all the same
    assert (await rig.call("mcp__web__echo", {"text": "hi"})).text == "hi"
    await rig.until_answered("mcp__hub__echo", {"text": "hi"}, "hi")


async def test_a_web_server_that_is_started_late_or_anew_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    web = ServerOptions(name="web", url=f"http://127.0.0.1:{port}/mcp", start_s=0.5)
    with capture_logs() as logs:
        async with running(web) as rig:
            assert f"at http://127.0.0.1:{port} (" in rig.servers.faults()["web"]
            gone = await rig.call("mcp__web__echo", {"text": "hi"})
            assert gone.text.startswith("The MCP server web is not connected: ConnectError")
            with web_server(port):
                await rig.until_answered("mcp__web__echo", {"text": "hi"}, "hi")
                assert rig.servers.faults() == {}
                assert "was lost during this call" in (await rig.call("mcp__web__die")).text
                await rig.until(rig.servers.faults)
            with web_server(port):
                await rig.until_answered("mcp__web__echo", {"text": "hi"}, "hi")
    turns = [event for event, _ in groupby(line["event"] for line in logs)]
    assert turns[:3] == ["mcp_server_down", "mcp_server_up", "mcp_server_down"]


async def test_a_web_server_that_forgot_the_session_gets_a_new_one() -> None:
    with web_server() as url:
        async with running(ServerOptions(name="web", url=url)) as rig:
            assert (await rig.call("mcp__web__echo", {"text": "a"})).text == "a"
            first = (await rig.call("mcp__web__header", {"name": "mcp-session-id"})).text
            await _end_session(url, first)
            lost = await rig.call("mcp__web__echo", {"text": "b"})
            assert "was lost during this call" in lost.text
            await rig.until_answered("mcp__web__echo", {"text": "c"}, "c")


@together
@both
async def test_a_changed_list_is_read_again(rig: Rig, server: str) -> None:
    assert f"mcp__{server}__newcomer" not in rig.names
    assert (await rig.call(f"mcp__{server}__grow", {"name": "newcomer"})).text == "grown"
    await rig.until(lambda: f"mcp__{server}__newcomer" in rig.names)
    assert (await rig.call(f"mcp__{server}__newcomer", {"text": "hi"})).text == "hi"


# Servers that do not work


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (misfit("mute", start_s=0.5), "it did not answer within 0.5 s (mcp.servers.odd.start_s)"),
        (misfit("torrent", start_s=2), "it sent a line of more than 16 MB"),
        (
            ServerOptions(name="odd", command="no-such-program"),
            "there is no program 'no-such-program' (mcp.servers.odd.command)",
        ),
        (
            replace(misfit("noise"), command="/etc/passwd"),
            "Permission denied",
        ),
        (
            misfit("crash", start_s=1, env={"DATABASE_URL": "postgres://me:pw@db"}),
            "it ended with exit code 1; Fatal: no database at [redacted]",
        ),
        (
            ServerOptions(name="odd", url="http://127.0.0.1:9/mcp", start_s=1),
            "(mcp.servers.odd.url)",
        ),
        (ServerOptions(name="odd", url="no address", start_s=0.5), "mcp.servers.odd.url"),
    ],
)
async def test_a_server_that_cannot_be_used_is_down_with_a_reason_and_harms_no_other(
    options: ServerOptions, reason: str
) -> None:
    with capture_logs() as logs:
        async with running(options, misfit("hang", "good")) as rig:
            await rig.until(lambda: reason in rig.servers.faults()["odd"])
            assert rig.names == ["mcp__good__hang"]
            assert rig.registry.toolsets == ("mcp:odd", "mcp:good")
            missing = await rig.call("mcp__odd__x")
            assert (
                missing.text
                == f"The MCP server odd is not connected: {rig.servers.faults()['odd']}."
            )
    warned = [line for line in logs if line["log_level"] == "warning"]
    assert {line["server"] for line in warned} == {"odd"}
    assert len({line["reason"] for line in warned}) == len(warned)  # each is told once


async def test_a_server_that_knows_only_the_later_protocol_is_spoken_to_in_that() -> None:
    async with running(misfit("modern")) as rig:
        assert rig.servers.faults() == {}
        assert rig.names == ["mcp__odd__hang"]


@pytest.mark.parametrize("how", ["noise", "flood"])
async def test_what_a_server_prints_beside_the_protocol_does_no_harm(how: str) -> None:
    async with running(misfit(how)) as rig:
        assert rig.servers.faults() == {}
        assert rig.names == ["mcp__odd__hang"]


async def test_an_address_that_is_no_mcp_server_says_what_to_check(address: str) -> None:
    web = ServerOptions(name="web", url=address.replace("/mcp", "/else"), start_s=0.5)
    async with running(web) as rig:
        assert "HTTP 404: check mcp.servers.web.url" in rig.servers.faults()["web"]


async def test_without_the_package_each_server_says_how_to_install_it() -> None:
    def load() -> object:
        raise ImportError("no mcp")

    async def keep(*_: object) -> str:
        return ""

    servers = McpServers([misfit("hang")], load, keep)  # type: ignore[arg-type]
    async with asyncio.TaskGroup() as lives:
        life = lives.create_task(servers.run())
        await servers.ready()
        assert "pip install '.[mcp]'" in servers.faults()["odd"]
        life.cancel()


# The end


async def test_the_end_leaves_no_process_behind() -> None:
    began = time.monotonic()
    async with running(
        misfit("stubborn"), misfit("deaf", "deaf"), misfit("mute", "mute"), wait=False
    ) as rig:
        await rig.until(lambda: len(rig.names) == 2)
        pids = [int(pid) for pid in rig.names[1].split("-")[1:]]
        assert all(psutil.pid_exists(pid) for pid in pids)
        began = time.monotonic()
    assert time.monotonic() - began < 4
    assert not any(_lives(pid) for pid in pids)
    assert not _child_pids()


async def test_an_end_that_is_cut_short_leaves_no_process_either() -> None:
    async with running(misfit("stubborn")) as rig:
        pids = [int(pid) for pid in rig.names[0].split("-")[1:]]
        lives = [t for t in asyncio.all_tasks() if t.get_name() == "mcp odd"]
        for _ in range(3):
            lives[0].cancel()
            await asyncio.sleep(0)
        await asyncio.wait(lives)
        await eventually(lambda: not any(_lives(pid) for pid in pids) or None)


async def test_the_end_does_not_wait_for_a_call() -> None:
    async with running(misfit("hang")) as rig, asyncio.TaskGroup() as calls:
        calling = calls.create_task(rig.call("mcp__odd__hang"))
        await asyncio.sleep(0)
        rig.stop()
        assert "was lost during this call" in (await calling).text


def _child_pids() -> set[int]:
    return {
        child.pid
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and "mcp_misfit" in " ".join(child.cmdline())
    }


def _lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


async def _end_session(url: str, session: str) -> None:
    async with httpx2.AsyncClient() as client:
        await client.delete(url, headers={"mcp-session-id": session})


async def test_an_address_that_refuses_holds_no_session_up() -> None:
    """Well within the patience of `running`, though it has a thousand seconds to connect."""
    refusing = ServerOptions(name="away", url="http://127.0.0.1:9/mcp", start_s=1_000.0)
    async with running(refusing) as rig:
        assert "away" in rig.servers.faults()
