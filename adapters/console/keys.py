"""What the keys do in the terminal chat, where that differs from prompt_toolkit's own."""

from __future__ import annotations

from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_focus, is_searching
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys

from adapters.console.clean import clean


class Keyboard(Protocol):
    """What keys ask of the chat."""

    def interrupt(self) -> None:
        """Ctrl-C."""
        ...

    def leave(self) -> None:
        """Ctrl-D on an empty line."""
        ...

    def paste(self, text: str) -> None:
        """A pasted text, cleaned."""
        ...


def bindings(chat: Keyboard, line: Buffer) -> KeyBindings:
    """Enter sends, Alt-Enter or a backslash before Enter breaks the line."""
    keys = KeyBindings()
    typing = has_focus(line)

    @keys.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        _enter(line)

    @keys.add("escape", "enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        line.insert_text("\n")

    @keys.add("c-c", filter=~is_searching)
    def _(event: KeyPressEvent) -> None:
        chat.interrupt()

    @keys.add("c-d", filter=typing & Condition(lambda: not line.text))
    def _(event: KeyPressEvent) -> None:
        chat.leave()

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        # Suspending would stop every other platform that this process serves.
        pass

    @keys.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        chat.paste(clean(event.data))

    return keys


def _enter(line: Buffer) -> None:
    chosen = line.complete_state and line.complete_state.current_completion
    if chosen:
        line.complete_state = None
        if not line.text.startswith("/attach "):
            line.insert_text(" ")
    elif line.document.text_before_cursor.endswith("\\"):
        line.delete_before_cursor(1)
        line.insert_text("\n")
    elif line.text.strip():
        line.validate_and_handle()
