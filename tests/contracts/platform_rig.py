"""What a chat platform's rig offers to the contract suite: people, mishaps, and what is seen.

A rig is the platform's fake, the real adapter connected to it over real sockets, and an intake
that keeps what comes in. The suite (`test_platform_*.py`) knows nothing else of a platform. To
put a platform under it, write `tests/contracts/<platform>_rig.py` with

    class DiscordRig(PlatformRig): ...      # override what the platform can; see `Can`

    @asynccontextmanager
    async def discord(folder: Path) -> AsyncIterator[PlatformRig]: ...   # opened and connected

    RIGS: Mapping[str, Backend] = {"discord": Backend(discord, TRAITS)}

`platform_backends.py` finds it there. One module may have several ways in (Slack's Socket Mode
and HTTP events): each is a further entry of `RIGS`, and passes the whole suite.

What is common to all methods:

- A place is an `Address` of the core, as the adapter gives and takes it. `home` is Anna's private
  chat, `away` is Bob's; `room()` and `thread()` make further ones. All of the bot's messages in
  one place are what `chat(place)` shows.
- What people do (`say`, `command`, …) returns once the platform has taken it, which is before
  the adapter has it. The suite then waits on the intake: `await rig.intake.got(1)`.
- What is seen (`chat`, `progress`, `mark`) is read without waiting and is what a person in that
  place sees at this moment. `until` waits for it, without polling where the fake allows.
- Mishaps are planned ahead: each meets the next call of its kind in that place, and only there.
- Waits are bounded and fail with what was seen instead.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum, auto
from pathlib import Path
from typing import NoReturn, Protocol, TypeAlias, TypeVar

from core.errors import TransientError
from core.messages import Address, Inbound, Message, Outbound, Press, RemoteId
from core.ports import Platform
from core.splitting import Size
from tests.fakes.intake import FakeIntake

WITHIN_S = 10.0

T = TypeVar("T")


class Person(StrEnum):
    """Who acts. The rig gives each an id, a name and the private chats `home` and `away`."""

    ANNA = "anna"
    BOB = "bob"


class Can(StrEnum):
    """What not every platform can. A rig lists what its platform can; a test that needs more
    is not made for it. Anything that is not here, every platform must do."""

    PRESS = auto()
    """Buttons are pressed: `press`, `toast`. (All others show the command that one stands for.)"""
    KEEP = auto()
    """A button stays where it is: it may be pressed again, and in the next life."""
    TOAST = auto()
    """The answer to a press shows the ack's text to who pressed and to nobody else: `toast`."""
    REPLY = auto()
    """People reply to one message of a chat: `reply`."""
    ROOMS = auto()
    """There are places with several people, where the bot has to be addressed: `room`."""
    THREADS = auto()
    """A room has threads or topics, each a lane of its own: `thread`."""
    TWO_CHATS = auto()
    """`away` exists: more than one conversation at the same time."""
    UPLOAD = auto()
    """People send files: `upload`."""
    ALTER = auto()
    """People change what they wrote: `alter`."""
    RETELL = auto()
    """The platform may deliver the same thing twice: `retell`."""
    GARBLE = auto()
    """The platform may deliver what nobody can read: `garble`."""
    WAIT = auto()
    """What people write while nobody listens is delivered later: to the next adapter too."""
    CUT = auto()
    """The connection for receiving can break: `cut_off`, `let_in`."""
    NOTICE = auto()
    """A connection that is cut off shows in the adapter's `health`."""
    LIMIT = auto()
    """The platform answers "too many" with a time to wait: `limit`."""
    LOSE = auto()
    """An answer to a call can get lost after the call has had its effect: `lose_answer`."""
    FAIL = auto()
    """A call can fail for certain, by a refusal to this one chat: `close_chat`."""
    REFUSE_MARKUP = auto()
    """Formatted text can be refused where plain text is taken: `refuse_markup`."""
    EDIT = auto()
    """An edit changes the message where it stands, as `Seen.edits` counts."""
    PROGRESS = auto()
    """Progress is seen: `progress`."""
    MARK = auto()
    """What became of a person's message is seen beside it: `mark`, `refuse_marks`."""
    PING = auto()
    """Words of a message may notify people: `Traits.pinging`, `Seen.pings`."""
    SAVE_LATE = auto()
    """A thing that could not be saved is handed over again without the person's doing."""
    BE_REFUSED = auto()
    """The text of a `Refused` ack is told in the chat, where `chat` shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What the suite has to know of a platform beforehand.

    `most` is the length of the longest message as `size` counts it, 0 for no limit. `pinging` is
    a text that would notify people if it went out as it is (`@everyone <@1>`), "" where none
    can. `press_within_s` is how soon the platform wants a press answered.
    """

    can: frozenset[Can]
    most: int
    size: Size = len
    pinging: str = ""
    press_within_s: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One message of the bot as it is shown now.

    `text` is what is read: escapes are undone; markup may stand in it where the platform itself
    renders that, and a message sent as verbatim text shows exactly its text.
    `buttons` are labels from left to right. `file` is a file's name with its `content`, "" and
    b"" for a message without; its caption is `text`. `edits` counts changes of the text or the
    buttons. `reply_to` is the message it answers, "" for none. `formatted` tells that it was
    posted as formatted text; `pings` says whom it notified.
    """

    remote: RemoteId
    text: str
    buttons: tuple[str, ...] = ()
    file: str = ""
    content: bytes = b""
    edits: int = 0
    reply_to: str = ""
    formatted: bool = False
    pings: tuple[str, ...] = ()


class PlatformRig(Protocol):
    """One platform under test. Subclass it; override what the platform `Can`."""

    traits: Traits
    platform: Platform
    """The adapter of this life; another one after `start`."""
    intake: FakeIntake
    """The same in every life, as the inbox and its cursors are."""
    home: Address
    away: Address

    # The adapter's life

    @abstractmethod
    async def start(self) -> None:
        """Build a new adapter and run it; returns when it is connected and has caught up.

        A platform that brings its backlog after that (a browser) is waited for by the test.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Cancel the adapter's `run` and wait for its end; nothing when it is not running."""

    # What people do

    @abstractmethod
    async def say(
        self, place: Address, text: str, *, who: Person = Person.ANNA, addressed: bool = True
    ) -> RemoteId:
        """Write a message; returns its id, which is `Message.remote`.

        In a room the rig addresses the bot as people do there (a mention, unless the text is
        a command or the place a thread the bot is in), and the adapter must take that out
        again: the decoded text is `text`. With `addressed` false it does not.
        """

    @abstractmethod
    async def command(self, place: Address, line: str, *, who: Person = Person.ANNA) -> None:
        """Give a command the platform's native way: a slash command, an interaction, a typed
        line. `line` is what the core shall get: `/goal write tests`."""

    async def reply(
        self, place: Address, remote: RemoteId, text: str, *, who: Person = Person.ANNA
    ) -> RemoteId:
        """Write a message as a reply to another one, without naming the bot; returns its id."""
        self._lacks(Can.REPLY)

    async def press(
        self, place: Address, remote: RemoteId, label: str, *, who: Person = Person.ANNA
    ) -> str:
        """Press the button with that label on the bot's message; a name for `toast`."""
        self._lacks(Can.PRESS)

    async def toast(self, press: str) -> str:
        """Returns when the press was answered, at the latest after `Traits.press_within_s`
        (else it raises): the text that the answer shows, "" for none."""
        self._lacks(Can.PRESS)

    async def alter(self, place: Address, remote: RemoteId, text: str) -> None:
        """A person changes their own earlier message."""
        self._lacks(Can.ALTER)

    async def upload(
        self,
        place: Address,
        name: str,
        content: bytes,
        *,
        caption: str = "",
        who: Person = Person.ANNA,
    ) -> RemoteId:
        """Send a file with a caption."""
        self._lacks(Can.UPLOAD)

    async def room(self) -> Address:
        """A new room with Anna, Bob and the bot: a group, a channel."""
        self._lacks(Can.ROOMS)

    async def thread(self, room: Address) -> Address:
        """A new thread or topic in that room, in which the bot takes part (where the platform
        tells): its address has the room's chat and a thread, or is a chat of its own."""
        self._lacks(Can.THREADS)

    # Mishaps

    async def retell(self) -> None:
        """The platform delivers the newest thing that a person did once more, as it does when
        it has not seen our acknowledgement: the same ids all over."""
        self._lacks(Can.RETELL)

    async def garble(self) -> None:
        """The platform delivers an event that cannot be decoded: of the right kind, but with
        fields missing or of the wrong type."""
        self._lacks(Can.GARBLE)

    async def cut_off(self) -> None:
        """Cut the connections for receiving and accept no new ones until `let_in`. What people
        do meanwhile is delivered after it. Calls that send may fail or go through."""
        self._lacks(Can.CUT)

    async def let_in(self) -> None:
        """End `cut_off`; returns at once."""
        self._lacks(Can.CUT)

    async def limit(self, place: Address, seconds: int, *, times: int = 1) -> None:
        """Answer the next `times` text messages to that place with "too many, come back after
        `seconds`"; nothing of them is shown."""
        self._lacks(Can.LIMIT)

    async def lose_answer(self, place: Address) -> None:
        """The next text message to that place is shown, but the connection breaks before its
        answer."""
        self._lacks(Can.LOSE)

    async def close_chat(self, place: Address) -> None:
        """Refuse everything that is posted there from now on: blocked, deleted, archived."""
        self._lacks(Can.FAIL)

    async def refuse_markup(self, place: Address) -> None:
        """Refuse the next formatted post to that place as malformed."""
        self._lacks(Can.REFUSE_MARKUP)

    async def refuse_marks(self, place: Address) -> None:
        """Refuse reactions and typing there from now on."""
        self._lacks(Can.MARK)

    # What is seen

    @abstractmethod
    def chat(self, place: Address) -> Sequence[Seen]:
        """The bot's messages in that place and no other, in the order a person reads them.

        Progress messages are among them where the platform shows progress as a message.
        """

    def progress(self, place: Address) -> str:
        """The text of the newest progress shown there (message, draft, live line), "" for
        none."""
        self._lacks(Can.PROGRESS)

    def mark(self, place: Address, remote: RemoteId) -> str:
        """What a person's message is marked with now, as any text; "" for nothing."""
        self._lacks(Can.MARK)

    @abstractmethod
    async def until(self, predicate: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
        """The predicate's first true value, asked anew whenever something changes on the
        platform. Raises AssertionError with what was seen when it takes longer."""

    def _lacks(self, what: Can) -> NoReturn:
        raise AssertionError(f"{type(self).__name__} does not declare {what!r}")


OpenRig: TypeAlias = Callable[[Path], AbstractAsyncContextManager[PlatformRig]]
"""Opens a rig with an empty folder of its own: started, connected, caught up. Closing it stops
the adapter and the fake, and fails if the adapter ended with an error of its own."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A rig as the suite lists it; `traits` are those that the opened rig has."""

    open: OpenRig
    traits: Traits


# What the suite does over and over


async def deliver(
    rig: PlatformRig, place: Address, *what: Outbound, within_s: float = WITHIN_S
) -> list[RemoteId]:
    """Send as the outbox does: in order, and again after what failed for certain."""
    async with asyncio.timeout(within_s):
        return [await _delivered(rig, place, each) for each in what]


async def _delivered(rig: PlatformRig, place: Address, what: Outbound) -> RemoteId:
    while True:
        try:
            return (await rig.platform.send(place, what)).remote
        except TransientError as error:
            if error.doubtful:
                raise
            await asyncio.sleep(error.retry_after or 0.05)


async def shown(rig: PlatformRig, place: Address, count: int) -> list[Seen]:
    """The bot's messages there, once there are `count`."""

    def enough() -> list[Seen] | None:
        seen = list(rig.chat(place))
        return seen if len(seen) >= count else None

    return await rig.until(enough)


async def eventually(claim: Callable[[], bool], within_s: float = WITHIN_S) -> None:
    """Wait for what tells nobody when it changes, such as an adapter's health."""
    async with asyncio.timeout(within_s):
        while not claim():  # noqa: ASYNC110 - there is nothing to wait on
            await asyncio.sleep(0.02)


def heard(rig: PlatformRig) -> list[str]:
    """What people said and pressed, as the intake keeps it."""
    return [words(inbound) for inbound in rig.intake.accepted]


def words(inbound: Inbound) -> str:
    """The text of a message, the command of a press."""
    match inbound:
        case Message():
            return inbound.text
        case Press():
            return inbound.command
        case _:
            return ""
