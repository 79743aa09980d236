"""A token that is made once and kept in a file that only this user can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from core.errors import UserError


def kept_token(file: Path) -> tuple[str, bool]:
    """The token in `file`, and whether it was made just now. Raises UserError when the file
    cannot be used."""
    try:
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            found = file.read_text(encoding="utf-8").strip()
            if not found:
                raise UserError(f"{file} is empty; delete it, and a new one is made.") from None
            file.chmod(0o600)
            return found, False
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            made = secrets.token_urlsafe(32)
            opened.write(f"{made}\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The token file {file} cannot be used: {error}.") from error
    return made, True
