"""The desk between the work and the store: what it lets a chat be shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UserError
from core.escalations.desk import Asked
from core.escalations.record import Escalation, Fact, Kind, Label, Purpose
from core.messages import Address, PlatformName, Principal, Role
from core.ports import ToolContext
from core.sessions.ports import Signals, TurnRef
from core.transcript import Json
from gateway.desk import UNSHOWABLE, ChatDesk, showable
from gateway.redact import MASK, Redactor
from tests.fakes.escalated import command
from tests.fakes.scripted_desk import ScriptedDesk
from tests.fakes.table_rig import TableRig, looks, reports

HERE = Address(PlatformName.TELEGRAM, "1", "2")
CONTEXT = ToolContext(HERE, Principal("1", "Anna", Role.OWNER), 7, Path("/"), lambda _: None)
KEY = "-----BEGIN PRIVATE KEY-----"
COMMAND = Asked(
    key="call",
    kind=Kind.APPROVE,
    purpose=Purpose.COMMAND,
    facts=(Fact(Label.COMMAND, f"echo '{KEY}'\nrm -rf ~"),),
)


class Book:
    """Keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    async def ask(
        self, ref: TurnRef, call: str, asked: Asked, requester: Principal
    ) -> tuple[Escalation | str, Signals]:
        """Refuses everything after the first."""
        self.asked.append(asked)
        return (command() if len(self.asked) == 1 else "Enough."), Signals()

    async def apply(self, ref: TurnRef, key: str) -> bool:
        """Always the first time."""
        return True


def desk(book: Book) -> ChatDesk:
    return ChatDesk(book, lambda _: None, Redactor(["hunter2"]))


async def test_what_would_be_hidden_on_the_card_is_not_asked() -> None:
    book = Book()
    with pytest.raises(UserError, match="looks like a key") as refused:
        await desk(book).ask(CONTEXT, "call", COMMAND)
    assert str(refused.value) == UNSHOWABLE
    assert not book.asked


async def test_the_models_words_are_redacted_part_by_part() -> None:
    book = Book()
    said = replace(
        COMMAND,
        question=f"{KEY} and so on",
        facts=(Fact(Label.COMMAND, "ls"), Fact(Label.REASON, "hunter2 is asked for")),
        options=("use it", "leave it"),
    )
    await desk(book).ask(CONTEXT, "call", said)
    [shown] = book.asked
    assert shown.question == MASK
    assert [fact.text for fact in shown.facts] == ["ls", f"{MASK} is asked for"]
    assert shown.options == ("use it", "leave it")


async def test_an_option_that_would_be_hidden_on_the_card_is_not_asked() -> None:
    book = Book()
    choice = Asked(
        key="call",
        kind=Kind.CHOOSE,
        purpose=Purpose.ASK,
        question="Which one?",
        options=("leave it", "use hunter2"),
    )
    with pytest.raises(UserError, match=r"^Option 2 holds what looks like a key") as refused:
        await desk(book).ask(CONTEXT, "call", choice)
    assert "hunter2" not in str(refused.value)
    assert not book.asked


class CarefulDesk(ScriptedDesk):
    """Asks what a chat may be shown, as the gateway's desk does."""

    async def ask(self, context: ToolContext, call: str, asked: Asked) -> Escalation:
        """See `Desk.ask`."""
        return await super().ask(context, call, showable(asked, Redactor(["hunter2"])))


async def test_a_branch_table_with_a_secret_among_its_options_asks_nobody() -> None:
    rig = TableRig()
    rig.desk = CarefulDesk()
    rig.child(looks(), reports("gone"))
    human: Json = {"kind": "choose", "options": ["leave it", "use hunter2"]}
    ask: Json = {"action": "escalate", "tier": "human", "human": human}
    table: Json = {
        "conditions": [{"id": "gone", "condition": "The page is gone", "branch": ask}],
        "default": {"action": "report"},
    }
    result = await rig.result(table)
    assert result["status"] == "undeliverable"
    assert "Option 2 holds what looks like a key" in str(result["reason"])
    assert not rig.desk.cards


async def test_what_may_not_be_asked_is_a_fault_of_the_call() -> None:
    book = Book()
    asking = desk(book)
    harmless = replace(COMMAND, facts=(Fact(Label.COMMAND, "ls"),))
    await asking.ask(CONTEXT, "call", harmless)
    with pytest.raises(UserError, match="Enough"):
        await asking.ask(CONTEXT, "call", harmless)
