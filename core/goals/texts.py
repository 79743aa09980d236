"""What the person reads about a goal, word for word. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.goals.contract import show_duration
from core.messages import Principal, Role

NO_GOAL = "No active goal. Set one with /goal <text>."
NOTHING_TO_RESUME = "No goal to resume. Set one with /goal <text>."
CLEARED = "✗ Goal cleared."
DONE = "That goal is done. Set a new one with /goal <text>."
TURN_RUNNING = "⚠ A turn is running. Use /stop first, then set the new goal."
TURN_WAITING = (
    "⚠ The goal's last turn waits for an answer (/pending). Answer it, or use /stop first, then "
    "set the new goal."
)
SHOWN = 600
"""A goal longer than this is shown cut, in characters."""


def brief(text: str, limit: int = SHOWN) -> str:
    """A text cut for a chat line."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def counted(number: int, thing: str) -> str:
    """A number of things: `1 turn`, `2 turns`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def and_cost(dollars: float) -> str:
    """A cost behind what was used; nothing where there is none, or no price is known."""
    return f" · ${dollars:.2f}" if dollars else ""


def was_set(goal: str, turns: int) -> str:
    """The line under a new goal."""
    return f"⊙ Goal set ({turns}-turn budget): {brief(goal)}"


def resumed(goal: str, turns: int) -> str:
    """The line when a goal goes on after a pause."""
    return f"▶ Goal resumed ({turns}-turn budget): {brief(goal)}"


def continuing(used: int, turns: int, reason: str) -> str:
    """The line between two turns."""
    return f"↻ Continuing toward goal ({used}/{turns}): {reason}"


def going_on(goal: str, used: int, turns: int) -> str:
    """The line when an active goal goes on after a restart or a visit elsewhere."""
    return f"▶ Going on with the goal ({used}/{turns} turns): {brief(goal)}"


def achieved(reason: str) -> str:
    """The line that ends a goal well."""
    return f"✓ Goal achieved: {reason}"


def out_of_turns(used: int, turns: int) -> str:
    """The line when the turn budget is spent."""
    return (
        f"⏸ Goal paused — {used}/{turns} turns used. "
        "Use /goal resume to keep going, or /goal clear to stop."
    )


def paused(reason: str) -> str:
    """The line of any other pause."""
    return f"⏸ Goal paused: {reason}"


def revoked(setter: Principal) -> str:
    """The line when a goal's setter may no longer use the bot."""
    return paused(
        f"{named(setter)}, who set it, may no longer use this bot here. "
        "An owner can take it up with /goal resume."
    )


def taken_up(by: Principal, instead_of: Principal) -> str:
    """The line that names who answers for a goal from now on; `by` has the goal's rights."""
    line = (
        f"{named(by)} answers for this goal from now on, in place of {named(instead_of)}, "
        "who may no longer use this bot here."
    )
    if by.role is Role.OWNER:
        return line
    return f"{line} It keeps a member's rights: set it again to give it an owner's."


def only_an_owner(setter: Principal) -> str:
    """The answer to a member who would take up a goal whose setter was let out."""
    return (
        f"Only an owner can take up this goal: {named(setter)}, who set it, may no longer use "
        "this bot here. Set a goal of your own with /goal <text>."
    )


def named(person: Principal) -> str:
    """A person's name for a chat line, their id where they have none."""
    return person.name or f"the person {person.id}"


def unpriced(models: str) -> str:
    """Why a cap on cost cannot hold; `models` names those without a known price."""
    return f"a cost budget cannot hold, as no price is known of {models}"


def cost_cap_cannot_hold(model: str) -> str:
    """The reason of a pause at a call that has no known price, under a cap on cost."""
    return (
        f"{unpriced(model)}. An owner can set the model's price in the configuration, or cap "
        "tokens instead: /goal budget cost=none tokens=N, then /goal resume."
    )


def not_passed(gate: str, reason: str) -> str:
    """The verdict on a turn whose answer a gate has rejected."""
    return f"the {gate} gate did not pass: {reason}"


def not_looked(gate: str, reason: str) -> str:
    """The verdict on a turn that the judge would have called the last."""
    return f"it may be done, but the {gate} gate could not look: {reason}"


def gate_fault(gate: str, reason: str, times: int) -> str:
    """The reason of a pause when a gate cannot do its work."""
    return (
        f"the {gate} gate could not look {times} times in a row ({reason}). "
        f"Mend that or change gates.{gate}, then /goal resume."
    )


def blocked(reason: str) -> str:
    """The line when the judge sees no way on."""
    return (
        f"⛔ Goal blocked: {reason.rstrip('.')}. "
        "Answer here, or /goal resume after you have changed something."
    )


def stopped(waiting: int, *, goal: bool, asked: Sequence[str] = ()) -> str:
    """The answer to /stop; `asked` are the questions that it takes back, such as `E1`."""
    dropped = f"{waiting} waiting messages dropped."
    told = f"⏹ Stopped. Goal paused; {dropped}" if goal else f"⏹ Stopped. {dropped}"
    return f"{told} {_listed(asked)} taken back." if asked else told


def _listed(things: Sequence[str]) -> str:
    *others, last = things
    return f"{', '.join(others)} and {last}" if others else last


def status(goal: str, state: str, used: int, turns: int) -> str:
    """The first line of `/goal`."""
    return f"⊙ Goal ({state}, {used}/{turns} turns): {brief(goal)}"


def waiting(seconds: float, reason: str) -> str:
    """The line when a goal rests for a while."""
    return f"⏲ Goal waits {show_duration(seconds)}: {reason}"
