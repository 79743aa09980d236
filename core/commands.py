"""The one table of chat commands, and the reading of a command line.

Every native menu, `/help`, the README table and completion are projections of `COMMANDS`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from enum import StrEnum

from core.messages import Role
from core.rights import Right, least, may


class When(StrEnum):
    """When a command is taken."""

    ANY = "any time"
    SETTING_WHEN_IDLE = "any time; a new goal or draft when idle"


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """One command: its name without the slash, a summary of at most 100 characters for menus,
    the usage lines for `/help`, when it is taken, the right it needs, and its fixed words.

    A usage line that ends in "(owners)" is shown to owners only.
    """

    name: str
    summary: str
    usage: tuple[str, ...]
    when: When = When.ANY
    right: Right = Right.TALK
    words: tuple[str, ...] = ()

    @property
    def role(self) -> Role:
        """The lowest role that may use it."""
        return least(self.right)


COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(
        "goal",
        "Work on a goal until it is done; pause, resume, clear or show it",
        (
            "/goal <text>: set the goal and start, when no turn runs or waits",
            "/goal: how it stands",
            "/goal pause | resume | clear",
            "/goal wait <duration>: rest, then go on by itself",
            "/goal budget turns=N tokens=N cost=N time=2h: change a budget (owners)",
            "/goal draft <text>: let a model propose a contract, then accept it",
            "/goal gate add <command>: what must succeed before the judge is asked (owners)",
            "/goal gate list",
            "/goal gate remove N (owners)",
            "/goal show: the goal with its contract, criteria, gates and budgets",
        ),
        when=When.SETTING_WHEN_IDLE,
        words=(
            "status",
            "pause",
            "resume",
            "clear",
            "show",
            "wait",
            "budget",
            "draft",
            "accept",
            "gate",
        ),
    ),
    CommandSpec(
        "subgoal",
        "Add a criterion that the judge must see met; list or remove them",
        ("/subgoal <text>: add one", "/subgoal: list", "/subgoal remove N", "/subgoal clear"),
        words=("remove", "clear"),
    ),
    CommandSpec(
        "stop",
        "Stop the running turn now, drop what waits, pause the goal",
        ("/stop",),
    ),
    CommandSpec("new", "Start a new session; the old one is kept", ("/new",)),
    CommandSpec(
        "sessions",
        "List the sessions of this chat",
        ("/sessions: this chat's", "/sessions all: those of every chat (owners)"),
        words=("all",),
    ),
    CommandSpec(
        "resume",
        "Go back to an earlier session",
        (
            "/resume: the one before",
            "/resume N: number N of /sessions",
            "/resume #N: session #N of /sessions all, which moves here (owners)",
        ),
    ),
    CommandSpec("queue", "Send a message that waits for its own turn", ("/queue <text>",)),
    CommandSpec(
        "steer", "Send a message that the running turn reads at its next step", ("/steer <text>",)
    ),
    CommandSpec("pending", "What waits for an answer in this chat", ("/pending",)),
    CommandSpec("approve", "Say yes to what was asked", ("/approve E7: yes, to exactly that",)),
    CommandSpec(
        "deny",
        "Say no to what was asked, or that you will not answer",
        ("/deny E7 <reason>: no; the reason may be left out",),
    ),
    CommandSpec(
        "answer",
        "Answer a question in words or with an option's number",
        ("/answer E7 <text>: in your words", "/answer E7 2: the second option"),
    ),
    CommandSpec("status", "What this chat is doing right now", ("/status",)),
    CommandSpec("usage", "Tokens and cost: this session, its goal, today", ("/usage",)),
    CommandSpec(
        "model",
        "Show or change the model of this session",
        (
            "/model: the model at work, and the others",
            "/model <name>: use that one from the next turn on",
            "/model default: the configured one again",
        ),
        right=Right.CHOOSE_MODEL,
        words=("default",),
    ),
    CommandSpec(
        "workspace",
        "Show the folder where this chat works",
        (
            "/workspace: the folder",
            "/workspace <folder>: work in that one of `workspace.allow` (owners)",
            "/workspace reset: work in the chat's own again (owners)",
        ),
        words=("reset",),
    ),
    CommandSpec(
        "verify",
        "Commands that must succeed before an answer is delivered here",
        (
            "/verify: those there are",
            "/verify add <command>: one more (owners)",
            "/verify remove N: one of this chat less (owners)",
        ),
        words=("add", "list", "remove"),
    ),
    CommandSpec(
        "critic",
        "Have a critic read each answer before it is delivered here, or not",
        ("/critic: whether one does", "/critic on | off (owners)"),
        words=("on", "off"),
    ),
    CommandSpec(
        "pair",
        "Let a stranger in by their code; list or remove people",
        (
            "/pair approve CODE: let the person with that code in, as a member",
            "/pair list: who waits and who was let in",
            "/pair remove ID: let a person out again",
        ),
        right=Right.PAIR,
        words=("approve", "list", "remove"),
    ),
    CommandSpec("whoami", "Your id and your role here", ("/whoami",)),
    CommandSpec("help", "The commands that you may use", ("/help",)),
)

_LINE = re.compile(r"/([A-Za-z0-9_]{1,64})(?:\s+|\Z)(.*)\Z", re.DOTALL)

BY_NAME = {spec.name: spec for spec in COMMANDS}


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command line split in two; `name` may be unknown."""

    name: str
    argument: str


def read(text: str) -> Invocation | None:
    """The command line in a message, None for ordinary text.

    A path (`/etc/hosts is broken`) is text: a command's name is letters, digits and `_`, right
    behind the slash and followed by white space or the end.
    """
    found = _LINE.match(text)
    return None if found is None else Invocation(found[1].lower(), found[2].strip())


def allowed(role: Role) -> tuple[CommandSpec, ...]:
    """The commands that a role may use."""
    return tuple(spec for spec in COMMANDS if may(role, spec.right))


def unknown(name: str, role: Role = Role.OWNER) -> str:
    """What to answer to a command that does not exist: the nearest that the person may use."""
    names = [spec.name for spec in allowed(role)]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f"Unknown command /{name}. Did you mean /{near[0]}? /help lists them all."
    return f"Unknown command /{name}. /help lists them all."


def help_text(role: Role) -> str:
    """`/help` for one person: only what they may use."""
    lines: list[str] = []
    for spec in allowed(role):
        lines.append(f"/{spec.name} — {spec.summary}")
        usage = [line for line in spec.usage if role is Role.OWNER or "(owners)" not in line]
        if usage != [f"/{spec.name}"]:
            lines.extend(f"   {line}" for line in usage)
    return "\n".join(lines)
