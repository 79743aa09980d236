"""What a connected server offers, without the SDK: the port between the servers' life and wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from adapters.mcp.options import ServerOptions
from core.transcript import Json


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as its server lists it. `check` gives the faults of arguments, [] for none."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    check: Callable[[Mapping[str, Json]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Offers:
    """A server's tools, and why others were left out, by name."""

    tools: tuple[Offer, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Said:
    """What a call came to; `ok` is False where the server says that it failed."""

    text: str
    ok: bool


class Connection(Protocol):
    """A connection to a server, from its handshake until it is lost."""

    offers: Offers
    """As they were listed last."""

    async def changed(self) -> None:
        """Wait until `offers` are new. Raises TransientError when the connection is lost."""
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Json], progress: Callable[[str], None]
    ) -> Said:
        """Call a tool, for `timeout_s` at most. Raises UserError for what the server refuses and
        when the connection is lost meanwhile. Cancelling returns at once and keeps the
        connection."""
        ...


Connect: TypeAlias = Callable[[ServerOptions], AbstractAsyncContextManager[Connection]]
"""Connects within `start_s`; raises TransientError then, and for whatever ends the connection.
Leaving ends the server's processes, within 3 s. Entered and left in the same task."""
