"""The front on a terminal: a prompt at the bottom, everything else scrolls by above it.

One prompt_toolkit application runs for the whole conversation, so the terminal never leaves raw
mode in between, where a Ctrl-C would be a signal to the process instead of a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout

from adapters.console.completion import ChatCompleter
from adapters.console.decode import MAX_TEXT_BYTES
from adapters.console.front import Hear, Heard, Interrupted, Oversized, Typed
from adapters.console.history import open_history
from adapters.console.keys import bindings
from adapters.console.layout import STYLE, layout
from adapters.console.live import Fragments, Live
from adapters.console.pastes import Pastes
from adapters.console.render import Renderer
from core.messages import Say
from core.ports import Clock

_TICK_S = 0.2
_DRAIN_S = 2.0
_AGAIN_S = 2.0
_LONG_TEXT = 20_000
"""Rendering more than this takes long enough to be felt, so it happens in a thread."""


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """What the banner says."""

    title: str
    details: str
    usage: str


class TerminalFront:
    """A person at a terminal. `keyboard` and `screen` are those of the process when None."""

    interactive = True

    def __init__(
        self,
        first: FirstScreen,
        commands: Sequence[tuple[str, str]],
        clock: Clock,
        *,
        history: Path | None,
        devices: tuple[Input, Output] | None = None,
        renderer: Renderer | None = None,
    ) -> None:
        self._first = first
        self._clock = clock
        self._renderer = renderer or Renderer()
        self._pastes = Pastes()
        self._heard: asyncio.Queue[Heard] = asyncio.Queue()
        self._ticking = asyncio.Event()
        self._last_interrupt = float("-inf")
        self._begun: float | None = None
        self._line = Buffer(
            completer=ChatCompleter(commands),
            complete_while_typing=Condition(lambda: self._line.text.startswith("/")),
            history=open_history(history),
            accept_handler=self._accept,
            on_text_changed=self._typing,
        )
        keyboard, screen = devices or (None, None)
        self._app: Application[None] = Application(
            layout=layout(self._line, self._live_lines),
            key_bindings=bindings(self, self._line),
            style=STYLE,
            erase_when_done=True,
            input=keyboard,
            output=screen,
        )
        _keep_raw(self._app.input)
        encoding = self._app.output.encoding() or ""
        self._live = Live(unicode="utf" in encoding.lower())

    # What is shown

    async def greet(self) -> None:
        """Print the banner."""
        first = self._first
        await self._print(
            self._renderer.banner(first.title, first.details, first.usage, self._width())
        )

    async def say(self, what: Say) -> None:
        """Print a message above the prompt."""
        if len(what.text) > _LONG_TEXT:
            text = await asyncio.to_thread(self._renderer.say, what, self._width())
        else:
            text = self._renderer.say(what, self._width())
        await self._print(text)

    async def say_status(self, what: Say) -> None:
        """The first status is a message like any other; its edits go to the live lines."""
        await self.say(what)

    async def note(self, text: str) -> None:
        """Print a dim line."""
        with suppress(OSError):
            await self._print(self._renderer.note(text, self._width()))

    async def progress(self, turn: int, text: str) -> None:
        """Show what runs just now beside the spinner and under it."""
        self._live.progress(turn, text, self._clock.monotonic())
        self._refresh()

    def pin(self, what: Say | None) -> None:
        """Keep the goal's status over the prompt."""
        self._live.pin(what)
        self._refresh()

    def busy(self, *, working: bool) -> None:
        """Turn the spinner."""
        if working:
            self._live.start(self._clock.monotonic())
        else:
            self._live.stop()
        self._refresh()

    # What is heard

    async def run(self, hear: Hear) -> None:
        """Read keys until the person leaves or the terminal goes away."""
        async with asyncio.TaskGroup() as group:
            pump = group.create_task(self._pump(hear), name="console-pump")
            ticker = group.create_task(self._tick(), name="console-ticker")
            # Whatever else in this process prints must not tear the prompt either.
            # Input that ends, and a window that is closed, are a person who has left.
            with patch_stdout(), suppress(EOFError, OSError):
                await self._app.run_async(handle_sigint=False, set_exception_handler=False)
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_S):
                    await self._heard.join()
            ticker.cancel()
            pump.cancel()

    def interrupt(self) -> None:
        """Ctrl-C: stop what runs, else clear the line, else leave at the second time."""
        now = self._clock.monotonic()
        again, self._last_interrupt = now - self._last_interrupt < _AGAIN_S, now
        if self._live.since is not None:
            if self._live.stopping_since is None or not again:
                self._live.stopping_since = now
                self._heard.put_nowait(Interrupted())
        elif self._line.text:
            self._line.reset()
            self._begun = None
            self._last_interrupt = float("-inf")
        elif again:
            self.leave()
        else:
            self._advise("Press Ctrl-C again to leave.")
        self._refresh()

    def leave(self) -> None:
        """End the conversation."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def paste(self, text: str) -> None:
        """Insert a pasted text, line breaks and all, or a mark that stands for a long one."""
        size = len(text.encode())
        if size > MAX_TEXT_BYTES:
            self._heard.put_nowait(Oversized(size))
        else:
            self._line.insert_text(self._pastes.fold(text))

    def _typing(self, line: Buffer) -> None:
        """Note when the line was begun."""
        if not line.text:
            self._begun = None
        elif self._begun is None:
            self._begun = self._clock.monotonic()

    def _accept(self, line: Buffer) -> bool:
        begun = self._clock.monotonic() if self._begun is None else self._begun
        self._begun = None
        self._heard.put_nowait(Typed(line.text, begun))
        return False

    async def _pump(self, hear: Hear) -> None:
        while True:
            heard = await self._heard.get()
            try:
                if isinstance(heard, Typed):
                    with suppress(OSError):
                        await self._print(self._renderer.echo(heard.text, self._width()))
                    heard = replace(heard, text=self._pastes.unfold(heard.text))
                if not await hear(heard):
                    self.leave()
            finally:
                self._heard.task_done()

    # How it is drawn

    def _live_lines(self) -> list[Fragments]:
        return self._live.lines(self._clock.monotonic(), self._width())

    def _width(self) -> int:
        return self._app.output.get_size().columns

    def _advise(self, hint: str) -> None:
        self._live.advise(hint, self._clock.monotonic())
        asyncio.get_running_loop().call_later(_AGAIN_S + _TICK_S, self._app.invalidate)

    def _refresh(self) -> None:
        if self._live.since is None:
            self._ticking.clear()
        else:
            self._ticking.set()
        self._app.invalidate()

    async def _tick(self) -> None:
        while True:
            await self._ticking.wait()
            self._app.invalidate()
            await asyncio.sleep(_TICK_S)

    async def _print(self, text: str) -> None:
        async with in_terminal():
            self._app.output.write_raw(text)
            self._app.output.flush()


def _keep_raw(keyboard: Input) -> None:
    """Printing above the prompt leaves raw mode for a moment; this one needs no cooked mode."""
    cooked: Callable[[], AbstractContextManager[None]] = nullcontext
    keyboard.cooked_mode = cooked  # type: ignore[method-assign]
