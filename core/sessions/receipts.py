"""What a turn's tool calls leave for the judge to see: receipts, cut to their limits. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.evidence import excerpt, seen_in
from core.sessions.ports import ReceiptOf
from core.transcript import ToolResult

RECEIPTS_KEPT = 12
ARGUMENTS_KEPT = 400
RESULT_KEPT = 200


def receipts_of(
    results: Sequence[ToolResult], kept: int | None = RECEIPTS_KEPT
) -> tuple[ReceiptOf, ...]:
    """The calls that prove something, in order: all (None), or an excerpt of `kept` of them."""
    seen = seen_in(results)
    return tuple(
        ReceiptOf(
            tool=one.tool,
            arguments=one.arguments[:ARGUMENTS_KEPT],
            receipt=one.receipt,
            result=one.result[-RESULT_KEPT:],
        )
        for one in (seen if kept is None else excerpt(seen, kept))
    )
