"""Works one begun turn: gathers what it starts from, runs the agent's loop, and says how it
ended. The border at which a turn's faults stop: nothing of one turn reaches another."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

import structlog

from core.agent import events
from core.agent import prompts as prompts_of_loop
from core.agent.loop import (
    Agent,
    Answered,
    Failed,
    LoopOptions,
    OutOfBudget,
    Parked,
    Prefix,
    TurnResult,
    run_turn,
)
from core.agent.steps import Finished, Injected, Step, TurnInput, TurnLog
from core.errors import Fenced, PursuitError
from core.fence import fenced
from core.goals import prompts
from core.messages import (
    Address,
    Attachment,
    LaneKey,
    Outbound,
    PlatformName,
    Principal,
    RemoteId,
    Role,
    Say,
    SessionId,
)
from core.ports import Caller, Clock, Line, Model, Ran, ToolContext, ToolSpec, Waiting
from core.sessions.facts import model_key
from core.sessions.inputs import attachments_of
from core.sessions.lane import Outcome, RowKind
from core.sessions.ports import Begun, Ending, Store, TurnRef
from core.sessions.receipts import receipts_of
from core.sessions.turn_log import StoredLog
from core.tools.definitions import THINK
from core.tools.registry import Registry
from core.transcript import Entry, Json, ToolCall, User
from gateway.drafting import Drafter
from gateway.gatehouse import Gatehouse, KeptRecord, TurnParts
from gateway.narrator import GATE, Narration, Narrator
from gateway.received import ReceivedFiles

log = structlog.get_logger(__name__)

REVOKED = "the person who set its goal may no longer use this bot here"
SENDER_REVOKED = "⚠ Not worked on: the person who sent this may no longer use this bot here."
UNSHOWN = "(The answer holds nothing that can be shown.)"
GONE_ON = "[What came of the call {name} that waited for a person]\n{text}"
RECEIVING = "receiving files"
CRASHED = "an internal error; the log has the details"


class Workspaces(Protocol):
    """Where each lane works."""

    def folder(self, lane: LaneKey) -> Path:
        """The lane's folder, made on demand."""
        ...


class Chats(Protocol):
    """What a turn needs of the platforms."""

    def parts(self, address: Address, text: str) -> tuple[Outbound, ...]:
        """An answer cut for the address's platform."""
        ...

    async def download(self, address: Address, attachment: Attachment, to: Path) -> None:
        """Fetch a file that a person sent."""
        ...


class Roles(Protocol):
    """Who may do what right now."""

    def role(self, platform: PlatformName, person: str, chat: str) -> Role | None:
        """The person's role in a chat, None for nobody."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """A model that can do the agent's work; `vision` says that it takes images."""

    model: Model
    vision: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """The models at work and what they are told: `prefix` gives that of a new session, `vision`
    says that the agent's model takes images, `others` are what a session may choose instead."""

    model: Model
    compactor: Model
    prefix: Callable[[], Awaitable[Prefix]]
    options: LoopOptions
    vision: bool = False
    others: Mapping[str, Engine] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The parts round a turn."""

    store: Store
    clock: Clock
    tools: Registry
    workspaces: Workspaces
    chats: Chats
    roles: Roles
    narrator: Narrator
    drafter: Drafter
    gates: Gatehouse


@dataclass(frozen=True, slots=True)
class BoundTools:
    """The registry with the turn's context: the loop's `ToolRunner`. `say` takes what a call is
    doing, under the call's id; `record` is told of what may change something."""

    tools: Registry
    context: ToolContext
    say: Callable[[str, Line], None]
    record: KeptRecord

    async def run(self, call: ToolCall) -> Ran:
        """See `ToolRunner.run`."""
        context = replace(self.context, progress=partial(self.say, call.id))
        async with self.record.running(context, call.name):
            return await self.tools.run(call, context)


