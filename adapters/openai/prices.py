"""What tokens cost: the configured price, else the public list that ships with genai-prices.

Nothing is fetched. Importing the library beside the SDK costs 15 ms; its table, another 25 ms,
is loaded with the first reply, off the start path.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import genai_prices

from adapters.openai.options import ModelOptions, Price, ProviderOptions
from core.ports import Usage

_MILLION = 1_000_000


@dataclass(slots=True)
class PriceTag:
    """The price of one model at one endpoint.

    The list is asked by the endpoint's address and then by the provider's name, never by the
    model's id alone: an open model on one's own machine costs nothing.
    """

    provider: str
    base_url: str
    model: str
    price: Price | None = None
    _unlisted: bool = field(default=False, init=False)

    @classmethod
    def of_model(cls, options: ModelOptions, provider: ProviderOptions) -> PriceTag:
        """The price of a model at its provider; the embedded one is free."""
        price = options.price or (Price(0.0, 0.0) if provider.embedded else None)
        return cls(provider.name, provider.base_url, options.model, price)

    def of(self, usage: Usage) -> float | None:
        """US dollars for `usage`, None where no price is known."""
        if self.price is not None:
            return _by_rate(self.price, usage)
        if self._unlisted:
            return None
        counted = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
            output_tokens=usage.output_tokens,
        )
        listed = self._by_address(counted)
        if listed is None:
            listed = self._by_name(counted)
        self._unlisted = listed is None
        return listed

    def _by_address(self, counted: genai_prices.Usage) -> float | None:
        try:
            found = genai_prices.calc_price(counted, self.model, provider_api_url=self.base_url)
        except LookupError:
            return None
        return float(found.total_price)

    def _by_name(self, counted: genai_prices.Usage) -> float | None:
        try:
            found = genai_prices.calc_price(counted, self.model, provider_id=self.provider)
        except LookupError:
            return None
        return float(found.total_price)


def _by_rate(price: Price, usage: Usage) -> float:
    cached = min(usage.cached_tokens, usage.input_tokens)
    cached_rate = price.input if price.cached is None else price.cached
    dollars = (usage.input_tokens - cached) * price.input + cached * cached_rate
    return (dollars + usage.output_tokens * price.output) / _MILLION
