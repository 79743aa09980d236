"""The built-in tools as models and people see them: names, texts, arguments, icons.

Every word here is part of each request's prefix and is paid for on every call, so descriptions
are short; a test holds the `terminal` and `file` toolsets to a small local model's budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal

from pydantic import Field

from core.escalations.record import LONGEST_S, SHORTEST_S
from core.ports import ToolSpec
from core.tools.arguments import A, Arguments, Line, parameters


@dataclass(frozen=True, slots=True)
class Definition(Generic[A]):
    """A tool without its doing: what it is called, what it takes, whose toolset it is in."""

    name: str
    toolset: str
    description: str
    arguments: type[A]

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""
        return ToolSpec(self.name, self.description, parameters(self.arguments))


class Run(Arguments):
    """A bash command line; `timeout_s` in seconds of wall time."""

    command: Line = Field(min_length=1)
    timeout_s: int | None = Field(default=None, ge=1)
    background: bool = False


class Processes(Arguments):
    """What to do with background processes; `id` as `run` gave it."""

    action: Literal["list", "read", "kill"] = "list"
    id: str | None = None


class ReadFile(Arguments):
    """A text file, or the part from line `start_line` (counted from 1)."""

    path: Line
    start_line: int = Field(default=1, ge=1)
    lines: int | None = Field(default=None, ge=1)


class WriteFile(Arguments):
    """A file's whole new content."""

    path: Line
    content: str


class PatchFile(Arguments):
    """One exact piece of a file and what stands there afterwards."""

    path: Line
    old: str = Field(min_length=1)
    new: str


class ListFiles(Arguments):
    """A folder below the workspace."""

    path: Line = "."


class SearchFiles(Arguments):
    """A regular expression and where to look for it."""

    pattern: Line = Field(min_length=1)
    path: Line = "."


class Think(Arguments):
    """A thought and, at will, the criteria the model holds its work against."""

    thought: str
    acceptance_criteria: str | list[str] | None = None


class Ask(Arguments):
    """A question; `options` are those of a choice, `timeout_s` is how long it waits."""

    question: str = Field(min_length=1)
    kind: Literal["approve", "choose", "text"] = "text"
    options: list[str] | None = None
    timeout_s: int | None = Field(default=None, ge=SHORTEST_S, le=LONGEST_S)


class Send(Arguments):
    """A workspace file and the text that goes with it."""

    path: Line
    caption: str = Field(default="", max_length=1000)


RUN = Definition(
    "run",
    "terminal",
    "Run a bash command in the workspace and get its output. Only workspace files last.",
    Run,
)
PROCESSES = Definition(
    "processes",
    "terminal",
    "List, read or kill background processes. They outlive a turn that ends in an answer.",
    Processes,
)
READ_FILE = Definition("read_file", "file", "Read a text file.", ReadFile)
WRITE_FILE = Definition("write_file", "file", "Create or replace a file.", WriteFile)
PATCH_FILE = Definition(
    "patch_file", "file", "Replace text that occurs exactly once in a file.", PatchFile
)
LIST_FILES = Definition("list_files", "file", "List the files in a folder.", ListFiles)
SEARCH_FILES = Definition("search_files", "file", "Find a regex in files.", SearchFiles)
THINK = Definition(
    "think",
    "think",
    "Think in writing: plan, or check your work against criteria. Has no effect.",
    Think,
)
ASK = Definition(
    "ask",
    "ask",
    "Ask a person for a decision that only they can make, and wait for it. `choose` needs 2 to 8"
    " options. Not for leave to run a command: that is asked for by itself.",
    Ask,
)
SEND = Definition("send_file", "send", "Send a workspace file to the chat.", Send)

ICONS: Mapping[str, str] = {
    "run": "💻",
    "processes": "💻",
    "read_file": "📄",
    "write_file": "✏️",
    "patch_file": "✏️",
    "list_files": "🔎",
    "search_files": "🔎",
    "think": "💭",
    "ask": "✋",
    "send_file": "📎",
    "delegate_task": "👥",
}
"""What a tool's progress line begins with."""

OTHER_ICON = "🔧"
"""For tools that are not built in."""
