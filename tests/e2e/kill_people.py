"""People who keep the bot busy: each in a chat of their own, each remembering what they said.

They act on what they read alone, so a slow or dying bot slows them down and nothing else.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_world import Person

REPEAT = "(may be a repeat) "
ANSWERS = re.compile(r"answer \d+(?: answer \d+)*")
ACHIEVED = re.compile(r"✓ Goal achieved: all steps of (g\d+) are there")
STOPPED = re.compile(
    r"⏹ Stopped\. (?:Goal paused; )?(\d+) waiting messages dropped\."
    r"(?: E[E0-9, and]+ taken back\.)?"
)
NOTHING = "Nothing is running here."

TOGETHER = "|, joining in"
SLOWLY, WITH_FILE, JOINING = "|, slowly", "|, and a file", "/steer |, joining in"


def answers(text: str) -> list[int]:
    """The questions that a text answers."""
    whole = ANSWERS.fullmatch(text.removeprefix(REPEAT))
    return [int(number) for number in re.findall(r"\d+", whole[0])] if whole else []


@dataclass(slots=True)
class Chat:
    """What was said in a chat, by number, and what has been read there."""

    people: FakeTelegram
    person: Person
    rng: random.Random
    said: list[str] = field(default_factory=list)
    """All that the person wrote, in order."""
    answered: set[int] = field(default_factory=set)
    achieved: set[str] = field(default_factory=set)
    replies: int = 0
    """Answers to /stop."""
    read: int = 0
    ending: bool = False
    """Begin nothing new."""
    ended: bool = False
    """The person has had all they wanted."""
    _count: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, text: str) -> None:
        """The bot has posted this, or edited it in."""
        text = text.removeprefix(REPEAT)
        self.read += 1
        self.answered.update(answers(text))
        if achieved := ACHIEVED.fullmatch(text):
            self.achieved.add(achieved[1])
        elif STOPPED.fullmatch(text) or text == NOTHING:
            self.replies += 1
        self._news.set()

    def say(self, text: str) -> None:
        """Write."""
        self.said.append(text)
        self.people.say(text, user=self.person)

    def ask(self, how: str = "", *, calls: int | None = None) -> int:
        """Ask the next numbered question; `how` is what stands before and behind it."""
        self._count += 1
        number = self.person.id * 1000 + self._count
        calls = self.rng.choice((0, 1, 1, 2)) if calls is None else calls
        before, _, behind = how.partition("|")
        self.say(f"{before}ask {number} with {calls} calls{behind}")
        return number

    def goal(self, turns: int) -> str:
        """Set a goal; its name."""
        self._count += 1
        name = f"g{self.person.id * 1000 + self._count}"
        self.say(f"/goal reach {name} in {turns} turns")
        return name

    async def until(self, holds: Callable[[], bool]) -> None:
        """Read on until something is so."""
        while not holds():
            self._news.clear()
            await self._news.wait()

    async def all_of(self, asked: Sequence[int]) -> None:
        """Read on until all these questions are answered."""
        await self.until(lambda: self.answered.issuperset(asked))

    async def news(self) -> None:
        """Wait for the next text."""
        before = self.read
        await self.until(lambda: self.read > before)


async def talk(chat: Chat) -> None:
    """Ask and ask, up to three questions ahead of the answers; now and then in a new session."""
    asked: list[int] = []
    while not chat.ending:
        await chat.until(lambda: sum(n not in chat.answered for n in asked) < 3)
        asked.append(chat.ask(chat.rng.choice(("", "", "", SLOWLY, SLOWLY, WITH_FILE))))
        if chat.rng.random() < 0.05:
            chat.say("/new")
    await chat.all_of(asked)


async def pursue(chat: Chat) -> None:
    """Set a goal after the other; speak in between, pause and resume, let it rest."""
    while not chat.ending:
        await _pursue(chat, chat.goal(turns=chat.rng.choice((2, 3))))


async def press_on(chat: Chat) -> None:
    """Ask without waiting for the answer, which may then be one for several questions."""
    asked: list[int] = []
    while not chat.ending:
        await chat.until(lambda: sum(n not in chat.answered for n in asked) < 3)
        asked.append(chat.ask(chat.rng.choice((TOGETHER, SLOWLY + TOGETHER[1:]))))
    await chat.all_of(asked)


async def _pursue(chat: Chat, name: str) -> None:
    asked: list[int] = []
    while name not in chat.achieved:
        await chat.news()
        chance = chat.rng.random()
        if chance < 0.06:
            asked.append(chat.ask(TOGETHER))
        elif chance < 0.12:
            chat.say("/goal pause")
            await chat.news()
            chat.say("/goal resume")
        elif chance < 0.2:
            chat.say("/goal wait 1s")
    await chat.all_of(asked)


async def join(chat: Chat) -> None:
    """Ask, and ask more while the answer is being worked on: the turn reads it as it goes."""
    asked: list[int] = []
    while not chat.ending:
        asked.append(chat.ask(SLOWLY, calls=2))
        if chat.rng.random() < 0.5:
            await chat.news()
        asked += [chat.ask(JOINING, calls=chat.rng.choice((0, 1))) for _ in range(2)]
        await chat.all_of(asked)


async def interrupt(chat: Chat) -> None:
    """Ask, say /stop in the middle of it, and ask again; at times with a goal at work."""
    stops = 0
    while not chat.ending:
        if chat.rng.random() < 0.3:
            chat.goal(turns=9)
            await chat.news()
        chat.ask(SLOWLY, calls=1)
        chat.ask()
        if chat.rng.random() < 0.7:
            await chat.news()
        chat.say("/stop")
        stops += 1
        await _stopped(chat, stops, chat.ask(calls=1))
        chat.say("/goal clear")
        await chat.news()


async def _stopped(chat: Chat, stops: int, last: int) -> None:
    await chat.until(lambda: last in chat.answered and chat.replies >= stops)
