"""How a stranger becomes a member: codes, wrong tries, and who may be let out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.messages import Address, PlatformName, Role
from core.pairing import (
    ALPHABET,
    LIVES_S,
    LOCK_S,
    MAX_WRONG,
    OWNERS_BY_SHELL,
    USAGE,
    Admit,
    Approve,
    Book,
    Expel,
    Knock,
    ListPeople,
    Mistry,
    Paired,
    Remove,
    decide,
    hashed,
    listed,
    normal,
    read_pair,
)

NOW = 1_700_000_000.0
CODE = "ABCD2345"


def knock(person: str = "7", code: str = CODE, expires: float = NOW + LIVES_S) -> Knock:
    salt = person.encode()
    return Knock(
        platform=PlatformName.TELEGRAM,
        person=person,
        name="Eve",
        lane=Address(PlatformName.TELEGRAM, "42", person).key,
        salt=salt,
        hash=hashed(code, salt),
        expires=expires,
    )


def paired(person: str = "7", platform: PlatformName = PlatformName.TELEGRAM) -> Paired:
    return Paired(
        platform=platform, person=person, name="Eve", role=Role.MEMBER, at=NOW, by="telegram:1"
    )


BOOK = Book(pending=(knock(), knock("8", "ZZZZ9999")))


@pytest.mark.parametrize("typed", [CODE, "abcd2345", "ABCD-2345", " abcd 2345 "])
def test_a_code_is_accepted_however_it_is_typed(typed: str) -> None:
    decision = decide(BOOK, Approve(typed), "telegram:1", NOW)
    assert decision.changes == (Admit(BOOK.pending[0], Role.MEMBER, "telegram:1"),)
    assert decision.text == "✓ Eve (telegram:7) is let in as member."


def test_the_code_says_who_is_let_in() -> None:
    [change] = decide(BOOK, Approve("ZZZZ9999", Role.OWNER), "the command line", NOW).changes
    assert change == Admit(BOOK.pending[1], Role.OWNER, "the command line")


def test_a_wrong_code_is_counted_and_lets_nobody_in() -> None:
    decision = decide(BOOK, Approve("ABCD2346"), "telegram:1", NOW)
    assert (decision.changes, decision.done) == ((Mistry("telegram:1"),), False)
    assert "4 tries left" in decision.text


def test_a_code_is_good_for_an_hour() -> None:
    late = Book(pending=(knock(expires=NOW),))
    assert decide(late, Approve(CODE), "x", NOW - 1).done
    assert decide(late, Approve(CODE), "x", NOW).changes == (Mistry("x"),)


def test_five_wrong_codes_lock_even_the_right_one_for_an_hour() -> None:
    wrong = tuple(NOW - 50 + at for at in range(MAX_WRONG))
    locked = Book(pending=(knock(expires=NOW + 2 * LOCK_S),), wrong=wrong)
    refused = decide(locked, Approve(CODE), "x", NOW)
    assert (refused.changes, refused.done) == ((), False)
    assert "locked" in refused.text
    assert not decide(locked, Approve(CODE), "x", wrong[-1] + LOCK_S - 1).done
    assert decide(locked, Approve(CODE), "x", wrong[-1] + LOCK_S).done


def test_the_fifth_wrong_code_says_that_it_was_the_last() -> None:
    book = Book(pending=BOOK.pending, wrong=(NOW,) * 4)
    assert "locked for an hour" in decide(book, Approve("x"), "x", NOW).text


def test_wrong_codes_of_an_hour_ago_are_forgotten() -> None:
    book = Book(pending=BOOK.pending, wrong=(NOW - LOCK_S,) * 5)
    assert decide(book, Approve(CODE), "x", NOW).done


def test_a_person_is_let_out_by_their_id() -> None:
    book = Book(paired=(paired(), paired("8")))
    assert decide(book, Remove("7"), "x", NOW).changes == (Expel(book.paired[0], "x"),)
    assert decide(book, Remove("telegram:7"), "x", NOW).done
    assert not decide(book, Remove("discord:7"), "x", NOW).done
    assert "configuration" in decide(book, Remove("9"), "x", NOW).text


def test_one_id_on_two_platforms_must_be_told_apart() -> None:
    book = Book(paired=(paired(), paired(platform=PlatformName.DISCORD)))
    decision = decide(book, Remove("7"), "x", NOW)
    assert decision.changes == ()
    assert "telegram:7 or discord:7" in decision.text
    assert decide(book, Remove("discord:7"), "x", NOW).changes == (Expel(book.paired[1], "x"),)


def test_the_list_tells_no_code_and_nobody_whose_code_is_old() -> None:
    book = Book((knock(), knock("8", expires=NOW)), (paired("9"),))
    said = listed(book, NOW)
    assert "telegram:7" in said
    assert "telegram:8" not in said
    assert "Eve (telegram:9), member" in said
    assert CODE not in said


@pytest.mark.parametrize(
    ("argument", "order"),
    [
        ("", ListPeople()),
        ("list", ListPeople()),
        ("approve abcd2345", Approve("abcd2345")),
        ("approve ABCD 2345", Approve("ABCD2345")),
        ("approve abcd2345 --role owner", OWNERS_BY_SHELL),
        ("remove 7", Remove("7")),
        ("approve", USAGE),
        ("remove", USAGE),
        ("remove 7 8", USAGE),
        ("admit 7", USAGE),
    ],
)
def test_the_chats_grammar_lets_members_in_only(argument: str, order: object) -> None:
    assert read_pair(argument) == order


@settings(deadline=None, max_examples=20)
@given(st.text(ALPHABET, min_size=8, max_size=8), st.binary(min_size=16, max_size=16))
def test_what_is_kept_of_a_code_is_not_the_code(code: str, salt: bytes) -> None:
    kept = hashed(code, salt)
    assert code.encode() not in kept
    assert kept == hashed(normal(code.lower()), salt)
    assert kept != hashed(code, salt[::-1] + b"x")
