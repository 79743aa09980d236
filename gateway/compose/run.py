"""Builds the program from the settings and runs it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from adapters.sqlite.dispatcher import LocalDispatcher
from adapters.sqlite.store import SqliteStore
from adapters.workspace.gates import WorkspaceCommands
from adapters.workspace.listing import snapshot
from adapters.workspace.options import Danger, Sandboxing, WorkspaceOptions
from adapters.workspace.orphans import end_orphans
from adapters.workspace.tools import workspace_tools
from adapters.workspace.workspace import bind, home_of, share_home
from core.errors import UserError
from core.gates.critic import FULL, LOCAL
from core.gates.keeper import Critic
from core.goals.contract import Budget
from core.goals.judge import JudgeProfile, WorkspaceFile
from core.messages import Address, LaneKey, PlatformName, SendFile
from core.ports import Clock, Model, Platform, ToolContext
from core.sessions.lane import Busy
from gateway.access import Access, Allowlist
from gateway.bystander import Beside
from gateway.card import Cards
from gateway.clock import SystemClock
from gateway.compose.equipment import Books, Channels, Equipment
from gateway.compose.folders import MAIN_CHAT, folder_of
from gateway.compose.house import control, gates_of, house, offered
from gateway.compose.models import Models
from gateway.compose.others import LateRunners, mcp_servers
from gateway.compose.setup import (
    Endpoint,
    HealthMaker,
    Life,
    LocalModel,
    Lookers,
    PlatformMaker,
    Running,
    Setup,
)
from gateway.compose.staff import ConfiguredStaff
from gateway.control.server import ControlServer
from gateway.delivery import Delivery
from gateway.desk import ChatDesk
from gateway.drafting import Drafter
from gateway.gatehouse import Gatehouse
from gateway.headless.watch import Watch, Watched
from gateway.health.vitals import Vitals
from gateway.judging import Court
from gateway.lanes import Followers, Lanes, TurnWorker
from gateway.narrator import Narrator
from gateway.platforms import Platforms, Redacted
from gateway.program import FINISH_S, NO_PLATFORM, Parts, Program
from gateway.redact import Redactor
from gateway.router import LaneRules, Router
from gateway.settings import Choice, Job, Purpose, Settings, chosen, secrets_of
from gateway.settings.chats import NumberedAccess, SlackAccess
from gateway.stillness import Stillness
from gateway.worker import AgentWorker, Crew, Engine, Surroundings

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What this run is made of beside its settings.

    `console` ends the program when its person leaves; it talks at `talk` alone. `local` serves
    the embedded model, where it is used.
    `hidden` files and folders (the configuration, credentials) are out of the agent's reach.
    `health` counts and shows what happens, `lookers` are lives beside the program's own. `clock`
    is what time it is. `watch` sees what turns do and how they end. With a `profile` the agent
    is called and addressed as its children are. `cast` gives models in place of the settings'.
    """

    platforms: Sequence[PlatformMaker] = ()
    console: PlatformMaker | None = None
    talk: Address = MAIN_CHAT
    local: LocalModel | None = None
    hidden: Sequence[Path] = ()
    health: HealthMaker | None = None
    lookers: Lookers | None = None
    clock: Clock = field(default_factory=SystemClock)
    watch: Watch | None = None
    profile: str = ""
    cast: Callable[[Choice], Model] | None = None


def run(settings: Settings, data: Path, choices: Choices) -> int:
    """Run the program until it is told to stop; the exit code.

    Raises `core.errors` for what a person must mend.
    """
    asyncio.run(live(settings, data, choices))
    return 0


async def live(settings: Settings, data: Path, choices: Choices) -> None:
    """The program's whole life, for a loop that runs already.

    What fails at once comes before the embedded model, which may have to be fetched first.
    """
    if not choices.platforms and choices.console is None:
        raise UserError(NO_PLATFORM)
    store = SqliteStore(
        data,
        clock=choices.clock,
        run=uuid.uuid4().hex[:12],
        goal_defaults=_budget(settings),
        house=house(
            settings, local=choices.local is not None, home=partial(_own_folder, settings, data)
        ),
    )
    await store.open()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        await asyncio.to_thread(end_orphans, data)  # before any turn goes on
        endpoint = await stack.enter_async_context(_local(settings, data, choices.local))
        builder = _Builder(settings, data, choices, store, endpoint)
        parts = builder.build()
        if builder.health is not None:
            await stack.enter_async_context(builder.health.serving(parts.vitals, builder.access))
        level = logging.INFO if choices.console is None else logging.DEBUG
        model, names = chosen(settings, "agent").name, [str(p.name) for p in parts.platforms]
        log.log(level, "started", data=str(data), model=model, platforms=names)
        await Program(parts).run()
        log.log(level, "stopped")


@asynccontextmanager
async def _local(
    settings: Settings, data: Path, local: LocalModel | None
) -> AsyncIterator[Endpoint | None]:
    if local is None:
        yield None
        return
    async with local(settings, data) as endpoint:
        yield endpoint


def _budget(settings: Settings) -> Budget:
    goals = settings.goals
    return Budget(
        turns=goals.max_turns,
        tokens=goals.max_tokens,
        cost=goals.max_cost,
        seconds=goals.max_seconds,
    )


