"""Real runners that ask leave of a person, and what becomes of them while nobody has answered."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.delegation.ports import ChildRef
from core.delegation.result import Status, Work
from core.delegation.runners import CUT, UNASKED, Errand, LiveRunners, Means
from core.delegation.waiting import Waits
from core.delegation.worker import Runner
from core.escalations.events import SendFailed, TimeCame
from core.escalations.record import Denied, Escalation, Fact, Label, OnTimeout, Purpose, State
from core.messages import TurnId
from core.sessions.ports import TurnRef
from core.splitting import Room
from tests.e2e.runner_rig import Rig, open_rig
from tests.fakes.desk import NOW, MemoryDesk

CALL = "call_1"
DAY_S = 86_400.0


def begs(**call: object) -> str:
    """The runner asks leave for this tool call."""
    return f"beg {json.dumps({'title': 'Build it', 'kind': 'execute', **call})}"


@dataclass(slots=True)
class Office:
    """A turn's child in the hands of a runner, attempt after attempt."""

    rig: Rig
    live: LiveRunners
    desk: MemoryDesk = field(default_factory=MemoryDesk)
    reaches: bool = True
    asked: int = 0
    tries: int = 0
    attempt: int = 0

    async def work(
        self, task: str, runner: Runner | None = None, *, turn: int = 9, timeout_s: float = 30.0
    ) -> Work | Waits:
        """One attempt of a turn, after the earlier ones."""
        self.tries += 1
        self.attempt += 1
        context = self.rig.context(turn)
        errand = Errand(
            id=3,
            ref=ChildRef(TurnRef(context.address.key, TurnId(turn), self.attempt), f"{CALL}.0"),
            runner=runner or self.rig.runner(),
            agent="👷 Coder",
            brief=task,
            call=CALL,
            context=context,
            opened=self.tries > 1,
            asked=self.asked,
        )
        desk = self.desk if self.reaches else None
        ended = await self.live.work(errand, Means(self.rig.runners, desk, timeout_s))
        if isinstance(ended, Waits):
            self.asked, self.tries = self.asked + 1, 0
        return ended

    async def waits(self, task: str, *, turn: int = 9) -> Escalation:
        """One attempt that leads to a question."""
        ended = await self.work(task, turn=turn)
        assert ended == Waits((self.desk.last.id,))
        assert self.rig.processes() != []
        return self.desk.last

    async def done(self, *, turn: int = 9) -> Work:
        """The next attempt, which leads to the end."""
        ended = await self.work("", turn=turn)
        assert isinstance(ended, Work)
        assert self.rig.processes() == []
        return ended


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_rig(tmp_path) as rig, asyncio.TaskGroup() as lives:
        live = LiveRunners()
        life = lives.create_task(live.run())
        await asyncio.sleep(0)
        yield Office(rig, live)
        life.cancel()


async def test_a_runner_waits_for_a_persons_yes_and_goes_on(office: Office) -> None:
    asked = await office.waits("say Before. \nask once\nsay  and after.")
    assert office.desk.calls == {1: CALL}
    assert (asked.purpose, asked.question) == (Purpose.PERMISSION, "Remove it")
    assert asked.facts == (
        Fact(Label.COMMAND, "rm -rf build"),
        Fact(Label.TOOL, "other"),
        Fact(Label.AGENT, "👷 Coder"),
    )
    assert asked.on_timeout is OnTimeout.DENY
    assert not (office.rig.workspace / "outcome").exists()
    office.desk.answer()
    assert await office.done() == Work(status=Status.OK, text="Before. allow_once and after.")
    assert office.desk.last.state is State.APPLIED
    assert office.rig.lines == ["allowed: Remove it (E1 was approved by Owen)"]


async def test_a_turn_that_begins_again_without_an_answer_waits_again(office: Office) -> None:
    await office.waits("ask once")
    before = office.rig.processes()
    await office.waits("")
    assert office.rig.processes() == before
    assert len(office.desk.escalations) == 1


async def test_a_no_a_silence_and_a_card_that_reaches_nobody_refuse(office: Office) -> None:
    await office.waits("ask once\nsay  \nask once\nsay  \nask once")
    office.desk.answer(Denied("not on\nFriday"))
    await office.waits("")
    office.desk.tell(2, TimeCame(NOW + 2 * DAY_S))
    assert office.desk.last.state is State.EXPIRED
    office.desk.sends = False
    await office.waits("")
    office.desk.tell(3, SendFailed(NOW, "the chat is gone"))
    work = await office.done()
    assert work.text.splitlines() == [
        "reject_once reject_once reject_once",
        "",
        "[Refused while it worked: Remove it (E1 was denied by Owen: not on Friday)]",
        "[Refused while it worked: Remove it (nobody answered E2 in time)]",
        "[Refused while it worked: Remove it (E3 could not be shown to anybody)]",
    ]
    assert [one.state for one in office.desk.escalations] == [State.APPLIED] * 3


async def test_several_questions_are_asked_one_after_the_other(office: Office) -> None:
    task = f"{begs(rawInput={'command': 'make'})}\nsay  \n{begs(rawInput={'command': 'ls'})}"
    first = await office.waits(task)
    office.desk.answer()
    second = await office.waits("")
    assert [one.exact[0].text for one in (first, second)] == ["make", "ls"]
    office.desk.answer()
    assert (await office.done()).text == "allow_once allow_once"


