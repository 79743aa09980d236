"""Escapes the Markdown whose rendering would lose text, so that it is shown as written. Pure.

CommonMark drops raw HTML (`List<int>`) and link definitions, and the converter takes `$HOME/$X`
for a formula and `a || b` for a spoiler. None of that is what an answer means.
"""

from __future__ import annotations

import re
from itertools import pairwise

import pyromark

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
"""What the converter parses with: another reading would put the escapes elsewhere."""
SUSPECT = re.compile(r"[<$]|\|\||\]:")
DEFINITION = re.compile(rb"^[ >]{0,12}(?=\[[^\]\n]+\]:)", re.MULTILINE)
SPOILER = re.compile(rb"(?<!\\)\|\|")
HTML_START = re.compile(rb"(?:\A|(?<=\n))[ \t>]*(?=<)")
MAX_PASSES = 8


def literal(text: str) -> str:
    """The text with a backslash before everything that would vanish."""
    if not SUSPECT.search(text):
        return text
    for _ in range(MAX_PASSES):
        source = text.encode()
        places = _vanishing(text, source)
        if not places:
            return text
        text = _escaped(source, places)
    return text.replace("<", "\\<") if _vanishing(text, text.encode()) else text


def _vanishing(text: str, source: bytes) -> dict[int, bytes]:
    """What to put in at which byte offsets: backslashes, and spaces in tables' empty cells."""
    places: set[int] = set()
    code: list[tuple[int, int]] = []
    for payload, span in pyromark.events_with_range(text, options=OPTIONS):
        if not isinstance(payload, dict):
            continue
        start, end = span["start"], span["end"]
        inner = payload.get("Start")
        if "Code" in payload or (isinstance(inner, dict) and "CodeBlock" in inner):
            code.append((start, end))
        elif "Html" in payload or "InlineHtml" in payload:
            places.update(start + m.end() for m in HTML_START.finditer(source[start:end]))
        elif "InlineMath" in payload or "DisplayMath" in payload:
            width = 2 if "DisplayMath" in payload else 1
            places.update((*range(start, start + width), *range(end - width, end)))
    places.update(_outside(code, source, DEFINITION))
    pipes = _outside(code, source, SPOILER)
    cells = {place + 1 for place in pipes if _in_table(source, place)}
    places.update(place for place in pipes if place + 1 not in cells)
    return dict.fromkeys(places, b"\\") | dict.fromkeys(cells, b" ")


def _outside(code: list[tuple[int, int]], source: bytes, what: re.Pattern[bytes]) -> set[int]:
    """Where the pattern ends (definitions) or begins, outside of code."""
    found = set()
    regions = iter(code)
    region = next(regions, None)
    for match in what.finditer(source):
        place = match.end() if what is DEFINITION else match.start()
        while region is not None and region[1] <= place:
            region = next(regions, None)
        if region is None or place < region[0]:
            found.add(place)
    return found


def _in_table(source: bytes, place: int) -> bool:
    """In a table's row two pipes are an empty cell."""
    return source[source.rfind(b"\n", 0, place) + 1 :].lstrip()[:1] == b"|"


def _escaped(source: bytes, places: dict[int, bytes]) -> str:
    bounds = [0, *sorted(places), len(source)]
    pieces = [source[a:b] + places.get(b, b"") for a, b in pairwise(bounds)]
    return b"".join(pieces).decode()
