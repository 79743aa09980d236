"""A program for tests and for trying by hand: the console on a gateway that echoes.

Run `python -m tests.fakes.console_driver FOLDER`. What it accepted is appended to
FOLDER/accepted.jsonl. Words: `slow` works until it is stopped, `children` shows two at work,
`rich` shows Markdown, `evil` sends escape sequences, `card` asks with buttons, `ask` by the card
of a question, `file` sends one, `print` prints behind the console's back, `/goal …` plays a goal
of two turns.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import sys
import time
from pathlib import Path

from adapters.console.adapter import ConsoleOptions
from adapters.console.conversation import ADDRESS
from adapters.console.entry import open_console
from core.errors import TransientError
from core.messages import Button, Message, Outbound, Say, SendFile
from core.ports import Mark, Platform
from core.splitting import Room
from tests.fakes.cards import card_of
from tests.fakes.console_intake import WorkingIntake, text_of
from tests.fakes.escalated import command

COMMANDS = (
    ("goal", "Set a goal, or steer the one there is"),
    ("subgoal", "Add criteria to the goal"),
    ("stop", "Stop the running turn"),
    ("new", "Start a new session"),
    ("help", "List the commands"),
)
RICH = """# A heading

Some **bold** text, `code`, a [link](https://example.org/a) and a list:

- one
- two

```python
def double(n: int) -> int:
    return 2 * n
```

| a | b |
|---|---|
| 1 | 2 |
"""
EVIL = "before\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m\u202eback\x00 after"
CONTROLS = (Button("Pause", "/goal pause"), Button("Stop", "/stop"))


class SystemClock:
    """Real time."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


async def deliver(platform: Platform, what: Outbound) -> None:
    """Send as the outbox does: what could not be shown stays, and its lane is not idle."""
    while True:
        try:
            await platform.send(ADDRESS, what)
        except TransientError:
            await asyncio.sleep(0.2)
        else:
            return


async def work(platform: Platform, message: Message) -> None:
    """One turn."""
    await platform.acknowledge(ADDRESS, message.remote, Mark.WORKING)
    text = message.text
    if text.startswith("/goal "):
        await play_goal(platform, text.removeprefix("/goal "))
    elif text == "slow":
        await platform.show_progress(ADDRESS, 1, None, "💻 sleep 1000")
        await asyncio.Event().wait()
    elif text == "children":
        for second in range(3):
            lines = (f"  {name}: step 1 · {second}s · thinking" for name in "ab")
            board = "\n".join(["👥 2 of 2 children at work", *lines])
            await platform.show_progress(ADDRESS, 1, None, board)
            await asyncio.sleep(1.0)
        await deliver(platform, answer(text))
    elif text == "print":
        sys.stdout.write("a library prints this\n")
        sys.stderr.write("and complains here\n")
    else:
        await platform.show_progress(ADDRESS, 1, None, f"🔍 reading\n💻 echo {text[:20]} (0.1s)")
        await deliver(platform, answer(text))
    await platform.acknowledge(ADDRESS, message.remote, Mark.DONE)


def answer(text: str) -> Outbound:
    """What the driver says to a word."""
    match text:
        case "rich":
            return Say(RICH, markdown=True)
        case "evil":
            return Say(EVIL, markdown=True)
        case "card":
            choices = (Button("Approve", "/approve E1"), Button("Deny", "/deny E1"))
            return Say("May I run `make deploy`?", buttons=choices)
        case "ask":
            return card_of(command(), Room(20_000))
        case "file":
            return SendFile("../notes.txt", "Your notes.", content="note\n")
        case _:
            return Say(f"echo: {text}")


async def play_goal(platform: Platform, goal: str) -> None:
    """Two turns of a goal, as its messages look."""
    await deliver(platform, Say(f"⊙ Goal set (20-turn budget): {goal}"))
    status = f"⊙ Goal (active, {{}}/20 turns): {goal}"
    remote = (await platform.send(ADDRESS, Say(status.format(0), buttons=CONTROLS))).remote
    for turn in (1, 2):
        for step in ("📄 write note.txt (0.0s)", "💻 pytest -q (0.4s)"):
            await platform.show_progress(ADDRESS, turn, None, step)
            await asyncio.sleep(1.0)
        await deliver(platform, Say(f"I wrote note {turn}.", markdown=True))
        await deliver(platform, Say(f"↻ Continuing toward goal ({turn}/20): more to do"))
        await platform.edit(ADDRESS, remote, Say(status.format(turn), buttons=CONTROLS))
    await deliver(platform, Say("✓ Goal achieved: both notes are there"))
    await platform.edit(ADDRESS, remote, Say(f"✓ {goal}"))


async def stopped(platform: Platform, message: Message) -> None:
    """The answer to `/stop`."""
    await deliver(platform, Say("⏹ Stopped. Goal paused; 0 waiting messages dropped."))


async def main(folder: Path) -> None:
    """Serve until the person leaves."""
    intake = WorkingIntake(work, stopped)
    options = ConsoleOptions(
        run_id="r1",
        files=folder / "files",
        history=folder / "history",
        model="qwen2.5-coder-1.5b (local)",
        workspace=str(folder / "workspace"),
    )
    clock = SystemClock()
    console = open_console(options, commands=COMMANDS, clock=clock, idle=intake.idle)
    try:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(intake.serve(console))
            running = group.create_task(console.run(intake))
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
            await asyncio.wait({running})
            serving.cancel()
    finally:
        record = folder / "accepted.jsonl"
        numbered = zip(itertools.count(1), intake.accepted, strict=False)
        lines = [json.dumps([n, v.dedupe, text_of(v)]) for n, v in numbered]
        record.write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
