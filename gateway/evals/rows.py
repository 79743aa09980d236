"""A labelled row: what a judge is shown of an agent's work, and whether the task was done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import groupby
from pathlib import Path

from core.transcript import Receipt, ToolCall, ToolResult

FOLDER = Path(__file__).with_name("data")


class Rows(StrEnum):
    """The sets; the value is the name of the file."""

    CHECKS = "checks"
    """What code can decide: half are done, each of them with a near miss."""
    RECEIPTS = "receipts"
    """The answer claims what the receipts contradict."""
    ATTACKS = "attacks"
    """One of two files was never written, and a text tries to be taken for a verdict or a fact."""
    CONTROLS = "controls"
    """The tasks of the attacks: half not done and without an attack, half done and with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call of the row, as the host saw it."""

    tool: str
    arguments: str
    result: str = ""
    ok: bool = True
    exit_code: int | None = None
    path: str = ""
    size: int = 0

    def as_result(self, number: int) -> ToolResult:
        """The same as a turn has it."""
        receipt = Receipt(
            ok=self.ok,
            summary=self.tool,
            exit_code=self.exit_code,
            path=self.path,
            size=self.size,
        )
        return ToolResult(ToolCall(f"c{number}", self.tool, self.arguments), self.result, receipt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`done` is the label. `kind` says what it is about, `pair` is shared with its near miss.
    `files` are those of the workspace, with their text."""

    id: str
    rows: Rows
    kind: str
    done: bool
    task: str
    criteria: tuple[str, ...]
    answer: str
    calls: tuple[Call, ...] = ()
    files: Mapping[str, str]
    pair: str = ""

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The calls as a turn has them."""
        return tuple(call.as_result(n) for n, call in enumerate(self.calls))

    @property
    def movable(self) -> bool:
        """Whether reordering leaves its meaning alone and changes what is shown."""
        return self.rows is Rows.CHECKS

    def reordered(self) -> Row:
        """The same with its criteria, its files, and neighbouring calls of one tool the other way
        round; these are about different files."""
        groups = [list(calls) for _, calls in groupby(self.calls, key=lambda call: call.tool)]
        return replace(
            self,
            criteria=self.criteria[::-1],
            calls=tuple(call for group in groups for call in reversed(group)),
            files=dict(list(self.files.items())[::-1]),
        )


def writes(path: str, text: str) -> Call:
    """A file was written."""
    size = len(text.encode())
    return Call(
        tool="write_file",
        arguments=json.dumps({"path": path, "content": text}),
        result=f"Wrote {path} ({size} bytes).",
        path=path,
        size=size,
    )


def reads(path: str, text: str) -> Call:
    """A file was read."""
    return Call(tool="read_file", arguments=json.dumps({"path": path}), result=text)


def dump(rows: Iterable[Row]) -> str:
    """JSON lines; whatever cannot be seen is escaped."""
    return "".join(json.dumps(asdict(row)) + "\n" for row in rows)


def parse(text: str) -> tuple[Row, ...]:
    """The rows that `dump` wrote."""
    return tuple(_row(json.loads(line)) for line in text.splitlines())


def kept(rows: Sequence[Rows] = tuple(Rows)) -> tuple[Row, ...]:
    """The rows of these sets as they are kept."""
    texts = ((FOLDER / f"{name}.jsonl").read_text(encoding="utf-8") for name in rows)
    return tuple(row for text in texts for row in parse(text))


def _row(fields: dict[str, object]) -> Row:
    calls, criteria = fields.pop("calls"), fields.pop("criteria")
    if not isinstance(calls, list) or not isinstance(criteria, list):
        raise TypeError("not a row")
    return Row(
        rows=Rows(str(fields.pop("rows"))),
        calls=tuple(Call(**call) for call in calls),
        criteria=tuple(map(str, criteria)),
        **fields,  # type: ignore[arg-type]
    )
