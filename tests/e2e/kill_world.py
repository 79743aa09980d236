"""The victim's world: the fakes, with a listener at every moment that a kill can be aimed at.

A listener is called in the middle of handling a call, so a kill from it comes at exactly that
moment: what the fake has done by then stands, and its answer reaches nobody.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, calls, text, verdict
from tests.fakes.openai_seen import Seen as Asked
from tests.fakes.telegram_api import FakeTelegram
from tests.fakes.telegram_world import Obj, Person, Refusal

ASK = re.compile(
    r"ask (?P<number>\d+) with (?P<tools>\d+) calls(?P<slow>, slowly)?(?P<file>, and a file)?"
    r"(?P<joining>, joining in)?"
)
REACH = re.compile(r"reach (?P<goal>g\d+) in (?P<turns>\d+) turns")
STEP = re.compile(r"goal (?P<goal>g\d+) step (?P<step>\d+)")
SLOW_S = 0.8
"""How long a slow call takes: enough for a progress message."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that a fake sees, named `method comes` before and `method done` after it is
    handled; a model's are `main asks`, `judge asks` and `… answered`."""

    what: str
    detail: Mapping[str, object] = field(default_factory=dict)
    result: object = None


Listener = Callable[[Moment], bool]
"""True when the call is to be taken as never arrived."""


def nobody(_: Moment) -> bool:
    """Listens to nothing."""
    return False


class AimedTelegram(FakeTelegram):
    """A fake Bot API that tells of each call before and after it is handled."""

    def __init__(self) -> None:
        super().__init__()
        self.listener: Listener = nobody
        self.readers: dict[int, Callable[[str], None]] = {}
        """Who reads along in which chat: each text that the bot posts or edits in."""

    async def _handle(self, method: str, params: Obj) -> object:
        if self.listener(Moment(f"{method} comes", params)):
            raise Refusal("the caller is dead", 500)
        result = await super()._handle(method, params)
        self.listener(Moment(f"{method} done", params, result))
        if method in {"sendMessage", "editMessageText"}:
            self.readers.get(int(params["chat_id"]), str)(str(params["text"]))
        return result

    @property
    def unconfirmed(self) -> tuple[int, ...]:
        """The updates that would be delivered again."""
        return tuple(int(update["update_id"]) for update in self.world.updates)


class AimedModels:
    """The models, which answer from what they are asked alone, and tell of each question.

    A main model is asked in one of two ways. `ask N with K calls` is answered by K commands, one
    after the other, that each add a line to the ledger, then by `answer N`, and `file N` before it
    when a file is wanted; one that joins in is answered along with what is still open. `reach gN
    in T turns` takes a command and `goal gN step S` a turn; the judge is content with step T.
    """

    def __init__(self, fake: FakeOpenAI) -> None:
        self.listener: Listener = nobody
        self.asked: deque[Asked] = deque(maxlen=8)
        """What the main model was asked last."""
        self._fake = fake
        self._serial = 0
        fake.default("main", self._main)
        fake.default("judge", self._judge)

    def _main(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        answer = self._reply_to(asked.messages())
        return self._heard("main", asked, answer)

    def _judge(self, asked: Asked) -> Answer:
        evidence = asked.said()
        wanted = REACH.search(evidence)
        answer = STEP.search(evidence.split("AGENT'S ANSWER")[-1])
        step = int(answer["step"]) if answer else 0
        name = wanted["goal"] if wanted else "?"
        missing = int(wanted["turns"]) - step if wanted else 0
        reason = (
            f"steps of {name} are missing after {step}"
            if missing > 0
            else f"all steps of {name} are there"
        )
        return self._heard("judge", asked, verdict(done=missing <= 0, reason=reason))

    def _heard(self, who: str, asked: Asked, answer: Answer) -> Answer:
        detail = {"said": asked.said(), "final": not answer.calls, "answer": answer.text}
        self.listener(Moment(f"{who} asks", detail))
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: self.listener(Moment(f"{who} answered", detail)))
        return answer

    def _reply_to(self, messages: list[dict[str, object]]) -> Answer:
        last = max(i for i, m in enumerate(messages) if m["role"] == "user")
        done = sum(m["role"] == "tool" for m in messages[last:])
        wanted = str(messages[last]["content"])
        if ask := ASK.search(wanted):
            number, tools = ask["number"], int(ask["tools"])
            if done < tools:
                return self._call(f"ask-{number}.{done}", slow=bool(ask["slow"]) and done == 0)
            if ask["file"] and done == tools:
                return calls(("send_file", {"path": "ledger", "caption": f"file {number}"}))
            together = _open_asks(messages) if ask["joining"] else [number]
            return text(" ".join(f"answer {n}" for n in together))
        if reach := REACH.search(wanted):
            step = 1 + sum(_is_step(m, reach["goal"]) for m in messages)
            if not done:
                return self._call(f"{reach['goal']}.{step}", slow=False)
            return text(f"goal {reach['goal']} step {step}")
        return text("what?")

    def _call(self, key: str, *, slow: bool) -> Answer:
        self._serial += 1
        command = f"echo {key} {self._serial} >> ledger"
        if slow:
            command += f"; echo {key} > bell; sleep {SLOW_S}"
        return calls(("run", {"command": command}))


def _open_asks(messages: list[dict[str, object]]) -> list[str]:
    """The questions since the last answer."""
    ends = [
        i for i, m in enumerate(messages) if m["role"] == "assistant" and not m.get("tool_calls")
    ]
    since = messages[max(ends, default=-1) + 1 :]
    said = (str(m["content"]) for m in since if m["role"] == "user")
    return [ask["number"] for text in said if (ask := ASK.search(text))]


def _is_step(message: Mapping[str, object], goal: str) -> bool:
    found = STEP.search(str(message.get("content")))
    return message["role"] == "assistant" and found is not None and found["goal"] == goal


def settings_for(people: FakeTelegram, models: FakeOpenAI, *owners: Person) -> dict[str, object]:
    """Settings, as a file would hold them, of a program that lives in this world."""
    return {
        "providers": {"fake": {"base_url": models.base_url, "api_key": "test", "stall_s": 60}},
        "models": {
            "main": {"provider": "fake", "model": "main", "context_tokens": 1_000_000},
            "judge": {"provider": "fake", "model": "judge"},
        },
        "logs": {"level": "warning"},
        "agent": {"model": "main", "toolsets": ["terminal", "send"]},
        "auxiliary": {
            "goal_judge": {"model": "judge", "timeout_s": 60},
            "compaction": {"model": "main"},
        },
        "access": {"telegram": {"owners": [person.id for person in owners]}},
        "platforms": {
            "telegram": {
                "enabled": True,
                "token": people.token,
                "base_url": people.base_url,
                "base_file_url": people.base_file_url,
            }
        },
    }
