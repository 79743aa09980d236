"""Where things stand on the terminal: live lines, the prompt under them, a menu when it helps."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import (
    BufferControl,
    CompletionsMenu,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from adapters.console.live import Fragments

_PROMPT = "› "
_MENU_ROWS = 10

STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "pinned": "dim",
        "spinner": "ansicyan",
        "doing": "",
        "hint": "dim",
        "completion-menu": "bg:default fg:default",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "reverse",
        "completion-menu.meta.completion": "bg:default fg:default dim",
        "completion-menu.meta.completion.current": "bg:default fg:default",
    }
)


def layout(line: Buffer, live_lines: Callable[[], list[Fragments]]) -> Layout:
    """The whole screen for the buffer that is typed into."""

    def live() -> StyleAndTextTuples:
        rows: StyleAndTextTuples = []
        for row in live_lines():
            rows.extend([*row, ("", "\n")])
        return rows[:-1]

    def height() -> Dimension:
        # A menu needs room below the prompt, which on the last screen line has to be made.
        return Dimension(min=_MENU_ROWS if line.complete_state else 1)

    search = SearchToolbar(ignore_case=True)
    typing = Window(
        BufferControl(line, search_buffer_control=search.control, preview_search=True),
        height=height,
        get_line_prefix=_prefix,
        wrap_lines=True,
    )
    menu = CompletionsMenu(max_height=_MENU_ROWS - 1, extra_filter=has_focus(line))
    body = FloatContainer(typing, [Float(menu, xcursor=True, ycursor=True)])
    status = ConditionalContainer(
        Window(FormattedTextControl(live), dont_extend_height=True),
        Condition(lambda: bool(live_lines())),
    )
    return Layout(HSplit([status, body, search]), focused_element=typing)


def _prefix(number: int, wraps: int) -> StyleAndTextTuples:
    first = number == 0 and wraps == 0
    return [("class:prompt", _PROMPT if first else " " * len(_PROMPT))]
