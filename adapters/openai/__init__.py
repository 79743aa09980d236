"""Models behind any OpenAI-compatible endpoint.

`Provider` owns the connections to one endpoint, `OpenAIModel` is one model of it behind the
`Model` port. Nothing else in the tree imports the SDK, which takes most of a second to load.
"""

from __future__ import annotations

from adapters.openai.model import OpenAIModel
from adapters.openai.options import ApiMode, ModelOptions, Price, ProviderOptions
from adapters.openai.provider import Provider

__all__ = ["ApiMode", "ModelOptions", "OpenAIModel", "Price", "Provider", "ProviderOptions"]
