"""`ask`: put a question to a person in the chat that the work came from.

The call waits for as long as nobody has answered, and is run again then; what becomes of the
question is its result.
"""

from __future__ import annotations

from core.escalations.desk import Asked, Desk
from core.escalations.outcome import Outcome as Became
from core.escalations.outcome import outcome, told
from core.escalations.record import Kind, OnTimeout, Purpose
from core.ports import ToolContext
from core.tools.definitions import ASK, Ask
from core.tools.tool import DefinedTool, Outcome, Pending, one_line
from core.transcript import Receipt

ANSWERED = frozenset({Became.APPROVED, Became.CHOSEN, Became.WRITTEN})
QUESTION = 80


def ask_tool(desk: Desk) -> DefinedTool[Ask]:
    """The tool over its port. Without an answer the work goes on as if refused."""

    async def ask(arguments: Ask, context: ToolContext, call_id: str) -> Outcome | Pending:
        asked = Asked(
            key=call_id,
            kind=Kind(arguments.kind),
            purpose=Purpose.ASK,
            question=arguments.question,
            options=tuple(arguments.options or ()),
            timeout_s=arguments.timeout_s,
            on_timeout=OnTimeout.DENY,
        )
        escalation = await desk.ask(context, context.caller.call or call_id, asked)
        became = outcome(escalation)
        if became is None:
            return Pending((escalation.id,))
        await desk.apply(context, call_id)
        summary = f"asked: {one_line(arguments.question, QUESTION)}: {became.value}"
        return Outcome(told(escalation), Receipt(ok=became in ANSWERED, summary=summary))

    return DefinedTool(ASK, ask, resumable=True)
