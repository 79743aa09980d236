"""What `/status`, `/usage` and `/goal` tell, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.commands import Invocation
from core.gates.gate import Gate, GateEvent
from core.messages import Principal, Role, SessionId
from core.sessions import reports
from core.sessions.facts import ModelSpent, Order, Used
from core.sessions.lane import Lane, Prio, Row, RowKind
from tests.fakes.no_facts import KEY, NoFacts

ANNA = Principal("1", "Anna", Role.OWNER)
EMPTY = Lane(key=KEY, session=SessionId(1))


@pytest.mark.parametrize(
    ("messages", "said"),
    [(0, "no message waits."), (1, "1 message waits."), (2, "2 messages wait.")],
)
def test_status_counts_what_waits_in_words(messages: int, said: str) -> None:
    rows = (
        Row(seq=seq, kind=RowKind.MESSAGE, prio=Prio.PERSON, principal=ANNA)
        for seq in range(1, messages + 1)
    )
    lane = replace(EMPTY, waiting=tuple(rows))
    order = Order(seq=9, by=ANNA, line=Invocation("status", ""), now=0.0)
    assert reports.status_of(lane, order, NoFacts()) == f"No turn is running; {said}"


def test_usage_names_a_cost_only_where_a_price_is_known() -> None:
    free = ModelSpent("local", 1_000, 10, 20, 0.0)
    paid = ModelSpent("big", 100, 0, 5, 0.25)
    said = reports.usage(EMPTY, Role.MEMBER, Used(session=(free, paid), here=(free,)))
    assert said.split("\n") == [
        "This session: 1,125 tokens · $0.25",
        "· local: 1,000 in (10 cached), 20 out",
        "· big: 100 in, 5 out · $0.25",
        "Today, in this chat: 1,020 tokens",
        "· local: 1,000 in (10 cached), 20 out",
    ]


def ran(result: str, bounce: int, gate: Gate = Gate.VERIFY) -> GateEvent:
    return GateEvent(gate=gate, result=result, reason="x", bounce=bounce, budget=2, ms=200)


def test_a_gate_that_rejected_says_whether_the_answer_was_sent_back() -> None:
    events = (ran("failed", 0), ran("passed", 1), ran("REJECT", 1, Gate.CRITIC), ran("failed", 2))
    assert reports.gate_lines(events) == [
        "Gates of the last turn:",
        "[verify] failed: x (sent back, 1 of 2, 0.2s)",
        "[verify] passed: x (0.2s)",
        "[critic] REJECT: x (sent back, 2 of 2, 0.2s)",
        "[verify] failed: x (not sent back any more, 0.2s)",
    ]


def test_a_rejected_answer_that_may_yet_be_sent_back_says_neither() -> None:
    assert reports.gate_lines((ran("failed", 0),))[1:] == ["[verify] failed: x (0.2s)"]
