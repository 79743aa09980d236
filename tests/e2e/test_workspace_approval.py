"""Dangerous commands from the question to the run: what is shown is what runs, once, and only with
a person's yes. The desk is one in memory; the commands are real."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.workspace.options import Danger, Sandboxing, WorkspaceOptions
from core.agent.guard import INTERRUPTED
from core.escalations.events import Answered, EscalationEvent, SendFailed, Stopped, TimeCame
from core.escalations.record import Denied, Fact, Kind, Label, OnTimeout, Purpose, State
from core.messages import Principal, Role
from core.ports import Waiting
from core.transcript import ToolResult
from tests.e2e.workspace_lane import Lane, open_lane
from tests.fakes.desk import NOW, OWEN, MemoryDesk
from tests.fakes.ended import ended

ELSEWHERE = "; : rm -rf ~/projects; rm -f ~/projects/nothing"
"""What makes a command dangerous, and does nothing."""
ODD = """printf '%s' "naïve 日本 \\"quoted\\" $HOME `x`" 'it'"'"'s' > odd
printf '\u202e\u200b|\ttab' >> odd"""


@pytest.fixture
def desk() -> MemoryDesk:
    return MemoryDesk()


@pytest.fixture
async def asking(tmp_path: Path, desk: MemoryDesk) -> AsyncIterator[Lane]:
    async with open_lane(tmp_path, WorkspaceOptions(), desk) as lane:
        yield lane


async def asked(lane: Lane, command: str, **arguments: object) -> None:
    """The command is asked about and not run."""
    ran = await lane.begin("run", {"command": command, **arguments})
    assert isinstance(ran, Waiting)
    assert len(ran.asked) == 1


async def again(lane: Lane, command: str, **arguments: object) -> ToolResult:
    """The same call once it is decided."""
    return ended(await lane.begin("run", {"command": command, **arguments}, again=True))


async def test_a_dangerous_command_is_shown_whole_and_waits(
    asking: Lane, desk: MemoryDesk
) -> None:
    command = f"touch ran{ELSEWHERE}"
    for repeated in (False, True, True):
        ran = await asking.begin("run", {"command": command}, again=repeated)
        assert isinstance(ran, Waiting)
        assert ran.asked == ("E1",)
    (escalation,) = desk.escalations
    assert (escalation.kind, escalation.purpose) == (Kind.APPROVE, Purpose.COMMAND)
    assert (escalation.on_timeout, escalation.question) == (OnTimeout.DENY, "")
    assert not escalation.admits(Principal("2", "Bob", Role.MEMBER))
    assert escalation.exact == (
        Fact(Label.COMMAND, command),
        Fact(Label.DIRECTORY, str(asking.workspace)),
    )
    assert f"```\n{command}\n```" in desk.cards[1]
    assert f"directory: {asking.workspace}" in desk.cards[1]
    assert "why it is asked: it deletes ~/projects/nothing, which is outside" in desk.cards[1]
    assert not (asking.workspace / "ran").exists()


async def test_what_was_approved_runs_once(asking: Lane, desk: MemoryDesk) -> None:
    command = f"echo ran >> ran{ELSEWHERE}"
    await asked(asking, command)
    desk.answer()
    result = await again(asking, command)
    assert result.text == "Approved by Owen (E1).\n(no output)\n[exit code 0]"
    assert result.receipt.ok
    for _ in range(2):
        repeated = await again(asking, command)
        assert repeated.text == INTERRUPTED
        assert not repeated.receipt.ok
    assert (asking.workspace / "ran").read_text() == "ran\n"


async def test_a_command_killed_in_mid_run_is_not_run_again(
    asking: Lane, desk: MemoryDesk
) -> None:
    command = f"echo ran >> ran; echo up > ready; sleep 600{ELSEWHERE}"
    os.mkfifo(asking.workspace / "ready")
    await asked(asking, command)
    desk.answer()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(again(asking, command))
        assert await asyncio.to_thread((asking.workspace / "ready").read_text) == "up\n"
        running.cancel()
    assert (await again(asking, command)).text == INTERRUPTED
    assert (asking.workspace / "ran").read_text() == "ran\n"


async def test_the_bytes_that_run_are_those_that_were_shown(
    asking: Lane, desk: MemoryDesk
) -> None:
    command = f"{ODD}{ELSEWHERE}"
    await asked(asking, command)
    (shown,) = (fact.text for fact in desk.last.exact if fact.label is Label.COMMAND)
    assert shown.encode() == command.encode()
    desk.answer()
    assert (await again(asking, command)).receipt.ok
    home = f"{asking.workspace}/.pursuit/home"
    told = f'naïve 日本 "quoted" {home} it\'s\u202e\u200b|\ttab'
    assert (asking.workspace / "odd").read_text() == told


async def test_what_cannot_be_seen_is_spelled_out_on_the_card(
    asking: Lane, desk: MemoryDesk
) -> None:
    await asked(asking, f"echo a\u202eb\u200bc\rd\u00a0e{ELSEWHERE}")
    assert "echo a⟦U+202E⟧b⟦U+200B⟧c⟦U+000D⟧d⟦U+00A0⟧e;" in desk.cards[1]
    assert "characters that are not ASCII" in desk.cards[1]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Answered(OWEN, Denied("no"), NOW + 1), "[Outcome of E1: declined]"),
        (TimeCame(NOW + 10**7), "[Outcome of E1: unanswered]"),
        (Stopped(NOW + 1), "[Outcome of E1: cancelled]"),
    ],
)
async def test_what_nobody_approved_never_runs(
    asking: Lane, desk: MemoryDesk, event: EscalationEvent, said: str
) -> None:
    command = f"touch ran{ELSEWHERE}"
    await asked(asking, command)
    desk.tell(1, event)
    for _ in range(2):
        result = await again(asking, command)
        assert result.text.startswith(said)
        assert (result.receipt.ok, result.receipt.exit_code) == (False, None)
        assert result.receipt.summary.startswith("not approved: touch ran")
    assert desk.last.state is State.APPLIED
    assert not (asking.workspace / "ran").exists()


async def test_a_card_that_could_not_be_shown_approves_nothing(tmp_path: Path) -> None:
    desk = MemoryDesk(sends=False)
    async with open_lane(tmp_path, WorkspaceOptions(), desk) as lane:
        await asked(lane, f"touch ran{ELSEWHERE}")
        desk.tell(1, SendFailed(NOW, "the chat is gone"))
        result = await again(lane, f"touch ran{ELSEWHERE}")
        assert result.text.startswith("[Outcome of E1: undeliverable]")
        assert not (lane.workspace / "ran").exists()


@pytest.mark.parametrize("change", [{"background": True}, {"timeout_s": 5}, {"command": "id; "}])
async def test_what_was_approved_is_not_what_would_run_now(
    asking: Lane, desk: MemoryDesk, change: dict[str, object]
) -> None:
    before: dict[str, object] = {"command": f"touch ran{ELSEWHERE}"}
    assert isinstance(await asking.begin("run", before), Waiting)
    desk.answer()
    ran = await asking.begin("run", {**before, **change}, again=True)
    assert ended(ran).text.startswith("Not run: E1 was approved for other than what would run")
    assert not (asking.workspace / "ran").exists()


async def test_the_background_and_a_time_limit_are_approved_too(
    asking: Lane, desk: MemoryDesk
) -> None:
    command = f"echo up{ELSEWHERE}"
    await asked(asking, command, background=True, timeout_s=9)
    assert "The arguments:\n\n```\nbackground: true\ntimeout_s: 9\n```" in desk.cards[1]
    desk.answer()
    started = await again(asking, command, background=True, timeout_s=9)
    assert started.text.startswith("Approved by Owen (E1).\n")


async def test_an_approval_in_the_sandbox_is_none_outside_of_it(
    tmp_path: Path, desk: MemoryDesk
) -> None:
    command = f"touch ran{ELSEWHERE}"
    async with open_lane(tmp_path, WorkspaceOptions(), desk) as lane:
        await asked(lane, command)
    desk.answer()
    bare = WorkspaceOptions(sandbox=Sandboxing.NONE)
    async with open_lane(tmp_path, bare, desk) as lane:
        result = await again(lane, command)
        assert result.text.startswith("Not run: E1 was approved for other than")
        assert not (lane.workspace / "ran").exists()


async def test_what_a_command_may_reach_is_approved_with_it(
    tmp_path: Path, desk: MemoryDesk
) -> None:
    command = f"touch ran{ELSEWHERE}"
    (tmp_path / "shared").mkdir()
    wide = WorkspaceOptions(network=True, extra=(tmp_path / "shared",))
    async with open_lane(tmp_path, wide, desk) as lane:
        await asked(lane, command)
    shown = f"The arguments:\n\n```\nnetwork: on\nalso open: {tmp_path / 'shared'}\n```"
    assert shown in desk.cards[1]


@pytest.mark.parametrize("change", ["network", "extra"])
async def test_an_approval_is_none_where_the_command_could_reach_more(
    tmp_path: Path, desk: MemoryDesk, change: str
) -> None:
    command = f"touch ran{ELSEWHERE}"
    (tmp_path / "shared").mkdir()
    async with open_lane(tmp_path, WorkspaceOptions(), desk) as lane:
        await asked(lane, command)
    desk.answer()
    wide = WorkspaceOptions(
        network=change == "network",
        extra=(tmp_path / "shared",) if change == "extra" else (),
    )
    async with open_lane(tmp_path, wide, desk) as lane:
        result = await again(lane, command)
        assert result.text.startswith("Not run: E1 was approved for other than")
        assert not (lane.workspace / "ran").exists()


async def test_a_denied_command_stays_so_where_the_policy_has_changed_since(
    tmp_path: Path, desk: MemoryDesk
) -> None:
    command = f"touch ran{ELSEWHERE}"
    async with open_lane(tmp_path, WorkspaceOptions(), desk) as lane:
        await asked(lane, command)
    desk.answer(Denied())
    async with open_lane(tmp_path, WorkspaceOptions(dangerous=Danger.ALLOW), desk) as lane:
        assert "[Outcome of E1: declined]" in (await again(lane, command)).text
        assert not (lane.workspace / "ran").exists()


async def test_what_is_refused_by_now_is_not_run_though_it_was_approved(
    tmp_path: Path, desk: MemoryDesk
) -> None:
    command = f"touch ran{ELSEWHERE}"
    async with open_lane(tmp_path, WorkspaceOptions(), desk) as lane:
        await asked(lane, command)
    desk.answer()
    async with open_lane(tmp_path, WorkspaceOptions(dangerous=Danger.REFUSE), desk) as lane:
        assert (await again(lane, command)).text.startswith("Refused, not run: it deletes")
        assert not (lane.workspace / "ran").exists()


async def test_what_nobody_may_approve_is_not_asked(asking: Lane, desk: MemoryDesk) -> None:
    result = await asking.run("rm -rf /")
    assert "Nobody can approve it." in result.text
    assert desk.escalations == ()


async def test_a_command_too_long_for_a_card_is_refused_and_not_run(
    asking: Lane, desk: MemoryDesk
) -> None:
    result = await asking.run(f"touch ran; : {'x' * 5_000}{ELSEWHERE}")
    assert "what is approved is always shown whole" in result.text
    assert (desk.escalations, (asking.workspace / "ran").exists()) == ((), False)


async def test_acceptance_checks_ask_nobody(asking: Lane, desk: MemoryDesk) -> None:
    found = await asking.tools.checks.succeeds(asking.context(), f"true{ELSEWHERE}")
    assert found.met is None
    assert "cannot be asked for here" in found.why
    assert desk.escalations == ()


async def test_nobody_is_asked_about_what_cannot_run_here(
    tmp_path: Path, desk: MemoryDesk
) -> None:
    async with open_lane(tmp_path, WorkspaceOptions(bwrap="/no/such"), desk) as lane:
        result = await lane.run(f"true{ELSEWHERE}")
        assert "no working sandbox" in result.text
        assert desk.escalations == ()
