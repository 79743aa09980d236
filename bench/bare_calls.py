"""The other baseline: streamed chat completions of the same SDK in a loop, and nothing else.

Reads `CALLS AT_ONCE` a line from standard input and answers each with the seconds it took.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator

from openai import AsyncOpenAI


async def _worker(client: AsyncOpenAI, numbers: Iterator[int]) -> None:
    for _ in numbers:
        stream = await client.chat.completions.create(
            model="main", messages=[{"role": "user", "content": "How far are we?"}], stream=True
        )
        async for _chunk in stream:
            pass


async def _main(model_url: str) -> None:
    client = AsyncOpenAI(base_url=model_url, api_key="test")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while line := await asyncio.to_thread(sys.stdin.readline):
        calls, at_once = map(int, line.split())
        numbers = iter(range(calls))
        started = time.monotonic()
        async with asyncio.TaskGroup() as workers:
            for _ in range(at_once):
                workers.create_task(_worker(client, numbers))
        sys.stdout.write(f"{time.monotonic() - started}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
