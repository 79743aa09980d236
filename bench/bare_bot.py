"""The baseline: the same libraries in one process with nothing round them.

It long-polls, asks the model with a streamed chat completion and sends the text; asked for a
delegation it makes the calls of one, one after the other. It keeps no conversation, writes no
file, survives nothing.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable
from typing import cast

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam
from telegram import Bot, Update
from telegram.request import HTTPXRequest

from bench.tasks import Message, bare_calls

POOL = 256


async def answer(bot: Bot, client: AsyncOpenAI, update: Update) -> None:
    """One turn."""
    message = update.message
    if message is None or message.text is None:
        return
    text = ""
    for model, messages in bare_calls(message.text):
        text = await said(client, model, messages)
    await bot.send_message(message.chat.id, text)


async def said(client: AsyncOpenAI, model: str, messages: list[Message]) -> str:
    """The text of one model call."""
    given = cast("Iterable[ChatCompletionMessageParam]", messages)
    stream = await client.chat.completions.create(model=model, messages=given, stream=True)
    text = ""
    async for chunk in stream:
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    return text


async def main(token: str, base_url: str, model_url: str) -> None:
    """Poll for ever."""
    client = AsyncOpenAI(base_url=model_url, api_key="test")
    request = HTTPXRequest(connection_pool_size=POOL)
    async with Bot(token, base_url=base_url, request=request) as bot, asyncio.TaskGroup() as turns:
        offset: int | None = None
        while True:
            updates = await bot.get_updates(
                offset=offset, limit=100, timeout=30, allowed_updates=["message"]
            )
            for update in updates:
                offset = update.update_id + 1
                turns.create_task(answer(bot, client, update))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A bot with nothing round its libraries.")
    parser.add_argument("--token", required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model-url", required=True)
    given = parser.parse_args()
    asyncio.run(main(given.token, given.base_url, given.model_url))
