"""The web chat over real sockets, without a page: who is let in, and what is taken and given."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from yarl import URL

from adapters.web.decode import address_of
from core.errors import UserError
from core.messages import Message, Press, Queued, Refused, RemoteId, Say, SendFile
from core.ports import Mark
from tests.contracts.platform_rig import eventually
from tests.fakes.web_browser import FakeBrowser
from tests.fakes.web_served import LIMIT, TOKEN, Served, serving

CHAT = "chat01"
EVENTS = f"/api/chats/{CHAT}/events"
HERE = address_of(CHAT)


@pytest_asyncio.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A server with an origin of its own behind a proxy."""
    async with serving(tmp_path, origins=("https://pursuit.example.org",)) as served:
        yield served


@pytest_asyncio.fixture
async def browser(served: Served) -> AsyncIterator[FakeBrowser]:
    """A browser that is logged in."""
    async with served.browser() as browser:
        yield browser


async def status(
    browser: FakeBrowser, path: str, *, method: str = "GET", **headers: str
) -> tuple[int, str]:
    """The status and the text of one request, with no redirect followed."""
    async with browser.http.request(
        method, browser.base + path, headers=headers, allow_redirects=False
    ) as answer:
        return answer.status, await answer.text()


async def lead(browser: FakeBrowser, path: str) -> str:
    """Where a path leads to."""
    async with browser.http.get(browser.base + path, allow_redirects=False) as answer:
        return answer.headers["Location"]


async def test_the_address_is_told_once_it_can_be_opened(served: Served) -> None:
    assert served.told == [served.base]
    assert served.platform.health().ok


async def test_the_bare_address_leads_to_the_chat_spoken_in_last_or_to_a_new_one(
    served: Served, browser: FakeBrowser
) -> None:
    assert re.fullmatch("/c/[a-z0-9]{12}", await lead(browser, "/"))
    served.past.said(HERE.key, "hello")
    assert await lead(browser, "/") == f"/c/{CHAT}"
    assert await lead(browser, "/c/No-Chat") == "/"


PAGES = ("/", f"/c/{CHAT}")
GUARDED = (
    "/api/start",
    "/api/chats",
    f"/api/chats/{CHAT}",
    f"/api/chats/{CHAT}/events",
    f"/files/{'a' * 22}/x",
)


async def test_without_a_login_there_is_nothing_but_the_way_in(served: Served) -> None:
    stranger = FakeBrowser(served.base, "wrong")
    async with stranger:
        for path in PAGES:
            found, _ = await status(stranger, path)
            assert found == 303
        for path in GUARDED:
            assert (await status(stranger, path))[0] == 401
        for path in ("messages", "presses", "files"):
            where = f"/api/chats/{CHAT}/{path}"
            found, _ = await status(stranger, where, method="POST", Origin=served.base)
            assert found == 401
        assert (await status(stranger, "/logout", method="POST", Origin=served.base))[0] == 401
        assert (await status(stranger, "/assets/style.css"))[0] == 200
    assert not served.intake.attempts


async def test_a_wrong_token_opens_nothing_and_too_many_are_held(served: Served) -> None:
    async with FakeBrowser(served.base, "wrong") as stranger:  # its first try is one
        for _ in range(4):
            assert await stranger.log_in("") == 403
        assert await stranger.log_in("wrong") == 429
        assert (await status(stranger, "/api/chats"))[0] == 401


async def test_who_guesses_does_not_keep_the_owner_out(served: Served) -> None:
    async with FakeBrowser(served.base, "wrong") as browser:
        while await browser.log_in("wrong") != 429:
            pass
        assert await browser.log_in(TOKEN) == 303
        assert (await status(browser, "/api/chats"))[0] == 200


async def test_wrong_tokens_are_written_down_by_address_and_never_themselves(
    served: Served,
) -> None:
    async with FakeBrowser(served.base, "wrong") as stranger:
        while await stranger.log_in("my-secret-guess") != 429:
            pass
        await stranger.log_in(TOKEN)
    refusals = served.people.refused
    assert {refusal.person for refusal in refusals} == {"127.0.0.1 (login)"}
    assert len(refusals) == 6  # what has to wait is written down too
    assert "guess" not in str(refusals)


