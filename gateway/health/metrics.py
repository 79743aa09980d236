"""What is counted for Prometheus, in a registry of its own.

Every label takes one of few values that the program knows beforehand: platforms, outcomes, jobs
and the models of the configuration. Never a chat, a person or a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from core.ports import Clock, Completion, Model, ModelFailure, Request, Usage
from core.sessions.ports import Begun, Ending, TurnRef
from gateway.health.vitals import State, Vitals
from gateway.lanes import TurnWorker
from gateway.settings import Purpose

_TURNS = (1, 5, 15, 60, 300, 900, 3600)
_CALLS = (0.5, 1, 2, 5, 10, 30, 60, 120)
CUT = "cut"
"""The outcome of a turn, and of a call, whose task was cancelled: by /stop or the end."""


@dataclass(frozen=True, slots=True)
class Depth:
    """What waits, as the store counts it, and the bytes that are free for more."""

    waiting: int
    lanes: int
    longest: int
    unsent: int
    retried: int
    disk_free: int


class Metrics:
    """The program's numbers. `depth` is asked at each scrape."""

    def __init__(self, clock: Clock, depth: Callable[[], Depth]) -> None:
        self._clock = clock
        self._depth = depth
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        to, call = self.registry, ["job", "model"]
        self._turns = Counter("pursuit_turns", "Turns that ended.", ["outcome"], registry=to)
        self._running = Gauge("pursuit_turns_running", "Turns at work.", registry=to)
        self._turn_s = Histogram(
            "pursuit_turn_seconds", "A turn's length.", buckets=_TURNS, registry=to
        )
        self._calls = Counter(
            "pursuit_model_calls", "Model calls.", [*call, "result"], registry=to
        )
        self._in_flight = Gauge(
            "pursuit_model_calls_in_flight", "Calls begun.", ["job"], registry=to
        )
        self._call_s = Histogram(
            "pursuit_model_call_seconds", "A call's length.", ["job"], buckets=_CALLS, registry=to
        )
        self._tokens = Counter(
            "pursuit_model_tokens", "Tokens used.", [*call, "direction"], registry=to
        )
        self._cost = Counter("pursuit_model_cost_dollars", "Their cost.", call, registry=to)

    def of_platforms(self, vitals: Vitals) -> None:
        """Show the platforms' health and the backlog too; once."""
        self.registry.register(_Seen(vitals, self._depth))

    def exposition(self) -> bytes:
        """All numbers in Prometheus' text format."""
        return generate_latest(self.registry)

    def counted_turns(self, worker: TurnWorker) -> TurnWorker:
        """The worker, with its turns counted."""
        return _CountedTurns(worker, self, self._clock)

    def counted_calls(self, model: Model, job: Purpose) -> Model:
        """The model, with its calls counted as those of a job."""
        return _CountedCalls(model, self, job, self._clock)

    def turn_began(self) -> None:
        """A turn is at work."""
        self._running.inc()

    def turn_ended(self, outcome: str, seconds: float) -> None:
        """It is no more."""
        self._running.dec()
        self._turns.labels(outcome).inc()
        self._turn_s.observe(seconds)

    def call_began(self, job: Purpose) -> None:
        """A call is under way; this counts its wait for a slot too."""
        self._in_flight.labels(job).inc()

    def call_ended(
        self, job: Purpose, model: str, done: Completion | None, seconds: float
    ) -> None:
        """It is over; None for one that was cut off."""
        self._in_flight.labels(job).dec()
        self._call_s.labels(job).observe(seconds)
        result = CUT if done is None else "ok"
        if isinstance(done, ModelFailure):
            result = done.kind.value
        self._calls.labels(job, model, result).inc()
        usage = Usage() if done is None else done.usage
        self._tokens.labels(job, model, "in").inc(usage.input_tokens)
        self._tokens.labels(job, model, "out").inc(usage.output_tokens)
        self._cost.labels(job, model).inc(usage.cost)


class _CountedTurns:
    """A `TurnWorker` whose turns are counted."""

    def __init__(self, worker: TurnWorker, metrics: Metrics, clock: Clock) -> None:
        self.clean_up = worker.clean_up
        self._worker = worker
        self._metrics = metrics
        self._clock = clock

    async def work(self, ref: TurnRef, begun: Begun) -> Ending:
        """See `TurnWorker.work`."""
        started, outcome = self._clock.monotonic(), CUT
        self._metrics.turn_began()
        try:
            ending = await self._worker.work(ref, begun)
            outcome = ending.outcome.value
            return ending
        finally:
            self._metrics.turn_ended(outcome, self._clock.monotonic() - started)


class _CountedCalls:
    """A `Model` whose calls are counted."""

    def __init__(self, model: Model, metrics: Metrics, job: Purpose, clock: Clock) -> None:
        self.name = model.name
        self.context_tokens = model.context_tokens
        self.max_output_tokens = model.max_output_tokens
        self.price = model.price
        self._model = model
        self._metrics = metrics
        self._job: Purpose = job
        self._clock = clock

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """See `Model.complete`."""
        started, done = self._clock.monotonic(), None
        self._metrics.call_began(self._job)
        try:
            done = await self._model.complete(request, on_text)
            return done
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.call_ended(self._job, self.name, done, seconds)


class _Seen(Collector):
    """What is looked up when somebody asks, not counted as it happens."""

    def __init__(self, vitals: Vitals, depth: Callable[[], Depth]) -> None:
        self._vitals = vitals
        self._depth = depth

    def collect(self) -> Iterator[Metric]:
        """See `Collector.collect`."""
        up = GaugeMetricFamily("pursuit_platform_up", "1: connected.", labels=["platform"])
        silent = GaugeMetricFamily(
            "pursuit_platform_silent_seconds", "Since it was heard.", labels=["platform"]
        )
        for reading in self._vitals.report().platforms:
            up.add_metric([reading.name], float(reading.state is State.UP))
            silent.add_metric([reading.name], reading.silent_s)
        yield from (up, silent)
        depth = self._depth()
        for name, said, value in (
            ("inbox_waiting", "Messages that wait for a turn.", depth.waiting),
            ("lanes_waiting", "Lanes with messages that wait.", depth.lanes),
            ("inbox_longest_queue", "The most that wait in one lane.", depth.longest),
            ("outbox_backlog", "Messages that are to be sent.", depth.unsent),
            ("outbox_retried", "Those of them that were tried before.", depth.retried),
            ("disk_free_bytes", "Free space in the data folder.", depth.disk_free),
        ):
            yield GaugeMetricFamily(f"pursuit_{name}", said, value=value)