class AgentWorker:
    """The `TurnWorker` of this program."""

    def __init__(self, crew: Crew, around: Surroundings) -> None:
        self._crew = crew
        self._around = around

    async def work(self, ref: TurnRef, begun: Begun) -> Ending:
        """See `TurnWorker.work`."""
        started = self._around.clock.monotonic()
        try:
            ending = await self._work(ref, begun)
        except Fenced:
            ending = Ending(outcome=Outcome.STOPPED, seconds=0.0)
        except PursuitError as error:
            ending = Ending(outcome=Outcome.FAILED, seconds=0.0, reason=str(error))
        except Exception:  # the turn's border: its lane and all others go on
            log.exception("turn_crashed", lane=ref.lane, turn=ref.turn)
            ending = Ending(outcome=Outcome.FAILED, seconds=0.0, reason=CRASHED)
        return replace(ending, seconds=self._around.clock.monotonic() - started)

    async def clean_up(self, ref: TurnRef) -> None:
        """See `TurnWorker.clean_up`."""
        await self._around.tools.close_turn(ref.turn)

    async def _work(self, ref: TurnRef, begun: Begun) -> Ending:
        around = self._around
        address = Address.of(ref.lane)
        principal = self._rights(address, begun)
        if principal is None:
            return self._refusal(address, begun)
        if begun.turn.kind is RowKind.DRAFT:
            return await around.drafter.draft(begun)
        sources = tuple(
            RemoteId(str(payload["remote"])) for payload in begun.payloads if payload.get("remote")
        )
        async with around.narrator.telling(ref.lane, ref.turn, sources) as narration:
            ending = await self._answer(ref, begun, principal, narration)
            narration.answered = ending.outcome is Outcome.ANSWERED
            narration.parked = ending.outcome is Outcome.PARKED
            return ending

    def _refusal(self, address: Address, begun: Begun) -> Ending:
        """The end of a turn whose principal was revoked. A message of theirs is answered in words,
        so that the session's goal, which is not to blame, goes on."""
        if begun.turn.goal is not None:
            return Ending(outcome=Outcome.REVOKED, seconds=0.0, reason=REVOKED)
        return Ending(
            outcome=Outcome.ANSWERED,
            seconds=0.0,
            answer=SENDER_REVOKED,
            posts=self._posts(address, SENDER_REVOKED, begun),
        )

    def _rights(self, address: Address, begun: Begun) -> Principal | None:
        """The turn's principal with the role they have by now; None when it was revoked."""
        who = begun.turn.principal
        role = self._around.roles.role(address.platform, who.id, address.chat)
        if role is None:
            return None
        return who if role is Role.OWNER else replace(who, role=Role.MEMBER)

    async def _answer(
        self, ref: TurnRef, begun: Begun, principal: Principal, narration: Narration
    ) -> Ending:
        around, crew = self._around, self._crew
        turn_log = StoredLog(around.store, ref, begun, around.clock)
        engine = await self._engine(begun.turn.session)
        received = ReceivedFiles(around.chats, vision=engine.vision)
        context = self._context(ref, begun, principal, engine)
        record = around.gates.record
        tools = BoundTools(around.tools, context, narration.say, record)
        async with record.running(context, RECEIVING if _files(begun) else THINK.name):
            steps = await received.take_in(begun, narration.address, context.workspace, turn_log)
        if begun.call is not None:
            gone = await _go_on(begun.call, steps, tools, turn_log, narration.emit)
            if isinstance(gone, Waiting):
                return Ending(outcome=Outcome.PARKED, seconds=0.0, spent=turn_log.spent)
            steps = gone
        history = await around.store.history(begun.turn.session)
        start = _start(begun, steps, history)
        gone_on = (steps[0].results[begun.call.id],) if begun.call is not None else ()
        gates = around.gates.keeper(
            TurnParts(
                context=replace(context, progress=partial(narration.say, GATE)),
                task=partial(_task, start, turn_log),
                ask=turn_log.books("critic").ask,
                emit=lambda event: narration.emit(events.GateRan(event)),
                before=gone_on,
            )
        )
        outcome = await run_turn(
            start,
            agent=Agent(
                prefix=await self._prefix(begun),
                model=engine.model,
                compactor=crew.compactor,
                options=crew.options,
                gates=gates,
            ),
            tools=tools,
            log=turn_log,
            emit=narration.emit,
            counted=begun.counted,
        )
        ending = self._ending(outcome, narration.address, begun)
        if ending.outcome is Outcome.ANSWERED:
            ending = replace(ending, receipts=(*receipts_of(gone_on), *ending.receipts))
        return replace(ending, spent=turn_log.spent, checked=gates.checked)

    def _context(
        self, ref: TurnRef, begun: Begun, principal: Principal, engine: Engine
    ) -> ToolContext:
        around = self._around
        return ToolContext(
            Address.of(ref.lane),
            principal,
            ref.turn,
            around.workspaces.folder(ref.lane),
            progress=lambda _: None,
            attempt=ref.attempt,
            began=around.clock.monotonic(),
            caller=Caller(engine.model.name, toolsets=around.tools.granted),
            asked=begun.asked,
        )

    async def _engine(self, session: SessionId) -> Engine:
        """The model that the session chose, or the configured one."""
        own = Engine(self._crew.model, self._crew.vision)
        name = await self._around.store.meta(model_key(session))
        if name and name not in self._crew.others:
            log.warning("chosen_model_is_gone", session=session, model=name)
        return self._crew.others.get(name, own) if name else own

    def _ending(self, outcome: TurnResult, address: Address, begun: Begun) -> Ending:
        match outcome:
            case Answered(text=text, results=results, counted=counted, ruling=ruling):
                shown = text if ruling is None else f"{text}\n\n{ruling.line}"
                return Ending(
                    outcome=Outcome.ANSWERED,
                    seconds=0.0,
                    answer=text,
                    posts=self._posts(address, shown, begun),
                    receipts=receipts_of(results),
                    counted=counted,
                    ruling=ruling,
                )
            case Failed(error=reason):
                return Ending(outcome=Outcome.FAILED, seconds=0.0, reason=reason)
            case OutOfBudget(sentence=reason):
                return Ending(outcome=Outcome.CAPPED, seconds=0.0, reason=reason)
            case Parked():
                return Ending(outcome=Outcome.PARKED, seconds=0.0)

    def _posts(self, address: Address, text: str, begun: Begun) -> tuple[Outbound, ...]:
        """The answer's messages; in a group the first one replies to the person."""
        first, *rest = self._around.chats.parts(address, text) or (Say(UNSHOWN),)
        asked = begun.payloads[-1]
        if isinstance(first, Say) and asked.get("name") and asked.get("remote"):
            first = replace(first, reply_to=RemoteId(str(asked["remote"])))
        return (first, *rest)

    async def _prefix(self, begun: Begun) -> Prefix:
        stored = begun.prefix
        if not stored:
            own = await self._crew.prefix()
            mine = _dump_prefix(own)
            stored = await self._around.store.keep_prefix(begun.turn.session, mine)
            if stored == mine:
                return own
        return _load_prefix(stored)


