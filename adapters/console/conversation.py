"""What the person says, handed to the gateway in order. It prints remarks, never answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import assert_never

from adapters.console.clean import clean
from adapters.console.decode import (
    MAX_TEXT_BYTES,
    Attach,
    Empty,
    Mistake,
    Quit,
    Words,
    decode,
)
from adapters.console.encode import is_decision, readable_size
from adapters.console.files import attachment
from adapters.console.front import Front, Heard, Interrupted, Oversized, Typed
from core.errors import PursuitError, TransientError, UserError
from core.escalations import token
from core.messages import (
    Ack,
    Address,
    Attachment,
    Button,
    Duplicate,
    Handled,
    Inbound,
    Message,
    PlatformName,
    Press,
    Queued,
    Refused,
    RemoteId,
    Say,
    Sender,
)
from core.ports import Clock, Intake

ADDRESS = Address(PlatformName.CONSOLE, "local", "main")

_RETRY_S = 0.5
_LONGEST_RETRY_S = 5.0
_NEARLY_FULL = 90


class Conversation:
    """Speaks at `address`; numbers what it hears with `run_id`, which differs at every start.

    `stirred` is set whenever the lane may have got something to do.
    """

    def __init__(
        self,
        front: Front,
        clock: Clock,
        idle: Callable[[], Awaitable[None]],
        *,
        address: Address,
        run_id: str,
        sender: Sender,
    ) -> None:
        self.stirred = asyncio.Event()
        self._front = front
        self._clock = clock
        self._idle = idle
        self._address = address
        self._run_id = run_id
        self._sender = sender
        self._heard = 0
        self._remote = RemoteId("")
        self._offered = 0.0
        self._buttons: tuple[Button, ...] = ()
        self._status: tuple[RemoteId, Say] | None = None

    def offer(self, remote: RemoteId, buttons: tuple[Button, ...]) -> None:
        """The last message's buttons, which a number may press until something else is said."""
        self._remote, self._buttons = remote, buttons
        self._offered = self._clock.monotonic()
        self._show_status()

    def is_about(self, remote: RemoteId) -> bool:
        """Whether that is the message whose buttons a number may press now."""
        return bool(self._buttons) and remote == self._remote

    def withdraw(self, remote: RemoteId) -> None:
        """That message has no buttons any more."""
        if remote == self._remote:
            self.offer(RemoteId(""), ())

    def pin(self, remote: RemoteId, status: Say | None) -> None:
        """Keep the goal's status in sight. Its buttons may be pressed by number for as long as
        no newer message offers its own; None takes it away."""
        self._status = None if status is None else (remote, status)
        if remote == self._remote:  # what it offered when it was printed may be out of date
            self._remote, self._buttons = RemoteId(""), ()
        if status is None:
            self._front.pin(None)
        self._show_status()

    def _show_status(self) -> None:
        if self._status is not None:
            # Numbers that now mean another message's buttons are not shown.
            status = self._status[1]
            self._front.pin(replace(status, buttons=()) if self._buttons else status)

    async def hear(self, intake: Intake, heard: Heard) -> bool:
        """Hand over what was heard; False when the person leaves."""
        match heard:
            case Typed():
                return await self._typed(intake, heard)
            case Interrupted():
                await self._accept(intake, self._message("/stop"))
            case Oversized():
                await self._front.note(_too_long(heard.size))
            case _:
                assert_never(heard)
        return True

    async def _typed(self, intake: Intake, typed: Typed) -> bool:
        size = len(typed.text.encode("utf-8", "replace"))
        if size > MAX_TEXT_BYTES:
            return await self.hear(intake, Oversized(size))
        match order := decode(typed.text):
            case Quit():
                return False
            case Empty():
                pass
            case Mistake():
                await self._front.note(order.text)
            case Attach():
                await self._attach(intake, order)
            case Words():
                await self._say(intake, order.text, typed.begun)
            case _:
                assert_never(order)
        return True

    async def _say(self, intake: Intake, text: str, begun: float) -> None:
        chosen = self._chosen(text, begun)
        if chosen is None:
            await self._accept(intake, self._message(text))
            return
        remote, button = chosen
        await self._front.note(f"→ {button.label}")
        press = self._press(remote, button)
        if not token.is_ours(button.command):
            await self._accept(intake, press)
            return
        # The card's own edit takes its buttons away: until then they may be pressed again.
        for ack in await self._handed_over(intake, press):
            await self._acked(ack)
            # A decision is printed by the card's edit; all else that came of it is told here.
            if isinstance(ack, Handled) and ack.text and not is_decision(ack.text):
                await self._front.note(clean(ack.text))

    async def _attach(self, intake: Intake, order: Attach) -> None:
        try:
            found = await asyncio.to_thread(attachment, order.path)
        except UserError as error:
            await self._front.note(clean(str(error)))
            return
        await self._accept(intake, self._message(order.text, found))

    def _message(self, text: str, *attachments: Attachment) -> Message:
        key = self._next_key()
        return Message(
            address=self._address,
            dedupe=key,
            sender=self._sender,
            text=text,
            remote=RemoteId(key),
            sent_at=self._clock.now(),
            attachments=attachments,
        )

    def _press(self, remote: RemoteId, button: Button) -> Press:
        return Press(
            address=self._address,
            dedupe=self._next_key(),
            sender=self._sender,
            command=button.command,
            remote=remote,
            sent_at=self._clock.now(),
        )

    def _chosen(self, text: str, begun: float) -> tuple[RemoteId, Button] | None:
        """The button that a number alone stands for, and its message. What was begun before the
        buttons were there meant something else."""
        if not (self._front.interactive and text.isascii() and text.isdigit() and len(text) < 3):
            return None
        number = int(text)
        if self._buttons and begun < self._offered:
            return None
        remote, buttons = self._remote, self._buttons
        if not buttons and self._status is not None:
            remote, buttons = self._status[0], self._status[1].buttons
        return (remote, buttons[number - 1]) if 1 <= number <= len(buttons) else None

    def _next_key(self) -> str:
        self._heard += 1
        return f"console:{self._run_id}:{self._heard}"

    async def _accept(self, intake: Intake, value: Inbound) -> None:
        self.offer(RemoteId(""), ())
        for ack in await self._handed_over(intake, value):
            await self._acked(ack)

    async def _handed_over(self, intake: Intake, value: Inbound) -> tuple[Ack, ...]:
        """What became of it; nothing when it could not be taken, which is told."""
        try:
            acks = await self._saved(intake, value)
        except PursuitError as error:
            await self._front.note(clean(str(error)))
            return ()
        self.stirred.set()
        return acks

    async def _saved(self, intake: Intake, value: Inbound) -> tuple[Ack, ...]:
        wait_s = _RETRY_S
        while True:
            try:
                return await intake.accept((value,))
            except TransientError as error:
                if wait_s == _RETRY_S:
                    await self._front.note(f"Not saved yet, trying again: {clean(str(error))}")
                await asyncio.sleep(error.retry_after or wait_s)
                wait_s = min(wait_s * 2, _LONGEST_RETRY_S)

    async def _acked(self, ack: Ack) -> None:
        match ack:
            case Refused():
                await self._front.note(clean(ack.text) or "Not taken.")
            case Queued(behind) if behind > 0:
                await self._front.note(f"queued ({behind} before it)")
                if behind >= _NEARLY_FULL and not self._front.interactive:
                    # A long file of messages must not run into the lane's limit.
                    await self._idle()
            case Queued() | Handled() | Duplicate():
                pass
            case _:
                assert_never(ack)


def _too_long(size: int) -> str:
    return (
        f"That message is too long ({readable_size(size)}). Save it as a file and send it along: "
        "/attach PATH [message]"
    )
