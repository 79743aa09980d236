"""Builds the models that the settings name, each provider's connections once.

The SDK takes half a second to load, about half of the start, and nothing needs it before a turn:
`load` does it on a thread, beside the first poll, and a model's first call waits for that.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from adapters.openai.options import ModelOptions, Price, ProviderOptions
from adapters.openai.prices import PriceTag
from core.errors import UserError
from core.ports import Completion, Model, Request, Usage
from gateway.compose.setup import Endpoint
from gateway.errors import KeyPath
from gateway.limits import LimitedModel
from gateway.settings import Choice, Settings
from gateway.settings.schema import Task
from gateway.settings.work import Profile

if TYPE_CHECKING:
    from adapters.openai.provider import Provider

OPENAI_URL = "https://api.openai.com/v1"
LOCAL_CONTEXT = 8_192
LOCAL_OUTPUT = 300
LOCAL_SLOTS = 1
LOCAL_PATIENCE_S = 600.0


class Models:
    """Models by the choices of the settings; `load` runs once, beside their first use.

    `local` is where the embedded model is served, None when nothing uses it. `cast` gives the
    models in place of those at endpoints.
    """

    def __init__(
        self,
        settings: Settings,
        local: Endpoint | None,
        cast: Callable[[Choice], Model] | None = None,
    ) -> None:
        self._local = local
        self._cast = cast
        self._wanted: dict[ProviderOptions, None] = {}
        self._providers: dict[ProviderOptions, Provider] = {}
        self._loaded = asyncio.Event()
        self._making = asyncio.Lock()
        self._slots = asyncio.Semaphore(settings.agent.max_model_calls)
        self._local_slots = asyncio.Semaphore(LOCAL_SLOTS)
        self._settings = settings

    def of(self, choice: Choice, at: ProviderOptions | None = None) -> Model:
        """The model of a choice, `at` its own endpoint when None. Endpoints that are the same
        share their connections. Raises UserError for settings that no client can use."""
        if self._cast is not None:
            return LimitedModel(self._cast(choice), self._slots)
        at = self.endpoint(choice) if at is None else at
        self._wanted[at] = None
        options = _options(choice, self._settings.place(self._model_key(choice)))
        model = _LateModel(options, at, partial(self._make, options, at))
        return LimitedModel(model, self._local_slots if choice.local else self._slots)

    async def load(self) -> None:
        """Load the SDK and make the clients that are wanted by now."""
        if self._wanted:
            self._providers = await asyncio.to_thread(_made, list(self._wanted))
            gc.freeze()  # as the start does with what it has loaded
        self._loaded.set()

    async def _make(self, options: ModelOptions, at: ProviderOptions) -> Model:
        await self._loaded.wait()
        from adapters.openai.model import OpenAIModel  # noqa: PLC0415 - loaded by now

        async with self._making:
            if at not in self._providers:  # first wanted when a child started
                self._providers |= await asyncio.to_thread(_made, [at])
        return OpenAIModel(options, self._providers[at])

    async def close(self) -> None:
        """End the connections."""
        for provider in list(self._providers.values()):
            await provider.close()

    def endpoint(self, choice: Choice) -> ProviderOptions:
        """Where a choice's model is served. Raises UserError for what cannot be called."""
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
        """Where the id of a model is set: in the catalogue, or raw at a task or a profile."""
        if choice.name in self._settings.models:
            return ("models", choice.name, "model")
        auxiliary, profiles = self._settings.auxiliary, self._settings.delegation.profiles
        named: dict[KeyPath, Task | Profile] = {
            **{
                ("auxiliary", key): getattr(auxiliary, key) for key in type(auxiliary).model_fields
            },
            **{("delegation", "profiles", key): profile for key, profile in profiles.items()},
        }
        raw = (choice.model.provider, choice.model.model)
        at = next(path for path, by in named.items() if (by.provider, by.model) == raw)
        return (*at, "model")


def _made(wanted: list[ProviderOptions]) -> dict[ProviderOptions, Provider]:
    from adapters.openai.provider import Provider  # noqa: PLC0415 - see the module

    return {options: Provider(options) for options in wanted}


class _LateModel:
    """A `Model` that `make` gives once the SDK is loaded, at its first call."""

    def __init__(
        self,
        options: ModelOptions,
        provider: ProviderOptions,
        make: Callable[[], Awaitable[Model]],
    ) -> None:
        self.name = options.name
        self.context_tokens = options.context_tokens
        self.max_output_tokens = options.max_output_tokens
        self._price = PriceTag.of_model(options, provider)
        self._make = make
        self._model: Model | None = None

    async def complete(
        self, request: Request, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """See `Model.complete`."""
        if self._model is None:
            self._model = await self._make()
        return await self._model.complete(request, on_text)

    def price(self, usage: Usage) -> float | None:
        """See `Model.price`."""
        return self._price.of(usage)


def price_known(choice: Choice) -> bool:
    """Whether the price of a choice's model is known; a free one's is."""
    provider = choice.provider
    tag = PriceTag(
        choice.model.provider, provider.base_url or OPENAI_URL, choice.model.model, _price(choice)
    )
    return choice.local or tag.of(Usage(1, 0, 1)) is not None


def _price(choice: Choice) -> Price | None:
    price = choice.model.price
    return Price(price.input, price.output, price.cached) if price else None


def _options(choice: Choice, model_key: str) -> ModelOptions:
    model, local = choice.model, choice.local
    return ModelOptions(
        name=choice.name,
        model=model.model,
        context_tokens=model.context_tokens or (LOCAL_CONTEXT if local else 128_000),
        max_output_tokens=model.max_output_tokens or (LOCAL_OUTPUT if local else 8_192),
        temperature=0.0 if local and model.temperature is None else model.temperature,
        price=_price(choice),
        vision=model.vision,
        params=dict(model.params),
        model_key=model_key,
    )
