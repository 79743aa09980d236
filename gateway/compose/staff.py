"""Who may work on delegated tasks, by the settings: models, profiles, and the judge of results."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias
from urllib.parse import urlsplit

from adapters.openai.options import ProviderOptions
from core.delegation.ports import Judge
from core.delegation.worker import Agent, Profile, Ranked, Runner, RunnerMode
from core.errors import UserError
from core.ports import Completion, Model, Request
from gateway.compose.house import offered
from gateway.compose.models import OPENAI_URL, Models
from gateway.errors import KeyPath, dotted
from gateway.settings import Choice, Purpose, Settings, catalogue, chosen
from gateway.settings.choice import of_profile, raw
from gateway.settings.work import Profile as ProfileSettings

Counted: TypeAlias = Callable[[Model, Purpose], Model]
"""Gives a model whose calls are counted as made for a purpose."""


def _uncounted(model: Model, purpose: Purpose) -> Model:
    return model


class ConfiguredStaff:
    """See `core.delegation.ports.Staff`.

    `local` says that the embedded model is served in this run. A profile with an endpoint, a key
    or a proxy of its own has connections of its own, made once and closed with all of `models`.
    """

    def __init__(
        self, settings: Settings, models: Models, *, local: bool, counted: Counted = _uncounted
    ) -> None:
        self._settings = settings
        self._models = models
        self._counted = counted
        self._clients: dict[tuple[str, str, str, Purpose], Model] = {}
        self._nameless: dict[str, str] = {}
        self.catalogue = tuple(map(ranked, offered(settings, local=local)))
        self.profiles = tuple(map(self._profile, settings.delegation.profiles))

    def small(self, agent: Agent) -> bool:
        """See `Staff.small`."""
        return self._choice(agent.model).local

    def model(self, agent: Agent, profile: str) -> Model:
        """See `Staff.model`."""
        return self._kept(agent, profile, "child")

    def overseer(self, agent: Agent, profile: str) -> Model:
        """See `Staff.overseer`."""
        return self._kept(agent, profile, "overseer")

    def _kept(self, agent: Agent, profile: str, purpose: Purpose) -> Model:
        # An endpoint's client remembers what it refuses, and it may take one effort only.
        key = (agent.model.name, profile, agent.effort, purpose)
        if key not in self._clients:
            self._clients[key] = self._client(agent, profile, purpose)
        return self._clients[key]

    def profile(self, name: str) -> Profile:
        """The profile of that name."""
        return next(profile for profile in self.profiles if profile.name == name)

    def of_profile(self, name: str, choice: Choice) -> Model:
        """The agent's own model, called over the connection of a profile."""
        self._refuse_without_credentials(choice, name, "agent")
        return self._counted(self._models.of(choice, self._endpoint(choice, name)), "agent")

    def judge(self) -> Judge:
        """See `Staff.judge`."""
        return self._judge

    @cached_property
    def _judge(self) -> Judge:
        choice = chosen(self._settings, "acceptance_judge")
        return Judge(
            model=self._counted(self._models.of(choice), "acceptance_judge"),
            ranked=ranked(choice),
            timeout_s=self._settings.auxiliary.acceptance_judge.timeout_s,
            small=choice.local,
        )

    def _client(self, agent: Agent, profile: str, purpose: Purpose) -> Model:
        choice = self._choice(agent.model)
        self._refuse_without_credentials(choice, profile, purpose)
        model = self._counted(self._models.of(choice, self._endpoint(choice, profile)), purpose)
        return _AtEffort(model, agent.effort) if agent.effort and not choice.local else model

    def _choice(self, model: Ranked) -> Choice:
        """A model by its name, which has a slash where it is in no catalogue."""
        if model.name in self._nameless:
            raise UserError(self._nameless[model.name])
        if model.name in self._settings.models:
            return catalogue(self._settings, model.name)
        provider, _, model_id = model.name.partition("/")
        return raw(self._settings, provider, model_id, model.tier)

    def _endpoint(self, choice: Choice, name: str) -> ProviderOptions:
        """Where a child calls its model: the provider's, and what its profile puts over that."""
        at = self._models.endpoint(choice)
        if not name:
            return at
        own, place = self._settings.delegation.profiles[name], self._place
        if own.base_url is not None:
            # The provider's key is for the provider's own address.
            moved = own.base_url != at.base_url
            at = replace(at, base_url=own.base_url, base_url_key=place(name, "base_url"))
            at = replace(at, api_key="") if moved else at
        if own.api_key is not None:
            key = own.api_key.get_secret_value()
            at = replace(at, api_key=key, api_key_key=place(name, "api_key"))
        if own.api_mode is not None:
            at = replace(at, api_mode=own.api_mode)
        if own.proxy is not None:
            proxy = own.proxy.get_secret_value()
            at = replace(at, proxy=proxy, proxy_key=place(name, "proxy"))
        return at

    def _place(self, profile: str, key: str) -> str:
        return self._settings.place(("delegation", "profiles", profile, key))

    def _refuse_without_credentials(self, choice: Choice, name: str, purpose: Purpose) -> None:
        """Raise UserError for a key or another setting that was never needed before."""
        who = "an overseer" if purpose == "overseer" else "a child"
        who = "the agent" if purpose == "agent" else who
        who = f"{who} of profile {name}" if name else f"{who} on {choice.name}"
        own = self._settings.delegation.profiles[name] if name else ProfileSettings()
        if name and (missing := self._unset(("delegation", "profiles", name))):
            raise UserError(f"{who} cannot start: {missing}")
        provider: KeyPath = ("providers", choice.model.provider)
        over = {key for key in type(own).model_fields if getattr(own, key) is not None}
        if missing := self._unset(provider, over):
            raise UserError(f"{who} cannot start: {missing}")
        given = own.api_key or choice.provider.api_key
        if not (choice.local or own.base_url or choice.provider.base_url or given):
            raise UserError(
                f"{who} cannot start: {self._settings.place((*provider, 'api_key'))} is needed "
                "for OpenAI's own endpoint. Set it and restart Pursuit."
            )

    def _unset(self, path: KeyPath, over: Collection[str] = ()) -> str:
        """What a setting below `path` wants that has no value, "" for nothing; those `over` have
        one from elsewhere."""
        for at, variable in self._settings.unset_below(path).items():
            if len(at) == len(path) or at[len(path)] not in over:
                return (
                    f"{dotted(at)} takes the environment variable {variable}, which is not set. "
                    "Set it and restart Pursuit."
                )
        return ""

    def _profile(self, name: str) -> Profile:
        own = self._settings.delegation.profiles[name]
        return Profile(
            name=name,
            summary=own.summary or "",
            nickname=own.nickname or "",
            model=self._model_of(name),
            runner=self._runner_of(name),
            toolsets=own.toolsets,
            max_iterations=own.max_iterations,
            persona=own.system_prompt or "",
            constraints=own.constraints or "",
            members=own.members,
            bound=any((own.proxy, own.base_url, own.api_key, own.api_mode))
            or bool(self._settings.unset_below(("delegation", "profiles", name))),
        )

    def _model_of(self, name: str) -> Ranked | None:
        path: KeyPath = ("delegation", "profiles", name)
        for key in ("model", "provider"):
            if missing := self._unset((*path, key)):
                unnamed = f"the model of profile {name}"
                self._nameless[unnamed] = f"a child of profile {name} cannot start: {missing}"
                tier = self._settings.delegation.profiles[name].tier
                own = tier or chosen(self._settings, "agent").model.tier
                return Ranked(unnamed, own, unnamed)
        choice = of_profile(self._settings, name)
        if choice is None:
            return None
        base_url = self._settings.delegation.profiles[name].base_url
        return ranked(choice, base_url or "")

    def _runner_of(self, name: str) -> Runner | None:
        own = self._settings.delegation.profiles[name]
        path: KeyPath = ("delegation", "profiles", name)
        if own.acp_command is None and not self._unset((*path, "acp_command")):
            return None
        missing = self._unset(path)
        return Runner(
            command=own.acp_command or "",
            args=own.acp_args,
            mode=RunnerMode(own.acp_mode),
            env={key: value.get_secret_value() for key, value in own.acp_env.items()},
            network=own.acp_network,
            lacking=f"the runner of profile {name} cannot start: {missing}" if missing else "",
        )


def ranked(choice: Choice, base_url: str = "") -> Ranked:
    """A model as delegation knows it; `base_url` "" is its provider's. Its id is where it is
    served and what it is called there, so that two names of one model are the same."""
    if choice.local:
        return Ranked(choice.name, choice.model.tier, "local", choice.model.model)
    parts = urlsplit(base_url or choice.provider.base_url or OPENAI_URL)
    served = parts.netloc.rpartition("@")[2].lower() + parts.path.rstrip("/")
    model = choice.model.model
    return Ranked(choice.name, choice.model.tier, f"{served}/{model}", model)


class _AtEffort:
    """A `Model` all of whose calls ask for one reasoning effort."""

    def __init__(self, model: Model, effort: str) -> None:
        self.name = model.name
        self.context_tokens = model.context_tokens
        self.max_output_tokens = model.max_output_tokens
        self.price = model.price
        self._model = model
        self._effort = effort

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """See `Model.complete`."""
        return await self._model.complete(replace(request, effort=self._effort), on_text)
