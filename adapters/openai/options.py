"""What the composition root says about an endpoint and about a model. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from core.errors import UserError
from core.transcript import Json

ApiMode: TypeAlias = Literal["chat", "responses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """One endpoint; `name` is its key under `providers` in the configuration.

    An empty `api_key` is for servers that ask for none. `timeout_s` bounds a call with its
    retries where the request names no deadline; `stall_s` is the longest silence between two
    reads, waiting for the first byte included, so give a slow local server a long one.
    `backoff_s` is the first pause before a retry. `proxy` is an http, https, socks5 or socks5h
    URL; without one the usual variables of the environment count. `json_schema` and
    `stream_options` say whether to try them at all: a server that refuses one is never sent it
    again. `embedded` says that this program serves the endpoint itself, so that no setting can
    mend it. `base_url_key`, `api_key_key` and `proxy_key` are what a person changes, for error
    messages; "" is the key in
    the file.
    """

    name: str
    base_url: str
    api_key: str = field(default="", repr=False)
    api_mode: ApiMode = "chat"
    timeout_s: float = 120.0
    connect_s: float = 5.0
    stall_s: float = 90.0
    backoff_s: float = 0.5
    proxy: str = field(default="", repr=False)
    json_schema: bool = True
    stream_options: bool = True
    embedded: bool = False
    base_url_key: str = ""
    api_key_key: str = ""
    proxy_key: str = ""

    def __post_init__(self) -> None:
        """Raises UserError for a key or an address that cannot be sent at all."""
        key = self.api_key.strip()
        if not (key.isascii() and key.isprintable()):
            raise UserError(
                f"{self.api_key_place} holds characters that no key has; copy it again"
            )
        if not self.base_url.startswith(("http://", "https://")):
            raise UserError(f"{self.base_url_place} must start with http:// or https://")
        for url, place in ((self.base_url, self.base_url_place), (self.proxy, self.proxy_place)):
            try:
                _ = urlsplit(url).port
            except ValueError as error:
                raise UserError(f"{place} is no URL: {error}") from error

    @property
    def base_url_place(self) -> str:
        """What a person changes for another address."""
        return self.base_url_key or f"providers.{self.name}.base_url"

    @property
    def api_key_place(self) -> str:
        """What a person changes for another key."""
        return self.api_key_key or f"providers.{self.name}.api_key"

    @property
    def proxy_place(self) -> str:
        """What a person changes for another proxy."""
        return self.proxy_key or f"the proxy of {self.name}"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; cached input costs as much as fresh where not named."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """One model; `name` is its key under `models`, `model` the provider's id for it.

    `temperature` None is not sent. `price` None asks the public price list. `params` are sent as
    they are and win over everything but the conversation. `model_key` is what a person changes
    for another model, for error messages; "" is the key in the file.
    """

    name: str
    model: str
    context_tokens: int = 128_000
    max_output_tokens: int = 8_192
    temperature: float | None = None
    price: Price | None = None
    vision: bool = False
    params: Mapping[str, Json] = field(default_factory=dict)
    model_key: str = ""

    @property
    def model_place(self) -> str:
        """What a person changes for another model."""
        return self.model_key or f"models.{self.name}.model"