class _Builder:
    """Builds the parts, each once, in the order of their needs."""

    def __init__(
        self,
        settings: Settings,
        data: Path,
        choices: Choices,
        store: SqliteStore,
        local: Endpoint | None,
    ) -> None:
        self._settings = settings
        self._data = data
        self._choices = choices
        self._store = store
        self._clock = choices.clock
        self._models = Models(settings, local, choices.cast)
        self._staff = ConfiguredStaff(
            settings, self._models, local=choices.local is not None, counted=self._counted
        )
        self._grounds = _workspace(settings, choices.hidden)
        self._hidden = (data, *choices.hidden)
        self._stillness = Stillness(store)
        self.access = Access(_allowlists(settings), store.people)
        self._redact = Redactor(secrets_of(settings))
        self.health = choices.health and choices.health(settings.health, data, self._clock)
        self._lanes = Lanes(
            store,
            LocalDispatcher(settings.agent.max_concurrent_turns),
            self._clock,
            collect=settings.lanes.collect,
            only={} if choices.console is None else {choices.talk.platform: choices.talk},
        )
        self._desk = ChatDesk(store, self._lanes.follow, self._redact)
        self._tools = workspace_tools(self._grounds, data, self._desk)

    def build(self) -> Parts:
        """All parts, attached to each other."""
        settings, store, clock = self._settings, self._store, self._clock
        access = self.access
        rules = LaneRules(Busy(settings.lanes.busy), per_user=settings.lanes.groups == "per_user")
        platforms = Platforms()
        vitals = Vitals(platforms)
        console = self._add_platforms(platforms)
        store.rooms = {platform.name: platform.room for platform in platforms}
        watch = self._choices.watch
        narrator = Narrator(platforms) if watch is None else Narrator(platforms, watch.happened)
        delivery = Delivery(store, platforms, narrator, clock, self._stillness.stir)
        cards = Cards(store, platforms)
        court = self._court()
        equipment = self._equip()
        around = Surroundings(
            store=store,
            clock=clock,
            tools=equipment.registry,
            workspaces=self,
            chats=platforms,
            roles=access,
            narrator=narrator,
            drafter=self._drafter(),
            gates=self._gatehouse(),
        )
        self._lanes.attach(
            self._worker(around, equipment),
            Followers(judge=court, delivery=delivery, card=cards, stir=self._stillness.stir),
        )
        court.attach(self._lanes)
        delivery.attach(self._lanes)
        return Parts(
            store=store,
            platforms=platforms,
            router=Router(
                store, access, self._lanes, clock, rules, Beside(narrator, self._rehome, clock)
            ),
            lanes=self._lanes,
            delivery=delivery,
            narrator=narrator,
            cards=cards,
            court=court,
            load=self._models.load,
            vitals=vitals,
            beside={
                **self._lookers(vitals),
                **equipment.lives,
                "control socket": self._control(vitals).run,
            },
            console=console,
            finish_s=FINISH_S if console is None else 0.0,
            closers=(self._tools.close, self._models.close, store.close),
        )

    def _lookers(self, vitals: Vitals) -> Mapping[str, Life]:
        lookers = self._choices.lookers
        running = Running(vitals=vitals, clock=self._clock, swap=self._swap)
        return {} if lookers is None else lookers(running)

    def _control(self, vitals: Vitals) -> ControlServer:
        name = chosen(self._settings, "agent").name
        follow = self._lanes.follow
        return control(self._store, self._clock, vitals, follow, data=self._data, model=name)

    def _swap(self, settings: Settings) -> None:
        """Put into effect what can be changed while the program runs."""
        self.access.relist(_allowlists(settings))
        self._store.offer(_budget(settings))
        self._redact.learn(secrets_of(settings))

    def _worker(self, around: Surroundings, equipment: Equipment) -> TurnWorker:
        worker: TurnWorker = AgentWorker(self._crew(equipment), around)
        if self._choices.watch is not None:
            worker = Watched(worker, self._choices.watch)
        return worker if self.health is None else self.health.metrics.counted_turns(worker)

    def _model(self, job: Job) -> Model:
        return self._counted(self._models.of(chosen(self._settings, job)), job)

    def _agent(self) -> Model:
        """The agent's own model, called as its profile's children call it where it has one."""
        if not self._choices.profile:
            return self._model("agent")
        return self._staff.of_profile(self._choices.profile, chosen(self._settings, "agent"))

    def _model_of(self, choice: Choice) -> Model:
        return self._counted(self._models.of(choice), "agent")

    def _counted(self, model: Model, purpose: Purpose) -> Model:
        return model if self.health is None else self.health.metrics.counted_calls(model, purpose)

    def folder(self, lane: LaneKey) -> Path:
        """Where a lane works. Raises UserError when it is bound to a folder that is gone, or
        that the configuration does not list any more."""
        bound = self._store.bound(lane)
        if bound:
            return bind(bound, self._grounds, self._data)
        return _own_folder(self._settings, self._data, lane)

    def _place(self, lane: LaneKey) -> Path:
        """Where a lane works, as people are told, whether it can just now or not."""
        bound = self._store.bound(lane)
        return Path(bound) if bound else _own_folder(self._settings, self._data, lane)

    def _rehome(self, old: LaneKey, new: LaneKey) -> None:
        share_home(old, new, _homes(self._settings, self._data))

    async def files(self, lane: LaneKey) -> Sequence[WorkspaceFile]:
        """What the judge is shown of a lane's workspace."""
        facts = await asyncio.to_thread(snapshot, self.folder(lane), self._hidden)
        return [WorkspaceFile(fact.path, fact.size, fact.start) for fact in facts]

    async def queue_file(
        self, context: ToolContext, path: Path, name: str, caption: str, call_id: str
    ) -> None:
        """Put a staged file into the outbox, once per turn and call."""
        lane = context.address.key
        what = SendFile(name, caption, str(path))
        self._lanes.follow(await self._store.post(lane, context.turn, f"file:{call_id}", what))

    def _add_platforms(self, platforms: Platforms) -> Platform | None:
        setup = Setup(
            settings=self._settings,
            data=self._data,
            clock=self._clock,
            run_id=self._store.run,
            redact=self._redact,
            talk=self._choices.talk,
            at_rest=self._stillness.of,
            folder=self._place,
            memory=self._store,
            access=self.access,
        )
        for maker in self._choices.platforms:
            platforms.add(Redacted(maker(setup), setup.redact))
        if self._choices.console is None:
            return None
        console = Redacted(self._choices.console(setup), setup.redact)
        platforms.add(console, only=self._choices.talk)
        return console

    def _equip(self) -> Equipment:
        servers = mcp_servers(self._settings, self._data, self._tools.checks.keep)
        channels = Channels(outbox=self, desk=self._desk)
        equipment = Equipment(self._settings, self._tools, channels, self._staff, servers)
        if self._choices.profile:
            equipment.speak_as(self._staff.profile(self._choices.profile))
        equipment.attach(
            Books(children=self._store.children, caps=self._store),
            LateRunners(self._tools),
            self._clock,
            self._model("compaction"),
        )
        return equipment

    def _crew(self, equipment: Equipment) -> Crew:
        return Crew(
            model=self._agent(),
            compactor=self._model("compaction"),
            prefix=equipment.prefix,
            options=equipment.options,
            vision=chosen(self._settings, "agent").model.vision,
            others={
                choice.name: Engine(self._model_of(choice), choice.model.vision)
                for choice in offered(self._settings, local=self._choices.local is not None)
            },
        )

    def _court(self) -> Court:
        judge = chosen(self._settings, "goal_judge")
        return Court(
            self._store,
            self,
            self._clock,
            self._model("goal_judge"),
            profile=JudgeProfile.LOCAL if judge.local else JudgeProfile.FULL,
            timeout_s=self._settings.auxiliary.goal_judge.timeout_s,
        )

    def _gatehouse(self) -> Gatehouse:
        settings, choice = self._settings, chosen(self._settings, "critic")
        named, task = settings.gates.critic, settings.auxiliary.critic
        critic = Critic(
            model=self._model("critic"),
            instructions=named.instructions,
            timeout_s=named.timeout_s or task.timeout_s,
            sizes=LOCAL if choice.local else FULL,
        )
        wanted, commands = gates_of(settings), WorkspaceCommands(self._tools.terminal)
        bounces = settings.gates.max_bounces
        return Gatehouse(wanted, critic, bounces, commands, self._store.gates, self._clock)

    def _drafter(self) -> Drafter:
        judge = self._settings.auxiliary.goal_judge
        return Drafter(self._model("goal_judge"), judge.timeout_s)


