"""A runner's request as a question to a person, and back."""

from __future__ import annotations

import pytest

from core.delegation import leave
from core.delegation.ports import Permission, Permitted
from core.escalations.asking import objection
from core.escalations.events import Answered, SendFailed, Stopped, TimeCame
from core.escalations.machine import advance
from core.escalations.record import (
    Answer,
    Approved,
    Denied,
    Escalation,
    Fact,
    Kind,
    Label,
    OnTimeout,
    Purpose,
    approvers_of,
)
from core.messages import Role
from tests.fakes.escalated import ANNA, BELA, NOW, escalation, shown

BUILD = Permission("Build it", "execute", "make", '{"n": 1}', ("/work/a", "/work/b"))


def question() -> Escalation:
    facts = leave.asked("k", "Coder", BUILD).facts
    return shown(escalation(Kind.APPROVE, Purpose.PERMISSION, facts=facts))


def answered(answer: Answer) -> Escalation:
    return advance(question(), Answered(ANNA, answer, NOW + 60))[0]


def test_all_but_the_title_and_the_agents_name_is_exact_and_no_answer_is_a_no() -> None:
    asked = leave.asked(leave.key("call_1.0", 2), "Coder", BUILD)
    assert asked.facts == (
        Fact(Label.COMMAND, "make"),
        Fact(Label.ARGUMENTS, '{"n": 1}'),
        Fact(Label.PATH, "/work/a"),
        Fact(Label.PATH, "/work/b"),
        Fact(Label.TOOL, "execute"),
        Fact(Label.AGENT, "Coder"),
    )
    assert [fact.label for fact in question().exact] == [fact.label for fact in asked.facts[:-1]]
    assert (asked.key, asked.question) == ("call_1.0!p2", "Build it")
    assert (asked.kind, asked.on_timeout) == (Kind.APPROVE, OnTimeout.DENY)
    assert objection(question(), 0) is None


def test_a_member_may_not_give_their_own_runner_leave() -> None:
    asked = question()
    assert approvers_of(asked.purpose).roles == {Role.OWNER}
    assert asked.requester == BELA
    assert not asked.admits(BELA)
    assert asked.admits(ANNA)


@pytest.mark.parametrize(
    ("decided", "permitted"),
    [
        (answered(Approved()), Permitted(allowed=True, reason="E7 was approved by Anna")),
        (answered(Denied()), Permitted(allowed=False, reason="E7 was denied by Anna")),
        (
            answered(Denied("not\n`now` " + "x" * 200)),
            Permitted(allowed=False, reason=f"E7 was denied by Anna: not 'now' {'x' * 109}…"),
        ),
        (
            advance(question(), TimeCame(NOW + 10**6))[0],
            Permitted(allowed=False, reason="nobody answered E7 in time"),
        ),
        (
            advance(
                escalation(Kind.APPROVE, Purpose.PERMISSION, facts=question().facts),
                SendFailed(NOW, "the chat is gone"),
            )[0],
            Permitted(allowed=False, reason="E7 could not be shown to anybody"),
        ),
        (
            advance(answered(Approved()), Stopped(NOW, ANNA))[0],
            Permitted(allowed=False, reason="E7 was stopped"),
        ),
    ],
)
def test_only_a_persons_yes_is_a_yes(decided: Escalation, permitted: Permitted) -> None:
    assert leave.permitted(decided, applied=True) == permitted


def test_a_yes_that_was_taken_back_before_it_was_used_is_none() -> None:
    assert leave.permitted(answered(Approved()), applied=False) == Permitted(
        allowed=False, reason="E7 was stopped"
    )
