"""What the web chat keeps: the token, logins, counts of wrong tokens, files, events."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.web.encode import Shown
from adapters.web.files import FORGOTTEN_S, Files, safe_name
from adapters.web.hub import CHATS, EVENTS, Hub
from adapters.web.login import (
    LOGIN_S,
    MOST_LOGINS,
    TOKEN_FILE,
    WINDOW_S,
    WRONG,
    WRONG_IN_ALL,
    Attempts,
    Logins,
    token_of,
)
from core.errors import PermanentError, TransientError, UserError
from core.messages import Attachment, RemoteId, Say, SendFile
from tests.fakes.telegram_rig import HeldClock

KEY = "platforms.web.token"


def test_a_token_is_made_once_and_kept_for_the_user_alone(tmp_path: Path) -> None:
    token, fresh = token_of(tmp_path, None, KEY)
    assert fresh
    assert len(token) >= 32
    assert stat.S_IMODE((tmp_path / TOKEN_FILE).stat().st_mode) == 0o600
    assert token_of(tmp_path, None, KEY) == (token, False)


def test_a_token_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    token, _ = token_of(tmp_path, None, KEY)
    (tmp_path / TOKEN_FILE).chmod(0o644)
    assert token_of(tmp_path, None, KEY) == (token, False)
    assert stat.S_IMODE((tmp_path / TOKEN_FILE).stat().st_mode) == 0o600


def test_an_emptied_token_file_gets_a_new_token(tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE).write_text("\n", encoding="utf-8")
    token, fresh = token_of(tmp_path, None, KEY)
    assert fresh
    assert token


def test_a_token_of_the_settings_is_not_written_down(tmp_path: Path) -> None:
    given = "a long enough token"
    assert token_of(tmp_path, given, KEY) == (given, False)
    assert not held(tmp_path)


def test_a_short_token_is_refused_with_the_key_to_change(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=KEY):
        token_of(tmp_path, "hunter2", KEY)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be kept"):
        token_of(tmp_path / "file", None, KEY)


def test_a_login_outlives_a_restart_but_not_its_end(tmp_path: Path) -> None:
    clock = HeldClock()
    secret = Logins(tmp_path, "token", clock).open()
    again = Logins(tmp_path, "token", clock)
    assert again.holds(secret)
    assert not again.holds("")
    assert not again.holds(secret + "x")
    again.close(secret)
    assert not again.holds(secret)
    assert not Logins(tmp_path, "token", clock).holds(secret)


def test_a_login_ends_after_its_time_and_with_its_token(tmp_path: Path) -> None:
    clock = HeldClock()
    logins = Logins(tmp_path, "token", clock)
    secret = logins.open()
    assert not Logins(tmp_path, "another token", clock).holds(secret)
    clock.at += LOGIN_S + 1
    assert not logins.holds(secret)


def test_the_file_of_logins_lets_nobody_in(tmp_path: Path) -> None:
    logins = Logins(tmp_path, "the token itself", HeldClock())
    secret = logins.open()
    [file] = tmp_path.iterdir()
    kept = file.read_text(encoding="utf-8")
    assert secret not in kept
    assert "the token itself" not in kept
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_old_logins_make_room(tmp_path: Path) -> None:
    clock = HeldClock()
    logins = Logins(tmp_path, "token", clock)
    secrets = []
    for _ in range(MOST_LOGINS + 3):
        clock.at += 1
        secrets.append(logins.open())
    assert sum(map(logins.holds, secrets)) == MOST_LOGINS
    assert logins.holds(secrets[-1])


@pytest.mark.parametrize("kept", ["", "[]", "{}", '{"token": 5, "logins": []}', "\xff"])
def test_a_spoilt_file_of_logins_ends_them_and_no_more(tmp_path: Path, kept: str) -> None:
    (tmp_path / "web_logins.json").write_text(kept, encoding="latin-1")
    logins = Logins(tmp_path, "token", HeldClock())
    assert logins.holds(logins.open())


def test_wrong_tokens_are_counted_by_address_for_some_minutes() -> None:
    clock = HeldClock()
    attempts = Attempts(clock)
    for _ in range(WRONG):
        assert attempts.wait_s("10.0.0.1") == 0
        attempts.failed("10.0.0.1")
    assert 0 < attempts.wait_s("10.0.0.1") <= WINDOW_S
    assert attempts.wait_s("10.0.0.2") == 0
    clock.at += WINDOW_S + 1
    assert attempts.wait_s("10.0.0.1") == 0


def test_a_network_of_addresses_counts_as_one() -> None:
    attempts = Attempts(HeldClock())
    for last in range(WRONG):
        attempts.failed(f"2001:db8:0:1::{last:x}")
    assert attempts.wait_s("2001:db8:0:1:ffff::1") > 0
    assert attempts.wait_s("2001:db8:0:2::1") == 0


def test_many_addresses_together_are_held_too() -> None:
    attempts = Attempts(HeldClock())
    for number in range(WRONG_IN_ALL):
        attempts.failed(f"10.0.{number}.1")
    assert attempts.wait_s("192.0.2.1") > 0


def test_the_right_token_clears_an_addresss_count() -> None:
    attempts = Attempts(HeldClock())
    for _ in range(WRONG - 1):
        attempts.failed("10.0.0.1")
    attempts.succeeded("10.0.0.1")
    attempts.failed("10.0.0.1")
    assert attempts.wait_s("10.0.0.1") == 0


# Files


def held(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def blocks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("notes.txt", "notes.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.doc", "a.doc"),
        ("", "file"),
        ("...", "file"),
        ("a\x00b\n.txt", "ab_.txt"),
        ("cv\u202efdp.exe", "cvfdp.exe"),
        ("<img src=x>.png", "_img src=x_.png"),
        ("x" * 300 + ".tar", "x" * 116 + ".tar"),
    ],
)
def test_a_files_name_is_a_name_and_no_path(name: str, kept: str) -> None:
    assert safe_name(name) == kept


async def test_an_upload_is_kept_once_a_message_names_it(tmp_path: Path) -> None:
    files = Files(tmp_path / "web", 100)
    kept = await files.receive("a.txt", blocks(b"one ", b"two"))
    assert files.find(kept.id) is None
    attachment = files.attach(kept.id)
    assert files.attach(kept.id) == attachment
    assert (attachment.name, attachment.size, attachment.mime) == ("a.txt", 7, "text/plain")
    files.sweep(10**12)
    files.fetch(attachment, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"one two"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "web").iterdir()}
    assert modes == {0o600}


async def test_an_upload_over_the_limit_leaves_nothing(tmp_path: Path) -> None:
    files = Files(tmp_path, 5)
    with pytest.raises(UserError, match="at the most"):
        await files.receive("a.txt", blocks(b"123", b"456"))
    assert not held(tmp_path)


async def test_an_upload_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"123"
        raise ConnectionResetError

    with pytest.raises(TransientError, match="broke off"):
        await Files(tmp_path, 100).receive("a.txt", broken())
    assert not held(tmp_path)


async def test_an_upload_that_no_message_names_goes_after_a_day(tmp_path: Path) -> None:
    files = Files(tmp_path, 100)
    kept = await files.receive("a.txt", blocks(b"x"))
    at = (tmp_path / f"{kept.id}.new").stat().st_mtime
    files.sweep(at + 60)
    assert len(held(tmp_path)) == 2
    files.sweep(at + FORGOTTEN_S + 60)
    assert not held(tmp_path)
    with pytest.raises(UserError, match="choose it again"):
        files.attach(kept.id)


@pytest.mark.parametrize("id_", ["../outside.txt", "a" * 22, "", ".", "web_token", "%2e%2e%2f"])
def test_nothing_but_a_kept_file_is_ever_found(tmp_path: Path, id_: str) -> None:
    (tmp_path / "outside.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "web").mkdir()
    files = Files(tmp_path / "web", 100)
    assert files.find(id_) is None
    with pytest.raises(PermanentError):
        files.fetch(Attachment(id_, "x"), tmp_path / "copy")


def test_what_the_bot_sends_is_copied(tmp_path: Path) -> None:
    source = tmp_path / "chart.png"
    source.write_bytes(b"png")
    files = Files(tmp_path / "web", 1)
    kept = files.keep(SendFile("chart.png", path=str(source)))
    source.unlink()
    found = files.find(kept.id)
    assert found is not None
    assert (found[0], found[1].read_bytes()) == (kept, b"png")
    assert kept.mime == "image/png"
    with pytest.raises(PermanentError, match=r"chart\.png"):
        files.keep(SendFile("chart.png", path=str(source)))
    assert len(list((tmp_path / "web").iterdir())) == 2


# Events


def numbers(hub: Hub, chat: str, position: str) -> list[str] | None:
    found = hub.feed(chat).since(hub.number_of(position))
    return None if found is None else [event.data for event in found]


def test_events_go_on_where_a_browser_lost_them() -> None:
    hub = Hub("run")
    hub.feed("chat")
    start = hub.position
    for number in range(3):
        hub.publish("chat", "message", {"n": number})
        hub.publish("other", "message", {"n": -1})
    assert numbers(hub, "chat", start) == ['{"n": 0}', '{"n": 1}', '{"n": 2}']
    assert numbers(hub, "chat", hub.position) == []


@pytest.mark.parametrize(
    "position", ["", "other.1", "run.x", "run.-1", "run.99", "run.", "x" * 99]
)
def test_what_another_process_or_nobody_said_is_a_gap(position: str) -> None:
    hub = Hub("run")
    hub.publish("chat", "message", {})
    assert numbers(hub, "chat", position) is None


def test_what_is_not_kept_any_more_is_a_gap_and_never_silence() -> None:
    hub = Hub("run")
    hub.publish("chat", "message", {})
    early = hub.position
    for _ in range(EVENTS):
        hub.publish("chat", "message", {})
    kept = numbers(hub, "chat", early)
    assert kept is not None
    assert len(kept) == EVENTS
    hub.publish("chat", "message", {})
    assert numbers(hub, "chat", early) is None


def test_a_feed_that_was_dropped_is_a_gap_for_who_knew_it() -> None:
    hub = Hub("run")
    hub.publish("chat", "message", {})
    early = hub.position
    hub.publish("chat", "message", {})
    for number in range(CHATS + 1):
        hub.feed(f"chat{number}")
    assert numbers(hub, "chat", early) is None


def test_a_feed_that_is_read_is_not_dropped() -> None:
    hub = Hub("run")
    early = hub.position
    hub.feed("chat").readers += 1
    hub.publish("chat", "message", {})
    for number in range(CHATS + 1):
        hub.feed(f"chat{number}")
    assert numbers(hub, "chat", early) == ["{}"]


def test_a_message_is_remembered_as_it_reads_now() -> None:
    feed = Hub("run").feed("chat")
    feed.show(Shown(RemoteId("a"), Say("one"), 1.0))
    feed.show(Shown(RemoteId("b"), Say("two"), 2.0))
    feed.show(Shown(RemoteId("a"), Say("three"), 1.0))
    assert [sent.what for sent in feed.shown.values()] == [Say("three"), Say("two")]
