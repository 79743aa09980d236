"""Many calls to one endpoint at once: each has its connection, and a rush leaves few behind."""

from __future__ import annotations

import asyncio

from adapters.openai.model import OpenAIModel
from adapters.openai.options import ModelOptions, ProviderOptions
from adapters.openai.provider import Provider
from core.ports import Reply, Request
from core.transcript import User
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import text

CALLS = 100
ASK = Request(system="", tools=(), messages=(User("hello"),))


async def test_a_hundred_calls_are_in_flight_at_once_and_all_are_answered() -> None:
    async with FakeOpenAI() as fake:
        fake.default("main", text("hi", gate="g"))
        provider = Provider(ProviderOptions(name="fake", base_url=fake.base_url))
        model = OpenAIModel(ModelOptions(name="main", model="main"), provider)
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(model.complete(ASK)) for _ in range(CALLS)]
            await fake.wait_for_requests(CALLS)
            assert fake.running == CALLS
            fake.open("g")
        replies = [task.result() for task in running]
        assert all(isinstance(reply, Reply) and reply.text == "hi" for reply in replies)
        assert isinstance(await model.complete(ASK), Reply)
        await provider.close()
