"""Values of the core as JSON text for columns, and back. Pure.

Whatever cannot be read back is `Unreadable`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import wraps
from typing import ParamSpec, TypeVar

from core.agent.steps import Bounced, Finished, Folded, Injected, Replied, Started, Step, StepWrite
from core.goals.goal import Goal
from core.messages import Address, Button, Outbound, RemoteId, Say, SendFile
from core.ports import Reply, Usage
from core.sessions.inputs import render
from core.sessions.lane import RowKind
from core.sessions.outgoing import Amend
from core.sessions.ports import ReceiptOf
from core.transcript import Json, Receipt, ToolCall, ToolResult, User

P = ParamSpec("P")
R = TypeVar("R")


class Unreadable(Exception):
    """A row that this version cannot read."""


def checked(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a loader raise `Unreadable` for whatever its row turns out not to hold."""

    def wrap(load: Callable[P, R]) -> Callable[P, R]:
        @wraps(load)
        def loaded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return load(*args, **kwargs)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise Unreadable(f"{what} cannot be read ({error!r})") from error

        return loaded

    return wrap


def dump_outbound(what: Outbound | Amend) -> str:
    """An outgoing value; its kind stands under "op"."""
    match what:
        case Say():
            return json.dumps({"op": "say", **asdict(what)}, ensure_ascii=False)
        case SendFile():
            return json.dumps({"op": "file", **asdict(what)}, ensure_ascii=False)
        case Amend(remote, say):
            return json.dumps({"op": "amend", "remote": remote, "say": asdict(say)})


@checked("a message to be sent")
def load_outbound(text: str) -> Outbound | Amend:
    """The value that `dump_outbound` wrote."""
    stored = json.loads(text)
    op = stored.pop("op")
    if op == "file":
        return SendFile(**stored)
    said = stored["say"] if op == "amend" else stored
    said["buttons"] = tuple(Button(**button) for button in said["buttons"])
    said["reply_to"] = RemoteId(said["reply_to"])
    say = Say(**said)
    return Amend(RemoteId(stored["remote"]), say) if op == "amend" else say


@checked("what was said")
def load_payload(text: str) -> Mapping[str, Json]:
    """An inbox row's content."""
    return dict(json.loads(text))


address_of = checked("its key")(Address.of)


@checked("what was said")
def load_input(kind: RowKind, payload: str, seq: int, goal: Goal | None) -> User:
    """An inbox row as the model is shown it."""
    return render(kind, json.loads(payload), seq, goal)


def dump_users(messages: Iterable[User]) -> str:
    """A turn's inputs."""
    return json.dumps([asdict(message) for message in messages], ensure_ascii=False)


@checked("a turn's messages")
def load_users(text: str) -> tuple[User, ...]:
    """The inputs that `dump_users` wrote."""
    return tuple(User(item["text"], tuple(item["images"])) for item in json.loads(text))


def dump_receipts(receipts: Iterable[ReceiptOf]) -> str:
    """Receipts of a turn."""
    return json.dumps([asdict(receipt) for receipt in receipts], ensure_ascii=False)


@checked("a turn's receipts")
def load_receipts(text: str) -> tuple[ReceiptOf, ...]:
    """The receipts that `dump_receipts` wrote."""
    return tuple(
        ReceiptOf(item["tool"], item["arguments"], Receipt(**item["receipt"]), item["result"])
        for item in json.loads(text)
    )


def part_of(write: StepWrite) -> tuple[str, str, str]:
    """A step write as (part, state, body) of its row; an Injected's part gets a suffix later."""
    match write:
        case Replied(_, reply):
            return "reply", "done", json.dumps(asdict(reply), ensure_ascii=False)
        case Started(_, call_id):
            return f"call:{call_id}", "started", ""
        case Finished(_, result):
            return (
                f"call:{result.call.id}",
                "done",
                json.dumps(asdict(result), ensure_ascii=False),
            )
        case Injected(_, message):
            return "said", "done", json.dumps(asdict(message), ensure_ascii=False)
        case Bounced(_, message):
            return "bounced", "done", json.dumps(asdict(message), ensure_ascii=False)
        case Folded(_, summary):
            return "folded", "done", summary


@checked("a turn's steps")
def load_steps(rows: Sequence[tuple[int, str, str, str]]) -> tuple[Step, ...]:
    """Steps from their (n, part, state, body) rows, ordered by n and part."""
    steps: dict[int, list[tuple[str, str, str]]] = {}
    for n, part, state, body in rows:
        steps.setdefault(n, []).append((part, state, body))
    return tuple(_step(n, parts) for n, parts in sorted(steps.items()))


def _step(n: int, parts: list[tuple[str, str, str]]) -> Step:
    calls = {part[5:]: (state, body) for part, state, body in parts if part.startswith("call:")}
    plain = {part: body for part, _, body in parts}
    said = sorted(part for part in plain if part.startswith("said:"))
    return Step(
        n=n,
        reply=_reply(plain["reply"]) if "reply" in plain else None,
        injected=tuple(_user(plain[part]) for part in said),
        started=frozenset(calls),
        results={id_: _result(body) for id_, (state, body) in calls.items() if state == "done"},
        folded=plain.get("folded", ""),
        bounced=_user(plain["bounced"]) if "bounced" in plain else None,
    )


def _user(body: str) -> User:
    stored = json.loads(body)
    return User(stored["text"], tuple(stored["images"]))


def _reply(body: str) -> Reply:
    stored = json.loads(body)
    return Reply(
        stored["text"],
        tuple(ToolCall(**call) for call in stored["calls"]),
        Usage(**stored["usage"]),
        stored["cut"],
    )


def _result(body: str) -> ToolResult:
    stored = json.loads(body)
    return ToolResult(ToolCall(**stored["call"]), stored["text"], Receipt(**stored["receipt"]))
