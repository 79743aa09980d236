"""Finding a regular expression in files, by grep: a pattern of the model's that would never end
is a process to kill there, and would be the whole program standing still here."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adapters.workspace.listing import UNLISTED
from adapters.workspace.output import clean
from adapters.workspace.paths import Borders, Place, opened, told
from adapters.workspace.process import Launch, Process
from core.errors import UserError
from core.tools.tool import Outcome, one_line
from core.transcript import Receipt

SEARCH_S = 20.0
MATCHES = 60
KEPT_BYTES = 64 * 1024
LINE_CHARS = 200
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class Found:
    """What grep came to; `cut` when there was more than is kept."""

    code: int
    said: str
    cut: bool


async def search(borders: Borders, pattern: str, path: str) -> Outcome:
    """The matching lines as path:line:text, at most `MATCHES` of them."""
    place = await asyncio.to_thread(borders.place, path)
    with told(place.shown), _standing(place) as (folder, target):
        found = await _grep("-P", pattern, folder, target)
        if found.code == 2 and "disable-perl-regexp" in found.said:
            found = await _grep("-E", pattern, folder, target)
    lines = [line for line in found.said.splitlines() if not line.startswith("grep: ")]
    if found.code == 2 and not lines:
        raise UserError(f"The search failed: {one_line(found.said, 300)}")
    kept = [_line(line, place) for line in lines if _seen(line, place, borders)]
    more = ["[there are more matches: narrow the search]"] if found.cut else []
    if len(kept) > MATCHES:
        kept, more = kept[:MATCHES], ["[there are more matches: narrow the search]"]
    said = "\n".join(kept + more) or "(no match)"
    return Outcome(said, Receipt(ok=True, summary=one_line(f"{pattern} in {place.shown}")))


@contextmanager
def _standing(place: Place) -> Iterator[tuple[str, str]]:
    """The folder to start grep in, by its descriptor so that no link can be slipped in, and
    what to search there."""
    with opened(place) as descriptor:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            yield f"/proc/{os.getpid()}/fd/{descriptor}", "."
        elif stat.S_ISREG(mode):
            yield "/", f"/proc/{os.getpid()}/fd/{descriptor}"
        else:
            raise UserError(f"{place.shown} is no regular file.")


async def _grep(kind: str, pattern: str, folder: str, target: str) -> Found:
    left_out = [f"--exclude-dir={name}" for name in sorted(UNLISTED)]
    options = [kind, "-rnIs" if target == "." else "-nIs", f"--max-count={MATCHES}"]
    argv = ("grep", *options, *left_out, "-e", pattern, "--", target)
    process = Process.start(Launch(argv, ENV, Path(folder)))
    process.capture.kept = KEPT_BYTES
    try:
        async with asyncio.timeout(SEARCH_S):
            await process.wait()
    except TimeoutError:
        raise UserError(f"The search took longer than {SEARCH_S:.0f} s: narrow it.") from None
    finally:
        await process.end()
    said = bytes(process.capture.head)
    if cut := process.capture.total > len(said):
        said = said.rpartition(b"\n")[0]
    return Found(process.exit_code or 0, clean(said), cut)


def _seen(line: str, place: Place, borders: Borders) -> bool:
    found = re.match(r"\./(.*?):\d+:", line)
    return found is None or not borders.hides(place.path / found[1], place.root)


def _line(line: str, place: Place) -> str:
    """grep's line with the path as the other tools take it."""
    prefix = "" if place.shown == "." else f"{place.shown}/"
    text = f"{prefix}{line[2:]}" if line.startswith("./") else f"{place.shown}:{line}"
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…"
