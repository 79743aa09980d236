"""Files that come and go by their path: the person and the bot share a disk."""

from __future__ import annotations

import mimetypes
import shutil
from pathlib import Path

from core.errors import PermanentError, TransientError, UserError
from core.messages import Attachment, SendFile


def attachment(path: str) -> Attachment:
    """The file that a person named, relative to where the chat was started.

    Raises UserError when there is no such file.
    """
    try:
        file = Path(path).expanduser().resolve(strict=True)
        size = file.stat().st_size
        regular = file.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(f"Cannot attach {path}: {_reason(error)}.") from error
    if not regular:
        raise UserError(f"Cannot attach {path}: it is not a file.")
    mime = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return Attachment(ref=str(file), name=file.name, mime=mime, size=size)


def fetch(found: Attachment, to: Path) -> None:
    """Copy an attached file. Raises PermanentError when it is gone or cannot be read."""
    try:
        shutil.copyfile(found.ref, to)
    except OSError as error:
        raise PermanentError(f"Cannot copy {found.ref}: {_reason(error)}.") from error


def keep(what: SendFile, folder: Path) -> Path:
    """Where the person finds the file: its own path, or a new one under `folder`.

    Raises PermanentError when the file is gone and TransientError when it cannot be written.
    """
    if what.path:
        path = Path(what.path)
        if not path.is_file():
            raise PermanentError(f"The file {what.path} is not there any more.")
        return path.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _write(folder, what)
    except OSError as error:
        raise TransientError(f"Cannot write {what.name}: {_reason(error)}.") from error


def _write(folder: Path, what: SendFile) -> Path:
    # The name is the model's: no part of it may choose another folder.
    name = Path(what.name.replace("\\", "/").replace("\0", "")).name.lstrip(".") or "file.txt"
    stem, suffix = Path(name).stem[:100], Path(name).suffix[:20]
    number = 1
    while True:
        path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
        try:
            with path.open("x", encoding="utf-8", errors="replace") as stream:
                stream.write(what.content)
        except FileExistsError:
            number += 1
            continue
        return path.absolute()


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
