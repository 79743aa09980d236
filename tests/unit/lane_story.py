"""What people and a worker do to a lane, in words: for tests of turns that wait."""

from __future__ import annotations

from core.goals.goal import Goal
from core.sessions.lane import (
    Busy,
    Lane,
    Outcome,
    Post,
    Rest,
    RowKind,
    SetAside,
    Turn,
)
from tests.unit.lane_shell import (
    ANNA,
    Shell,
    running,
)


def kinds(shell: Shell) -> list[str]:
    """What the last event ordered, by name."""
    return [type(effect).__name__ for effect in shell.effects]


def said(shell: Shell) -> list[str]:
    """What the chat was told by the last event."""
    return [effect.text for effect in shell.effects if isinstance(effect, Post)]


def tell(shell: Shell, name: str, argument: str = "") -> None:
    """Anna gives a command."""
    shell.happen(("order", ANNA, (name, argument), None))


def say(shell: Shell) -> None:
    """Anna writes."""
    shell.happen(("say", ANNA, Busy.QUEUE, False))


def begin(shell: Shell) -> Turn:
    """The lane's next turn; there must be one."""
    shell.happen(("ready", None, False, 9))
    return running(shell.lane)


def rests(shell: Shell) -> bool:
    """Whether the lane finds nothing to begin."""
    shell.happen(("ready", None, False, 9))
    return any(isinstance(effect, Rest) for effect in shell.effects)


def end(shell: Shell, outcome: Outcome = Outcome.ANSWERED) -> None:
    """The begun turn ends."""
    shell.happen(("end", None, outcome, 0))


def answer(shell: Shell, which: int = 0) -> None:
    """Somebody answers an open question."""
    shell.happen(("answer", None, None, which))


def park(shell: Shell) -> Turn:
    """The next turn asks, and waits."""
    turn = begin(shell)
    end(shell, Outcome.PARKED)
    return turn


def waiting(*, goal: bool = False) -> tuple[Shell, Turn]:
    """A lane whose first turn waits for a person: a goal's, or one of Anna's."""
    shell = Shell()
    if goal:
        tell(shell, "goal", "Write")
    else:
        say(shell)
    return shell, park(shell)


def goal_of(lane: Lane) -> Goal:
    """The lane's goal; there must be one."""
    assert lane.slot.goal is not None
    return lane.slot.goal


def continuing() -> Shell:
    """A goal whose next turn stands ready when a person's turn begins to wait."""
    shell = Shell()
    tell(shell, "goal", "Write")
    shell.happen(("round", None, None, None))
    assert [row.kind for row in shell.lane.waiting] == [RowKind.CONTINUATION]
    say(shell)
    return shell


def elsewhere() -> tuple[Shell, Turn]:
    """A new session, with the turn of the old one that waits."""
    shell, turn = waiting(goal=True)
    tell(shell, "new")
    shell.happen(("ready", None, False, 9))
    assert SetAside(turn) in shell.effects
    return shell, turn
