"""The redactor masks what it was given and what looks like a secret, and nothing else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.redact import MASK, Redactor

BOT = "123456789:AAF-abcdefghijklmnopqrstuvwxyz_0123"


@pytest.mark.parametrize(
    "secret",
    [
        BOT,
        BOT.replace(":", "%3A"),
        "sk-proj-abcdefghijklmnop0123",
        "sk-or-v1-0123456789abcdef0123456789abcdef",
        "xoxb-1234567890-abcdefghij",
        "xapp-1-A0123456789-abc",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "AKIAABCDEFGHIJKLMNOP",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nxyz\n",
    ],
)
def test_what_looks_like_a_secret_is_masked(secret: str) -> None:
    shown = Redactor()(f"before {secret} after")
    assert secret[12:] not in shown
    assert shown.startswith(f"before {MASK}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdef0123456789", f"Authorization: Bearer {MASK}"),
        (
            "https://api.telegram.org/bot" + BOT + "/getMe",
            f"https://api.telegram.org/bot{MASK}/getMe",
        ),
        ("http://user:pa55word@proxy:3128/", f"http://user:{MASK}@proxy:3128/"),
    ],
)
def test_secrets_in_headers_and_addresses_are_masked(text: str, shown: str) -> None:
    assert Redactor()(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Goal achieved: all 4 files are there (12:30:45).",
        "the bearer of this letter has a basic understanding of it",
        "http://127.0.0.1:8420/path?x=a@b",
        "sk-short and 123:abc",
        "a commit 0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_plain_text_is_left_alone(text: str) -> None:
    assert Redactor(["", "abc"])(text) == text


def test_a_known_secret_is_masked_also_where_an_address_quotes_it() -> None:
    redact = Redactor(["p@ss/word"])
    assert redact("x p@ss/word y p%40ss%2Fword z") == f"x {MASK} y {MASK} z"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert Redactor(["secret", "secret-two"])("secret-two") == MASK


def test_a_redactor_does_not_show_what_it_hides() -> None:
    assert "hunter22" not in repr(Redactor(["hunter22"]))


@given(st.text(), st.text(min_size=6), st.text())
def test_no_known_secret_gets_through(before: str, secret: str, after: str) -> None:
    if secret not in MASK:
        assert secret not in Redactor([secret])(before + secret + after).replace(MASK, "")


@pytest.mark.parametrize(
    "text", ["1" * 500_000, "://" * 200_000, "-----BEGIN " * 50_000, "sk-" * 200_000]
)
def test_a_hostile_text_takes_no_long_time(text: str) -> None:
    started = time.perf_counter()
    Redactor(["hunter22"])(text)
    assert time.perf_counter() - started < 5
