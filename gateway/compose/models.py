"""Builds the models that the settings name, each provider's connections once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from adapters.openai import ModelOptions, OpenAIModel, Price, Provider, ProviderOptions
from core.errors import UserError
from core.ports import Model
from gateway.compose.setup import Endpoint
from gateway.errors import KeyPath
from gateway.limits import LimitedModel
from gateway.settings import Choice, Settings

OPENAI_URL = "https://api.openai.com/v1"
LOCAL_CONTEXT = 8_192
LOCAL_OUTPUT = 300
LOCAL_SLOTS = 1
LOCAL_PATIENCE_S = 600.0


class Models:
    """Models by the choices of the settings; `close` ends their connections.

    `local` is where the embedded model is served, None when nothing uses it.
    """

    def __init__(self, settings: Settings, local: Endpoint | None) -> None:
        self._local = local
        self._providers: dict[str, Provider] = {}
        self._slots = asyncio.Semaphore(settings.agent.max_model_calls)
        self._local_slots = asyncio.Semaphore(LOCAL_SLOTS)
        self._settings = settings

    def of(self, choice: Choice) -> Model:
        """The model of a choice. Raises UserError for settings that no client can use."""
        name = choice.model.provider
        if name not in self._providers:
            self._providers[name] = Provider(self._options(choice))
        options = _options(choice, self._settings.place(self._model_key(choice)))
        model = OpenAIModel(options, self._providers[name])
        return LimitedModel(model, self._local_slots if choice.local else self._slots)

    def _options(self, choice: Choice) -> ProviderOptions:
        provider = choice.provider
        if choice.local:
            if self._local is None:
                raise UserError("the embedded model is not being served")
            return ProviderOptions(
                name=choice.model.provider,
                base_url=self._local.base_url,
                api_key=self._local.api_key,
                timeout_s=LOCAL_PATIENCE_S,
                stall_s=LOCAL_PATIENCE_S,
                embedded=True,
            )
        at: KeyPath = ("providers", choice.model.provider)
        return ProviderOptions(
            name=choice.model.provider,
            base_url=provider.base_url or OPENAI_URL,
            api_key=provider.api_key.get_secret_value() if provider.api_key else "",
            api_mode=provider.api_mode,
            timeout_s=provider.timeout_s,
            stall_s=provider.stall_s,
            base_url_key=self._settings.place((*at, "base_url")),
            api_key_key=self._settings.place((*at, "api_key")),
        )

    def _model_key(self, choice: Choice) -> KeyPath:
        """Where the id of a model is set: in the catalogue, or raw at a task."""
        if choice.name in self._settings.models:
            return ("models", choice.name, "model")
        judge = self._settings.auxiliary.goal_judge
        raw = (choice.model.provider, choice.model.model)
        task = "goal_judge" if (judge.provider, judge.model) == raw else "compaction"
        return ("auxiliary", task, "model")

    @property
    def closers(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """What ends the connections."""
        return tuple(provider.close for provider in self._providers.values())


def _options(choice: Choice, model_key: str) -> ModelOptions:
    model, local = choice.model, choice.local
    price = model.price
    return ModelOptions(
        name=choice.name,
        model=model.model,
        context_tokens=model.context_tokens or (LOCAL_CONTEXT if local else 128_000),
        max_output_tokens=model.max_output_tokens or (LOCAL_OUTPUT if local else 8_192),
        temperature=0.0 if local and model.temperature is None else model.temperature,
        price=Price(price.input, price.output, price.cached) if price else None,
        vision=model.vision,
        params=dict(model.params),
        model_key=model_key,
    )