def _homes(settings: Settings, data: Path) -> Path:
    """The folder in which lanes have their own."""
    return settings.workspace.root or data


def _own_folder(settings: Settings, data: Path, lane: LaneKey) -> Path:
    """Where a lane works that is bound to no other folder."""
    folder = folder_of(lane)
    if folder is not None and folder.is_dir():
        return folder
    return home_of(lane, _homes(settings, data))


def _workspace(settings: Settings, hidden: Sequence[Path]) -> WorkspaceOptions:
    workspace = settings.workspace
    return WorkspaceOptions(
        root=workspace.root,
        allow=workspace.allow,
        extra=workspace.extra,
        hidden=tuple(hidden),
        sandbox=Sandboxing(workspace.sandbox),
        network=workspace.network,
        timeout_s=workspace.timeout_s,
        dangerous=Danger(workspace.dangerous),
    )


def _allowlists(settings: Settings) -> dict[PlatformName, Allowlist]:
    named: dict[PlatformName, NumberedAccess | SlackAccess] = {
        PlatformName.TELEGRAM: settings.access.telegram,
        PlatformName.DISCORD: settings.access.discord,
        PlatformName.SLACK: settings.access.slack,
    }
    return {
        platform: Allowlist(
            owners=frozenset(map(str, listed.owners)),
            members=frozenset(map(str, listed.members)),
            chats=frozenset(map(str, listed.chats)),
            pairing=listed.pairing,
        )
        for platform, listed in named.items()
    }
