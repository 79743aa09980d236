"""A model connected to the fake server over the real SDK, with limits short enough for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.openai.model import OpenAIModel
from adapters.openai.options import ModelOptions, ProviderOptions
from adapters.openai.provider import Provider
from core.ports import Model, ModelFailure, Reply, Request, ToolSpec
from core.transcript import Json, User

KEY = "sk-very-secret"
RUN = ToolSpec("run", "Run a command.", {"type": "object", "properties": {"c": {}}})
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"p": {}}})
ASK = Request(system="Be brief.", messages=(User("hi"),), tools=(RUN, READ))
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"done": {"type": "boolean"}},
    "required": ["done"],
}


def at(base_url: str) -> ProviderOptions:
    return ProviderOptions(
        name="fake", base_url=base_url, api_key=KEY, timeout_s=5, stall_s=5, backoff_s=0.001
    )


@asynccontextmanager
async def model_of(
    provider: ProviderOptions, options: ModelOptions | None = None
) -> AsyncIterator[OpenAIModel]:
    owner = Provider(provider)
    try:
        yield OpenAIModel(options or ModelOptions(name="m", model="fake"), owner)
    finally:
        await owner.close()


async def reply(model: Model, request: Request = ASK) -> Reply:
    outcome = await model.complete(request)
    assert isinstance(outcome, Reply), outcome
    return outcome


async def failure(model: Model, request: Request = ASK) -> ModelFailure:
    outcome = await model.complete(request)
    assert isinstance(outcome, ModelFailure), outcome
    assert KEY not in repr(outcome)
    return outcome
