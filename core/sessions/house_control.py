"""What `/model`, `/workspace` and `/pair` do. Pure; see `core.sessions.control`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from core import pairing
from core.messages import Address
from core.rights import Right, may
from core.sessions.denial import deny
from core.sessions.facts import Facts, House, Order, model_key, workspace_key
from core.sessions.lane import Change, Lane, Post, Remember, RowKind


def choose_model(lane: Lane, order: Order, facts: Facts) -> Change:
    """Show the session's model, or choose another for its next turns. The prompt and the tools
    stay as they are, so that the session reads on as it began."""
    house, wanted = facts.house, order.line.argument
    if not wanted:
        return lane, (Post(_models(house, facts.model())),)
    if any(row.kind is RowKind.SWITCH for row in lane.waiting):
        return lane, (Post("A change of session waits here. Choose when it is made."),)
    key = model_key(lane.session)
    if wanted == "default" and "default" not in house.models:
        text = f"✓ This session uses {house.model} again, from the next turn on."
        return lane, (Remember(key, ""), Post(text))
    if wanted not in house.models:
        near = get_close_matches(wanted, house.models, n=1, cutoff=0.5)
        hint = f"Did you mean /model {near[0]}? " if near else ""
        return lane, (Post(f"There is no model {wanted}. {hint}{_models(house, '')}"),)
    text = f"✓ This session uses {wanted} from the next turn on."
    return lane, (Remember(key, wanted), Post(text))


def _models(house: House, chosen: str) -> str:
    names = ", ".join(house.models)
    if not chosen:
        return f"The configured model is {house.model}. There are: {names}."
    if chosen not in house.models:
        gone = f"{chosen}, which is not configured any more; {house.model} stands in"
        return f"This session's model was {gone}. There are: {names}."
    return f"This session uses {chosen}. There are: {names}."


def bind_workspace(lane: Lane, order: Order, facts: Facts) -> Change:
    """Show where the chat works, or bind it to a folder that the configuration lists."""
    house, wanted = facts.house, order.line.argument
    bound = facts.workspace()
    if not wanted:
        return lane, (Post(_works_in(lane, house, bound, order)),)
    if not may(order.by.role, Right.BIND_WORKSPACE):
        return deny(lane, "Only owners may change where a chat works.")
    if not lane.idle:
        return lane, (Post("⚠ A turn is running. Change the folder when it has ended."),)
    key = workspace_key(lane.key)
    if wanted == "reset":
        text = f"✓ This chat works in its own folder again: {house.home(lane.key)}"
        return lane, (Remember(key, ""), Post(text))
    folder = _listed(house, wanted)
    if folder is None:
        return lane, (Post(f"{wanted} is not listed in workspace.allow. {_offer(house)}"),)
    return lane, (Remember(key, folder), Post(f"✓ This chat works in {folder} from now on."))


def _listed(house: House, wanted: str) -> str | None:
    """The allowed folder that is meant, by its number or its path."""
    if wanted.isdecimal() and len(wanted) <= 3 and 1 <= int(wanted) <= len(house.folders):
        return house.folders[int(wanted) - 1]
    plain = posixpath.normpath(wanted)
    return next((f for f in house.folders if posixpath.normpath(f) == plain), None)


def _works_in(lane: Lane, house: House, bound: str, order: Order) -> str:
    lines = [f"This chat works in {bound or house.home(lane.key)}"]
    if may(order.by.role, Right.BIND_WORKSPACE):
        lines.append(_offer(house))
    return "\n".join(lines)


def _offer(house: House) -> str:
    if not house.folders:
        return "No other folder is listed in workspace.allow."
    names = "\n".join(f"{n}. {folder}" for n, folder in enumerate(house.folders, 1))
    return f"/workspace N changes to one of these:\n{names}"


def pair(lane: Lane, order: Order, facts: Facts) -> Change:
    """Carry out `/pair …`."""
    wanted = pairing.read_pair(order.line.argument)
    if isinstance(wanted, str):
        return lane, (Post(wanted),)
    by = f"{Address.of(lane.key).platform}:{order.by.id}"
    decision = pairing.decide(facts.book(), wanted, by, order.now)
    return lane, (*decision.changes, Post(decision.text))


HOUSE: Mapping[str, Callable[[Lane, Order, Facts], Change]] = {
    "model": choose_model,
    "workspace": bind_workspace,
    "pair": pair,
}
"""The commands of this module by name."""
