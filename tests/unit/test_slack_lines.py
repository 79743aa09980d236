"""The order of a lane's messages while one of them has to come again."""

from __future__ import annotations

from adapters.slack.lines import Lines
from core.messages import LaneKey

LANE, OTHER = LaneKey("slack|U0|C1|1.1|"), LaneKey("slack|U0|C1|2.2|")


async def taken(lines: Lines, lane: LaneKey, dedupe: str) -> bool:
    async with lines.turn(lane, dedupe) as is_next:
        return is_next


async def test_a_held_message_goes_before_the_rest_of_its_lane_and_no_other_lane_waits() -> None:
    lines = Lines()
    async with lines.turn(LANE, "one"):
        lines.hold(LANE, "one")
    assert not await taken(lines, LANE, "two")
    assert await taken(lines, OTHER, "three")
    assert await taken(lines, LANE, "one")
    assert await taken(lines, LANE, "two")


async def test_a_message_that_never_comes_again_does_not_hold_its_lane_for_ever() -> None:
    lines = Lines(held_s=0.0)
    async with lines.turn(LANE, "one"):
        lines.hold(LANE, "one")
    assert await taken(lines, LANE, "two")