async def test_a_disk_that_takes_no_audit_still_refuses(served: Served) -> None:
    served.people.full = True
    async with FakeBrowser(served.base, "wrong") as stranger:
        assert await stranger.log_in("wrong") == 403
        assert await stranger.log_in(TOKEN) == 303


FORM = "Content-Type: application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    "head",
    [
        f"{FORM}; charset=bogus",
        "Content-Type: multipart/form-data; boundary=x",
        "Content-Type: multipart/form-data",
        "Content-Type: \xff;=",
        f"{FORM}\r\nContent-Encoding: gzip",
        f"{FORM}\r\nContent-Encoding: deflate",
        "Cookie: pursuit=\xff; ;==",
        "Host: [x",
        "no header",
    ],
)
async def test_a_stranger_who_sends_nonsense_makes_no_noise(
    served: Served, caplog: pytest.LogCaptureFixture, head: str
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    host = "" if head.startswith("Host") else f"Host: 127.0.0.1:{served.port}\r\n"
    request = f"POST /login HTTP/1.1\r\n{host}Origin: {served.base}\r\n{head}\r\n"
    writer.write(request.encode("latin-1") + b"Content-Length: 7\r\n\r\n--x\xff\r\n\r")
    line = await reader.readline()
    writer.close()
    assert line.split()[1] in {b"400", b"403"}
    assert not [record for record in caplog.records if record.exc_info]


async def test_no_address_of_a_stranger_becomes_a_header(served: Served) -> None:
    async with FakeBrowser(served.base, "wrong") as stranger:
        for path in ("/c/chat01%0d%0aSet-Cookie:x=y", "/c/%ff", "/c/a?b"):
            url = URL(served.base + path, encoded=True)
            async with stranger.http.get(url, allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"]) == (303, "/login")


async def test_the_cookie_is_for_this_page_alone(served: Served, browser: FakeBrowser) -> None:
    form = {"token": TOKEN, "next": f"/c/{CHAT}"}
    async with browser.http.post(
        served.base + "/login", data=form, headers=browser.origin, allow_redirects=False
    ) as answer:
        assert answer.headers["Location"] == f"/c/{CHAT}"
        cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie


async def test_behind_tls_the_cookie_never_goes_out_in_the_clear(
    served: Served, browser: FakeBrowser
) -> None:
    headers = {"Host": "pursuit.example.org", "Origin": "https://pursuit.example.org"}
    async with browser.http.post(
        served.base + "/login", data={"token": TOKEN}, headers=headers, allow_redirects=False
    ) as answer:
        assert answer.status == 303
        assert "Secure" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/c/../x", "/\\evil"])
async def test_a_login_leads_nowhere_else(served: Served, browser: FakeBrowser, to: str) -> None:
    form = {"token": TOKEN, "next": to}
    async with browser.http.post(
        served.base + "/login", data=form, headers=browser.origin, allow_redirects=False
    ) as answer:
        assert answer.headers["Location"] == "/"


async def test_a_logout_ends_the_login_for_good(served: Served, browser: FakeBrowser) -> None:
    [cookie] = [f"{c.key}={c.value}" for c in browser.http.cookie_jar]
    assert (await browser.post("/logout", {}))[0] == 200
    async with (
        aiohttp.ClientSession(headers={"Cookie": cookie}) as thief,
        thief.get(served.base + "/api/chats") as answer,
    ):
        assert answer.status == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "x",
    ],
)
async def test_a_name_that_leads_here_is_not_ours(
    served: Served, browser: FakeBrowser, host: str
) -> None:
    name = host.format(port=served.port)
    for path in ("/", "/login", "/assets/app.js", "/api/chats"):
        assert (await status(browser, path, Host=name))[0] == 403


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "pursuit.example.org"]
)
async def test_our_own_names_are_served(served: Served, browser: FakeBrowser, host: str) -> None:
    assert (await status(browser, "/login", Host=host.format(port=served.port)))[0] in {200, 303}


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "http://evil.example",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}.evil.example",
    ],
)
async def test_another_sites_page_can_do_nothing(
    served: Served, browser: FakeBrowser, origin: str
) -> None:
    headers = {"Origin": origin.format(port=served.port)} if origin else {}
    body = {"id": "client-id-1", "text": "rm -rf", "files": []}
    for path in (f"/api/chats/{CHAT}/messages", f"/api/chats/{CHAT}/presses", "/logout"):
        async with browser.http.post(served.base + path, json=body, headers=headers) as answer:
            assert answer.status == 403
    async with browser.http.post(
        served.base + "/login", data={"token": TOKEN}, headers=headers, allow_redirects=False
    ) as answer:
        assert answer.status == 403
    assert not served.intake.attempts


