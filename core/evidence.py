"""What judges are shown of an agent's calls, and the files that a text names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from core.fence import one_line
from core.tools.definitions import THINK
from core.transcript import Receipt, ToolResult

ARGUMENTS_SHOWN = 120
RESULT_SHOWN = 200
FILE_NAME = r"[\w./-]*\w\.[A-Za-z]\w{0,7}\b"
_FILES = re.compile(FILE_NAME)
_RANGE = re.compile(
    r"([\w./-]*?)(\d+)(\.\w{1,8})\s*(?:to|through|until|-|–|…|\.{2,3})\s*\1(\d+)\3"
)


class SeenCall(Protocol):
    """A tool call as the host saw it; `result` is (at least the end of) its text."""

    @property
    def tool(self) -> str:
        """The tool's name."""
        ...

    @property
    def arguments(self) -> str:
        """The JSON text of the arguments."""
        ...

    @property
    def receipt(self) -> Receipt:
        """What the call really did."""
        ...

    @property
    def result(self) -> str:
        """The end of what the model was told."""
        ...


Call = TypeVar("Call", bound=SeenCall)


@dataclass(frozen=True, slots=True)
class Seen:
    """A `SeenCall` made of a call's result."""

    of: ToolResult

    @property
    def tool(self) -> str:
        """See `SeenCall.tool`."""
        return self.of.call.name

    @property
    def arguments(self) -> str:
        """See `SeenCall.arguments`."""
        return self.of.call.arguments

    @property
    def receipt(self) -> Receipt:
        """See `SeenCall.receipt`."""
        return self.of.receipt

    @property
    def result(self) -> str:
        """See `SeenCall.result`."""
        return self.of.text


def seen_in(results: Iterable[ToolResult]) -> tuple[Seen, ...]:
    """The calls that prove something, as judges see them."""
    return tuple(map(Seen, telling(results)))


def telling(results: Iterable[ToolResult]) -> list[ToolResult]:
    """The calls that prove something; a thought is the model's own word."""
    return [result for result in results if result.call.name != THINK.name]


def excerpt(calls: Sequence[Call], limit: int) -> list[Call]:
    """At most `limit` of the calls, in their order: the newest, and of those before them the
    failures that the same call did not make good later. At least half of the room is for the
    newest, so that failures cannot push out what bears the answer out."""
    latest = {(seen.tool, seen.arguments): n for n, seen in enumerate(calls)}
    failed = {n for n in latest.values() if not calls[n].receipt.ok}
    newest = range(len(calls))[::-1]
    wanted = (*newest[: limit - limit // 2], *(n for n in newest if n in failed), *newest)
    kept = list(dict.fromkeys(wanted))[:limit]
    return [calls[n] for n in sorted(kept)]


def left_out(calls: Sequence[SeenCall], shown: Sequence[SeenCall]) -> str:
    """What is said of the calls that an excerpt lacks, "" where it lacks none."""
    if len(shown) == len(calls):
        return ""
    failed = sum(not seen.receipt.ok for seen in calls)
    failed -= sum(not seen.receipt.ok for seen in shown)
    return f"({len(calls) - len(shown)} calls are left out; {failed or 'none'} of them failed)"


def receipt_line(seen: SeenCall) -> str:
    """A call on one line, as a judge is shown it."""
    receipt = seen.receipt
    ended = "ok" if receipt.ok else "FAILED"
    if receipt.exit_code is not None:
        ended = f"exit code {receipt.exit_code}"
    if receipt.background:
        ended += ", still running in the background"
    arguments = one_line(seen.arguments, ARGUMENTS_SHOWN)
    wrote = f", wrote {receipt.path} ({receipt.size} bytes)" if receipt.ok and receipt.path else ""
    shown = one_line(seen.result[-RESULT_SHOWN:], RESULT_SHOWN)
    said = f"; result ends: {shown}" if shown else ""
    return f"{one_line(seen.tool, 60)} {arguments} -> {ended}{wrote}{said}"


def named_files(text: str) -> tuple[str, ...]:
    """The files that a text names, those between the ends of a range ("a_1.txt to a_4.txt")
    among them."""
    names = dict.fromkeys(_FILES.findall(text))
    for stem, first, ending, last in _RANGE.findall(text):
        if 0 < int(last) - int(first) <= 100:
            numbers = range(int(first), int(last) + 1)
            names |= dict.fromkeys(f"{stem}{number}{ending}" for number in numbers)
    return tuple(sorted(names))
