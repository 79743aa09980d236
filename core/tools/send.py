"""`send_file`: hand a workspace file to the chat. Reading the file and keeping the promise to
send it are ports; this module only joins them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.ports import ToolContext
from core.tools.definitions import SEND, Send
from core.tools.tool import DefinedTool, Outcome
from core.transcript import Receipt

MAX_FILE_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Staged:
    """A copy of a workspace file that the agent can no longer change.

    `shown` is the path as the agent knows it, `size` in bytes.
    """

    path: Path
    name: str
    shown: str
    size: int


class Stage(Protocol):
    """Where files wait to be sent. A path in the workspace could become a symlink to a secret
    between the call and the delivery, so what is sent is a copy made at the call."""

    async def stage(self, context: ToolContext, path: str, call_id: str) -> Staged:
        """Copy the file; the same turn and call id give the same place.

        Raises UserError for a path outside the workspace, no regular file, or one that is
        empty or over `MAX_FILE_BYTES`.
        """
        ...


class Outbox(Protocol):
    """The durable queue of what goes to the chat."""

    async def queue_file(
        self, context: ToolContext, path: Path, name: str, caption: str, call_id: str
    ) -> None:
        """Queue a staged file for `context.address`, once per turn and call id."""
        ...


def send_tool(stage: Stage, outbox: Outbox) -> DefinedTool[Send]:
    """The tool over its two ports."""

    async def send(arguments: Send, context: ToolContext, call_id: str) -> Outcome:
        staged = await stage.stage(context, arguments.path, call_id)
        await outbox.queue_file(context, staged.path, staged.name, arguments.caption, call_id)
        said = f"Queued for sending: {staged.shown} ({staged.size} bytes)."
        summary = f"{staged.shown}: queued for sending"
        receipt = Receipt(ok=True, summary=summary, path=staged.shown, size=staged.size)
        return Outcome(said, receipt)

    return DefinedTool(SEND, send)
