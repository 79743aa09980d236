"""What accompanies `pursuit up`: the health pages, reloading, and word to systemd.

Loads what is used of it only: an HTTP server and the numbers cost 0.2 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.logs import configure_logs
from gateway.redact import Redactor
from gateway.settings import Settings, config_file, secrets_of, service_manager

if TYPE_CHECKING:
    from gateway.compose.run import Choices


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How this run came to its settings and where it logs to (None: standard error)."""

    load: Callable[[], Settings]
    config: Path | None
    log: Path | None


def accompanied(choices: Choices, settings: Settings, way: Way) -> Choices:
    """The choices with all that accompanies a gateway of these settings."""
    if settings.health.enabled:
        from gateway.compose.health import HealthSide

        choices = replace(choices, health=HealthSide)
    from gateway.compose.lookers import lookers
    from gateway.reload import Source

    def relog(new: Settings) -> None:
        configure_logs(new.logs, Redactor([*secrets_of(settings), *secrets_of(new)]), way.log)

    file = config_file(way.config)
    source = Source(
        load=way.load,
        file=file.absolute() if file else None,
        # At a terminal SIGHUP says that it is gone, and ends the chat with it.
        on_hangup=choices.console is None,
    )
    return replace(choices, lookers=lookers(settings, source, service_manager(), relog))
