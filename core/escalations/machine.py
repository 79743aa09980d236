"""The life of an escalation, as a pure function.

It is answered at most once, and no answer is never a yes: only `Answered` sets an answer, and
only in OPEN. Whoever comes later is told who decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from core.escalations import texts
from core.escalations.events import (
    Answered,
    Applied,
    Audit,
    CardAdopted,
    CardSent,
    Confirm,
    EditCards,
    EscalationEffect,
    EscalationEvent,
    LaterPressed,
    Reject,
    Remind,
    ReminderSent,
    Restarted,
    Resume,
    SendCard,
    SendFailed,
    SetTimer,
    Stopped,
    TimeCame,
    Trail,
)
from core.escalations.record import GRACE_S, SETTLED, Copy, Escalation, State
from core.messages import Principal, RemoteId

DRIFT_S = 60.0
"""From this difference of the clocks on, an expiry waits."""
HOLD_S = 300.0

#: Every change of state that can ever happen. The docs' diagram is drawn from this table and a
#: property test holds `advance` to it. What is settled may still be cancelled: /stop takes
#: everything that the work has not been told yet.
EDGES: Mapping[State, frozenset[State]] = {
    State.PENDING_SEND: frozenset({State.OPEN, State.CANCELLED, State.UNDELIVERABLE}),
    State.OPEN: frozenset({State.ANSWERED, State.EXPIRED, State.CANCELLED}),
    State.ANSWERED: frozenset({State.APPLIED, State.CANCELLED}),
    State.EXPIRED: frozenset({State.APPLIED, State.CANCELLED}),
    State.UNDELIVERABLE: frozenset({State.APPLIED, State.CANCELLED}),
    State.CANCELLED: frozenset({State.APPLIED}),
    State.APPLIED: frozenset(),
}

Effects: TypeAlias = tuple[EscalationEffect, ...]
Change: TypeAlias = tuple[Escalation, Effects]


class IllegalTransition(Exception):
    """The event makes no sense in the escalation's state; the caller has a bug."""

    def __init__(self, escalation: Escalation, event: EscalationEvent) -> None:
        super().__init__(f"{type(event).__name__} of {escalation.id} while {escalation.state}")


def advance(escalation: Escalation, event: EscalationEvent) -> Change:
    """The escalation after an event, and the orders that follow from it."""
    match event:
        case CardSent() | CardAdopted() | ReminderSent():
            return _in_chat(escalation, event)
        case Answered() | LaterPressed():
            return _person(escalation, event)
        case TimeCame():
            return _time_came(escalation, event)
        case Restarted(now):
            return _restarted(escalation, now)
        case Stopped():
            return _stopped(escalation, event)
        case SendFailed(at, why):
            if escalation.state is not State.PENDING_SEND:
                return escalation, ()  # of a copy or after a /stop: others show it, or none need
            return _settle(replace(escalation, why=why), State.UNDELIVERABLE, at)
        case Applied():
            return _applied(escalation, event)
        case _:
            assert_never(event)


def due(escalation: Escalation) -> float | None:
    """When its next reminder or its expiry comes; None unless it is open."""
    if escalation.state is not State.OPEN:
        return None
    end = escalation.until
    reminder = _next_reminder(escalation)
    return end if reminder is None else min(end, reminder)


def _next_reminder(escalation: Escalation) -> float | None:
    sent = escalation.sent
    if escalation.quiet or sent is None or escalation.reminded >= len(escalation.remind_after):
        return None
    return sent + escalation.remind_after[escalation.reminded]


def _in_chat(escalation: Escalation, event: CardSent | CardAdopted | ReminderSent) -> Change:
    match event:
        case ReminderSent(remote):
            return _reminded(escalation, remote)
        case CardSent(remote, at):
            return _shown(escalation, Copy(remote, at), Audit(Trail.SENT, detail=remote))
        case CardAdopted(remote, at):
            return _shown(escalation, Copy(remote, at), Audit(Trail.ADOPTED, detail=remote))
        case _:
            assert_never(event)


def _reminded(escalation: Escalation, remote: RemoteId) -> Change:
    known = tuple(one for one in escalation.reminders if one != remote)
    escalation = replace(escalation, reminders=(*known, remote))
    return escalation, () if escalation.live else (_edit(escalation, (remote,)),)


def _edit(escalation: Escalation, remotes: tuple[RemoteId, ...]) -> EditCards:
    return EditCards(remotes, texts.decision(escalation))


def _shown(escalation: Escalation, copy: Copy, audit: Audit) -> Change:
    if any(known.remote == copy.remote for known in escalation.copies):
        return escalation, ()  # told twice of one message
    escalation = replace(escalation, copies=(*escalation.copies, copy))
    if escalation.state is State.PENDING_SEND:
        escalation = replace(escalation, state=State.OPEN)
    if escalation.state is State.OPEN:
        return escalation, (audit, SetTimer(due(escalation)))
    # Late: it was decided while the card was on its way, so that copy shows the decision too.
    return escalation, (audit, _edit(escalation, (copy.remote,)))


