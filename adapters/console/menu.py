"""What completion offers after a `/`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

OWN_COMMANDS = (
    ("attach", "Send a file along: /attach PATH [message]"),
    ("quit", "Leave the chat; an active goal goes on at the next start"),
)
"""Commands that the terminal chat answers by itself."""

SUBCOMMANDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "goal": (
        ("pause", "Stop continuing; the running turn finishes"),
        ("resume", "Continue now"),
        ("status", "Goal, turns, spend and the last verdict"),
        ("clear", "Drop the goal for good"),
        ("show", "The goal with its contract, criteria, gates and budgets"),
        ("budget", "Change a budget: turns=N tokens=N cost=N time=2h"),
        ("draft", "Propose a contract for a goal"),
        ("wait", "Park the goal for a while: 10m"),
        ("gate", "Shell checks before the judge is asked: add, list, remove"),
    ),
    "goal gate": (
        ("add", "Add a check: a command that must exit 0"),
        ("list", "The goal's checks"),
        ("remove", "Remove check number N"),
    ),
    "subgoal": (
        ("remove", "Remove criterion number N"),
        ("clear", "Remove all criteria"),
    ),
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that may stand where the cursor is, and how much of it is typed already."""

    word: str
    typed: int
    summary: str


def suggest(before: str, commands: Sequence[tuple[str, str]]) -> tuple[Suggestion, ...]:
    """Suggestions for the text before the cursor; none unless it is one line with a `/` first."""
    if not before.startswith("/") or "\n" in before:
        return ()
    head, _, word = before[1:].rpartition(" ")
    if not head:
        return _matching(word, _all(commands), slash="/") if " " not in before else ()
    words = head.split()
    if words[0] not in {name for name, _ in _all(commands)}:
        return ()
    return _matching(word, SUBCOMMANDS.get(" ".join(words), ()), slash="")


def _all(commands: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    given = tuple((name.removeprefix("/"), summary) for name, summary in commands)
    known = {name for name, _ in given}
    return given + tuple(own for own in OWN_COMMANDS if own[0] not in known)


def _matching(
    word: str, offers: Sequence[tuple[str, str]], *, slash: str
) -> tuple[Suggestion, ...]:
    return tuple(
        Suggestion(slash + name, len(slash + word), summary)
        for name, summary in offers
        if name.startswith(word)
    )
