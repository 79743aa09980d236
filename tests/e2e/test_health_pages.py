"""The health pages over HTTP: of a running gateway, and of the checks before them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from core.errors import UserError
from core.messages import PlatformName
from core.ports import Health
from gateway.access import Access, Door
from gateway.clock import SystemClock
from gateway.health.server import HealthPages, Listening, serving
from gateway.health.token import kept_token
from gateway.health.vitals import GRACE_S, Vitals
from tests.e2e.gateway_process import gateway, written
from tests.fakes.openai_replies import rate_limited, text
from tests.fakes.patient import Patient
from tests.fakes.people import MemoryPeople
from tests.fakes.service_manager import FakeServiceManager
from tests.scenarios.rig import idle_bot

KEY = {"Authorization": "Bearer open sesame"}


@asynccontextmanager
async def pages(*platforms: Patient) -> AsyncIterator[tuple[Vitals, str]]:
    vitals = Vitals(platforms)
    listening = Listening(host="127.0.0.1", port=0, token="open sesame")
    async with serving(HealthPages(vitals, lambda: b"n 1\n", listening), listening) as port:
        yield vitals, f"http://127.0.0.1:{port}"


async def got(url: str, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_every_page_wants_the_token(path: str) -> None:
    async with pages(Patient(PlatformName.TELEGRAM)) as (_, url):
        assert (await got(url + path))[0] == 401
        assert (await got(url + path, Authorization="Bearer open"))[0] == 401
        assert (await got(url + path, Authorization="Basic open sesame"))[0] == 401
        assert (await got(url + path, **KEY))[0] == 200


async def test_a_browser_that_another_site_steers_gets_nothing() -> None:
    async with pages(Patient(PlatformName.TELEGRAM)) as (_, url):
        assert (await got(f"{url}/readyz", **KEY, Host="evil.example"))[0] == 421
        assert (await got(f"{url}/readyz", **KEY, Origin="https://evil.example"))[0] == 403
        assert (await got(f"{url}/readyz", **KEY, Origin=url))[0] == 200
        assert (await got(f"{url}/readyz", **KEY, Host="localhost:8421"))[0] == 200


async def test_readers_without_the_token_are_written_down() -> None:
    people = MemoryPeople()
    door = Door(Access({}, people), SystemClock(), "health pages")
    listening = Listening(host="127.0.0.1", port=0, token="open sesame")
    served = HealthPages(Vitals(()), lambda: b"", listening, door)
    async with serving(served, listening) as port:
        url = f"http://127.0.0.1:{port}/metrics"
        assert (await got(url, Authorization="Bearer my-guess"))[0] == 401
        assert (await got(url))[0] == 401
        assert (await got(url, **KEY))[0] == 200
    assert [refusal.person for refusal in people.refused] == ["127.0.0.1 (health pages)"] * 2
    assert "guess" not in str(people.refused)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("Authorization: Bearer \xff", b"401"),
        ("Authorization: Bearer open sesame\r\nOrigin: http://[x", b"403"),
        ("Host: [x", b"421"),
        ("no header", b"400"),
    ],
)
async def test_nonsense_is_refused_without_a_word_in_the_log(
    caplog: pytest.LogCaptureFixture, head: str, status: bytes
) -> None:
    async with pages(Patient(PlatformName.TELEGRAM)) as (_, url):
        port = int(url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        host = "" if head.startswith("Host") else "Host: 127.0.0.1\r\n"
        writer.write(f"GET /healthz HTTP/1.1\r\n{host}{head}\r\n\r\n".encode("latin-1"))
        line = await reader.readline()
        writer.close()
    assert line.split()[1] == status
    assert not caplog.records


async def test_silence_makes_it_unready_at_once_and_unwell_later() -> None:
    patient = Patient(PlatformName.TELEGRAM)
    async with pages(patient) as (vitals, url):
        patient.is_now = Health(ok=False, silent_s=91, detail="silent for 91 s")
        assert (await got(f"{url}/readyz", **KEY))[0] == 503
        assert (await got(f"{url}/healthz", **KEY))[0] == 200
        patient.is_now = Health(ok=False, silent_s=GRACE_S + 1, detail="silent for 121 s")
        status, body = await got(f"{url}/healthz", **KEY)
        assert status == 503
        assert '"telegram": {"state": "failing", "silent_s": 121' in body
        vitals.down(PlatformName.TELEGRAM, "the token was revoked")
        assert "the token was revoked" in (await got(f"{url}/readyz", **KEY))[1]


async def test_a_port_that_is_taken_is_told_with_its_key() -> None:
    async with pages() as (vitals, url):
        port = int(url.rpartition(":")[2])
        taken = Listening(host="127.0.0.1", port=port, token="t")
        with pytest.raises(UserError, match=r"health\.port"):
            async with serving(HealthPages(vitals, lambda: b"", taken), taken):
                pass


def test_a_token_is_made_once_and_for_this_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "health_token"
    made, fresh = kept_token(file)
    assert (fresh, len(made) > 40, file.stat().st_mode & 0o777) == (True, True, 0o600)
    file.chmod(0o644)
    assert kept_token(file) == (made, False)
    assert file.stat().st_mode & 0o777 == 0o600


def value(exposition: str, sample: str) -> float:
    found = re.search(rf"(?m)^{re.escape(sample)} (\S+)$", exposition)
    assert found is not None, f"{sample} is not in\n{exposition}"
    return float(found[1])


async def test_a_running_gateway_counts_turns_calls_and_what_waits(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with idle_bot(tmp_path) as bot, FakeServiceManager() as manager:
        health = {"enabled": True, "port": unused_tcp_port}
        config, url = written(bot, tmp_path / "c.yaml", health=health), "http://127.0.0.1"
        bot.models.script("main", text("One."), rate_limited(), text("Two."), text("3", gate="g"))
        async with gateway(config, tmp_path / "d", NOTIFY_SOCKET=manager.address) as up:
            await up.logged("The token of the health pages is")
            await manager.hear("READY")
            token = (tmp_path / "d" / "health_token").read_text().strip()
            assert token in up.lines[-1]
            bot.say("one")
            await bot.heard("One.")
            bot.say("two")
            await bot.heard("Two.")
            bot.say("three")
            await bot.asked(4)
            bot.say("four, which waits")
            await bot.all_said()
            key = {"Authorization": f"Bearer {token}"}
            assert (await got(f"{url}:{unused_tcp_port}/readyz", **key))[0] == 200
            status, seen = await got(f"{url}:{unused_tcp_port}/metrics", **key)
            bot.models.open("g")
        assert status == 200
        assert value(seen, 'pursuit_turns_total{outcome="answered"}') == 2
        assert value(seen, "pursuit_turns_running") == 1
        assert value(seen, 'pursuit_model_calls_total{job="agent",model="main",result="ok"}') == 2
        assert value(seen, 'pursuit_model_calls_in_flight{job="agent"}') == 1
        assert value(seen, "pursuit_inbox_waiting") == 1
        assert value(seen, "pursuit_inbox_longest_queue") == 1
        assert value(seen, 'pursuit_platform_up{platform="telegram"}') == 1
        assert value(seen, "pursuit_disk_free_bytes") > 0
        assert 'pursuit_platform_silent_seconds{platform="telegram"}' in seen
        assert "pursuit_outbox_backlog" in seen
        labels = set(re.findall(r"(\w+)=\"", seen))
        assert labels <= {"outcome", "job", "model", "result", "direction", "platform", "le"}
