"""Where the kills are aimed, and who carries them out.

An aim is a moment that a fake sees, and how long after it to strike: 0 is in the middle of the
fake's handling, so exactly there; a span sweeps what the program does next by itself, such as a
commit. What a kill really hit is read from the database afterwards.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.kill_autopsy import Autopsy, examine, leftovers, most_tries
from tests.e2e.kill_people import answers
from tests.e2e.kill_victim import Victim
from tests.e2e.kill_world import AimedTelegram, Moment

STRUCK_S = 20.0
GONE_S = 2.0
LATER_S = 0.02
MOST_TRIES = 2
"""No kill while a turn is on its third try: one that is cut there ends as failed, as it should."""


@dataclass(frozen=True, slots=True)
class Aim:
    """A moment to kill at, and a span of seconds after it; `swallow` takes the call that made
    the moment as never arrived. `once` says that a life has one such moment."""

    name: str
    what: str
    fits: Callable[[Moment], bool] = lambda _: True
    span: tuple[float, float] = (0.0, 0.0)
    swallow: bool = False
    once: bool = False


def _bears(words: str) -> Callable[[Moment], bool]:
    return lambda moment: words in str(moment.result)


def _first(moment: Moment) -> bool:
    return "offset" not in moment.detail


def _answers(moment: Moment) -> bool:
    return bool(answers(str(moment.detail.get("text"))))


def _final(moment: Moment) -> bool:
    return bool(moment.detail["final"])


STOP = _bears("/stop")
AIMS = (
    Aim("start: at any point", "start", span=(0.0, 0.25), once=True),
    Aim("start: at the first call", "getMe comes", span=(0.0, 0.02), once=True),
    Aim("start: at the first poll", "getUpdates comes", _first, span=(0.0, 0.04), once=True),
    Aim("accept: handed over, before and in the commit", "updates", span=(0.0, 0.006)),
    Aim("accept: committed, offset not confirmed", "confirm comes", swallow=True),
    Aim("accept: offset confirmed", "confirm comes"),
    Aim("accept: /stop", "updates", STOP, span=(0.001, 0.012)),
    Aim("accept: a goal command", "updates", _bears("/goal"), span=(0.001, 0.012)),
    Aim("model: asked", "main asks"),
    Aim("model: answered, step commit", "main answered", span=(0.0, 0.012)),
    Aim("tool: running", "tool runs", span=(0.0, 0.1)),
    Aim("tool: between calls", "main answered", lambda m: not _final(m), span=(0.01, 0.08)),
    Aim("end_turn: before and in the commit", "main answered", _final, span=(0.0, 0.01)),
    Aim("end_turn: after, send not yet handled", "sendMessage comes", _answers, swallow=True),
    Aim("send: handled, not yet told", "sendMessage done", _answers),
    Aim("send: told, `sent` commit", "sendMessage done", _answers, span=(0.0005, 0.006)),
    Aim("send: an answer edited in", "editMessageText done", _answers),
    Aim("judge: asked", "judge asks"),
    Aim("judge: answered, verdict commit", "judge answered", span=(0.0, 0.012)),
)


TALK = tuple(aim for aim in AIMS if aim.fits is not STOP)
"""The aims at people who never say /stop."""


@dataclass(slots=True)
class Killer:
    """Kills life after life, and keeps what each death was like."""

    victim: Victim
    people: AimedTelegram
    data: Path
    rng: random.Random
    aim: Aim | None = None
    autopsies: list[Autopsy] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    _struck: bool = False

    def listen(self, moment: Moment) -> bool:
        """A `Listener`: kills when the moment is the one that is aimed at."""
        if moment.what == "getUpdates done" and moment.result:
            self.listen(Moment("updates", moment.detail, moment.result))
        if moment.what == "getUpdates comes" and self._confirming(moment):
            return self.listen(Moment("confirm comes", moment.detail))
        aim = self.aim
        if aim is None or self._struck or aim.what != moment.what or not aim.fits(moment):
            return False
        if aim.span[1]:
            delay = self.rng.uniform(*aim.span)
            asyncio.get_running_loop().call_later(delay, self._strike, aim, self.victim.lives)
            return False
        return self._strike(aim, self.victim.lives) and aim.swallow

    def _confirming(self, moment: Moment) -> bool:
        offset = moment.detail.get("offset")
        return isinstance(offset, int) and any(u < offset for u in self.people.unconfirmed)

    def _strike(self, aim: Aim, life: int) -> bool:
        if self.aim is not aim or self._struck or self.victim.lives != life:
            return False
        if most_tries(self.data) > MOST_TRIES:
            if aim.once:
                asyncio.get_running_loop().call_later(LATER_S, self._strike, aim, life)
            return False
        self._struck = True
        self.victim.kill()
        return True

    async def kill(self, aim: Aim) -> None:
        """Start a life, and end it at the aim."""
        self._struck = False
        self.aim = aim
        await self.victim.start()
        self.listen(Moment("start"))
        try:
            async with asyncio.timeout(STRUCK_S):
                status = await self.victim.ended()
        except TimeoutError:
            raise AssertionError(f"no such moment: {aim.name}\n{self.victim.log()}") from None
        finally:
            self.aim = None
        assert status == -9, f"it ended by itself: {status}\n{self.victim.log()}"
        self.kills[aim.name] += 1
        await self.none_left()
        autopsy = await asyncio.to_thread(examine, self.data, self.people.unconfirmed)
        self.autopsies.append(autopsy)
        self.points.update(autopsy.points)

    async def none_left(self) -> None:
        """The commands of a dead program end with it."""
        try:
            async with asyncio.timeout(GONE_S):
                while left := [p for p in leftovers(self.victim.starter) if not p.unborn]:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)  # nobody tells of other processes' ends
        except TimeoutError:
            raise AssertionError(f"still running after the kill: {left}") from None


def plan(rounds: int, rng: random.Random, aims: Collection[Aim]) -> list[Aim]:
    """Each aim so many times, in any order."""
    wanted = [aim for aim in aims for _ in range(rounds)]
    rng.shuffle(wanted)
    return wanted
