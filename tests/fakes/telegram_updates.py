"""How updates reach the bot: long polling with confirmation by offset, or a webhook.

One poller at a time: a second one ends the first with 409, as the Bot API does. A webhook gets
one update after another, each until it is answered with a 2xx.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable

import aiohttp

from tests.fakes.telegram_world import Obj, Refusal, World

OTHER_POLLER = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is "
    "running"
)
HOOKED = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete "
    "the webhook first"
)
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
LONGEST_HOLD_S = 50.0


class UpdateQueue:
    """The delivery of a world's updates."""

    def __init__(self, world: World, on_change: Callable[[], None]) -> None:
        self.hook_retry_s = 0.02
        """The pause before an update is POSTed again."""
        self.hook: Obj = {}
        """setWebhook's parameters, empty while polling."""
        self.hook_answers: list[int] = []
        """The webhook's HTTP statuses, in order."""
        self.offsets: list[int | None] = []
        """The offset of every poll."""
        self.allowed: list[str] = []
        """The last allowed_updates."""
        self._world = world
        self._on_change = on_change
        self._arrived = asyncio.Event()
        self._poll: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to watch for a webhook."""
        self._task = asyncio.create_task(self._deliver(), name="fake-telegram-webhook")

    async def stop(self) -> None:
        """End polls and deliveries."""
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(None)
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def wake(self) -> None:
        """Something was queued."""
        self._arrived.set()

    async def handle(self, name: str, params: Obj) -> object:
        """getUpdates and the webhook's methods."""
        match name:
            case "getupdates":
                return await self._updates(params)
            case "setwebhook":
                return self._set(params)
            case "deletewebhook":
                return self._unset(params)
            case "getwebhookinfo":
                pending = len(self._world.updates)
                info = {"url": self.hook.get("url", ""), "pending_update_count": pending}
                return info | {"has_custom_certificate": False}
            case _:
                raise Refusal("Not Found", 404)

    async def _updates(self, params: Obj) -> list[Obj]:
        if self.hook:
            raise Refusal(HOOKED, 409)
        if self._poll is not None and not self._poll.done():
            self._poll.set_exception(Refusal(OTHER_POLLER, 409))
        offset = params.get("offset")
        self.offsets.append(offset)
        self.allowed = params.get("allowed_updates") or self.allowed
        self._forget(offset)
        self._on_change()
        hold_s = min(float(params.get("timeout") or 0), LONGEST_HOLD_S)
        if not self._due() and hold_s:
            await self._hold(hold_s)
        limit = int(params.get("limit") or 100)
        again, self._world.again = self._world.again, []
        return (again + list(self._world.updates))[:limit]

    async def _hold(self, seconds: float) -> None:
        mine = self._poll = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        timer = loop.call_later(seconds, _end, mine)
        try:
            while not self._due() and not mine.done():
                self._arrived.clear()
                arrival = asyncio.create_task(self._arrived.wait(), name="fake-telegram-arrival")
                await asyncio.wait({arrival, mine}, return_when=asyncio.FIRST_COMPLETED)
                arrival.cancel()
            if mine.done():
                mine.result()
        finally:
            timer.cancel()
            if not mine.done():
                mine.set_result(None)

    def _due(self) -> bool:
        return bool(self._world.updates or self._world.again)

    def _forget(self, offset: int | None) -> None:
        updates = self._world.updates
        if offset is None:
            return
        if offset < 0:
            while len(updates) > -offset:
                updates.popleft()
            return
        kept = [update for update in updates if update["update_id"] >= offset]
        if len(kept) != len(updates):
            updates.clear()
            updates.extend(kept)

    def _set(self, params: Obj) -> bool:
        url = str(params.get("url") or "")
        if not url.startswith(("https://", "http://127.0.0.1:")):  # loopback is for tests
            raise Refusal("Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        self.hook = params
        self.allowed = params.get("allowed_updates") or self.allowed
        self.wake()
        return True

    def _unset(self, params: Obj) -> bool:
        self.hook = {}
        if str(params.get("drop_pending_updates")).lower() == "true":
            self._world.updates.clear()
        return True

    async def _deliver(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                while self.hook and self._due():
                    await self._deliver_one(session)

    async def _deliver_one(self, session: aiohttp.ClientSession) -> None:
        again = self._world.again
        update = again[0] if again else self._world.updates[0]
        headers = {"Content-Type": "application/json"}
        if secret := self.hook.get("secret_token"):
            headers[SECRET_HEADER] = str(secret)
        try:
            async with session.post(
                self.hook["url"], data=json.dumps(update), headers=headers
            ) as response:
                status = response.status
        except aiohttp.ClientError:
            status = 0
        self.hook_answers.append(status)
        if not 200 <= status < 300:
            self._on_change()
            await asyncio.sleep(self.hook_retry_s)
        elif again:
            again.pop(0)
        else:
            self._world.updates.popleft()
        self._on_change()


def _end(hold: asyncio.Future[None]) -> None:
    if not hold.done():
        hold.set_result(None)
