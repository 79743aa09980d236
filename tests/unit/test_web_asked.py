"""The web chat's questions to people: their buttons, their cards, the list of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.web import decode
from adapters.web.asked import STATES, TRAIL, cards, listed
from adapters.web.encode import Asks, Shown, asks_a_person, posted
from core.escalations.events import Trail
from core.escalations.record import State
from core.escalations.token import TOKEN_BYTES, Act, encode
from core.messages import Button, RemoteId, Say
from core.sessions.conversation import Question, TrailLine

ID = "client-id-1"
SECRET = bytes(range(TOKEN_BYTES))
YES = Button("Approve", encode(SECRET, Act.APPROVE))
LATER = Button("Later", encode(SECRET, Act.LATER))
ASKED = Question(
    id="E7",
    text="rm -rf build",
    how="/approve E7, or /deny E7 reason",
    state=State.OPEN,
    until=90.0,
    buttons=(Button("Approve", "/approve E7"),),
    trail=(TrailLine(1.0, Trail.SENT, detail="m1"), TrailLine(2.0, Trail.REFUSED, "Bob", "no")),
    remotes=(RemoteId("m1"),),
)


@pytest.mark.parametrize("command", [YES.command, LATER.command, encode(SECRET, 7), "/approve E7"])
def test_a_press_carries_a_cards_token_as_it_is(command: str) -> None:
    press = decode.press("chat01", {"id": ID, "message": "m", "command": command}, 5.0)
    assert (press.command, press.remote) == (command, "m")


def test_a_typed_token_is_a_message_like_any_other() -> None:
    wanted = decode.wanted({"id": ID, "text": YES.command})
    assert decode.message("chat01", wanted, (), 5.0).text == YES.command


@pytest.mark.parametrize(
    ("buttons", "asks"),
    [
        ((YES, LATER), True),
        ((LATER,), True),
        ((Button("1", "/answer E7 1"),), True),
        ((Button("Deny", "/deny E7"),), True),
        ((Button("Pause", "/goal pause"),), False),
        ((), False),
    ],
)
def test_a_question_is_known_by_its_buttons(buttons: tuple[Button, ...], asks: bool) -> None:
    assert asks_a_person(Say("✋ E7: may this command run?", buttons=buttons)) is asks


def test_a_question_that_loses_its_buttons_is_decided_and_nothing_else_is() -> None:
    card = Shown(RemoteId("m1"), Say("?", buttons=(YES,)), 1.0, asks=Asks.OPEN)
    assert posted(card)["asks"] == "open"
    assert posted(card.edited(Say("??", buttons=(LATER,))))["asks"] == "open"
    assert posted(card.edited(Say("✓ E7 approved")))["asks"] == "decided"
    assert posted(Shown(RemoteId("m2"), Say("x"), 1.0).edited(Say("y")))["asks"] == ""


def test_questions_are_listed_in_words() -> None:
    over = replace(ASKED, id="E6", state=State.APPLIED, outcome="✓ E6 approved by You", buttons=())
    waits, decided = listed([ASKED, over])
    assert waits == {
        "id": "E7",
        "text": "rm -rf build",
        "how": "/approve E7, or /deny E7 reason",
        "waits": True,
        "shown": True,
        "stands": "waits for an answer",
        "until": 90.0,
        "buttons": [{"label": "Approve", "command": "/approve E7"}],
        "trail": [
            {"at": 1.0, "what": "card shown", "who": "", "detail": ""},
            {"at": 2.0, "what": "an answer was refused", "who": "Bob", "detail": "no"},
        ],
        "messages": ["m1"],
    }
    assert isinstance(decided, dict)
    assert (decided["waits"], decided["stands"]) == (False, "✓ E6 approved by You")


def test_every_state_and_every_kind_of_trail_has_words() -> None:
    assert set(STATES) == set(State)
    assert set(TRAIL) == set(Trail)


def test_a_cards_messages_are_known_by_how_the_question_stands() -> None:
    over = replace(ASKED, state=State.EXPIRED, remotes=(RemoteId("m2"), RemoteId("m3")))
    assert cards([ASKED, over]) == {"m1": Asks.OPEN, "m2": Asks.DECIDED, "m3": Asks.DECIDED}
