"""A bare yes, the tokens of buttons, and the arguments of commands."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import commands as table
from core.escalations import token, words
from core.escalations.commands import Order, Verb, read
from core.escalations.record import Approved, Denied, Wrote
from core.escalations.token import MOST_BYTES, Act, Pressed, decode, encode, hashed, matches

TOKENS = st.binary(min_size=16, max_size=16)
BUTTONS = st.sampled_from(Act) | st.integers(0, 7)


def test_yes_and_no_have_no_word_in_common_and_are_written_as_they_are_compared() -> None:
    assert not words.YES & words.NO
    for word in words.YES | words.NO:
        assert word == unicodedata.normalize("NFC", word).casefold()
        assert words.yes_or_no(word.upper()) is not None


@pytest.mark.parametrize(
    "text", ["yes", "Y", " OK. ", "YES!!", "Sí", "si\u0301", "ja\u200b", "да", "はい。"]
)
def test_a_bare_yes_is_a_yes(text: str) -> None:
    assert words.yes_or_no(text) == Approved()


@pytest.mark.parametrize("text", ["no", "N", "Nein!", "non.", "нет", "いいえ", "HAYIR", "deny"])
def test_a_bare_no_is_a_no(text: str) -> None:
    assert words.yes_or_no(text) == Denied()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes, but wait",
        "yes?",
        "yes...",
        "yes…",
        "y/n",
        "ok ok",
        "no way",
        ".",
        "!",
        "tak",
        "jo",
    ],
)
def test_anything_more_or_less_is_neither(text: str) -> None:
    assert words.yes_or_no(text) is None


@given(st.text(max_size=12))
def test_a_yes_followed_by_a_word_is_never_a_yes(more: str) -> None:
    if any(c.isalnum() for c in more):
        assert words.yes_or_no(f"yes {more}") is None


def test_a_written_answer_has_words_and_an_end() -> None:
    assert words.written(" a\u202eb\n") == Wrote("ab")
    assert words.written(" \u200b\n") is None
    assert words.written("x" * (words.MOST_WRITTEN + 1)) is None


# Tokens.


@given(TOKENS, BUTTONS)
def test_a_button_is_read_as_it_was_made_and_fits_telegram(secret: bytes, what: Act | int) -> None:
    data = encode(secret, what)
    assert decode(data) == Pressed(secret, what)
    assert len(data.encode()) <= MOST_BYTES
    assert token.is_ours(data)
    assert table.read(data) is None, "it would be taken for a command"


@given(TOKENS, st.lists(TOKENS, max_size=3))
def test_a_token_matches_only_itself(secret: bytes, others: list[bytes]) -> None:
    hashes = [hashed(one) for one in others]
    assert matches(secret, hashes) is (secret in others)
    assert matches(secret, [*hashes, hashed(secret)])
    assert not matches(hashed(secret)[:16], [hashed(secret)])


@given(TOKENS, BUTTONS, st.data())
def test_a_button_changed_in_one_place_is_not_the_same_token(
    secret: bytes, what: Act | int, data: st.DataObject
) -> None:
    made = encode(secret, what)
    at = data.draw(st.integers(0, len(made) - 3))
    put = data.draw(st.sampled_from("ABCabc019-_=.é \n"))
    forged = made[:at] + put + made[at + 1 :]
    found = decode(forged)
    assert forged == made or found is None or not matches(found.token, [hashed(secret)])


@given(st.text(max_size=70) | st.text("esc:.yAQ_-", max_size=40))
def test_nothing_but_what_was_encoded_is_read(data: str) -> None:
    found = decode(data)
    assert found is None or encode(found.token, found.what) == data


def test_another_spelling_of_the_same_bits_is_not_read() -> None:
    made = encode(b"\x00" * 16, Act.DENY)
    assert made == "esc:AAAAAAAAAAAAAAAAAAAAAA.n"
    assert decode("esc:AAAAAAAAAAAAAAAAAAAAAB.n") is None


def test_what_no_card_has_cannot_be_encoded() -> None:
    for secret, what in ((b"short", Act.DENY), (b"x" * 16, 8), (b"x" * 16, -1)):
        with pytest.raises(ValueError, match=r"token of 5|no option"):
            encode(secret, what)
    assert not token.is_ours("/approve E7")


# Commands.


@pytest.mark.parametrize(
    ("verb", "argument", "order"),
    [
        (Verb.APPROVE, "", Order(Verb.APPROVE, None, "", "")),
        (Verb.APPROVE, "7", Order(Verb.APPROVE, 7, "", "7")),
        (Verb.DENY, "E7 too early", Order(Verb.DENY, 7, "too early", "E7 too early")),
        (Verb.DENY, "too early", Order(Verb.DENY, None, "too early", "too early")),
        (Verb.DENY, "7 days", Order(Verb.DENY, 7, "days", "7 days", sure=False)),
        (Verb.ANSWER, "e7\nblue", Order(Verb.ANSWER, 7, "blue", "e7\nblue")),
        (Verb.ANSWER, "2", Order(Verb.ANSWER, 2, "", "2", sure=False)),
        (Verb.ANSWER, "E", Order(Verb.ANSWER, None, "E", "E")),
        (Verb.ANSWER, "E" + "9" * 30, Order(Verb.ANSWER, None, "E" + "9" * 30, "E" + "9" * 30)),
    ],
)
def test_the_argument_of_a_command_is_an_id_and_a_rest(
    verb: Verb, argument: str, order: Order
) -> None:
    assert read(verb, argument) == order


def test_a_yes_with_conditions_is_not_taken_and_an_answer_needs_words() -> None:
    assert "a yes has no conditions" in str(read(Verb.APPROVE, "E7 but only tomorrow"))
    for argument in ("", "  ", "E7", " e7 "):
        assert "Usage: /answer" in str(read(Verb.ANSWER, argument))
