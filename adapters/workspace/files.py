"""Reading, writing and patching one file inside the borders. Blocking; call it off the loop."""

from __future__ import annotations

import difflib
import os
import secrets
from collections.abc import Callable
from contextlib import suppress

from adapters.workspace.paths import Borders, Place, check_regular, opened, parent, regular, told
from core.errors import UserError
from core.tools.tool import Outcome
from core.transcript import Receipt

PAGE_CHARS = 16_000
MAX_LINE_BYTES = 4_000
MAX_PATCH_BYTES = 10 * 1024 * 1024
COUNTED_BYTES = 50 * 1024 * 1024
"""A file up to this size is read to its end so that the number of its lines can be told."""


def read(borders: Borders, path: str, start: int, lines: int | None) -> Outcome:
    """The text from line `start`, at most `lines` of them and one page."""
    place = borders.place(path)
    with told(place.shown), opened(place) as descriptor:
        size = regular(descriptor, place.shown).st_size
        if b"\0" in os.pread(descriptor, 8192, 0):
            raise UserError(f"{place.shown} is a binary file ({size} bytes), so it is not shown.")
        text = _page(descriptor, start, lines, size)
    return Outcome(text, Receipt(ok=True, summary=place.shown))


def _page(descriptor: int, start: int, lines: int | None, size: int) -> str:
    taken: list[str] = []
    chars = number = 0
    last = start - 1 + lines if lines else None
    full = False
    with os.fdopen(os.dup(descriptor), "rb", buffering=1 << 16) as file:
        while line := _line(file.readline(MAX_LINE_BYTES), file.readline):
            number += 1
            full = full or chars > PAGE_CHARS or (last is not None and number > last)
            if number >= start and not full:
                text = line.decode("utf-8", "replace")
                chars += len(text)
                taken.append(text)
            elif full and size > COUNTED_BYTES:
                break
    shown = start + len(taken) - 1
    if not taken:
        return "(empty file)" if number == 0 else f"(the file has only {number} lines)"
    body = "".join(taken)
    if shown == number and start == 1:
        return body
    of = f"{number}" if number < shown + 2 or size <= COUNTED_BYTES else "many"
    more = f"; go on with start_line={shown + 1}" if shown < number else ""
    return f"{body.rstrip()}\n[lines {start}-{shown} of {of}{more}]"


def _line(piece: bytes, more: Callable[[int], bytes]) -> bytes:
    """One line, the middle of a very long one left out."""
    if len(piece) < MAX_LINE_BYTES or piece.endswith(b"\n"):
        return piece
    left = 0
    while rest := more(1 << 16):
        left += len(rest)
        if rest.endswith(b"\n"):
            break
    return piece + f" [… {left} more bytes in this line]\n".encode() if left else piece


def write(borders: Borders, path: str, content: str) -> Outcome:
    """Put `content` in place of the file at once; readers see the old or the new, never half."""
    place = borders.place(path, writing=True)
    data = content.encode()
    existed = _replace(place, data)
    said = f"{'Replaced' if existed else 'Created'} {place.shown} ({len(data)} bytes)."
    return Outcome(said, _written(place, data))


def patch(borders: Borders, path: str, old: str, new: str) -> Outcome:
    """Replace the one place where `old` stands."""
    place = borders.place(path, writing=True)
    with told(place.shown), opened(place) as descriptor:
        if regular(descriptor, place.shown).st_size > MAX_PATCH_BYTES:
            raise UserError(f"{place.shown} is too big to patch; use a command such as sed.")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            raw = file.read(MAX_PATCH_BYTES + 1)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise UserError(f"{place.shown} is no UTF-8 text, so it cannot be patched.") from None
    if "\r\n" in text and "\r\n" not in old:  # models write \n whatever the file has
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    _check_match(place.shown, text, old, new)
    data = text.replace(old, new, 1).encode()
    line = text[: text.index(old)].count("\n") + 1
    _replace(place, data)
    return Outcome(f"Patched {place.shown} at line {line}.", _written(place, data))


def _check_match(shown: str, text: str, old: str, new: str) -> None:
    if old == new:
        raise UserError("`old` and `new` are the same: nothing to do.")
    found = text.count(old)
    if found == 1:
        return
    if found > 1:
        at = [text[: _nth(text, old, n)].count("\n") + 1 for n in range(min(found, 5))]
        raise UserError(
            f"`old` stands in {shown} {found} times (lines {', '.join(map(str, at))}): add"
            " neighbouring lines until it is unique."
        )
    raise UserError(f"`old` is not in {shown}; it must match exactly.{_nearest(text, old)}")


def _nth(text: str, old: str, n: int) -> int:
    at = text.index(old)
    for _ in range(n):
        at = text.index(old, at + len(old))
    return at


def _nearest(text: str, old: str) -> str:
    """The line of the text that is most like the first line that was looked for."""
    wanted = next((line for line in old.splitlines() if line.strip()), "")
    lines = text.splitlines()[:20_000]
    near = difflib.get_close_matches(wanted[:200], {line[:200] for line in lines}, n=1, cutoff=0.6)
    if not near:
        return " Read the file first."
    number = next(n for n, line in enumerate(lines, 1) if line[:200] == near[0])
    return f" The nearest line is {number}: {near[0]!r}"


def _written(place: Place, data: bytes) -> Receipt:
    return Receipt(ok=True, summary=place.shown, path=place.shown, size=len(data))


def _replace(place: Place, data: bytes) -> bool:
    """Write beside the target and rename over it. Returns whether there was a file before."""
    if not place.parts:
        raise UserError(f"{place.shown} is a folder.")
    with told(place.shown), parent(place, make=True) as folder:
        before = _status(folder, place)
        beside = f".{place.name[:100]}.{secrets.token_hex(6)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(beside, flags, 0o666, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if before is not None:
                    os.fchmod(file.fileno(), before.st_mode & 0o7777)
                    with suppress(PermissionError):
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.replace(beside, place.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
    return before is not None


def _status(folder: int, place: Place) -> os.stat_result | None:
    try:
        status = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return check_regular(status, place.shown)
