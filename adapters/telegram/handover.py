"""Hands received updates to the intake, and tells Telegram what became of them.

Shared by polling and webhook. It never drops an update that can be read, and steps over one
that cannot: Telegram would deliver it for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from telegram import Update
from telegram.error import TelegramError

from adapters.telegram.decode import Me, decode
from adapters.telegram.encode import cut
from adapters.telegram.link import Link
from core.messages import Ack, Handled, Inbound, Message, Moved, Press, Refused
from core.ports import Clock, Intake
from core.transcript import Json

TOAST_UNITS = 200
SAVING = "saving…"

log = logging.getLogger(__name__)

Tell: TypeAlias = Callable[[Message | Press, str], Coroutine[None, None, None]]
"""Tells a person why theirs did not count, if possible them alone; best effort."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Updates in their order; `queries` holds each value's callback query, "" for none.

    `last` is the highest update id. `told` collects the queries that have had their one answer.
    """

    inbounds: tuple[Inbound, ...]
    queries: tuple[str, ...]
    ignored: tuple[str, ...]
    last: int | None
    read_at: float
    told: set[str] = field(default_factory=set)


class Handover:
    """One per connection; its tasks (answers to presses) live in the caller's group."""

    def __init__(  # noqa: PLR0913 - wiring, all keyword-only
        self,
        *,
        link: Link,
        intake: Intake,
        me: Me,
        tell: Tell,
        clock: Clock,
        saving_s: float,
        group: asyncio.TaskGroup,
    ) -> None:
        self._link = link
        self._intake = intake
        self._me = me
        self._tell = tell
        self._clock = clock
        self._saving_s = saving_s
        self._group = group
        self.malformed = 0
        """Updates stepped over since the start."""

    def read(self, raw: Sequence[Json]) -> Batch:
        """Decode each update by itself; a malformed one is counted, logged and left out."""
        inbounds: list[Inbound] = []
        queries: list[str] = []
        ignored: list[str] = []
        ids = [u["update_id"] for u in raw if isinstance(u, dict) and "update_id" in u]
        for item in raw:
            try:
                update = Update.de_json(item, None)  # type: ignore[arg-type]
                inbound = decode(update, self._me)
            except Exception as err:  # noqa: BLE001 - a receive loop: no update may stop the rest
                self._step_over(item, err)
                ignored.extend(_query_of(item))
                continue
            query = update.callback_query.id if update.callback_query else ""
            if inbound is not None:
                inbounds.append(inbound)
                queries.append(query)
            elif query:
                ignored.append(query)
            elif update.my_chat_member is not None:
                change = update.my_chat_member
                log.info("now %s in chat %s", change.new_chat_member.status, change.chat.id)
        last = max((i for i in ids if isinstance(i, int)), default=None)
        now = self._clock.monotonic()
        return Batch(tuple(inbounds), tuple(queries), tuple(ignored), last, now)

    async def commit(self, batch: Batch, cursor: tuple[str, str] | None) -> None:
        """Save the batch, then answer its presses. Raises TransientError when it is not saved."""
        late = self._spawn(self._say_saving(batch), "saving") if any(batch.queries) else None
        try:
            acks = await self._intake.accept(batch.inbounds, cursor=cursor)
        finally:
            if late is not None:
                late.cancel()
        for query in batch.ignored:
            self._answer(batch, query, "")
        for inbound, query, ack in zip(batch.inbounds, batch.queries, acks, strict=True):
            self._report(batch, inbound, query, ack)

    def _report(self, batch: Batch, inbound: Inbound, query: str, ack: Ack) -> None:
        refusal = ack.text if isinstance(ack, Refused) else ""
        match inbound:
            case Press():
                if query not in batch.told:
                    self._answer(batch, query, _toast(ack), alert=bool(refusal))
                elif refusal:  # the toast is spent on "saving…", so it needs a message
                    self._spawn(self._tell(inbound, refusal), "refusal")
            case Message():
                if refusal:
                    self._spawn(self._tell(inbound, refusal), "refusal")
            case Moved():
                pass

    async def _say_saving(self, batch: Batch) -> None:
        await asyncio.sleep(batch.read_at + self._saving_s - self._clock.monotonic())
        for query in filter(None, batch.queries):
            self._answer(batch, query, SAVING)

    def _answer(self, batch: Batch, query: str, text: str, *, alert: bool = False) -> None:
        if query not in batch.told:  # Telegram takes one answer
            batch.told.add(query)
            told = self._answer_query(query, cut(text, TOAST_UNITS), alert=alert)
            self._spawn(told, f"answer-{query}")

    async def _answer_query(self, query: str, text: str, *, alert: bool) -> None:
        """End the waiting that the person sees; an alert stays until they have read it."""
        try:
            async with self._link.bot() as bot:
                await bot.answer_callback_query(query, text=text or None, show_alert=alert)
        except TelegramError as err:
            log.debug("a press was not answered: %s", type(err).__name__)

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        return self._group.create_task(work, name=f"telegram-{name}")

    def _step_over(self, item: Json, err: Exception) -> None:
        self.malformed += 1
        number = item.get("update_id") if isinstance(item, dict) else None
        log.warning(
            "stepping over update %s, which cannot be read (%s); %d so far",
            number,
            type(err).__name__,
            self.malformed,
        )


def _query_of(item: Json) -> tuple[str, ...]:
    """The press in an update that cannot be read, as far as there is one to be answered."""
    query = item.get("callback_query") if isinstance(item, dict) else None
    number = query.get("id") if isinstance(query, dict) else None
    return (number,) if isinstance(number, str) else ()


def _toast(ack: Ack) -> str:
    return ack.text if isinstance(ack, Handled | Refused) else ""
