"""What `/verify` and `/critic` do. Pure; see `core.sessions.control`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from core.gates import wanted
from core.gates.wanted import ChatGates
from core.goals.texts import brief
from core.rights import Right, may
from core.sessions.denial import deny
from core.sessions.facts import Facts, Order
from core.sessions.lane import Change, Lane, Post, Remember

USAGE = "Usage: /verify add <command>, /verify list, /verify remove N."
DENIED = "Only owners may change what is checked here."


def change_verify(lane: Lane, order: Order, facts: Facts) -> Change:
    """List the commands of the chat's verify gate, or change its own."""
    gates = facts.chat_gates()
    word, argument = (*order.line.argument.split(maxsplit=1), "", "")[:2]
    word, argument = word.lower(), argument.strip()
    if word in {"", "list"} and not argument:
        return lane, (Post(_listed(gates, facts)),)
    if not may(order.by.role, Right.CHANGE_GATES):
        return deny(lane, DENIED)
    match word:
        case "add" if argument:
            return _add(lane, gates, argument, facts)
        case "remove" if argument.isdecimal():
            return _remove(lane, gates, int(argument[:12]), facts)
        case _:
            return lane, (Post(USAGE),)


def _add(lane: Lane, gates: ChatGates, command: str, facts: Facts) -> Change:
    if command in facts.house.gates.verify:
        return lane, (Post("The configuration has that command already."),)
    if why := wanted.refused(command, gates.verify):
        return lane, (Post(why),)
    return _keep(lane, replace(gates, verify=(*gates.verify, command)), facts)


def _remove(lane: Lane, gates: ChatGates, number: int, facts: Facts) -> Change:
    had = gates.verify
    if not 1 <= number <= len(had):
        return lane, (Post(f"There is no command {number} of this chat. {_listed(gates, facts)}"),)
    kept = had[: number - 1] + had[number:]
    return _keep(lane, replace(gates, verify=kept), facts)


def _keep(lane: Lane, gates: ChatGates, facts: Facts) -> Change:
    kept = Remember(wanted.gates_key(lane.key), wanted.dump(gates))
    return lane, (kept, Post(_listed(gates, facts)))


def _listed(gates: ChatGates, facts: Facts) -> str:
    """The commands: those of the configuration, then the chat's own by their numbers."""
    own = [f"{n}. {brief(command, 200)}" for n, command in enumerate(gates.verify, 1)]
    configured = [
        f"· {brief(command, 200)} (gates.verify of the configuration)"
        for command in facts.house.gates.verify
    ]
    if not own and not configured:
        return "No commands are run here. An owner can add one with /verify add <command>."
    head = "Commands that must succeed before an answer is delivered here:"
    return "\n".join([head, *configured, *own])


def switch_critic(lane: Lane, order: Order, facts: Facts) -> Change:
    """Say whether a critic reads the chat's answers, or have it so."""
    gates = facts.chat_gates()
    word = order.line.argument.lower()
    if not word:
        return lane, (Post(_critic(gates, facts)),)
    if not may(order.by.role, Right.CHANGE_GATES):
        return deny(lane, DENIED)
    if word not in {"on", "off"}:
        return lane, (Post("Usage: /critic on, /critic off."),)
    gates = replace(gates, critic=word == "on")
    kept = Remember(wanted.gates_key(lane.key), wanted.dump(gates))
    return lane, (kept, Post(_critic(gates, facts)))


def _critic(gates: ChatGates, facts: Facts) -> str:
    if gates.on_top_of(facts.house.gates).critic:
        return "The critic is on: it reads each answer here before it is delivered."
    return "The critic is off here. An owner can switch it on with /critic on."


GATES: Mapping[str, Callable[[Lane, Order, Facts], Change]] = {
    "verify": change_verify,
    "critic": switch_critic,
}
"""The commands of this module by name."""
