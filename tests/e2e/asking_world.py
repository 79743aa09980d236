"""The world of a program that asks people: models that want leave, a choice, or a child's word.

The models answer from what they are asked alone, so that any life of the program may go on where
another was killed. Each command adds a line to the ledger: what ran is counted there.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from core.transcript import Json
from tests.e2e.kill_stage import Stage
from tests.e2e.kill_victim import victim
from tests.e2e.kill_world import AimedModels, AimedTelegram, settings_for
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Answer, calls, text
from tests.fakes.openai_seen import Seen
from tests.fakes.telegram_world import Person

WANTED = re.compile(r"(?P<what>push|twice|choose|check|mend|look) (?P<number>\d+)")
REACH = re.compile(r"reach (?P<goal>g\d+) in (?P<turns>\d+) turns")
GONE_ON = "[What came of the call "
SLOW_S = 0.4
"""How long a command that was approved runs."""
CHILDREN = frozenset({"check", "mend", "look"})
"""Work that goes to a child: one asks a person, one the overseer, one for leave to a command."""


def push(key: str) -> Answer:
    """The model runs a command that needs leave: it counts itself, rings, and takes a while."""
    return calls(("run", {"command": command_of(key)}))


def command_of(key: str) -> str:
    """A command that adds its key to the ledger first."""
    return f"echo {key} >> ledger; echo {key} > bell; sleep {SLOW_S}; git push --force origin main"


class AskingModels(AimedModels):
    """The models of the program that asks; each tells of each question, as `<role> asks`."""

    def __init__(self, fake: FakeOpenAI) -> None:
        super().__init__(fake)
        fake.default("checker", self._child)
        fake.default("overseer", self._overseer)

    def _reply_to(self, messages: list[dict[str, object]]) -> Answer:
        last = max(i for i, m in enumerate(messages) if m["role"] == "user")
        asked = str(messages[last]["content"])
        if asked.startswith(GONE_ON):
            return self._gone_on(asked)
        done = sum(m["role"] == "tool" for m in messages[last:])
        if wanted := WANTED.search(asked):
            return self._work(wanted["what"], wanted["number"], done)
        if (reach := REACH.search(asked)) and not done:
            self._serial += 1
            return push(f"{reach['goal']}.{self._serial}")
        return super()._reply_to(messages)

    def _gone_on(self, asked: str) -> Answer:
        self._serial += 1
        return text(f"gone on {self._serial}: {' '.join(asked.split())[:120]}")

    def _work(self, what: str, number: str, done: int) -> Answer:
        self._serial += 1
        key = f"{what}-{number}.{self._serial}"
        if done:
            return text(f"answer {number}")
        if what == "push":
            return push(key)
        if what == "twice":
            command = command_of(f"{what}-{number}b.{self._serial}")
            return Answer(calls=(*push(key).calls, *calls(("run", {"command": command})).calls))
        if what == "choose":
            options = ["red", "blue"]
            return calls(("ask", {"question": "Which?", "kind": "choose", "options": options}))
        task = f"{what} {number}"
        return calls(("delegate_task", {"goal": f"Do {task}", "branch_table": _table(what)}))

    def _child(self, seen: Seen) -> Answer:
        said = "\n".join(str(m["content"]) for m in seen.messages() if m["role"] == "user")
        wanted = WANTED.search(said)
        assert wanted is not None, said
        done = sum(m["role"] == "tool" for m in seen.messages())
        return self._heard("checker", seen, self._step(wanted, said, seen.said(), done))

    def _step(self, wanted: re.Match[str], said: str, last: str, done: int) -> Answer:
        self._serial += 1
        what, key = wanted["what"], f"{wanted['what']}-{wanted['number']}.{self._serial}"
        if not done:
            command = command_of(key) if what == "look" else f"echo {key} >> ledger; echo seen"
            return calls(("run", {"command": command}))
        if what == "mend" and "patched" not in said:
            return _report("__default__", last)
        if what == "check" and "below v2" not in said:
            return _report("gone", last)
        return _report("there", last)

    def _overseer(self, seen: Seen) -> Answer:
        word = {"reason": "", "decision": "resolve", "branch": "there", "summary": "It moved."}
        return self._heard("overseer", seen, text(json.dumps(word)))


def _table(what: str) -> Json:
    prompt = f"Where is it now ({what})?"
    ask: Json = {"action": "escalate", "tier": "human", "prompt": prompt}
    return {
        "conditions": [
            {"id": "gone", "condition": "It answers 404", "branch": ask},
            {"id": "there", "condition": "It is there", "branch": {"action": "report"}},
        ],
        "default": {"action": "escalate", "tier": "overseer"},
    }


def _report(branch: str, last: str) -> Answer:
    """The child's word, with a quote of its last call where there is one."""
    quoted = re.match(r"\[(\S+)\]\n", last)
    evidence = [{"tool_call_id": quoted[1], "excerpt": last.split("\n")[1][:40]}] if quoted else []
    said = {"branch": branch, "confidence": "high", "observed": "I looked", "checks": []}
    return calls(("report_branch", {**said, "evidence": evidence}))


def asking_settings(people: AimedTelegram, fake: FakeOpenAI, *owners: Person) -> dict[str, object]:
    """Settings, as a file would hold them, of a program that may ask."""
    base = settings_for(people, fake, *owners)
    models = base["models"]
    assert isinstance(models, dict)
    others = {
        "checker": {"provider": "fake", "model": "checker", "tier": 3},
        "overseer": {"provider": "fake", "model": "overseer", "tier": 1},
    }
    toolsets = ["terminal", "send", "ask", "delegation"]
    return base | {
        "models": {**models, **others},
        "agent": {"model": "main", "toolsets": toolsets},
        "delegation": {"escalation_model": "overseer"},
    }


@asynccontextmanager
async def asking_stage(
    folder: Path, *owners: Person, changes: Mapping[str, object] | None = None
) -> AsyncIterator[Stage]:
    """A stage for these people; nothing of it is left at the end."""
    async with AimedTelegram() as people, FakeOpenAI(keep=8) as fake:
        people.unsupported.add("sendmessagedraft")
        settings = asking_settings(people, fake, *owners) | dict(changes or {})
        data = folder / "data"
        async with victim(folder, data, settings) as bot:
            yield Stage(people, AskingModels(fake), bot, data, settings)
