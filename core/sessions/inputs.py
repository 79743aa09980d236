"""From an inbox row's payload to the user-role text that the model reads. Pure.

A payload is the JSON form of a `Message`; it is stored with the row and never changes, so a
restart renders the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import PurePosixPath

from core.escalations.shown import name as in_letters
from core.goals import prompts
from core.goals.goal import Goal
from core.messages import Attachment, Message
from core.sessions.lane import RowKind
from core.transcript import Json, User

INBOX_FOLDER = "inbox"
"""Where a lane's workspace keeps the files that people sent."""


def payload_of(message: Message, *, text: str, shared: bool) -> dict[str, Json]:
    """What is stored of a message; `shared` says that several people write in the lane. Their
    names come in letters alone: none may read as a line of the host."""
    attachments: list[Json] = [asdict(item) for item in message.attachments]
    return {
        "text": text,
        "name": in_letters(message.sender) if shared and message.sender.name else "",
        "quoted": message.quoted,
        "remote": message.remote,
        "attachments": attachments,
    }


def attachments_of(payload: Mapping[str, Json], seq: int) -> tuple[tuple[Attachment, str], ...]:
    """The files of a message with the path, below the workspace, that each is kept under."""
    stored = payload.get("attachments")
    if not isinstance(stored, list):
        return ()
    files = (
        Attachment(str(f["ref"]), str(f["name"]), str(f["mime"]), int(str(f["size"])))
        for f in stored
        if isinstance(f, dict)
    )
    return tuple(
        (file, f"{INBOX_FOLDER}/{seq}-{n}-{_safe(file.name)}") for n, file in enumerate(files, 1)
    )


def _safe(name: str) -> str:
    plain = PurePosixPath(name.replace("\\", "/")).name
    kept = "".join(c if c.isalnum() or c in "._-" else "_" for c in plain)[-80:]
    return kept.lstrip(".") or "file"


def render(kind: RowKind, payload: Mapping[str, Json], seq: int, goal: Goal | None) -> User:
    """What the model reads for one row."""
    match kind:
        case RowKind.KICKOFF if goal is not None:
            return User(prompts.kickoff(goal.text, goal.criteria, dict(goal.contract)))
        case RowKind.CONTINUATION if goal is not None:
            reason, shown = str(payload.get("reason", "")), str(payload.get("shown", ""))
            contract = dict(goal.contract)
            text = prompts.continuation(goal.text, goal.criteria, contract, reason, shown)
            return User(text)
        case _:
            return User(_message(payload, seq))


def _message(payload: Mapping[str, Json], seq: int) -> str:
    lines: list[str] = []
    if payload.get("quoted"):
        quoted = str(payload["quoted"])
        lines.append("\n".join(f"> {line}" for line in quoted[:2000].splitlines()))
    text = str(payload.get("text", ""))
    name = str(payload.get("name", ""))
    lines.append(f"{name}: {text}" if name else text)
    lines.extend(
        f"[file received: {path}, {file.mime}, {file.size:,} bytes]"
        for file, path in attachments_of(payload, seq)
    )
    return "\n".join(line for line in lines if line)