async def test_what_no_card_can_show_whole_is_refused_and_put_to_nobody(office: Office) -> None:
    office.desk = MemoryDesk(room=Room(900))
    task = "\nsay  \n".join(
        (
            begs(rawInput={"command": "x" * 900}),
            begs(rawInput={"text": "x" * 30_000}),
            begs(title=" "),
        )
    )
    work = await office.work(task)
    assert isinstance(work, Work)
    assert work.text.startswith("reject_once reject_once reject_once\n")
    first, second, third = work.text.splitlines()[2:]
    assert "what is approved is always shown whole" in first
    assert "more than 20000 characters, and a person has to see all of it" in second
    assert "execute (it did not say what it wants to do)" in third
    assert office.desk.escalations == ()


async def test_without_anybody_to_ask_it_is_refused(office: Office) -> None:
    office.reaches = False
    assert await office.work("ask once") == Work(
        status=Status.OK,
        text=f"reject_once\n\n[Refused while it worked: Remove it ({UNASKED})]",
    )


async def test_words_that_hide_or_mark_up_stay_data(office: Office) -> None:
    evil = "```\n@everyone **ok** \u202egpj.exe\u200b <@!1>"
    call = {"title": evil, "rawInput": {"command": evil}, "locations": [{"path": f"/a\n{evil}"}]}
    asked = await office.waits(begs(**call))
    assert [fact.text for fact in asked.exact[:2]] == [evil, f"/a\n{evil}"]
    shown = office.desk.cards[1]
    assert "⟦U+202E⟧gpj.exe⟦U+200B⟧" in shown
    assert "\u202e" not in shown
    assert "\u200b" not in shown
    assert "path: /a⟦U+000A⟧" in shown
    office.desk.answer()
    assert (await office.done()).text == "allow_once"
    assert "\u202e" not in "".join(office.rig.lines)


async def test_what_was_announced_before_is_part_of_what_is_asked(office: Office) -> None:
    call = {"title": "Write", "kind": "edit", "rawInput": {"path": "a.py", "text": "1"}}
    asked = await office.waits(f"announce {json.dumps(call)}\nbeg {{}}")
    assert asked.exact[0] == Fact(Label.ARGUMENTS, '{"path": "a.py", "text": "1"}')
    assert (asked.question, asked.exact[-1].text) == ("Write", "edit")


async def test_closing_the_turn_ends_a_runner_that_waits(office: Office) -> None:
    await office.waits("spawn\nask once")
    began = time.monotonic()
    await office.live.close_turn(9)
    assert time.monotonic() - began < 2.0
    assert office.rig.processes() == []


async def test_cancelling_the_call_ends_a_runner_that_works(office: Office) -> None:
    running = asyncio.ensure_future(office.work("spawn\ntool up\nhang deaf"))
    await office.rig.until("up")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert office.rig.processes() == []


async def test_the_end_of_the_program_ends_every_runner(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        live = LiveRunners()
        async with asyncio.TaskGroup() as lives:
            life = lives.create_task(live.run())
            await asyncio.sleep(0)
            await Office(rig, live).waits("ask once")
            life.cancel()
        assert rig.processes() == []


async def test_an_answers_own_turn_takes_the_runner_over(office: Office) -> None:
    """Its first turn was set aside, and its end ends nothing more."""
    await office.waits("ask once\nsay  \nask once", turn=9)
    office.desk.move(9, 12)
    office.desk.answer()
    await office.waits("", turn=12)
    await office.live.close_turn(9)
    assert office.rig.processes() != []
    office.desk.answer()
    assert (await office.done(turn=12)).text == "allow_once allow_once"


async def test_after_a_restart_it_is_not_begun_again_and_the_answer_came_too_late(
    office: Office,
) -> None:
    await office.waits("ask once")
    await office.live.close_turn(9)  # with the program, which comes up anew
    office.desk.answer()
    assert await office.done() == Work(
        status=Status.INTERRUPTED,
        error=f"{CUT}; what became of E1 came too late: the runner was no longer there, so nothing"
        " followed",
    )
    assert office.desk.last.state is State.APPLIED


async def test_after_a_restart_a_question_without_an_answer_is_left_to_the_turns_end(
    office: Office,
) -> None:
    await office.waits("ask once")
    await office.live.close_turn(9)
    assert await office.done() == Work(status=Status.INTERRUPTED, error=CUT)
    assert office.desk.last.state is State.OPEN


async def test_a_runner_that_was_cut_before_it_asked_is_not_begun_again(office: Office) -> None:
    office.tries = 1
    assert await office.done() == Work(status=Status.INTERRUPTED, error=CUT)


async def test_a_runner_that_ends_while_it_waits_is_told_of_with_the_late_answer(
    office: Office,
) -> None:
    await office.waits("say Half of it.\nask once")
    for process in office.rig.processes():
        os.kill(process, signal.SIGKILL)
    await asyncio.wait({office.live._live[3].end})
    office.desk.answer()
    work = await office.done()
    assert (work.status, work.text) == (Status.FAILED, "Half of it.")
    assert "exit code 137" in work.error
    assert work.error.endswith(
        "what became of E1 came too late: the runner was no longer there, so nothing followed"
    )
