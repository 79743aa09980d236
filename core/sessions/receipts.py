"""What a turn's tool calls leave for the judge to see: receipts, cut to their limits. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.sessions.ports import ReceiptOf
from core.tools.definitions import THINK
from core.transcript import ToolResult

RECEIPTS_KEPT = 12
ARGUMENTS_KEPT = 400
RESULT_KEPT = 200


def receipts_of(
    results: Sequence[ToolResult], kept: int | None = RECEIPTS_KEPT
) -> tuple[ReceiptOf, ...]:
    """The last `kept` calls (None: all), in order; a thought is the model's own word and proves
    nothing."""
    seen = [result for result in results if result.call.name != THINK.name]
    return tuple(
        ReceiptOf(
            tool=result.call.name,
            arguments=result.call.arguments[:ARGUMENTS_KEPT],
            receipt=result.receipt,
            result=result.text[-RESULT_KEPT:],
        )
        for result in (seen if kept is None else seen[-kept:])
    )