async def _go_on(
    call: ToolCall,
    steps: tuple[Step, ...],
    tools: BoundTools,
    turn_log: TurnLog,
    emit: Callable[[events.TurnEvent], None],
) -> Waiting | tuple[Step, ...]:
    """Go on with a call that waited for a person while other things were said: what comes of it
    enters the turn as a message. It is kept beside the first step, and so made once."""
    if steps and call.id in steps[0].results:
        return steps
    emit(events.ToolStarted(call, events.call_summary(call)))
    ran = await tools.run(call)
    if isinstance(ran, Waiting):
        emit(events.ToolWaits(ran))
        return ran
    told = User(GONE_ON.format(name=call.name, text=fenced(ran.text)))
    await turn_log.record(Finished(0, ran), Injected(0, told))
    emit(events.ToolEnded(ran))
    return (Step(n=0, injected=(told,), results={call.id: ran}),)


def _files(begun: Begun) -> bool:
    """Whether files came with what the turn answers."""
    rows = zip(begun.turn.rows, begun.payloads, strict=True)
    return any(attachments_of(payload, seq) for seq, payload in rows)


def _task(start: TurnInput, turn_log: StoredLog) -> str:
    """What the turn was asked, with what people have said since. One that goes on with a call was
    asked it before."""
    asked = start.inputs or tuple(e for e in start.history if isinstance(e, User))[-1:]
    heard = [m.text for m in turn_log.heard if m.text not in prompts_of_loop.OURS]
    return "\n\n".join([*(message.text for message in asked), *heard])


def _start(begun: Begun, steps: tuple[Step, ...], history: tuple[Entry, ...]) -> TurnInput:
    """What the loop starts from; a call that went on before it keeps its id for itself."""
    return TurnInput(
        turn=begun.turn.id,
        history=history,
        inputs=begun.inputs,
        steps=steps,
        pinned=_pinned(begun),
        asked=begun.asked,
        taken=frozenset({begun.call.id} if begun.call else ()),
    )


def _pinned(begun: Begun) -> str:
    goal = begun.goal
    if goal is None:
        return ""
    return prompts.pinned(goal.text, goal.criteria, dict(goal.contract))


def _dump_prefix(prefix: Prefix) -> str:
    tools: list[Mapping[str, Json]] = [  # `asdict` would copy the schemas, which takes a while
        {"name": t.name, "description": t.description, "parameters": dict(t.parameters)}
        for t in prefix.tools
    ]
    return json.dumps({"system": prefix.system, "tools": tools}, ensure_ascii=False)


@lru_cache(maxsize=64)  # sessions of one version have the same
def _load_prefix(stored: str) -> Prefix:
    loaded = json.loads(stored)
    return Prefix(loaded["system"], tuple(ToolSpec(**tool) for tool in loaded["tools"]))
