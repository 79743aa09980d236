"""Every chat platform: progress, marks, and that no text of a model calls anybody."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from core.errors import TransientError
from core.messages import Address, RemoteId, Say
from core.ports import Mark
from tests.contracts.platform_rig import WITHIN_S, Can, PlatformRig, deliver, shown


async def show(
    there: PlatformRig, place: Address, remote: RemoteId | None, text: str
) -> RemoteId | None:
    """Show progress as the narrator does: again when it was not shown for now."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            try:
                return await there.platform.show_progress(place, 1, remote, text)
            except TransientError as error:
                if error.doubtful:
                    raise
                await asyncio.sleep(error.retry_after or 0.1)


def progress_says(there: PlatformRig, place: Address, text: str) -> Callable[[], bool]:
    return lambda: text in there.progress(place)


@pytest.mark.needs(Can.PROGRESS)
async def test_progress_is_shown_and_changed_and_gives_way_to_the_answer(
    there: PlatformRig,
) -> None:
    remote = await show(there, there.home, None, "reading the tests")
    await there.until(lambda: "reading the tests" in there.progress(there.home))
    remote = await show(there, there.home, remote, "writing the code")
    await there.until(lambda: "writing the code" in there.progress(there.home))
    assert len(there.chat(there.home)) <= 1
    if remote is None:
        await deliver(there, there.home, Say("All done."))
    else:
        await there.platform.edit(there.home, remote, Say("All done."))
    await there.until(lambda: [seen.text for seen in there.chat(there.home)] == ["All done."])


@pytest.mark.needs(Can.PROGRESS, Can.ROOMS)
async def test_progress_in_a_room_is_one_message_that_changes(there: PlatformRig) -> None:
    room = await there.room()
    remote = None
    for text in ("one", "two", "three"):
        remote = await show(there, room, remote, text)
        await there.until(progress_says(there, room, text))
    assert len(there.chat(room)) <= 1


@pytest.mark.needs(Can.LIMIT)
async def test_progress_gives_way_while_a_chat_cools_down(there: PlatformRig) -> None:
    await there.limit(there.home, 1)
    async with asyncio.TaskGroup() as group:
        answer = group.create_task(deliver(there, there.home, Say("All done.")))
        await asyncio.sleep(0.2)  # the limit is met first
        with contextlib.suppress(TransientError):
            await there.platform.show_progress(there.home, 1, None, "late")
        await answer
    texts = [seen.text for seen in there.chat(there.home)]
    assert texts.count("All done.") == 1
    assert set(texts) <= {"late", "All done."}


async def test_progress_may_hold_anything(there: PlatformRig) -> None:
    text = "💻 `rm -rf` **x** <@U1> @everyone ``` \x1b[2J " + "y" * 3000
    await show(there, there.home, None, text)
    await deliver(there, there.home, Say("fine"))
    await there.until(lambda: [s.text for s in there.chat(there.home)][-1:] == ["fine"])


async def test_marks_never_fail(there: PlatformRig) -> None:
    remote = await there.say(there.home, "work")
    await there.intake.got(1)
    for state in Mark:
        await there.platform.acknowledge(there.home, remote, state)
    await there.platform.acknowledge(there.home, RemoteId("999999"), Mark.DONE)
    await there.platform.acknowledge(there.home, RemoteId(""), Mark.WORKING)
    await deliver(there, there.home, Say("done"))
    assert [seen.text for seen in await shown(there, there.home, 1)] == ["done"]


@pytest.mark.needs(Can.MARK)
async def test_a_mark_shows_what_became_of_a_message(there: PlatformRig) -> None:
    remote = await there.say(there.home, "work")
    await there.intake.got(1)
    await there.platform.acknowledge(there.home, remote, Mark.SEEN)
    seen = await there.until(lambda: there.mark(there.home, remote))
    await there.platform.acknowledge(there.home, remote, Mark.DONE)
    await there.until(lambda: there.mark(there.home, remote) not in {seen, ""})


@pytest.mark.needs(Can.MARK)
async def test_a_chat_that_takes_no_marks_gets_its_answers(there: PlatformRig) -> None:
    await there.refuse_marks(there.home)
    remote = await there.say(there.home, "work")
    await there.intake.got(1)
    for state in Mark:
        await there.platform.acknowledge(there.home, remote, state)
    await deliver(there, there.home, Say("done"))
    assert [seen.text for seen in await shown(there, there.home, 1)] == ["done"]


@pytest.mark.needs(Can.PING, Can.ROOMS)
@pytest.mark.parametrize("markdown", [True, False])
async def test_no_text_calls_anybody(there: PlatformRig, markdown: bool) -> None:
    room = await there.room()
    text = f"ask {there.traits.pinging} please"
    [remote] = await deliver(there, room, Say(text, markdown=markdown))
    await there.platform.edit(room, remote, Say(f"really, {text}", markdown=markdown))
    await there.until(lambda: "really" in there.chat(room)[0].text)
    [seen] = there.chat(room)
    assert seen.pings == ()
    assert "please" in seen.text


@pytest.mark.needs(Can.PING, Can.ROOMS)
async def test_no_progress_calls_anybody(there: PlatformRig) -> None:
    room = await there.room()
    await show(there, room, None, f"reading {there.traits.pinging} now")
    await there.until(lambda: "now" in there.progress(room))
    assert [seen.pings for seen in there.chat(room)] in ([()], [])