def _person(escalation: Escalation, event: Answered | LaterPressed) -> Change:
    """Whatever a person does, from the first to the fortieth press."""
    if not escalation.admits(event.by):
        return _refuse(escalation, event, texts.not_yours(escalation), Trail.REFUSED)
    if escalation.state is State.PENDING_SEND:
        return _refuse(escalation, event, texts.not_shown_yet(escalation), Trail.REFUSED)
    if escalation.state is not State.OPEN:
        return _refuse(escalation, event, texts.late(escalation), Trail.LATE)
    if isinstance(event, LaterPressed):
        return _later(escalation, event)
    if not escalation.fits(event.answer):
        raise IllegalTransition(escalation, event)
    answered = replace(escalation, answer=event.answer, decider=event.by)
    settled, effects = _settle(answered, State.ANSWERED, event.at, event.by)
    return settled, (*effects, Confirm(texts.taken(settled), event.by))


def _later(escalation: Escalation, event: LaterPressed) -> Change:
    confirm = Confirm(texts.quieted(escalation), event.by)
    if escalation.quiet:
        return escalation, (confirm,)
    escalation = replace(escalation, quiet=True)
    audit = Audit(Trail.QUIETED, event.by)
    return escalation, (audit, SetTimer(due(escalation)), confirm)


def _refuse(
    escalation: Escalation, event: Answered | LaterPressed, why: str, trail: Trail
) -> Change:
    """Nothing changes, the card neither; the person is told, and it is written down."""
    return escalation, (Audit(trail, event.by), Reject(why, event.by))


def _time_came(escalation: Escalation, event: TimeCame) -> Change:
    if escalation.state is not State.OPEN:
        return escalation, ()  # decided meanwhile; one that waits to be sent ends by SendFailed
    if event.now >= escalation.until:
        return _expire(escalation, event)
    told = escalation.reminded
    if not escalation.quiet and escalation.sent is not None:
        passed = event.now - escalation.sent
        told = max(told, sum(passed >= after for after in escalation.remind_after))
    if told == escalation.reminded:
        return escalation, (SetTimer(due(escalation)),)  # too early, or put off meanwhile
    escalation = replace(escalation, reminded=told)  # of several missed ones only the last
    audit = Audit(Trail.REMINDED, detail=str(told))
    return escalation, (Remind(told), audit, SetTimer(due(escalation)))


def _expire(escalation: Escalation, event: TimeCame) -> Change:
    if abs(event.drift_s - escalation.drift_s) > DRIFT_S:
        # One of the clocks jumped, so the wall time may be wrong. A difference that stays is
        # waited for once: else a clock that was set right would keep it open for ever.
        until = event.now + HOLD_S
        escalation = replace(escalation, hold_until=until, drift_s=event.drift_s)
        detail = f"the clocks differ by {event.drift_s:.0f} s"
        return escalation, (Audit(Trail.HELD, detail=detail), SetTimer(due(escalation)))
    return _settle(escalation, State.EXPIRED, event.now)


def _stopped(escalation: Escalation, event: Stopped) -> Change:
    if escalation.state in {State.CANCELLED, State.APPLIED}:
        return escalation, ()  # late: the work has been told, or was stopped before
    return _settle(replace(escalation, why=event.why), State.CANCELLED, event.at, event.by)


def _settle(
    escalation: Escalation, state: State, at: float, by: Principal | None = None
) -> Change:
    """The one way to a decision: cards and reminders show it, the timer is gone, the work is
    told."""
    escalation = replace(escalation, state=state, ending=state, decided=at)
    effects: list[EscalationEffect] = [Audit(Trail(state.value), by), SetTimer(None)]
    if remotes := escalation.messages:
        effects.append(_edit(escalation, remotes))
    return escalation, (*effects, _resume(escalation))


def _resume(escalation: Escalation) -> Resume:
    """What was cancelled starts nothing; all other decisions are waited for."""
    return Resume(wake=escalation.ending is not State.CANCELLED)


def _restarted(escalation: Escalation, now: float) -> Change:
    if escalation.state is State.PENDING_SEND:
        return escalation, (SendCard(),)
    if escalation.state is State.OPEN:
        hold = max(escalation.hold_until, now + GRACE_S)
        # The monotonic clock began anew, and so does what it is compared with.
        escalation = replace(escalation, hold_until=hold, drift_s=0.0)
        return escalation, (SetTimer(due(escalation)),)
    if escalation.state in SETTLED:
        return escalation, (_resume(escalation),)
    return escalation, ()


def _applied(escalation: Escalation, event: Applied) -> Change:
    if escalation.state not in SETTLED:
        raise IllegalTransition(escalation, event)  # twice would run an approved command twice
    return replace(escalation, state=State.APPLIED), (Audit(Trail.APPLIED),)
