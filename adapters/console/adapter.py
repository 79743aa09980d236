"""The console as a platform: one person, one lane, the process's own terminal or pipes.

It hands over what was typed and prints what the outbox brings. It keeps nothing on disk but the
typing history and the files it is sent: what a dead terminal did not show stays in the outbox.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from adapters.console.clean import clean
from adapters.console.conversation import ADDRESS, Conversation
from adapters.console.encode import (
    MOST,
    decision,
    file_note,
    is_goal_status,
    parts,
    shown,
    untold,
)
from adapters.console.files import fetch, keep
from adapters.console.front import Front
from adapters.console.stdio import let_go
from core.errors import TransientError
from core.messages import (
    Address,
    Attachment,
    Outbound,
    PlatformName,
    RemoteId,
    Say,
    Sender,
    SendFile,
)
from core.ports import Clock, Health, Intake, Mark, Sent
from core.splitting import Room

LEAVING = "What is running goes on when Pursuit is started again."

_OPEN_S = 5.0
_REMEMBERED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleOptions:
    """What the console is told once.

    `address` is the one conversation, which differs by the folder that it is about. `run_id`
    differs at every start of the process. `files` is the folder for files that the bot
    makes, `history` the file of what was typed (None keeps none), `model` and `workspace` are
    texts for the first screen, `user` is the person's display name.
    """

    run_id: str
    files: Path
    address: Address = ADDRESS
    history: Path | None = None
    model: str = ""
    workspace: str = ""
    user: str = ""


class ConsolePlatform:
    """One conversation through a front.

    `idle` returns when the console's lane has nothing left to do (no turn, no waiting message,
    no goal that goes on by itself) and everything was delivered.
    """

    name = PlatformName.CONSOLE
    repeats_s = 0.0

    def __init__(
        self,
        options: ConsoleOptions,
        *,
        front: Front,
        clock: Clock,
        idle: Callable[[], Awaitable[None]],
    ) -> None:
        self._options = options
        self._front = front
        self._clock = clock
        self._idle = idle
        self._talk = Conversation(
            front,
            clock,
            idle,
            address=options.address,
            run_id=options.run_id,
            sender=Sender("local", options.user),
        )
        self._open = asyncio.Event()
        self._running = False
        self._busy = False
        self._said = 0
        self._printed: OrderedDict[RemoteId, Say] = OrderedDict()
        self._decision = ""

    async def run(self, intake: Intake) -> None:
        """Talk until the person leaves, or the input has ended and the lane is idle.

        Unlike other platforms it returns then: the program is meant to end with it.
        """
        intake.caught_up(self.name)
        try:
            await self._front.greet()
        except OSError:
            # Nobody is there to talk to, which is the same as having left.
            return
        self._open.set()
        self._running = True
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._watch(), name="console-busy")
                await self._front.run(lambda heard: self._talk.hear(intake, heard))
                watch.cancel()
        finally:
            self._running = False
            let_go()
        if self._busy and self._front.interactive:  # lines end when nothing is left to do
            await self._front.note(LEAVING)

    def health(self) -> Health:
        """A terminal is open or it is not; a silent person is no fault."""
        detail = "the terminal chat is open" if self._running else "the terminal chat is closed"
        return Health(ok=self._running, silent_s=0.0, detail=detail)

    def parts(self, text: str) -> tuple[Outbound, ...]:
        """One message of any length."""
        return parts(text)

    @property
    def room(self) -> Room:
        """More than anybody reads before they decide."""
        return Room(MOST)

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """Print a message. Raises TransientError, never doubtful, when nobody can read it."""
        if address != self._options.address:
            raise TransientError("That is another folder's chat, which is not open here.")
        match what:
            case Say():
                said = shown(what)
                said = replace(said, text=untold(said.text, self._decision))
            case SendFile():
                path = await asyncio.to_thread(keep, what, self._options.files)
                said = file_note(what.caption, str(path))
            case _:
                assert_never(what)
        if said.text:  # a confirmation says no more than the decision, which is there by now
            await self._print(said)
        self._said += 1
        remote = RemoteId(f"{self._options.run_id}:{self._said}")
        if is_goal_status(said):
            self._talk.pin(remote, None)  # what was pinned may say otherwise until it is edited
        if not self._talk.is_about(said.reply_to):  # a reminder leaves its card's buttons alone
            self._talk.offer(remote, said.buttons)
        self._remember(remote, said)
        return Sent(remote, self._clock.now())

    async def edit(self, address: Address, remote: RemoteId, what: Say) -> None:
        """Show a new text for a message, whose place in the scrollback cannot be changed.

        A goal's status goes into the live lines, of a question that is decided one line is
        printed; anything else is printed as a message.
        """
        if address != self._options.address:
            return
        said, before = shown(what), self._printed.get(remote)
        if is_goal_status(said):
            self._talk.pin(remote, said)
        elif before is not None and is_goal_status(before):
            # The goal is over, and a message of its own has said so: its line goes away. The
            # entry stays what it was, so that a late edit is known for a status as well.
            self._talk.pin(remote, None)
            return
        elif line := decision(before, said):
            if line != self._decision:  # its card and each reminder are edited; once is enough
                await self._print(Say(line))
            self._decision = line
            self._talk.withdraw(remote)
        elif before is None or said.text != before.text:
            await self._print(said)
            self._talk.offer(remote, said.buttons)
        self._remember(remote, said)

    async def show_progress(
        self, address: Address, turn: int, remote: RemoteId | None, text: str
    ) -> RemoteId | None:
        """Show what a turn does beside the spinner; it leaves no message."""
        if address != self._options.address:
            return None
        await self._front.progress(turn, clean(text))
        self._talk.stirred.set()
        return None

    async def acknowledge(self, address: Address, remote: RemoteId, state: Mark) -> None:
        """Turn the spinner on while a message is worked on."""
        if address != self._options.address:
            return
        match state:
            case Mark.WORKING:
                self._front.busy(working=True)
                self._talk.stirred.set()
            case Mark.DONE | Mark.FAILED:
                await self._front.progress(0, "")
                self._talk.stirred.set()
            case Mark.SEEN:
                pass
            case _:
                assert_never(state)

    async def download(self, attachment: Attachment, to: Path) -> None:
        """Copy a file that the person named."""
        await asyncio.to_thread(fetch, attachment, to)

    async def _watch(self) -> None:
        """Keep the spinner on for as long as the lane is not idle."""
        while True:
            self._talk.stirred.clear()
            self._busy = True
            self._front.busy(working=True)
            await self._idle()
            self._busy = False
            self._front.busy(working=False)
            await self._talk.stirred.wait()

    async def _print(self, said: Say) -> None:
        try:
            async with asyncio.timeout(_OPEN_S):
                await self._open.wait()
        except TimeoutError as error:
            raise TransientError("The terminal chat is not open yet.") from error
        say = self._front.say_status if is_goal_status(said) else self._front.say
        try:
            await say(said)
        except OSError as error:
            raise TransientError(f"The terminal did not take it: {error}.") from error

    def _remember(self, remote: RemoteId, said: Say) -> None:
        self._printed[remote] = said
        self._printed.move_to_end(remote)
        if len(self._printed) > _REMEMBERED:
            self._printed.popitem(last=False)
