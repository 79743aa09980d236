"""What `/status`, `/usage` and `/goal` tell, word for word."""

from __future__ import annotations

from core.messages import Role, SessionId
from core.sessions import reports
from core.sessions.facts import ModelSpent, Used
from core.sessions.lane import Lane
from tests.fakes.no_facts import KEY

EMPTY = Lane(key=KEY, session=SessionId(1))


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
