"""What the settings offer to chat commands and say of questions to people."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from adapters.sqlite.store import SqliteStore
from core.escalations.asking import Asking
from core.escalations.record import Purpose
from core.gates.wanted import Wanted
from core.goals.judge import JudgeProfile, judge_reads
from core.messages import LaneKey, Role
from core.ports import Clock
from core.sessions.facts import House
from core.sessions.ports import Signals
from gateway.compose.models import price_known
from gateway.control.desk import Desk
from gateway.control.server import ControlServer
from gateway.health.vitals import Vitals
from gateway.settings import Choice, Settings, catalogue, chosen
from gateway.settings.asking import Escalations
from gateway.settings.choice import jobs


def house(settings: Settings, *, local: bool, home: Callable[[LaneKey], Path]) -> House:
    """What commands may offer; `local` says that the embedded model is served in this run."""
    can_be_called = offered(settings, local=local)
    at_work = {job: chosen(settings, job) for job in jobs(settings)}
    by_name = {choice.name: choice for choice in (*at_work.values(), *can_be_called)}
    judge = at_work["goal_judge"]
    idle = {"agent"} if settings.gates.critic.enabled else {"agent", "critic"}
    return House(
        models=tuple(choice.name for choice in can_be_called),
        model=chosen(settings, "agent").name,
        folders=tuple(map(str, settings.workspace.allow)),
        home=lambda lane: str(home(lane)),
        aides=tuple(at_work[job].name for job in at_work if job not in idle),
        priced=lambda name: price_known(by_name[name]),
        judge_reads=judge_reads(JudgeProfile.LOCAL if judge.local else JudgeProfile.FULL),
        asking=_asking(settings.escalations),
        gates=gates_of(settings),
    )


def gates_of(settings: Settings) -> Wanted:
    """The gates of every chat."""
    return Wanted(verify=settings.gates.verify, critic=settings.gates.critic.enabled)


def _asking(escalations: Escalations) -> Asking:
    also = escalations.approvers.model_dump()
    return Asking(
        timeout_s=escalations.timeout_s,
        remind_after=escalations.reminders_s,
        also={purpose: frozenset(map(Role, also[purpose.value])) for purpose in Purpose},
    )


def offered(settings: Settings, *, local: bool) -> tuple[Choice, ...]:
    """The catalogue's models that can be called in this run."""
    choices = (catalogue(settings, name) for name in settings.models)
    return tuple(choice for choice in choices if _callable(choice, local=local))


def _callable(choice: Choice, *, local: bool) -> bool:
    provider = choice.provider
    if choice.local:
        return local
    key = provider.api_key.get_secret_value() if provider.api_key else ""
    return provider.base_url is not None or bool(key)


def control(
    store: SqliteStore,
    clock: Clock,
    vitals: Vitals,
    follow: Callable[[Signals], None],
    *,
    data: Path,
    model: str,
) -> ControlServer:
    """The control socket of a run."""
    about = {
        "version": version("pursuit"),
        "python": platform.python_version(),
        "data": str(data),
        "model": model,
    }
    desk = Desk(store, clock, vitals.report, follow, about=about)
    return ControlServer(data, desk.answers)
