"""Untrusted text made safe to show to a model: fenced, cut, or on one line. Pure.

A fence marks data; it does not make a model obey, so whoever fences also says so in words.
"""

from __future__ import annotations

import re
import unicodedata

LEAST_RUN = 3
_RUNS = re.compile(r"[<>]+")
_UNPRINTED = frozenset({"Cc", "Cs", "Zl", "Zp"})
_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def fenced(text: str, *, inline: bool = False) -> str:
    """The text between `<<<` and `>>>`, which are longer than any such run inside it and stand
    on lines of their own unless `inline`."""
    shown = plain(text)
    longest = max((len(run) for run in _RUNS.findall(shown)), default=0)
    length = max(LEAST_RUN, longest + 1)
    gap = ""
    if not inline:
        gap = "\n"
    elif shown[:1] in {"<", ">"} or shown[-1:] in {"<", ">"}:
        gap = " "  # else the text's own marks would lengthen the fence's
    return f"{'<' * length}{gap}{shown}{gap}{'>' * length}"


def clip(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8 (100 or more): the text, or its head and its tail with a
    line between them that says how much is missing."""
    raw = text.encode(errors="replace")
    if len(raw) <= limit:
        return raw.decode()
    room = limit - len(_gap(len(raw)).encode())
    head = raw[: room - room // 2].decode(errors="ignore")
    tail = raw[len(raw) - room // 2 :].decode(errors="ignore")
    return head + _gap(len(raw) - len(head.encode()) - len(tail.encode())) + tail


def plain(text: str) -> str:
    """The text without control and direction characters, newlines and tabs kept."""
    return "".join(c if c in "\n\t" or not _unprinted(c) else " " for c in text)


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, without control characters."""
    line = " ".join("".join(" " if _unprinted(c) else c for c in text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _unprinted(character: str) -> bool:
    return unicodedata.category(character) in _UNPRINTED or character in _BIDI


def _gap(count: int) -> str:
    return f"\n[… {count} bytes left out …]\n"
