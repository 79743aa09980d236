"""People on all platforms who keep the bot busy, each in a chat of their own with a goal at work,
and what must hold of each chat when all is over.

They act on what they read alone, so a slow or dying bot slows them down and nothing else.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from tests.e2e.together_towns import ALL, Town
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, text, verdict
from tests.fakes.openai_seen import Seen

REPEAT = "(may be a repeat) "
ASK = re.compile(r"ask (\d+)$")
ANSWER = re.compile(r"answer (\d+)(?:, .*)?")
REACH = re.compile(r"reach (?P<goal>g\d+) in (?P<turns>\d+) turns")
STEP = re.compile(r"goal (?P<goal>g\d+) step (?P<step>\d+)")
AT = re.compile(r"(?P<goal>g\d+) (?:step|at) (?P<step>\d+)")
"""How far an answer says that a goal is."""
ACHIEVED = "✓ Goal achieved: all steps of {} are there"
THINKING_S = 0.3
"""How long the model thinks about a goal's step."""
TURNS = (3, 4)
LOOK_S = 0.1
LATEST = 200
"""So many messages are looked at for news; six threads may share them."""


@dataclass(slots=True)
class Resident:
    """Someone in a chat; `number` tells their words from everybody else's."""

    town: Town
    chat: int
    number: int
    rng: random.Random
    asked: list[int] = field(default_factory=list)
    goals: list[tuple[str, int]] = field(default_factory=list)
    answered: int = 0
    ending: bool = False
    """Begin nothing new."""
    ended: bool = False
    """They have had all they wanted."""
    _count: int = 0

    async def live(self) -> None:
        """Set goal after goal, and ask in between, at times twice in one breath."""
        while not self.ending:
            await self._pursue(await self._goal())
        self.ended = True

    async def _pursue(self, goal: str) -> None:
        while not self._achieved(goal):
            step = self._step()
            if not self.ending:
                await self._talk()
            # Whoever talks without end keeps the goal from going on.
            await self._until(partial(self._went_on, goal, step))

    def _went_on(self, goal: str, step: str) -> bool:
        return self._step() != step or self._achieved(goal)

    def texts(self, latest: int = LATEST) -> list[str]:
        """What the chat shows, marks of repeats left out."""
        return [_bare(shown) for shown in self.town.shown(self.chat, latest)]

    async def _goal(self) -> str:
        self._count += 1
        name, turns = f"g{self.number * 1000 + self._count}", self.rng.choice(TURNS)
        self.goals.append((name, turns))
        await self.town.say(self.chat, f"/goal reach {name} in {turns} turns")
        return name

    async def _talk(self) -> None:
        for _ in range(self.rng.choice((1, 1, 2))):
            self._count += 1
            self.asked.append(self.number * 1000 + self._count)
            await self.town.say(self.chat, f"ask {self.asked[-1]}")
        last = f"answer {self.asked[-1]}"
        await self._until(lambda: last in self.texts())
        self.answered += 1

    def _step(self) -> str:
        """The step that was told last."""
        return next((text for text in reversed(self.texts()) if STEP.fullmatch(text)), "")

    def _achieved(self, goal: str) -> bool:
        return ACHIEVED.format(goal) in self.texts()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():  # noqa: ASYNC110 - four fakes and a browser have no common bell
            await asyncio.sleep(LOOK_S)

    def complaints(self, in_flight: Collection[str]) -> list[str]:
        """What is wrong with the chat: lost, doubled, out of order, or of another chat.

        `in_flight` are the texts whose sending a kill had cut: those alone may come marked.
        """
        shown = self.town.shown(self.chat)
        plain = Counter(_bare(each) for each in shown if not each.startswith(REPEAT))
        marked = Counter(_bare(each) for each in shown if each.startswith(REPEAT))
        found = [f"lost: {each}" for each in self._wanted() if not plain[each] + marked[each]]
        kept = {each for each in plain | marked if _counts(each)}
        found += [f"doubled: {each}" for each in kept if plain[each] > 1]
        unasked = marked.keys() - {_bare(each) for each in in_flight}
        found += [f"marked without need: {each}" for each in unasked]
        found += [f"of another chat: {each}" for each in kept if not self._is_ours(each)]
        return found + self._disorder()

    def _wanted(self) -> list[str]:
        """What the chat must show."""
        steps = [f"goal {name} step {n + 1}" for name, turns in self.goals for n in range(turns)]
        achieved = [ACHIEVED.format(name) for name, _ in self.goals]
        return [*(f"answer {number}" for number in self.asked), *steps, *achieved]

    def _disorder(self) -> list[str]:
        """What came in another order than it was asked for, by the first copy of each."""
        first = list(dict.fromkeys(self.texts(ALL)))
        found = []
        numbers = [int(answer[1]) for each in first if (answer := ANSWER.fullmatch(each))]
        if any(a > b for a, b in pairwise(numbers)):
            found.append(f"answers out of order: {numbers}")
        steps = [(m["goal"], int(m["step"])) for each in first if (m := STEP.fullmatch(each))]
        if steps != [(name, n + 1) for name, _ in self.goals for n in range(_last(steps, name))]:
            found.append(f"steps out of order: {steps}")
        return found

    def _is_ours(self, said: str) -> bool:
        return all(int(n) // 1000 == self.number for n in re.findall(r"\d{6,}", said))


def _bare(shown: str) -> str:
    """A text without its mark, an answer without how far the goal was."""
    text = shown.removeprefix(REPEAT)
    answer = ANSWER.fullmatch(text)
    return f"answer {answer[1]}" if answer else text


def _counts(said: str) -> bool:
    return bool(
        ANSWER.fullmatch(said) or STEP.fullmatch(said) or said.startswith("✓ Goal achieved")
    )


def _last(steps: list[tuple[str, int]], name: str) -> int:
    return max((step for goal, step in steps if goal == name), default=0)


def teach(fake: FakeOpenAI) -> None:
    """Let the models answer from what they are asked alone: `answer N` to `ask N`, with how far
    the goal is, a goal's next step to anything else; the judge is content with the last step."""
    fake.default("main", _main)
    fake.default("judge", _judge)


def _main(asked: Seen) -> Answer:
    words = [str(message.get("content")) for message in asked.messages()]
    steps = [step for text in words if (step := STEP.fullmatch(text))]
    if question := ASK.search(words[-1]):
        at = f", {steps[-1]['goal']} at {steps[-1]['step']}" if steps else ""
        return text(f"answer {question[1]}{at}")
    if reach := REACH.search(words[-1]):
        done = [int(step["step"]) for step in steps if step["goal"] == reach["goal"]]
        following = max(done, default=0) + 1
        return text(f"goal {reach['goal']} step {following}", delay_s=THINKING_S)
    return text("what?")


def _judge(asked: Seen) -> Answer:
    evidence = asked.said()
    wanted, at = REACH.search(evidence), AT.search(evidence.split("AGENT'S ANSWER")[-1])
    name = wanted["goal"] if wanted else "?"
    if wanted and at and at["goal"] == name and int(at["step"]) >= int(wanted["turns"]):
        return verdict(done=True, reason=f"all steps of {name} are there")
    return verdict(done=False, reason=f"steps of {name} are missing")
