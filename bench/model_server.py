"""The fake OpenAI server with the models of a delegation, as a process of its own.

It answers what `bench.tasks` says and prints its base URL.
"""

from __future__ import annotations

import asyncio
import sys

from bench import tasks
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, calls, text
from tests.fakes.openai_seen import Seen


def _said(words: str | tasks.Call) -> Answer:
    return text(words) if isinstance(words, str) else calls(words)


def _main(seen: Seen) -> Answer:
    return _said(tasks.answer(seen.messages()))


def _child(seen: Seen) -> Answer:
    return _said(tasks.work(seen.messages()))


def _checker(seen: Seen) -> Answer:
    return text(tasks.judge(seen.messages()))


async def serve() -> None:
    """Run until cancelled."""
    async with FakeOpenAI() as fake:
        fake.default("main", _main)
        fake.default("child", _child)
        fake.default("checker", _checker)
        sys.stdout.write(f"{fake.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
