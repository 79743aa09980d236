"""`delegate_task` with scripted models, a store in memory and a person at a scripted desk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.branches.report import NAME as REPORT
from core.delegation.ports import AskPermission, Finding, Judge, RunnerEnd
from core.delegation.runners import LiveRunners
from core.delegation.task import Offer
from core.delegation.tool import DelegateTask
from core.delegation.worker import Agent, Profile, Ranked, Runner
from core.delegation.working import Surroundings
from core.errors import UserError
from core.escalations import outcome
from core.escalations.desk import Asked
from core.escalations.record import Approved, Kind, Purpose
from core.messages import Address, PlatformName, Principal, Role
from core.ports import Caller, Model, Ran, Reply, Request, ToolContext, Usage, Waiting
from core.sessions.ports import CapReached, Estimate, Reserved, TurnRef
from core.tools.arguments import Arguments
from core.tools.definitions import Definition
from core.tools.registry import Registry
from core.tools.tool import DefinedTool, Outcome, Pending
from core.transcript import Json, Receipt, Result, ToolCall, ToolResult
from gateway.settings.document import parse_value
from tests.fakes.branch_tables import CATALOGUE
from tests.fakes.memory_children import MemoryChildren
from tests.fakes.scripted_desk import ScriptedDesk
from tests.fakes.scripted_model import Line, ScriptedModel, calls

HERE = Address(PlatformName.TELEGRAM, "bot", "100")
BELA = Principal("2", "Bela", Role.OWNER)
CALL = "call_1"
TOOLSETS = ("terminal", "file", "think", "delegation")


class Place(Arguments):
    """Where to look, or what to touch."""

    at: str


class HeldClock:
    """Time stands still."""

    def now(self) -> float:
        """See `Clock.now`."""
        return 100.0

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return 5.0


@dataclass(slots=True)
class Budget:
    """Caps that refuse every call of a purpose in `refused`."""

    refused: set[str] = field(default_factory=set)

    async def reserve(
        self,
        ref: TurnRef,
        model: str,
        estimate: Estimate,
        *,
        seconds: float,
        purpose: str = "agent",
    ) -> Reserved | CapReached | None:
        """See `Caps.reserve`."""
        return CapReached("The goal's tokens are used up.") if purpose in self.refused else None

    async def settle(self, reservation: int, usage: Usage) -> None:
        """See `Caps.settle`."""
        raise AssertionError("nothing was reserved")


class Folder:
    """`Checks` on files that the rig's tools have touched."""

    def __init__(self, touched: list[str]) -> None:
        self._touched = touched

    async def exists(self, context: ToolContext, path: str) -> Finding:
        """See `Checks.exists`."""
        there = path in self._touched
        return Finding(there, "it is there" if there else "it is not there")

    async def contains(self, context: ToolContext, path: str, text: str) -> Finding:
        """See `Checks.contains`."""
        return Finding(None, "it cannot be read")

    async def succeeds(self, context: ToolContext, command: str) -> Finding:
        """See `Checks.succeeds`."""
        return Finding(None, "there is no shell")

    async def keep(self, context: ToolContext, text: str) -> str:
        """See `Checks.keep`."""
        return ""


class NoRunners:
    """No local agent runner can be started."""

    async def run(
        self,
        runner: Runner,
        task: str,
        context: ToolContext,
        *,
        permit: AskPermission,
        timeout_s: float,
    ) -> RunnerEnd:
        """See `Runners.run`."""
        return RunnerEnd(f"{runner.command} did {task}")


class Models:
    """`Staff` whose models are scripted by name, and whose judge is `judge`."""

    def __init__(self, profiles: tuple[Profile, ...], catalogue: tuple[Ranked, ...]) -> None:
        self.catalogue = catalogue
        self.profiles = profiles
        self.children: dict[str, ScriptedModel] = {}
        self.overseers: dict[str, ScriptedModel] = {}
        self.judging = ScriptedModel(name="judge")
        self.asked_for: list[tuple[str, str]] = []

    def small(self, agent: Agent) -> bool:
        """See `Staff.small`."""
        return False

    def model(self, agent: Agent, profile: str) -> Model:
        """See `Staff.model`."""
        return self._of(self.children, agent, profile)

    def overseer(self, agent: Agent, profile: str) -> Model:
        """See `Staff.overseer`."""
        return self._of(self.overseers, agent, profile)

    def judge(self) -> Judge:
        """See `Staff.judge`."""
        return Judge(self.judging, Ranked("judge", 3, "local/judge"), 30.0)

    def _of(self, models: dict[str, ScriptedModel], agent: Agent, profile: str) -> Model:
        self.asked_for.append((agent.model.name, profile))
        if agent.model.name not in models:
            raise UserError(f"{agent.model.name} has no key. Set it and restart Pursuit.")
        return models[agent.model.name]


