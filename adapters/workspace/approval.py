"""Whether a command may run: by the guarded places, by the policy, and where that says so by a
person, who is asked once and for exactly what would run.

What a person approved is used up in the commit before it starts, so it runs once, or not at all.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, assert_never

from adapters.workspace.guarded import Guarded, guard_of, guarded
from adapters.workspace.options import Danger, Sandboxing, WorkspaceOptions
from adapters.workspace.policy import Allow, judge
from adapters.workspace.rules import Ask, Never
from core.agent.guard import INTERRUPTED
from core.escalations.desk import Asked, Desk
from core.escalations.outcome import Outcome as Became
from core.escalations.outcome import outcome, told
from core.escalations.record import (
    Escalation,
    Fact,
    Kind,
    Label,
    OnTimeout,
    Purpose,
    digest_of,
)
from core.escalations.shown import name
from core.ports import ToolContext
from core.tools.definitions import Run
from core.tools.tool import Outcome, Pending, one_line
from core.transcript import Receipt

REFUSED = (
    "Refused, not run: {reason}. {way} Reach the aim another way, inside the workspace. The"
    " command was: {command}"
)
UNASKED = (
    "It needs an owner's approval, which cannot be asked for here: if nothing else will do, say in"
    " your answer that a person must run it."
)
NEVER = "Nobody can approve it."
CHANGED = (
    "Not run: {id} was approved for other than what would run now, as the folder or the sandbox"
    " has changed since. If it is still wanted, call it again: a person is asked again."
)


@dataclass(frozen=True, slots=True)
class Leave:
    """The command may run; `note` is what its result begins with."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """It may not; `text` is for the model."""

    text: str


Ruling: TypeAlias = Leave | Ask | Refusal


class Approval:
    """Gives commands leave, or asks for it; without a desk nobody can be asked."""

    def __init__(self, options: WorkspaceOptions, desk: Desk | None) -> None:
        self._options = options
        self._desk = desk

    async def leave(
        self, arguments: Run, context: ToolContext, call_id: str
    ) -> Leave | Outcome | Pending:
        """Leave to run a call, why it is not run, or that a person was asked.

        A call that has asked before is bound to the answer, whatever the policy says by now.
        """
        ruling = await self._ruling(arguments, context)
        if self._desk is None or not (isinstance(ruling, Ask) or call_id in context.asked):
            return unrun(self._unasked(ruling, arguments), arguments)
        facts = self._facts(arguments, context.workspace, ruling)
        asked = Asked(
            key=call_id,
            kind=Kind.APPROVE,
            purpose=Purpose.COMMAND,
            facts=facts,
            on_timeout=OnTimeout.DENY,
        )
        escalation = await self._desk.ask(context, context.caller.call or call_id, asked)
        if escalation.live:
            return Pending((escalation.id,))
        first = await self._desk.apply(context, call_id)
        decided = _decided(escalation, digest_of(facts), ruling, first=first)
        return unrun(decided, arguments, "not approved")

    async def unasked(self, arguments: Run, context: ToolContext) -> Leave | Outcome:
        """The same where nobody is to be asked."""
        ruling = await self._ruling(arguments, context)
        return unrun(self._unasked(ruling, arguments), arguments)

    def guard(self, workspace: Path) -> Guarded | None:
        """What forbids to run anything in a workspace."""
        guards = self.guards(workspace)
        return guard_of(workspace, guards, self._options.extra, writing=True)

    def guards(self, workspace: Path) -> tuple[Guarded, ...]:
        """The guarded places that a command could come to."""
        return guarded((workspace, *self._options.extra))

    async def _ruling(self, arguments: Run, context: ToolContext) -> Ruling:
        return await asyncio.to_thread(self._ruled, arguments.command, context.workspace)

    def _ruled(self, command: str, workspace: Path) -> Ruling:
        if guard := self.guard(workspace):
            return Refusal(guard.refusal)
        verdict = judge(command, workspace, self._options.extra)
        match verdict:
            case Allow():
                return Leave()
            case Ask() if self._options.dangerous is Danger.ALLOW:
                return Leave()
            case Ask(reason) if self._options.dangerous is Danger.REFUSE:
                return _refused(reason, UNASKED, command)
            case Ask():
                return verdict
            case Never(reason):
                return _refused(reason, NEVER, command)
            case _:
                assert_never(verdict)

    def _unasked(self, ruling: Ruling, arguments: Run) -> Leave | Refusal:
        if isinstance(ruling, Ask):
            return _refused(ruling.reason, UNASKED, arguments.command)
        return ruling

    def _facts(self, arguments: Run, workspace: Path, ruling: Ruling) -> tuple[Fact, ...]:
        """What a person approves: all that the call decides about how the command runs."""
        folder = os.path.realpath(workspace)
        more = [
            *(["background: true"] if arguments.background else []),
            *([] if arguments.timeout_s is None else [f"timeout_s: {arguments.timeout_s}"]),
            *self._reach(),
        ]
        reason = [Fact(Label.REASON, ruling.reason)] if isinstance(ruling, Ask) else []
        return (
            Fact(Label.COMMAND, arguments.command),
            *([Fact(Label.ARGUMENTS, "\n".join(more))] if more else []),
            Fact(Label.DIRECTORY, folder),
            *reason,
        )

    def _reach(self) -> Iterator[str]:
        """What the settings let a command reach beyond its folder."""
        if self._options.sandbox is Sandboxing.NONE:
            yield "sandbox: none"
            return
        if self._options.network:
            yield "network: on"
        for folder in self._options.extra:
            yield f"also open: {os.path.realpath(folder)}"


def unrun(ruling: Leave | Refusal, arguments: Run, summary: str = "refused") -> Leave | Outcome:
    """A refusal as the call's result; leave as it is."""
    if isinstance(ruling, Leave):
        return ruling
    summary = f"{summary}: {one_line(arguments.command, 100)}"
    return Outcome(ruling.text, Receipt(ok=False, summary=summary))


def _refused(reason: str, way: str, command: str) -> Refusal:
    return Refusal(REFUSED.format(reason=reason, way=way, command=command[:500]))


def _decided(
    escalation: Escalation, digest: str, ruling: Ruling, *, first: bool
) -> Leave | Refusal:
    """What a decision comes to; `first` says that it has not been acted on before."""
    if outcome(escalation) is not Became.APPROVED or escalation.decider is None:
        return Refusal(told(escalation))
    if not first:
        return Refusal(INTERRUPTED)
    if isinstance(ruling, Refusal):
        return ruling
    if digest != escalation.digest:
        return Refusal(CHANGED.format(id=escalation.id))
    return Leave(f"Approved by {name(escalation.decider)} ({escalation.id}).")
