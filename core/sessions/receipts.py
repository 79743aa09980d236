"""What a turn's tool calls leave for the judge to see: receipts, cut to their limits. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.evidence import telling
from core.sessions.ports import ReceiptOf
from core.transcript import ToolResult

RECEIPTS_KEPT = 12
ARGUMENTS_KEPT = 400
RESULT_KEPT = 200


def receipts_of(
    results: Sequence[ToolResult], kept: int | None = RECEIPTS_KEPT
) -> tuple[ReceiptOf, ...]:
    """The last `kept` calls that prove something (None: all), in order."""
    seen = telling(results)
    return tuple(
        ReceiptOf(
            tool=result.call.name,
            arguments=result.call.arguments[:ARGUMENTS_KEPT],
            receipt=result.receipt,
            result=result.text[-RESULT_KEPT:],
        )
        for result in (seen if kept is None else seen[-kept:])
    )