class TableRig:
    """One turn's agent, on the model opus, with a call of `delegate_task`.

    `look` gives what `shown` says of a place, `touch` acts once on it, and `launch` does so after
    a person has approved. Each call of `delegate` is one attempt of the turn.
    """

    def __init__(
        self,
        *,
        store: MemoryChildren | None = None,
        profiles: tuple[Profile, ...] = (),
        escalation_model: str = "",
        desk: bool = True,
        catalogue: tuple[Ranked, ...] = CATALOGUE,
    ) -> None:
        self.store = store or MemoryChildren()
        self.desk = ScriptedDesk()
        self.models = Models(profiles, catalogue)
        self.budget = Budget()
        self.shown: dict[str, str] = {"page": "Status 200. Feature Y: ON (clickable)"}
        self.touched: list[str] = []
        self.live = LiveRunners()
        self.attempt = 0
        self.watch: Callable[[str | Callable[[], str]], None] = lambda _: None
        self.caller = Caller(model="opus", toolsets=TOOLSETS)
        self.store.asked = self.desk.asked_of
        self._asks = desk
        self._offer = Offer(
            catalogue=catalogue,
            profiles=profiles,
            escalation_model=escalation_model,
            read_text=parse_value,
        )

    def child(self, *script: Line, on: str = "tiny", always: Line | None = None) -> None:
        """What the children on a model say; `always` for every call."""
        self.models.children[on] = _model(on, script, always)

    def overseer(self, *script: Line, on: str = "opus", always: Line | None = None) -> None:
        """What overseers on a model say."""
        self.models.overseers[on] = _model(on, script, always)

    async def run(self, arguments: Mapping[str, object], call: str = CALL) -> Ran:
        """One attempt of the turn to carry the call out, in a process of its own."""
        self.attempt += 1
        tool = DelegateTask(self._offer)
        tools = Registry([*self._tools(), tool], dict.fromkeys(TOOLSETS, Role.MEMBER))
        tool.attach(self._around(tools))
        context = ToolContext(
            address=HERE,
            principal=BELA,
            turn=9,
            workspace=Path("/nowhere"),
            progress=self.watch,
            attempt=self.attempt,
            caller=self.caller,
        )
        ran = await tools.run(ToolCall(call, "delegate_task", json.dumps(arguments)), context)
        if isinstance(ran, Waiting):
            self.store.park()
        return ran

    async def delegate(self, given: object, **fields: object) -> Ran:
        """One task with a branch table."""
        return await self.run({"goal": "Check Y", "branch_table": given, **fields})

    async def result(self, given: object, **fields: object) -> dict[str, Json]:
        """What the parent reads of it."""
        return told(await self.delegate(given, **fields))

    async def waiting(self, given: object, **fields: object) -> str:
        """The note of a call that waits."""
        return note_of(await self.delegate(given, **fields))

    @property
    def briefs(self) -> list[str]:
        """The paths of what was begun."""
        return list(self.store.rows)

    def _around(self, tools: Registry) -> Surroundings:
        return Surroundings(
            staff=self.models,
            store=self.store,
            caps=self.budget,
            checks=Folder(self.touched),
            runners=NoRunners(),
            live=self.live,
            clock=HeldClock(),
            compactor=ScriptedModel(name="compactor"),
            tools=tools,
            desk=self.desk if self._asks else None,
        )

    def _tools(self) -> Iterable[DefinedTool[Place]]:
        look = Definition("look", "file", "Look at a place.", Place)
        touch = Definition("touch", "file", "Touch a place.", Place)
        launch = Definition("launch", "terminal", "Touch a place, with leave.", Place)
        return (
            DefinedTool(look, self._look),
            DefinedTool(touch, self._touch),
            DefinedTool(launch, self._launch),
        )

    async def _look(self, given: Place, context: ToolContext, call: str) -> Outcome:
        found = self.shown.get(given.at)
        if found is None:
            raise UserError(f"There is no {given.at}.")
        return Outcome(found, Receipt(ok=True, summary=f"look {given.at}"))

    async def _touch(self, given: Place, context: ToolContext, call: str) -> Outcome:
        self.touched.append(given.at)
        return Outcome(f"touched {given.at}", Receipt(ok=True, summary=f"touch {given.at}"))

    async def _launch(self, given: Place, context: ToolContext, call: str) -> Outcome | Pending:
        asked = Asked(key=call, kind=Kind.APPROVE, purpose=Purpose.ASK, question=f"{given.at}?")
        card = await self.desk.ask(context, context.caller.call or call, asked)
        if card.live:
            return Pending((card.id,))
        if not await self.desk.apply(context, call) or card.answer != Approved():
            return Outcome(outcome.told(card), Receipt(ok=False, summary="launch: no"))
        return await self._touch(given, context, call)


def _model(name: str, script: Iterable[Line], always: Line | None) -> ScriptedModel:
    lines = [always] if always is not None else list(script)
    return ScriptedModel(lines, name=name, loop_last=always is not None)


def told(ran: Ran) -> dict[str, Json]:
    """The one object that a call gave; its text when it gave none."""
    assert isinstance(ran, ToolResult), ran
    read = json.loads(ran.text)
    assert isinstance(read, dict), read
    return read


def refused(ran: Ran) -> str:
    """Why a call was refused."""
    assert isinstance(ran, ToolResult), ran
    assert not ran.receipt.ok, ran.text
    return ran.text


def note_of(ran: Ran) -> str:
    """What the model reads of a waiting call."""
    assert isinstance(ran, Waiting), ran
    return outcome.waiting_for(ran.asked)


def reports(branch: str, **fields: object) -> Reply:
    """The child reports a branch."""
    given = {"branch": branch, "confidence": "high", "observed": "I saw it", **fields}
    return calls((REPORT, json.dumps(given)), ids="r")


def looks(at: str = "page", ids: str = "c") -> Reply:
    """The child looks at a place."""
    return calls(("look", json.dumps({"at": at})), ids=ids)


def quote(excerpt: str, call: str = "c0") -> list[dict[str, str]]:
    """The evidence of a report."""
    return [{"tool_call_id": call, "excerpt": excerpt}]


def met(*checks: str) -> list[dict[str, object]]:
    """The checks of a report, all met."""
    return [{"check": check, "met": True} for check in checks]


def decides(decision: str, **fields: object) -> Reply:
    """An overseer's reply."""
    return Reply(json.dumps({"reason": "as shown", "decision": decision, **fields}))


def results_in(request: Request) -> list[str]:
    """The tool results that a request shows."""
    return [entry.text for entry in request.messages if isinstance(entry, Result)]
