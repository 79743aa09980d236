"""Markdown as Discord's own dialect renders it. Pure.

Discord knows no tables, rules, images, `~~~` fences or headings below the third level, takes
`a || b` for a spoiler and `>>>` for a quote without end. Nothing of the text may get lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from core.splitting import FENCE

ZERO_WIDTH = "\u200b"
SPAN = re.compile(r"(?<![`\\])(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)")
RULE = re.compile(r" {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})")
DEEP = re.compile(r" {0,3}#{4,6}[ \t]+(?P<title>.+?)[ \t]*#*")
IMAGE = re.compile(r"!(?=\[[^\]\n]*\]\()")
TASK = re.compile(r"^(?P<lead>\s*)[-*+] \[(?P<done>[ xX])\] ")
ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
DELIMITER = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*")
CELL_END = re.compile(r"(?<!\\)\|")
LINE_ESCAPE = re.compile(r"^(?P<lead>[ \t]*)(?=>>>(?:\s|$)|-# )")
SPECIAL = re.compile(
    r"(?P<link>https?://[^\s<>`]+)"
    r"|(?P<mark>[\\*_~|`<>\[\]])"
    r"|(?P<number>^[ \t]*\d+)(?=\. )"
    r"|(?P<start>^[ \t]*)(?=#{1,3} |[-+] |-# )",
    re.MULTILINE,
)


def adapted(markdown: str) -> str:
    """The text in Discord's dialect."""
    made: list[str] = []
    table: list[str] = []
    fence: re.Match[str] | None = None
    for line in markdown.split("\n"):
        if fence is None and ROW.fullmatch(line):
            table.append(line)
            continue
        made.extend(_table(table))
        table.clear()
        mark = FENCE.match(line)
        if fence is None:
            opens = mark is not None and (mark["mark"][0] == "~" or "`" not in mark["info"])
            fence = mark if opens else None
            made.append(_opening(mark) if opens and mark else _prose(line))
        elif mark is not None and _closes(mark, fence):
            made.append(f"{fence['lead']}```")
            fence = None
        else:
            made.append(line.replace("```", f"`{ZERO_WIDTH}``"))
    made.extend(_table(table))
    if fence is not None:
        made.append(f"{fence['lead']}```")
    return "\n".join(made)


def escaped(text: str) -> str:
    """The text so that Discord shows it as it is; addresses stay addresses."""

    def one(found: re.Match[str]) -> str:
        if found["link"]:
            return found[0]
        return f"\\{found[0]}" if found["mark"] else f"{found[0]}\\"

    return SPECIAL.sub(one, text)


def _opening(mark: re.Match[str]) -> str:
    language = mark["info"].strip().split(" ")[0]
    return f"{mark['lead']}```{language}"


def _closes(mark: re.Match[str], fence: re.Match[str]) -> bool:
    same = mark["mark"][0] == fence["mark"][0] and len(mark["mark"]) >= len(fence["mark"])
    return same and not mark["info"].strip()


def _prose(line: str) -> str:
    """A line outside of code blocks."""
    if RULE.fullmatch(line):
        return "──────────"
    if (deep := DEEP.fullmatch(line)) is not None:
        title = deep["title"]
        return title if title.startswith("**") else f"**{_outside_code(title, _words)}**"
    line = TASK.sub(lambda m: f"{m['lead']}- {'☐' if m['done'] == ' ' else '☑'} ", line)
    return LINE_ESCAPE.sub(r"\g<lead>\\", _outside_code(line, _words))


def _words(text: str) -> str:
    return IMAGE.sub("", text).replace("||", "\\|\\|")


def _outside_code(line: str, change: Callable[[str], str]) -> str:
    pieces: list[str] = []
    done = 0
    for span in SPAN.finditer(line):
        pieces += (change(line[done : span.start()]), span[0])
        done = span.end()
    return "".join((*pieces, change(line[done:])))


def _table(rows: list[str]) -> list[str]:
    """A table as a code block with its columns in line; other rows with pipes as they are."""
    if not rows:
        return []
    if len(rows) < 2 or not DELIMITER.fullmatch(rows[1]):
        return [_prose(row) for row in rows]
    cells = [_cells(row) for row in (rows[0], *rows[2:])]
    count = max(map(len, cells))
    full = [row + [""] * (count - len(row)) for row in cells]
    widths = [max(_width(row[at]) for row in full) for at in range(count)]
    lines = [
        "  ".join(
            cell + " " * (wide - _width(cell)) for cell, wide in zip(row, widths, strict=True)
        )
        for row in full
    ]
    rule = "  ".join("─" * wide for wide in widths)
    return ["```", lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:]), "```"]


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [
        cell.strip().replace("\\|", "|").replace("```", f"`{ZERO_WIDTH}``").replace("**", "")
        for cell in CELL_END.split(inner)
    ]


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
