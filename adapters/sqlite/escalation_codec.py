"""Questions to people as the JSON text of a row's body, and back. Pure.

What a column says is not in the body: numbers, owners and chats change without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias, assert_never

from adapters.sqlite.codec import checked
from adapters.sqlite.lane_rows import dump_principal, load_principal
from core.escalations.record import (
    Answer,
    Approved,
    Approvers,
    Chose,
    Copy,
    Denied,
    Escalation,
    Fact,
    Kind,
    Label,
    OnTimeout,
    Purpose,
    State,
    Wrote,
)
from core.messages import Address, LaneKey, RemoteId, Role, SessionId, TurnId
from core.transcript import Json

Found: TypeAlias = tuple[int, str, int, int, int, str, str, float | None, str]
"""The columns id, lane, number, session, turn, call, state, decided and body."""


@checked("a question to a person")
def load(found: Found) -> Escalation:
    """The question of a row."""
    _, lane, number, session, turn, call, state, decided, stored = found
    body = json.loads(stored)
    return Escalation(
        number=number,
        kind=Kind(body["kind"]),
        purpose=Purpose(body["purpose"]),
        question=body["question"],
        requester=load_principal(body["requester"]),
        approvers=Approvers(frozenset(map(Role, body["roles"])), body["own"]),
        address=Address.of(LaneKey(lane)),
        session=SessionId(session),
        turn=TurnId(turn),
        tool_call_id=call,
        created=float(body["created"]),
        expires=float(body["expires"]),
        on_timeout=OnTimeout(body["on_timeout"]),
        facts=tuple(Fact(Label(label), text) for label, text in body["facts"]),
        options=tuple(body["options"]),
        digest=body["digest"],
        tokens=tuple(map(bytes.fromhex, body["tokens"])),
        state=State(state),
        copies=tuple(Copy(RemoteId(remote), float(at)) for remote, at in body["copies"]),
        reminders=tuple(map(RemoteId, body["reminders"])),
        remind_after=tuple(map(float, body["remind_after"])),
        reminded=int(body["reminded"]),
        quiet=body["quiet"],
        hold_until=float(body["hold_until"]),
        drift_s=float(body["drift_s"]),
        answer=None if body["answer"] is None else _answer(body["answer"]),
        decider=None if body["decider"] is None else load_principal(body["decider"]),
        decided=decided,
        ending=None if body["ending"] is None else State(body["ending"]),
        why=body["why"],
    )


def dump(one: Escalation) -> str:
    """The body of a question's row."""
    body = {
        "kind": one.kind,
        "purpose": one.purpose,
        "question": one.question,
        "requester": dump_principal(one.requester),
        "roles": sorted(one.approvers.roles),
        "own": one.approvers.requester,
        "created": one.created,
        "expires": one.expires,
        "on_timeout": one.on_timeout,
        "facts": [[fact.label, fact.text] for fact in one.facts],
        "options": one.options,
        "digest": one.digest,
        "tokens": [hash_.hex() for hash_ in one.tokens],
        "copies": [[copy.remote, copy.at] for copy in one.copies],
        "reminders": one.reminders,
        "remind_after": one.remind_after,
        "reminded": one.reminded,
        "quiet": one.quiet,
        "hold_until": one.hold_until,
        "drift_s": one.drift_s,
        "answer": None if one.answer is None else _dump_answer(one.answer),
        "decider": None if one.decider is None else dump_principal(one.decider),
        "ending": one.ending,
        "why": one.why,
    }
    return json.dumps(body, ensure_ascii=False)


def _dump_answer(answer: Answer) -> Mapping[str, Json]:
    match answer:
        case Approved():
            return {"is": "yes"}
        case Denied(reason):
            return {"is": "no", "reason": reason}
        case Chose(index, option):
            return {"is": "option", "index": index, "option": option}
        case Wrote(text):
            return {"is": "text", "text": text}
        case _:
            assert_never(answer)


def _answer(stored: Mapping[str, object]) -> Answer:
    match stored:
        case {"is": "yes"}:
            return Approved()
        case {"is": "no", "reason": str(reason)}:
            return Denied(reason)
        case {"is": "option", "index": int(index), "option": str(option)}:
            return Chose(index, option)
        case {"is": "text", "text": str(text)}:
            return Wrote(text)
        case _:
            raise ValueError(f"an answer that is {stored.get('is')!r}")
