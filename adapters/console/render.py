"""Turns messages into text with terminal colours, by rich; it writes nothing itself.

It takes clean text only: whatever it returns goes to the terminal as it is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

from rich.cells import get_character_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from adapters.console.encode import is_question
from core.messages import Say

_WIDEST = 100
"""Prose wider than this is hard to read."""

_ROW = 3
"""So many choices stand side by side."""

_INDENT = "  "
_GOES_ON = "↪ "
"""Before what did not fit the line above; a command's own line never stands at the edge."""
_BAR = "│ "

_PADDING = re.compile(r"[ ]+((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)

_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.link_url": "underline",
    }
)


class _PlainHeading(Heading):
    """A heading at the left edge; rich's own is centred in a frame."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _PlainCode(CodeBlock):
    """A code block set in by two blanks, without rich's empty lines above and below."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2))


class _ExactCode(CodeBlock):
    """A code block of a question's card: every character of it, and no line of it can be taken
    for one of the host's own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = str(self.text).removesuffix("\n").split("\n")
        yield Text("\n".join(_set_off(line, _INDENT, options.max_width) for line in lines))


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }


class _Card(_Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **_Markdown.elements,
        "fence": _ExactCode,
        "code_block": _ExactCode,
    }


class Renderer:
    """Renders for one terminal; `environ` (TERM, NO_COLOR …) is the process's own when None."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = environ

    def say(self, what: Say, width: int) -> str:
        """A message of the bot and a blank line, its buttons as numbered choices between."""
        rendered = self._render(_body(what, _limited(width, _WIDEST)), width)
        if what.buttons:
            rendered += self._render(_choices(what), width)
        return rendered + "\n"

    def note(self, text: str, width: int) -> str:
        """A remark of the console itself."""
        return self._render(Text(text, style="dim"), width)

    def echo(self, text: str, width: int) -> str:
        """What the person has sent."""
        first, *rest = text.split("\n")
        lines = ["› " + first, *("  " + line for line in rest)]
        return self._render(Text("\n".join(lines), style="bold"), width, limit=width)

    def banner(self, title: str, details: str, usage: str, width: int) -> str:
        """The first screen."""
        text = Text.assemble((title, "bold"), "\n", (details, "dim"), "\n\n", usage)
        return self._render(text, width) + "\n"

    def _render(self, what: RenderableType, width: int, *, limit: int = _WIDEST) -> str:
        console = Console(
            file=io.StringIO(),
            force_terminal=True,
            width=_limited(width, limit),
            theme=_THEME,
            highlight=False,
            markup=False,
            emoji=False,
            _environ=self._environ,
        )
        with console.capture() as captured:
            console.print(what, overflow="fold")
        # rich fills lines up with blanks, which wrap when the window is made narrower.
        return _PADDING.sub(r"\1", captured.get()).strip("\n") + "\n"


def _limited(width: int, limit: int) -> int:
    return max(20, min(width, limit))


def _body(what: Say, width: int) -> RenderableType:
    if what.markdown:
        # No OSC 8 links: the target has to be seen.
        kind = _Card if is_question(what) else _Markdown
        return kind(what.text, code_theme="ansi_dark", hyperlinks=False)
    lines = what.text.split("\n")
    if is_question(what):
        lines = [_barred(line, width) for line in lines]
    return Text("\n".join(lines))


def _barred(line: str, width: int) -> str:
    quoted = line.startswith(_BAR)
    return _set_off(line.removeprefix(_BAR), _BAR, width) if quoted else line


def _set_off(line: str, mark: str, width: int) -> str:
    """The line behind a mark, and what does not fit beside it below, behind a mark of its own."""
    pieces = _pieces(line.expandtabs(4), width - len(mark))
    return "\n".join(f"{_GOES_ON if at else mark}{piece}" for at, piece in enumerate(pieces))


def _pieces(line: str, width: int) -> Iterator[str]:
    """The line cut into pieces of so many cells. A blank where it is cut begins the next piece:
    at the end of one nobody would see it."""
    piece, room = "", width
    for character in line:
        size = get_character_cell_size(character)
        if size > room:
            kept = piece.rstrip(" ") or piece
            yield kept
            piece = piece[len(kept) :]
            room = width - len(piece)
        piece += character
        room -= size
    yield piece


def _choices(what: Say) -> Text:
    text, apart = Text(), "  " if len(what.buttons) <= _ROW else "\n"
    for number, button in enumerate(what.buttons, 1):
        own = f"{number}. "  # an option's label has its number already
        text.append(own if button.label.startswith(own) else f"[{number}] ", "bold")
        text.append(f"{button.label.removeprefix(own)}{apart}")
    text.append("(type the number)", "dim")
    return text
