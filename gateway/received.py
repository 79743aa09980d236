"""Files that people sent: fetched into the lane's workspace when their turn begins.

What the model must know beside their paths (an image it can see, a file that could not be had)
enters the turn as a step of its own, so that a restart shows it the same bytes.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import structlog

from core.agent.steps import Injected, Step, TurnLog
from core.errors import PursuitError
from core.messages import Address, Attachment
from core.sessions.inputs import attachments_of
from core.sessions.ports import Begun
from core.transcript import User

log = structlog.get_logger(__name__)

LARGEST_IMAGE = 8 * 1024 * 1024


class Downloads(Protocol):
    """Where a sent file is fetched from."""

    async def download(self, address: Address, attachment: Attachment, to: Path) -> None:
        """Fetch one file."""
        ...


class ReceivedFiles:
    """Fetches the files of one turn's messages; `vision` shows images to the model."""

    def __init__(self, downloads: Downloads, *, vision: bool) -> None:
        self._downloads = downloads
        self._vision = vision

    async def take_in(
        self, begun: Begun, address: Address, folder: Path, turn_log: TurnLog
    ) -> tuple[Step, ...]:
        """Fetch what is missing; the turn's steps, with what the model is told of the files."""
        first = next((step for step in begun.steps if step.n == 0), Step(n=0))
        told: list[User] = []
        for seq, payload in zip(begun.turn.rows, begun.payloads, strict=True):
            for file, path in attachments_of(payload, seq):
                told.extend(await self._tell(address, file, folder / path, path))
        new = [message for message in told if message not in first.injected]
        if not new or first.reply is not None:
            return begun.steps
        await turn_log.record(*(Injected(0, message) for message in new))
        first = replace(first, injected=(*first.injected, *new))
        return (first, *(step for step in begun.steps if step.n != 0))

    async def _tell(self, address: Address, file: Attachment, to: Path, path: str) -> list[User]:
        if problem := await self._fetch(address, file, to):
            return [User(f"[the file {path} could not be fetched: {problem}]")]
        if self._vision and file.mime.startswith("image/"):
            image = await asyncio.to_thread(_data_url, to, file.mime)
            return [User(f"[image {path}]", (image,))] if image else []
        return []

    async def _fetch(self, address: Address, file: Attachment, to: Path) -> str:
        """Fetch one file unless it is here; what went wrong, "" for nothing."""
        part = to.with_name(f".{to.name}.part")
        try:
            if await asyncio.to_thread(_there, to):
                return ""
            await self._downloads.download(address, file, part)
            await asyncio.to_thread(part.replace, to)
        except (PursuitError, OSError) as error:
            log.warning("file_not_fetched", file=file.name, error=str(error))
            return str(error)
        return ""


def _there(path: Path) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.exists()


def _data_url(path: Path, mime: str) -> str:
    """The image as a data URL; "" for one that is too large to show."""
    if path.stat().st_size > LARGEST_IMAGE:
        return ""
    return f"data:{mime};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
