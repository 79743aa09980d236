"""Puts the menu's suggestions, and paths after `/attach`, under the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from adapters.console.clean import clean
from adapters.console.menu import suggest

_ATTACH = "/attach "


class ChatCompleter(Completer):
    """Completes `/` commands, their subcommands and paths; plain messages never."""

    def __init__(self, commands: Sequence[tuple[str, str]]) -> None:
        self._commands = commands
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """The candidates at the cursor."""
        before = document.text_before_cursor
        if before.startswith(_ATTACH):
            path = before.removeprefix(_ATTACH)
            for found in self._paths.get_completions(Document(path), complete_event):
                # A name that would need quoting or could not be shown is left to the person.
                if " " not in found.text and clean(found.text) == found.text:
                    yield found
            return
        for offer in suggest(before, self._commands):
            yield Completion(offer.word, -offer.typed, display_meta=offer.summary)
