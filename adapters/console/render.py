"""Turns messages into text with terminal colours, by rich; it writes nothing itself.

It takes clean text only: whatever it returns goes to the terminal as it is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from core.messages import Say

_WIDEST = 100
"""Prose wider than this is hard to read."""

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


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }


class Renderer:
    """Renders for one terminal; `environ` (TERM, NO_COLOR …) is the process's own when None."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = environ

    def say(self, what: Say, width: int) -> str:
        """A message of the bot and a blank line, its buttons as numbered choices between."""
        body: RenderableType
        if what.markdown:
            # No OSC 8 links: the target has to be seen.
            body = _Markdown(what.text, code_theme="ansi_dark", hyperlinks=False)
        else:
            body = Text(what.text)
        rendered = self._render(body, width)
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
            width=max(20, min(width, limit)),
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


def _choices(what: Say) -> Text:
    text = Text()
    for number, button in enumerate(what.buttons, 1):
        text.append(f"[{number}]", "bold")
        text.append(f" {button.label}  ")
    text.append("(type the number)", "dim")
    return text
