"""What looks on at a run: it tells systemd, and keeps the settings in step with their file."""

from __future__ import annotations

from collections.abc import Callable

from gateway.compose.setup import Life, Lookers, Running
from gateway.reload import Reloading, Source
from gateway.service.notify import Notifier
from gateway.service.watchdog import Watchdog
from gateway.settings import ServiceManager, Settings


def lookers(
    settings: Settings,
    source: Source,
    manager: ServiceManager | None,
    relog: Callable[[Settings], None],
) -> Lookers:
    """The lives beside a run of `settings`; `relog` sends the log where new ones want it."""

    def lives(running: Running) -> dict[str, Life]:
        def swap(new: Settings) -> None:
            running.swap(new)
            relog(new)

        if manager is None:
            return {"reload": Reloading(source, settings, swap).run}
        told, vitals, clock = Notifier(manager.address), running.vitals, running.clock
        reloading = Reloading(
            source,
            settings,
            swap,
            began=lambda: told.reloading(clock.monotonic()),
            ended=lambda: told.ready(vitals.report().summary),
        )
        watchdog = Watchdog(told, vitals, clock.monotonic, manager.watchdog_s)
        return {"reload": reloading.run, "watchdog": watchdog.run}

    return lives