async def test_another_sites_page_can_read_nothing(browser: FakeBrowser) -> None:
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert (await status(browser, "/api/chats", **headers))[0] == 403
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await status(browser, f"/c/{CHAT}", **link))[0] == 200


async def test_every_answer_carries_the_rules(served: Served, browser: FakeBrowser) -> None:
    for path in ("/", "/login", "/assets/app.js", "/api/chats", "/nowhere", EVENTS):
        async with browser.http.get(served.base + path, allow_redirects=False) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert answer.headers["Referrer-Policy"] in {"no-referrer", "same-origin"}
            assert "aiohttp" not in answer.headers["Server"]


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../login.py",
        "/assets/%2e%2e/login.py",
        "/assets/..%2flogin.py",
        "/assets/index.html",
        "/assets/.",
        "/files/..%2f..%2fweb_token/x",
        "/files/web_token/x",
        "/files/" + "a" * 22 + "/x",
        "/api/chats/..%2f..%2fx",
        "/api/chats/UPPER",
    ],
)
async def test_no_path_leads_out(served: Served, browser: FakeBrowser, path: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    [cookie] = [f"{c.key}={c.value}" for c in browser.http.cookie_jar]
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n"
    writer.write(request.encode())
    line = await reader.readline()
    writer.close()
    assert line.split()[1] == b"404"


# What is taken


async def test_a_message_is_answered_only_once_it_is_saved(
    served: Served, browser: FakeBrowser
) -> None:
    served.intake.gate.clear()
    body = {"id": "client-id-1", "text": "hello", "files": []}
    post = asyncio.create_task(browser.post(f"/api/chats/{CHAT}/messages", body))
    await served.intake.wait_for(lambda: served.intake.attempts)
    assert not post.done()
    served.intake.gate.set()
    code, told = await post
    assert (code, told["message"]["text"]) == (200, "hello")


async def test_what_is_not_saved_is_told_and_taken_once_when_sent_again(
    served: Served, browser: FakeBrowser
) -> None:
    served.intake.failures = 1
    body = {"id": "client-id-1", "text": "hello", "files": []}
    code, told = await browser.post(f"/api/chats/{CHAT}/messages", body)
    assert (code, told) == (503, {"error": "Not saved yet: the disk is full."})
    for _ in range(2):
        assert (await browser.post(f"/api/chats/{CHAT}/messages", body))[0] == 200
    [message] = served.intake.accepted
    assert isinstance(message, Message)
    assert message.dedupe == f"web:{CHAT}:client-id-1"


async def test_a_refusal_is_told_in_its_own_words(served: Served, browser: FakeBrowser) -> None:
    served.intake.acks = lambda _: Refused("The queue is full.")
    body = {"id": "client-id-1", "text": "hello", "files": []}
    assert await browser.post(f"/api/chats/{CHAT}/messages", body) == (
        409,
        {"error": "The queue is full."},
    )


async def test_a_refusal_that_got_lost_is_told_again(served: Served, browser: FakeBrowser) -> None:
    served.intake.acks = lambda _: Refused("The queue is full.")
    body = {"id": "client-id-1", "text": "hello", "files": []}
    for _ in range(3):  # the intake knows it from the second time on
        assert await browser.post(f"/api/chats/{CHAT}/messages", body) == (
            409,
            {"error": "The queue is full."},
        )


async def test_a_press_that_was_never_saved_is_told_late(
    served: Served, browser: FakeBrowser
) -> None:
    window = await browser.open(CHAT)
    served.intake.gate.clear()
    served.intake.failures = 1
    press = browser.press(CHAT, "m1", "/stop")
    assert await browser.toast(press, 3.0) == "Saving …"
    served.intake.gate.set()
    await browser.until(lambda: window.remarks == ["That press was not saved. Press again."])


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_only_json_is_taken_as_json(served: Served, browser: FakeBrowser, kind: str) -> None:
    headers = {**browser.origin, "Content-Type": kind}
    url = f"{served.base}/api/chats/{CHAT}/messages"
    async with browser.http.post(url, data="{}", headers=headers) as answer:
        assert answer.status == 415


@pytest.mark.parametrize("body", ["", "{", "[" * 100_000, "\x00", '"x"', "nul"])
async def test_nonsense_is_refused_and_no_fault(
    served: Served, browser: FakeBrowser, body: str
) -> None:
    headers = {**browser.origin, "Content-Type": "application/json"}
    url = f"{served.base}/api/chats/{CHAT}/messages"
    async with browser.http.post(url, data=body, headers=headers) as answer:
        assert answer.status == 400
    assert served.platform.health().ok


async def test_a_message_of_megabytes_is_refused(served: Served, browser: FakeBrowser) -> None:
    headers = {**browser.origin, "Content-Type": "application/json"}
    url = f"{served.base}/api/chats/{CHAT}/messages"
    async with browser.http.post(url, data=BytesIO(b"x" * 3_000_000), headers=headers) as answer:
        assert answer.status == 413


# Files


async def test_a_file_comes_in_and_can_be_fetched_again(
    served: Served, browser: FakeBrowser, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 100
    file = await browser.upload(CHAT, "../<b>plan</b>.html", content)
    browser.say(CHAT, "", file)
    [message] = await served.intake.got(1)
    assert isinstance(message, Message)
    [attachment] = message.attachments
    await served.platform.download(attachment, tmp_path / "copy")
    assert await asyncio.to_thread((tmp_path / "copy").read_bytes) == content
    async with browser.http.get(f"{served.base}/files/{file}/x") as answer:
        assert await answer.read() == content
        assert answer.content_type == "application/octet-stream"
        assert answer.headers["Content-Disposition"].startswith("attachment;")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_file_that_no_message_names_is_nobodys(
    served: Served, browser: FakeBrowser
) -> None:
    file = await browser.upload(CHAT, "a.txt", b"x")
    assert (await status(browser, f"/files/{file}/a.txt"))[0] == 404
    body = {"id": "client-id-1", "text": "", "files": ["b" * 22]}
    code, told = await browser.post(f"/api/chats/{CHAT}/messages", body)
    assert (code, "choose it again" in told["error"]) == (400, True)


async def test_too_large_a_file_is_refused_and_leaves_nothing(
    served: Served, browser: FakeBrowser
) -> None:
    async def unmeasured() -> AsyncIterator[bytes]:
        for _ in range(LIMIT // 1024 + 1):
            yield b"x" * 1024

    url = f"{served.base}/api/chats/{CHAT}/files?name=a"
    for data in (b"x" * (LIMIT + 1), unmeasured()):
        async with browser.http.post(url, data=data, headers=browser.origin) as answer:
            assert answer.status in {400, 413}
            assert "at the most" in (await answer.json())["error"]
    assert not await asyncio.to_thread(lambda: list(served.folder.glob("web/*")))


async def test_an_upload_that_breaks_off_leaves_nothing(
    served: Served, browser: FakeBrowser
) -> None:
    [cookie] = [f"{c.key}={c.value}" for c in browser.http.cookie_jar]
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    head = (
        f"POST /api/chats/{CHAT}/files?name=a HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        f"Origin: {served.base}\r\nCookie: {cookie}\r\nContent-Length: 5000\r\n\r\n"
    )
    writer.write(head.encode() + b"x" * 1000)
    await writer.drain()
    folder = served.folder / "web"
    await eventually(lambda: any(folder.glob("*.part")))
    writer.transport.abort()
    await eventually(lambda: not any(folder.glob("*")))
    assert served.platform.health().ok


# What is shown


async def test_a_browser_that_comes_back_has_lost_nothing_and_doubled_nothing(
    served: Served, browser: FakeBrowser
) -> None:
    window = await browser.open(CHAT)
    first = (await served.platform.send(HERE, Say("one"))).remote
    await browser.until(lambda: len(window.by("bot")) == 1)
    await browser.close(CHAT)
    await served.platform.edit(HERE, first, Say("one, changed"))
    await served.platform.send(HERE, Say("two"))
    items = dict(window.items)
    await browser.open(CHAT)
    await browser.until(lambda: len(window.by("bot")) == 2)
    assert [item.text for item in window.by("bot")] == ["one, changed", "two"]
    assert items.keys() <= window.items.keys()


async def test_a_browser_of_another_life_reads_the_chat_again(
    served: Served, browser: FakeBrowser
) -> None:
    window = browser.windows[CHAT]
    window.position = "another-life.7"
    url = f"{served.base}/api/chats/{CHAT}/events?after=another-life.7"
    async with browser.http.get(url) as answer:
        lines = [(await answer.content.readline()).decode().strip() for _ in range(8)]
    assert "event: reset" in lines


async def test_what_runs_is_told_to_who_comes_in_the_middle(
    served: Served, browser: FakeBrowser
) -> None:
    mine = RemoteId(browser.say(CHAT, "work"))
    await served.intake.got(1)
    await served.platform.acknowledge(HERE, mine, Mark.WORKING)
    await served.platform.show_progress(HERE, 1, None, "💻 pytest …")
    window = await browser.open(CHAT)
    assert window.activity["working"]
    assert window.activity["text"] == "💻 pytest …"
    await served.platform.acknowledge(HERE, mine, Mark.DONE)
    await browser.until(lambda: not window.activity["working"])
    assert window.marks[mine] == "done"


async def test_two_windows_show_the_same_chat(served: Served, browser: FakeBrowser) -> None:
    async with served.browser() as other:
        theirs = await other.open(CHAT)
        browser.say(CHAT, "hello")
        await other.until(lambda: [item.text for item in theirs.by("you")] == ["hello"])


async def test_a_file_whose_copy_is_gone_is_told_so(served: Served, browser: FakeBrowser) -> None:
    remote = (await served.platform.send(HERE, SendFile("a.txt", "here", content="x"))).remote
    assert (await status(browser, f"/files/{remote}/a.txt")) == (200, "x")


async def test_an_end_closes_open_streams_at_once(tmp_path: Path) -> None:
    served = Served(tmp_path)
    task = asyncio.create_task(served.platform.run(served.intake), name="web")
    await served.intake.wait_for(lambda: served.intake.caught)
    async with served.browser() as browser:
        await browser.open(CHAT)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        task.cancel()
        await asyncio.wait({task})
        assert loop.time() - begun < 1.5
    assert not served.platform.health().ok


async def test_a_port_that_is_taken_names_the_setting_to_change(tmp_path: Path) -> None:
    served = Served(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", served.port))
        taken.listen()
        with pytest.raises(UserError, match=r"platforms\.web\.port"):
            await served.platform.run(served.intake)
    assert not served.intake.caught


async def test_one_who_waits_behind_others_is_told_so(
    served: Served, browser: FakeBrowser
) -> None:
    served.intake.acks = lambda _: Queued(3)
    body = {"id": "client-id-1", "text": "hello", "files": []}
    _, told = await browser.post(f"/api/chats/{CHAT}/messages", body)
    assert told["message"]["behind"] == 3


async def test_a_press_comes_in(served: Served, browser: FakeBrowser) -> None:
    browser.press(CHAT, "m1", "/goal pause")
    [press] = await served.intake.got(1)
    assert isinstance(press, Press)
    assert (press.command, press.remote, press.address) == ("/goal pause", "m1", HERE)
