"""What the loop makes of the calls a model asks for: their ids, and which are not run.

Pure: it looks at calls and makes results; it may not run anything.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count, groupby, takewhile

from core.ports import Reply
from core.transcript import Assistant, Entry, Receipt, Result, ToolCall, ToolResult

REPEATS_ALLOWED = 2
ROUNDS_ALLOWED = 4
FUTILE_ALLOWED = 6

REPEATED = (
    "refused: this call was just made twice with the same arguments, so its result would be the"
    " same again. Use the results above: change the arguments, try another way, or answer with"
    " what you have."
)
CIRCLING = (
    f"refused: this call was made {ROUNDS_ALLOWED} times in this turn with the same arguments and"
    " gave the same result each time, and nothing else was new meanwhile. Answer with what you"
    " have, or change something first."
)
CUT = (
    "not run: the arguments were cut at the output limit. Make the call shorter, for example by"
    " writing a long file in several parts."
)
REFUSALS = frozenset({REPEATED, CIRCLING, CUT})
INTERRUPTED = "interrupted by a restart; the outcome is unknown, check before repeating"


def refusal(before: Sequence[ToolResult], call: ToolCall, *, cut: bool) -> ToolResult | None:
    """The result of a call that must not run, None for one that may.

    `before` are the turn's earlier results in order, without those of calls that run beside this
    one; `cut` says that the output limit ended the reply that holds the call.
    """
    if cut and not _is_object(call.arguments):
        return _unrun(call, CUT, "arguments cut")
    if _repeats(before, call) >= REPEATS_ALLOWED:
        return _unrun(call, REPEATED, "repeated call refused")
    if _goes_round(before, call):
        return _unrun(call, CIRCLING, "repeated call refused")
    return None


def stuck(entries: Sequence[Entry]) -> bool:
    """Whether the last replies of a turn asked for refused calls alone, too often to go on."""
    replies = 0
    for entry in reversed(entries):
        if isinstance(entry, Result) and entry.text not in REFUSALS:
            break
        replies += isinstance(entry, Assistant)
    return replies >= FUTILE_ALLOWED


def side_by_side(
    calls: Sequence[ToolCall], resumable: Collection[str]
) -> Iterator[tuple[ToolCall, ...]]:
    """The calls in groups that run one after the other: neighbours that keep their own account
    of what they have done may run at the same time, every other call runs alone."""
    for alike, group in groupby(calls, key=lambda call: call.name in resumable):
        if alike:
            yield tuple(group)
        else:
            yield from ((call,) for call in group)


def interrupted(call: ToolCall) -> ToolResult:
    """The result of a call that had started when the program was cut."""
    return _unrun(call, INTERRUPTED, "interrupted by a restart")


def with_own_ids(reply: Reply, earlier: Collection[str] = ()) -> Reply:
    """The reply with an id for each call that no other of its turn has; some servers repeat them
    or send none. `earlier` are the ids of the turn's earlier steps."""
    used = {*earlier, ""}
    taken = used | {call.id for call in reply.calls}
    calls: list[ToolCall] = []
    for call in reply.calls:
        own = call.id
        if own in used:
            own = next(name for n in count(2) if (name := f"{own or 'call'}_{n}") not in taken)
            taken.add(own)
        used.add(own)
        calls.append(replace(call, id=own))
    return replace(reply, calls=tuple(calls))


def _unrun(call: ToolCall, text: str, summary: str) -> ToolResult:
    return ToolResult(call, text, Receipt(ok=False, summary=f"{call.name}: {summary}"))


def _repeats(before: Sequence[ToolResult], call: ToolCall) -> int:
    own = _key(call)
    return sum(1 for _ in takewhile(lambda result: _key(result.call) == own, reversed(before)))


def _goes_round(before: Sequence[ToolResult], call: ToolCall) -> bool:
    """Whether the call ran often enough, and since then no call was new to the turn and each gave
    one result. A call that is new, or that polls something that moves, makes a repetition fair:
    the tests are run again after each change.

    A lost result may have been any, so that a restart changes nothing here.
    """
    ran = [result for result in before if result.text not in REFUSALS]
    keys = [_key(result.call) for result in ran]
    own = _key(call)
    rounds = [at for at, key in enumerate(keys) if key == own][-ROUNDS_ALLOWED:]
    if len(rounds) < ROUNDS_ALLOWED:
        return False
    texts: dict[tuple[str, str], list[str]] = {}
    for result, key in list(zip(ran, keys, strict=True))[rounds[0] :]:
        texts.setdefault(key, []).append(result.text)
    times = Counter(keys)
    return all(times[key] > 1 and len({*told} - {INTERRUPTED}) <= 1 for key, told in texts.items())


def _key(call: ToolCall) -> tuple[str, str]:
    return call.name, canonical(call.arguments)


def canonical(arguments: str) -> str:
    """Arguments freed of spacing and key order; broken ones as they are."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments or "{}"), dict)
    except (ValueError, RecursionError):
        return False
