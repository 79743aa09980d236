"""Standard output and standard error of a run that outlives their readers."""

from __future__ import annotations

import io
import select
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Sink(io.FileIO):
    """Takes whatever is written, also when the descriptor does not."""

    def __init__(self, descriptor: int, failed: Callable[[OSError], None]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._failed = failed
        self._gone = False

    def write(self, data: ReadableBuffer, /) -> int:
        """The bytes that were taken; all of them, once the descriptor has failed."""
        size = memoryview(data).nbytes
        while not self._gone:
            try:
                written: int | None = super().write(data)
            except OSError as error:
                self._gone = True
                self._failed(error)
            else:
                if written is not None:
                    return written
                select.select([], [self.fileno()], [])  # it does not block, and is full
        return size


def outliving(stream: TextIO, failed: Callable[[OSError], None] = lambda _: None) -> TextIO:
    """A stream to where that one leads. When that fails, `failed` is told why, once, and what is
    written from then on goes nowhere; it raises nothing. What its encoding lacks is escaped."""
    return io.TextIOWrapper(
        io.BufferedWriter(_Sink(stream.fileno(), failed)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=True,
    )
