"""Cards for tests, and the longest that a platform's room lets through."""

from __future__ import annotations

from core.escalations import card
from core.escalations.card import TooLong
from core.escalations.record import Escalation, Fact, Label
from core.messages import Say
from core.splitting import Room
from tests.fakes.escalated import NOW, RM, SECRET, command


def running_command(text: str) -> Escalation:
    """A command that waits for a person's approval."""
    return command(facts=(Fact(Label.COMMAND, text), *RM[1:]))


def card_of(one: Escalation, room: Room) -> Say:
    """Its card, which has to fit."""
    found = card.ask(one, SECRET, NOW, room)
    assert not isinstance(found, TooLong), found.text
    return found


def longest(piece: str, room: Room) -> str:
    """The longest command of whole such pieces whose card fits."""
    least, most = 1, room.limit // len(piece) + 1
    while least < most:
        count = (least + most + 1) // 2
        if isinstance(card.ask(running_command(piece * count), SECRET, NOW, room), TooLong):
            most = count - 1
        else:
            least = count
    return piece * least
