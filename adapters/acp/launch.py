"""What this package needs of whoever starts programs, and what it is told of one job. Only values
and protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol, TypeAlias

from core.delegation.ports import AskPermission

Streams: TypeAlias = tuple[IO[bytes] | None, IO[bytes] | None, IO[bytes] | None]


class Launched(Protocol):
    """A running program and all that it starts."""

    @property
    def streams(self) -> Streams:
        """Its standard input (None when it has none), output and error."""
        ...

    @property
    def exit_code(self) -> int | None:
        """As a shell tells it (128 + the signal's number); None while it runs."""
        ...

    async def exited(self) -> None:
        """Until the program has ended; what it started may go on."""
        ...

    async def end(self, patience_s: float = ...) -> None:
        """SIGTERM to all its processes, SIGKILL to what is left after `patience_s`."""
        ...


class Launcher(Protocol):
    """Starts a program in the terminal's sandbox."""

    async def __call__(
        self,
        argv: Sequence[str],
        workspace: Path,
        env: Mapping[str, str],
        *,
        network: bool | None,
        listens: bool,
    ) -> Launched:
        """Start `argv` in the workspace. `env` goes on top of the sandbox's own environment,
        `network` None is as commands have it, `listens` gives it a standard input.

        Raises UserError where a command would be refused, OSError when nothing can be executed.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One task for one runner. `name` is what people are told of it; `workspace` is resolved."""

    name: str
    task: str
    workspace: Path
    progress: Callable[[str], None] = field(repr=False)
    permit: AskPermission = field(repr=False)
    timeout_s: float
