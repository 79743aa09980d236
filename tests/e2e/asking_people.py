"""People who are asked: each presses, replies, types commands, or says something else first."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from tests.e2e.kill_people import REPEAT, Chat
from tests.fakes.telegram_world import Seen

GONE = re.compile(r"gone on (\d+): ")
CARD = re.compile(rf"(?:{re.escape(REPEAT)})?✋ (E\d+)")
PATIENCE_S = 1.0
"""How long a person waits for news before they try again."""


@dataclass(slots=True)
class Asked(Chat):
    """A chat whose person is asked things. `gone` are the turns that an answer began."""

    gone: set[int] = field(default_factory=set)

    def hear(self, text: str) -> None:
        """The bot has posted this, or edited it in."""
        if found := GONE.match(text.removeprefix(REPEAT)):
            self.gone.add(int(found[1]))
        Chat.hear(self, text)

    def cards(self) -> list[Seen]:
        """The cards that still have their buttons or stand unanswered, copies too."""
        shown = self.people.by_bot(self.person.id)
        return [seen for seen in shown if CARD.match(seen.text)]

    def want(self, what: str) -> int:
        """Order numbered work."""
        self._count += 1
        number = self.person.id * 1000 + self._count
        self.say(f"{what} {number}")
        return number

    async def a_while(self) -> None:
        """Wait for the next text, but not for ever."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.news()
        except TimeoutError:
            pass

    def decide(self) -> None:
        """Answer one card, in one of the ways there are."""
        card = self.rng.choice(self.cards())
        found = CARD.match(card.text)
        assert found is not None
        labels = [label for label, _ in card.buttons if label != "Later"]
        if not labels or "below" in card.text or "Where is it now" in card.text:
            return self.say(f"/answer {found[1]} below v2")
        yes = self.rng.random() < 0.7
        if "Approve" in labels:
            self._leave(card, found[1], "Approve" if yes else "Deny")
        elif yes:
            self.people.press(card, self.rng.choice(labels), user=self.person)
        else:
            self.say(f"/answer {found[1]} blue")
        return None

    def _leave(self, card: Seen, id_: str, label: str) -> None:
        way = self.rng.random()
        if way < 0.6:
            self.people.press(card, label, user=self.person)
        elif way < 0.8:
            self.say(f"/{label.lower()} {id_}")
        else:
            reply = "yes" if label == "Approve" else "no"
            self.said.append(reply)
            self.people.say(reply, user=self.person, reply_to=card)

    async def over(self, number: int, gone: int) -> None:
        """Answer whatever is asked until the work has come to its end."""
        while number not in self.answered and len(self.gone) <= gone:
            if self.cards() and self.rng.random() < 0.8:
                self.decide()
            await self.a_while()


async def give_leave(chat: Asked) -> None:
    """Order work that needs leave, and give it or not; now and then talk in between."""
    await _work(chat, ("push", "push", "twice", "choose"))


async def send_children(chat: Asked) -> None:
    """Order work that goes to children, which ask a person, the overseer, or for leave."""
    await _work(chat, ("check", "mend", "look"))


async def _work(chat: Asked, kinds: tuple[str, ...]) -> None:
    while not chat.ending:
        gone = len(chat.gone)
        number = chat.want(chat.rng.choice(kinds))
        if chat.rng.random() < 0.4:
            await chat.until(lambda: bool(chat.cards()) or number in chat.answered)  # noqa: B023
            if chat.cards():
                await chat.all_of([chat.ask(calls=0)])
        await chat.over(number, gone)


async def change_mind(chat: Asked) -> None:
    """Order work, and say /stop when it asks; whatever is asked then is over."""
    stops = 0
    while not chat.ending:
        chat.want(chat.rng.choice(("push", "check", "choose")))
        await chat.a_while()
        if chat.cards() and chat.rng.random() < 0.4:
            chat.decide()
        chat.say("/stop")
        stops += 1
        last = chat.ask(calls=0)
        await chat.until(lambda: last in chat.answered and chat.replies >= stops)  # noqa: B023


async def pursue_asking(chat: Asked) -> None:
    """Set goals whose every turn asks; answer, and say other things in between."""
    while not chat.ending:
        name, spoken = chat.goal(turns=2), list[int]()
        while name not in chat.achieved:
            if chat.cards() and chat.rng.random() < 0.7:
                chat.decide()
            elif chat.rng.random() < 0.1:
                spoken.append(chat.ask(calls=0))
            await chat.a_while()
        await chat.all_of(spoken)
