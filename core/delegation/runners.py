"""Local agent runners at work on children's tasks.

A runner that asks a person lives on while its turn waits for the answer, for its program cannot
be put down and taken up again. Nothing of a run is stored: it ends with the program, and what
has been begun once is never begun again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from core.delegation import leave
from core.delegation.ports import ChildRef, Permission, Permitted, RunnerEnd, Runners
from core.delegation.result import Status, Work
from core.delegation.waiting import Waits
from core.delegation.worker import Runner
from core.errors import UserError
from core.escalations.desk import Asked, Desk
from core.ports import Line, ToolContext
from core.replies import whole_json

REFUSED_SHOWN = 5
CUT = (
    "interrupted by a restart: a local agent runner cannot go on, and the outcome is unknown;"
    " check before repeating"
)
UNASKED = "nobody can be asked for leave here"
TOO_LATE = "what became of {id} came too late: the runner was no longer there, so nothing followed"

Say: TypeAlias = Callable[[Line], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """A child's run in the hands of a runner. `id` is the child's (see `ChildState`), `agent` what
    people call the runner. `call` is the turn's own call that it is for, and `context` that of
    the turn's present attempt.

    `opened` says that it was begun in an earlier attempt, and `asked` how many of its questions
    people were asked in those.
    """

    id: int
    ref: ChildRef
    runner: Runner
    agent: str
    brief: str
    call: str
    context: ToolContext
    opened: bool = False
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Means:
    """What runners need: whoever starts them, who asks people (None where nobody can be asked),
    and their time, in which that of people does not count."""

    runners: Runners
    desk: Desk | None
    timeout_s: float


@dataclass(frozen=True, slots=True)
class _Question:
    """A permission that a run waits for."""

    permission: Permission
    answer: asyncio.Future[Permitted]


def _unheard(_: Line) -> None:
    """Nobody looks on while the turn waits."""


@dataclass(slots=True)
class _Live:
    """A run. `path` is its child's, `turn` the one that it works for, `say` takes what it does.
    `decided` counts its questions that are over, `put` is the one that a person was asked and
    that is not.

    The runner's side is `permit`, the turn's `next`; while the turn waits for a person nobody is
    at that side.
    """

    path: str
    turn: int
    say: Say
    end: asyncio.Future[RunnerEnd]
    task: asyncio.Task[None] | None = None
    decided: int = 0
    put: Asked | None = None
    _question: _Question | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def permit(self, permission: Permission) -> Permitted:
        """See `Runners.run`; one at a time."""
        question = _Question(permission, asyncio.get_running_loop().create_future())
        self._question = question
        self._news.set()
        try:
            return await question.answer
        finally:
            self._question = None

    async def next(self) -> _Question | RunnerEnd:
        """What the run comes to next. Raises what it failed with."""
        while not self.end.done():
            question = self._question
            if question is not None and not question.answer.done():
                return question
            self._news.clear()
            await self._news.wait()
        return self.end.result()

    def over(self, _: asyncio.Future[RunnerEnd]) -> None:
        """It has ended."""
        self._news.set()


class LiveRunners:
    """The runs of a program; `run` is its life, with which they all end."""

    def __init__(self) -> None:
        self._live: dict[int, _Live] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Own the runs until cancelled; then their programs end within 2 s."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            await asyncio.Event().wait()

    async def work(self, errand: Errand, means: Means) -> Work | Waits:
        """Let a runner work to its end, or as far as it goes without a person; then call it again
        when one has answered. Raises UserError for a runner that cannot be started.

        Whatever else ends this, cancelling too, ends the runner.
        """
        fresh = not errand.opened and not errand.asked
        if fresh:
            await self._end({errand.id})  # of a child that is gone: stores give ids away again
        live = self._live.get(errand.id)
        if live is None:
            if not fresh:
                return await _cut(errand, means.desk)
            if errand.runner.lacking:
                raise UserError(errand.runner.lacking)
            live = self._begin(errand, means)
        live.turn, live.say = errand.context.turn, errand.context.progress
        waits = False
        try:
            done = await _follow(live, errand, means.desk)
            waits = isinstance(done, Waits)
            return done
        finally:
            if waits:
                live.say = _unheard
            else:
                await self._end({errand.id})

    async def close_turn(self, turn: int) -> None:
        """End the runs that work for a turn; returns when their programs are gone."""
        await self._end({id_ for id_, live in self._live.items() if live.turn == turn})

    async def close_call(self, turn: int, call: str) -> None:
        """End the runs of a call that has its result: none is left, but where a child failed
        while its runner lived."""
        own = f"{call}."
        ids = {id_ for id_, live in self._live.items() if live.path.startswith(own)}
        await self._end({id_ for id_ in ids if self._live[id_].turn == turn})

    def _begin(self, errand: Errand, means: Means) -> _Live:
        group = self._group
        assert group is not None  # noqa: S101 - `run` comes first
        end: asyncio.Future[RunnerEnd] = asyncio.get_running_loop().create_future()
        live = _Live(errand.ref.path, errand.context.turn, errand.context.progress, end)
        end.add_done_callback(live.over)
        live.task = group.create_task(_carry(live, errand, means), name=f"runner {errand.id}")
        self._live[errand.id] = live
        return live

    async def _end(self, ids: Collection[int]) -> None:
        """End runs, each told so once: a second time would cut its own end short."""
        ending = {id_: live for id_ in ids if (live := self._live.get(id_)) is not None}
        tasks = {live.task for live in ending.values() if live.task is not None}
        for live in ending.values():
            if live.task is not None and not live.end.done():
                live.end.cancel()
                live.task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for id_, live in ending.items():
            if self._live.get(id_) is live:
                del self._live[id_]


async def _carry(live: _Live, errand: Errand, means: Means) -> None:
    """Have the runner work; what fails is handed to whom the run is for."""

    def say(line: Line) -> None:
        live.say(line)

    context = replace(errand.context, progress=say)
    work = means.runners.run(
        errand.runner, errand.brief, context, permit=live.permit, timeout_s=means.timeout_s
    )
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work, name=f"runner's work {errand.id}")
    except BaseExceptionGroup as failed:
        if not live.end.done():
            live.end.set_exception(failed.exceptions[0])
    else:
        if not live.end.done():
            live.end.set_result(task.result())


async def _follow(live: _Live, errand: Errand, desk: Desk | None) -> Work | Waits:
    while True:
        came = await live.next()
        if isinstance(came, RunnerEnd):
            work = runners_work(came)
            late = await _too_late(errand, desk, live.put)
            return replace(work, error="; ".join(filter(None, (work.error, late))))
        decided = await _decide(live, came.permission, errand, desk)
        if isinstance(decided, Waits):
            return decided
        if not came.answer.done():
            came.answer.set_result(decided)


async def _decide(
    live: _Live, permission: Permission, errand: Errand, desk: Desk | None
) -> Permitted | Waits:
    """Ask a person, or hear what became of the question."""
    if desk is None:
        return Permitted(allowed=False, reason=UNASKED)
    key = leave.key(errand.ref.path, live.decided + 1)
    asked = live.put or leave.asked(key, errand.agent, permission)
    try:
        escalation = await desk.ask(errand.context, errand.call, asked)
    except UserError as objection:
        return Permitted(allowed=False, reason=str(objection))
    if escalation.live:
        live.put = asked
        return Waits((escalation.id,))
    applied = await desk.apply(errand.context, asked.key)
    live.put = None
    live.decided += 1
    return leave.permitted(escalation, applied=applied)


async def _cut(errand: Errand, desk: Desk | None) -> Work:
    """The end of a run that is not there any more, and of what it may have asked last."""
    last = leave.stored(leave.key(errand.ref.path, errand.asked)) if errand.asked else None
    late = await _too_late(errand, desk, last)
    return Work(status=Status.INTERRUPTED, error="; ".join(filter(None, (CUT, late))))


async def _too_late(errand: Errand, desk: Desk | None, put: Asked | None) -> str:
    """Close what was asked for a run that is over; a sentence where there is an answer to it."""
    if desk is None or put is None:
        return ""
    escalation = await desk.ask(errand.context, errand.call, put)
    if escalation.live or not await desk.apply(errand.context, put.key):
        return ""
    return TOO_LATE.format(id=escalation.id)


def runners_work(end: RunnerEnd) -> Work:
    """What a runner came to. What it was not let do is in it: the runner may say nothing of that
    itself, and the parent and the judge know no more than they read here. An answer in JSON,
    which programs read, stays as it is."""
    status = Status.FAILED if end.error else Status.OK
    notes = [f"[Refused while it worked: {what}]" for what in end.refused[:REFUSED_SHOWN]]
    if (more := len(end.refused) - REFUSED_SHOWN) > 0:
        notes.append(f"[Refused too: {more} more]")
    refused = "\n".join(notes)
    if refused and _is_json(end.text):
        return Work(
            status=status, text=end.text, error="\n".join(filter(None, (end.error, refused)))
        )
    return Work(
        status=status, text="\n\n".join(filter(None, (end.text, refused))), error=end.error
    )


def _is_json(text: str) -> bool:
    try:
        whole_json(text)
    except ValueError:
        return False
    return True
