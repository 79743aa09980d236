"""A scripted task: what a person says, what the models say, and what has to come of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from core.ports import Completion, Reply, Request
from core.transcript import Json, Result, ToolCall, User

Line: TypeAlias = Completion | Callable[[Request], Completion]

AGENT, JUDGE, CRITIC, CHILD, CHECKER, FOLDER = (
    "agent",
    "judge",
    "critic",
    "child",
    "checker",
    "folder",
)
"""The models of a task by their names in the catalogue, the strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTask:
    """`says` is said line by line, `answers` to what is asked, None where nobody can be asked;
    `scripts` are the models' lines by model. `settings` go over those of all tasks, group by
    group.

    What has to come of it: `tells` are texts that are told, in this order and with anything
    between; `never` are told nowhere; `files` are those of the folder, with what they hold. Each
    script has to be said to its end.
    """

    name: str
    says: Sequence[str]
    scripts: Mapping[str, Sequence[Line]]
    tells: Sequence[str]
    never: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    answers: Sequence[str] | None = ()
    settings: Mapping[str, Json] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    """Context windows by model, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of a task: all that was told, the files, and the lines left in each script."""

    told: Sequence[str]
    files: Mapping[str, str]
    left: Mapping[str, int]


def faults(task: ScriptedTask, came: Came) -> list[str]:
    """What is not as it has to be, each on one line."""
    found = [f"the script of {name} has {n} lines left" for name, n in came.left.items() if n]
    at = 0
    for words in task.tells:
        at = next((n for n in range(at, len(came.told)) if words in came.told[n]), -1) + 1
        if not at:
            return [*found, f"never told (or not in its place): {words!r}", *_told(came)]
    found += [f"told: {words!r}" for words in task.never if any(words in t for t in came.told)]
    wrong = [name for name, text in task.files.items() if came.files.get(name) != text]
    found += [f"{name} holds {came.files.get(name)!r}" for name in wrong]
    found += [f"a file too many: {name}" for name in sorted(set(came.files) - set(task.files))]
    return [*found, *_told(came)] if found else []


def _told(came: Came) -> list[str]:
    return [f"  told: {text}" for text in came.told]


# What models say


def says(words: str) -> Reply:
    """A final answer."""
    return Reply(words)


def calls(*asked: tuple[str, Mapping[str, Json] | str]) -> Reply:
    """Tool calls; arguments as a text are passed on as they are."""
    made = (
        ToolCall(f"c{n}", name, given if isinstance(given, str) else json.dumps(given))
        for n, (name, given) in enumerate(asked)
    )
    return Reply("", tuple(made))


def writes(path: str, content: str) -> Reply:
    """A call that writes a file."""
    return calls(("write_file", {"path": path, "content": content}))


def runs(command: str) -> Reply:
    """A call that runs a command."""
    return calls(("run", {"command": command}))


def data(**fields: Json) -> Reply:
    """A reply of JSON."""
    return Reply(json.dumps(fields))


def word(*, done: bool, reason: str, blocked: bool = False) -> Reply:
    """A goal judge's verdict."""
    return data(reason=reason, done=done, blocked=blocked)


def approves() -> Reply:
    """The critic lets the answer pass."""
    return data(verdict="APPROVE", reason="the receipts bear it out")


def rejects(reason: str) -> Reply:
    """The critic does not."""
    return data(verdict="REJECT", reason=reason)


def graded(result: str, why: str) -> Reply:
    """The acceptance judge's word on a single criterion."""
    return data(criteria=[{"n": 1, "result": result, "quote": "", "why": why}], reasoning=why)


def reports(branch: str, excerpt: str) -> Callable[[Request], Reply]:
    """A child reports a branch, with a quotation of its last call."""

    def report(request: Request) -> Reply:
        shown = re.match(r"\[(\S+)\]\n", _last(request))
        evidence: list[Json] = [{"tool_call_id": shown[1] if shown else "", "excerpt": excerpt}]
        said: dict[str, Json] = {
            "branch": branch,
            "checks": [],
            "evidence": evidence,
            "confidence": "high",
            "observed": "I looked at it",
            "expected": "",
            "tried": [],
        }
        return calls(("report_branch", said))

    return report


def _last(request: Request) -> str:
    last = request.messages[-1]
    return last.text if isinstance(last, User | Result) else ""
