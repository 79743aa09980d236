"""A task without a chat: the whole program on one lane, in a data folder of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.console.answering import terminal_person
from adapters.console.clean import clean
from adapters.console.headless import Errand, HeadlessPlatform, Person, Surroundings
from adapters.sqlite.database import FILE_NAME, open_reader
from core.ports import Platform, Usage
from core.sessions.conversation import Question
from gateway.compose.folders import address_of
from gateway.compose.run import Choices, live
from gateway.compose.setup import PlatformMaker, Setup
from gateway.headless.report import Report
from gateway.headless.result import Spent
from gateway.headless.stop import Stop
from gateway.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be done, in `folder`: `lines` are said one after another, by `user` ("" for
    nobody in particular). `profile` "" is the agent itself. `stop` ends it before its time."""

    lines: Sequence[str]
    folder: Path
    profile: str = ""
    user: str = ""
    stop: Stop | None = None


def harmless(text: str) -> str:
    """A text without what could steer a terminal."""
    return clean(text)


def run_task(settings: Settings, task: Task, report: Report, choices: Choices) -> Spent:
    """Carry a task out to its end; what it used. Raises `core.errors` for what a person must mend.

    Nothing of it is kept: its data folder lasts as long as it does, so that no gateway's lock or
    chat is in its way.
    """
    return asyncio.run(_carry_out(settings, task, report, choices))


async def _carry_out(settings: Settings, task: Task, report: Report, choices: Choices) -> Spent:
    """Inside of the loop, so that a signal is heard from before there is a folder until it is
    gone. One that comes while everything is still being loaded leaves nothing to be counted."""
    stop = task.stop or Stop()
    stop.listen()
    used = Spent()
    with tempfile.TemporaryDirectory(prefix="pursuit-agent-") as folder:
        data = Path(folder)
        person = terminal_person()
        try:
            async with stop.ends():
                await work(settings, data, replace(task, stop=stop), choices, report, person)
                used = spent(data)
        finally:
            if person is not None:
                person.close()
            # What was given up may still be opening its files there, in a thread.
            await asyncio.get_running_loop().shutdown_default_executor()
    return used


async def work(
    settings: Settings,
    data: Path,
    task: Task,
    choices: Choices,
    report: Report,
    person: Person | None,
) -> None:
    """Carry a task out in a loop that runs already, with its data in `data`."""
    talk = address_of(task.folder)
    console = headless(task, report, person)
    made = replace(choices, console=console, talk=talk, watch=report, profile=task.profile)
    await live(settings, data, made)


def headless(task: Task, report: Report, person: Person | None) -> PlatformMaker:
    """A chat in which the task's lines are said, whose messages go to the report."""

    def made(setup: Setup) -> Platform:
        lane = setup.talk.key

        async def waiting() -> Sequence[Question]:
            return [q for q in await setup.memory.questions(lane) if not q.outcome]

        async def finished() -> None:
            card = await setup.memory.card(lane)
            report.finish(None if card is None else card.goal)

        return HeadlessPlatform(
            Errand(address=setup.talk, run_id=setup.run_id, lines=task.lines, user=task.user),
            Surroundings(
                clock=setup.clock,
                idle=lambda: setup.at_rest(lane),
                questions=waiting,
                hear=report.heard,
                finished=finished,
                until=nullcontext if task.stop is None else task.stop.ends,
                person=person,
            ),
        )

    return made


def spent(data: Path) -> Spent:
    """What was used by all that was done in a data folder."""
    with closing(open_reader(data / FILE_NAME)) as conn:
        (turns,) = conn.execute("SELECT count(*) FROM turn").fetchone()
        used = conn.execute(
            "SELECT coalesce(sum(input), 0), coalesce(sum(cached), 0), coalesce(sum(output), 0),"
            " coalesce(sum(cost), 0.0) FROM usage WHERE state = 'settled'"
        ).fetchone()
    return Spent(turns, Usage(*used))
