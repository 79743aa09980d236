"""The fake Bot API with a stopwatch and people who type, as a process of its own.

`POST /bench/drive` lets people write, each again as soon as their answer has come, and returns
the time of every turn: from the moment getUpdates is answered with the message to the moment the
answering sendMessage has been read. `GET /bench/first` says when the first poll came. Times are
of CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence

from aiohttp import web

from tests.fakes.telegram_api import TOKEN, FakeTelegram
from tests.fakes.telegram_world import Obj, Person

PATIENCE_S = 120.0


class TimedTelegram(FakeTelegram):
    """A fake that notes when each chat's message went out and when its answer came in."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.first_poll = 0.0
        self._handed: dict[int, float] = {}
        self._answers: dict[int, asyncio.Future[float]] = {}

    async def _handle(self, method: str, params: Obj) -> object:
        arrived = time.monotonic()
        name = method.lower()
        if name == "getupdates":
            self.first_poll = self.first_poll or arrived
            updates = await super()._handle(method, params)
            self._note(updates)
            return updates
        if name == "sendmessage":
            answer = self._answers.pop(int(params["chat_id"]), None)
            if answer is not None and not answer.done():
                answer.set_result(arrived)
        return await super()._handle(method, params)

    def _note(self, updates: object) -> None:
        now = time.monotonic()
        for update in updates if isinstance(updates, list) else []:
            self._handed[update["message"]["chat"]["id"]] = now

    async def drive(
        self, chats: Sequence[int], turns: int, text: str, *, at_once: int, gap_s: float
    ) -> Obj:
        """Work `turns` turns, going round the chats with `at_once` of them open at a time."""
        numbers = iter(range(turns))
        took: list[float] = []

        async def typist(first: int) -> None:
            mine = chats[first::at_once]
            for place, _ in enumerate(numbers):
                chat = mine[place % len(mine)]
                answer = self._answers[chat] = asyncio.get_running_loop().create_future()
                self.say(text, user=Person(chat, "Anna"))
                async with asyncio.timeout(PATIENCE_S):
                    took.append(await answer - self._handed[chat])
                if gap_s:
                    await asyncio.sleep(gap_s)

        started = time.monotonic()
        async with asyncio.TaskGroup() as typists:
            for first in range(min(at_once, len(chats), turns)):
                typists.create_task(typist(first))
        return {"seconds": time.monotonic() - started, "took": took}


def _routes(fake: TimedTelegram, app: web.Application) -> None:
    async def drive(request: web.Request) -> web.Response:
        told = await request.json()
        chats = range(told["first"], told["first"] + told["chats"])
        done = await fake.drive(
            chats, told["turns"], told["text"], at_once=told["at_once"], gap_s=told["gap_s"]
        )
        return web.json_response(done)

    async def first(_: web.Request) -> web.Response:
        return web.json_response({"at": fake.first_poll})

    async def forget(_: web.Request) -> web.Response:
        fake.first_poll = 0.0
        return web.json_response({})

    app.router.add_post("/bench/drive", drive)
    app.router.add_get("/bench/first", first)
    app.router.add_post("/bench/forget", forget)


async def _main(token: str) -> None:
    async with TimedTelegram(token) as fake:
        app = web.Application()
        _routes(fake, app)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ready = {
            "token": fake.token,
            "base_url": fake.base_url,
            "base_file_url": fake.base_file_url,
            "control": f"http://127.0.0.1:{runner.addresses[0][1]}/bench",
        }
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A fake Bot API with a stopwatch.")
    parser.add_argument("--token", default=TOKEN)
    asyncio.run(_main(parser.parse_args().token))
