"""`think`: a scratchpad with no effect on the world and no power over any gate."""

from __future__ import annotations

from core.ports import ToolContext
from core.tools.definitions import ICONS, THINK, Think
from core.tools.tool import DefinedTool, Outcome, one_line
from core.transcript import Receipt

NOTED = "Noted."
CHECKED = "Noted, with your own check of {count}. It proves nothing: an independent judge decides."


def think_tool(*, show: bool = False) -> DefinedTool[Think]:
    """The tool; `show` (`agent.show_thoughts`) lets the chat see each thought's beginning.

    The thought and the criteria stay in the call's arguments, which the transcript keeps. The
    receipt never quotes them: a judge reads receipts as facts.
    """

    async def think(arguments: Think, context: ToolContext, call_id: str) -> Outcome:
        if show:
            context.progress(f"{ICONS[THINK.name]} {one_line(arguments.thought)}")
        return Outcome(_answer(arguments), Receipt(ok=True, summary="a thought, no effect"))

    return DefinedTool(THINK, think)


def _answer(arguments: Think) -> str:
    match arguments.acceptance_criteria:
        case None | "" | []:
            return NOTED
        case str():
            count = 1
        case list() as criteria:
            count = len(criteria)
    return CHECKED.format(count=f"{count} criteria" if count > 1 else "1 criterion")
