"""Makes the pictures of the docs, and the terminal session in `running.md`, with the real program.

`make pictures` runs it: `pursuit up` and `pursuit agent` as processes of their own, on models that
recite, with Chromium for the person. The commands that are shown really run.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import FilePayload, Page, expect

from tests.e2e.agent_process import PURSUIT, configured, environment
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import calls, text, verdict
from tests.fakes.web_eyes import chromium, looking
from tests.fakes.web_rig import free_port

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
RUNNING = DOCS / "running.md"
LIMIT = 150_000
"""Bytes of a picture."""
TOKEN = "the-token-of-the-pictures"
WIDTH = 900
EMOJI = ("fc-list", ":lang=und-zsye", "family")

READINGS = """\
month,low,high
January,-6.2,7.9
February,-9.4,11.3
March,-3.0,17.6
"""
TABLE = """\
| month | low | high |
|---|---|---|
| January | -6.2 °C | 7.9 °C |
| February | -9.4 °C | 11.3 °C |
| March | -3.0 °C | 17.6 °C |
"""

MEAN = """\
def mean(values: list[float]) -> float:
    return sum(values) / len(values)
"""
MENDED = MEAN.replace("    return", "    if not values:\n        return 0.0\n    return")
TEST = """\
import unittest

from mean import mean


class Mean(unittest.TestCase):
    def test_of_two(self):
        self.assertEqual(mean([1, 3]), 2)

    def test_of_none(self):
        self.assertEqual(mean([]), 0)
"""
TASK = "A test fails since yesterday. Mend it."
VERIFY = "python3 -m unittest -q"
PUSH = "git push --force-with-lease origin search"


@dataclass(slots=True)
class Desk:
    """The running chat, its page and who plays the models."""

    page: Page
    models: FakeOpenAI
    site: Path

    async def say(self, words: str) -> None:
        """Type a message and send it."""
        await self.page.fill("#text", words)
        await self.page.keyboard.press("Enter")

    async def hears(self, words: str) -> None:
        """Wait until the words are in the conversation."""
        await expect(self.page.locator("#log")).to_contain_text(words)

    async def begin(self) -> None:
        """Open a chat of its own."""
        await self.page.click("#new")
        await expect(self.page.locator("#log > li")).to_have_count(0)

    async def picture(self, name: str, height: int) -> None:
        """Keep the end of the conversation, at a window's height."""
        await self.page.set_viewport_size({"width": WIDTH, "height": height})
        await self.page.mouse.move(0, 0)
        await expect(self.page.locator("#toast")).to_be_empty()
        await self.page.locator("#scroll").evaluate("it => it.scrollTo(0, it.scrollHeight)")
        file = IMAGES / f"{name}.png"
        await self.page.screenshot(path=file, animations="disabled", caret="hide")
        if (size := file.stat().st_size) > LIMIT:
            raise SystemExit(f"{file} has {size} bytes; {LIMIT} are allowed")


def files(folder: Path, contents: Mapping[str, str]) -> None:
    """Write files into a new folder."""
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")


def repository(folder: Path) -> None:
    """A clone whose branch was rebased, so that it can only be pushed by force."""
    files(folder, {"index.html": "<h1>Parts</h1>\n"})
    for line in (
        "init -q -b main",
        "add .",
        "commit -q -m Begin",
        "init -q --bare origin.git",
        "remote add origin origin.git",
        "checkout -q -b search",
        "commit -q --allow-empty -m Search",
        "push -q origin search",
        "checkout -q main",
        "commit -q --allow-empty -m Prices",
        "checkout -q search",
    ):
        named = ("-c", "user.name=You", "-c", "user.email=you@example.org")
        subprocess.run(["git", *named, *line.split()], cwd=folder, check=True, capture_output=True)
    (folder / ".git" / "info" / "exclude").write_text("origin.git\n", encoding="utf-8")


@asynccontextmanager
async def desk(home: Path) -> AsyncIterator[Desk]:
    """`pursuit up` with the web chat, and a browser that is logged in."""
    port = free_port()
    site = home / "site"
    async with FakeOpenAI(role_of=_role) as models, chromium() as browser:
        config = configured(
            home,
            models,
            gates={"critic": {"model": "critic"}},
            platforms={"web": {"enabled": True, "port": port, "token": TOKEN}},
            workspace={"sandbox": "bwrap", "allow": [str(site), str(home / "stats")]},
            logs={"level": "error"},
        )
        process = await asyncio.create_subprocess_exec(
            *(str(PURSUIT), "up", "--config", str(config), "--data", str(home / "data")),
            env=environment(home),
            stdout=PIPE,
        )
        try:
            await _first_line(process)
            async with looking(browser, Served(f"http://127.0.0.1:{port}")) as eyes:
                yield Desk(eyes.page, models, site)
        finally:
            process.terminate()
            await process.communicate()


@dataclass(slots=True)
class Served:
    """Where the page is, and what it is opened with."""

    base: str
    token: str = TOKEN


async def _first_line(process: Process) -> None:
    """Returns once it has said something: then the page is there."""
    if process.stdout is None or not await process.stdout.readline():
        raise SystemExit("`pursuit up` has ended; what it said is above")


def _role(body: Mapping[str, object]) -> str:
    return str(body.get("model"))


def mends(models: FakeOpenAI, gate: str = "") -> None:
    """What the models say to TASK; the critic speaks once the gate is open."""
    models.script(
        "main",
        text("`mean()` is right as it is."),
        calls(("read_file", {"path": "test_mean.py"})),
        calls(("write_file", {"path": "mean.py", "content": MENDED})),
        text("`mean()` failed for an empty list. It returns 0 now, as the test wants it."),
    )
    told = {"verdict": "APPROVE", "reason": "the tests passed after the change"}
    models.script("critic", text(json.dumps(told), gate=gate))


async def goal(at: Desk) -> None:
    """A goal in its second turn, judged once."""
    at.models.script(
        "main",
        calls(("run", {"command": "cat readings.csv"})),
        calls(("write_file", {"path": "report.md", "content": TABLE})),
        text(f"`report.md` now has the table:\n\n{TABLE}\nThe coldest month comes next."),
        calls(("read_file", {"path": "report.md"})),
        calls(("run", {"command": "sort -t, -k2 -g readings.csv | sed -n 1,2p"})),
        text("February it was.", gate="the end"),
    )
    at.models.script("judge", verdict(done=False, reason="the coldest month is not named yet"))
    at.models.script("judge", verdict(done=True, reason="table and sentence are there"))
    await at.begin()
    await at.page.set_input_files(
        "#pick",
        FilePayload(name="readings.csv", mimeType="text/csv", buffer=READINGS.encode()),
    )
    await expect(at.page.locator("#send")).to_be_enabled()
    await at.say("/goal Turn readings.csv into report.md: a table, and the coldest month in words")
    await at.hears("↻ Continuing toward goal (1/20)")
    await expect(at.page.locator("#steps")).to_contain_text("sort -t")
    await expect(at.page.locator(".message.card")).to_contain_text("1 of 20 turns")
    await at.picture("web-goal", 776)
    at.models.open("the end")
    await at.hears("✓ Goal achieved")


async def asked(at: Desk) -> None:
    """A dangerous command before and after its owner's yes."""
    repository(at.site)
    at.models.script(
        "main",
        calls(("run", {"command": "git rebase main && git log --oneline -3"})),
        calls(("run", {"command": PUSH})),
        text("`search` stands on the newest `main` now, and so it does on the remote."),
    )
    await at.begin()
    await at.say(f"/workspace {at.site}")
    await at.hears("works in")
    await at.say("Rebase my branch search onto main, and push it.")
    await expect(at.page.locator(".asks.open .buttons button")).to_have_count(3)
    await at.picture("web-asked", 740)
    await at.page.locator(".asks.open").get_by_text("Approve", exact=True).click()
    await at.hears("so it does on the remote")
    await at.page.locator("#asked-toggle").click()
    await at.page.locator("#asked summary").click()
    await at.picture("web-decided", 880)


async def gates(at: Desk, folder: Path) -> None:
    """An answer that a failed test has sent back, with the critic at work on the next one."""
    files(folder, {"mean.py": MEAN, "test_mean.py": TEST})
    mends(at.models, gate="critic")
    await at.begin()
    for line, told in (
        (f"/workspace {folder}", "works in"),
        ("/critic on", "The critic is on"),
        (f"/verify add {VERIFY}", "Commands that must succeed"),
    ):
        await at.say(line)
        await at.hears(told)
    await at.say(TASK)
    await expect(at.page.locator("#steps")).to_contain_text(f"✅ {VERIFY} passed")
    await at.picture("web-gate", 594)
    at.models.open("critic")
    await at.hears("as the test wants it")


async def agent(home: Path) -> str:
    """A session with `pursuit agent` in a terminal: what is typed and what comes."""
    folder = home / "terminal"
    files(folder, {"mean.py": MEAN, "test_mean.py": TEST})
    line = ("pursuit", "agent", TASK, "--verify", VERIFY, "--critic")
    async with FakeOpenAI(role_of=_role) as models:
        mends(models)
        configured(home, models, logs={"level": "error"})
        process = await asyncio.create_subprocess_exec(
            *(str(PURSUIT), *line[1:]),
            cwd=folder,
            env={**environment(home), "PURSUIT_HOME": str(home)},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
        )
        out, _ = await process.communicate()
    typed = " ".join(f'"{word}"' if " " in word else word for word in line)
    return f"$ {typed}\n{out.decode()}"


def tell(session: str) -> None:
    """Put a terminal session into its place in the docs."""
    page = RUNNING.read_text(encoding="utf-8")
    before, begin, rest = page.partition("<!-- agent -->\n")
    _, end, after = rest.partition("<!-- /agent -->")
    made = f"{before}{begin}```console\n{session}```\n{end}{after}"
    RUNNING.write_text(made, encoding="utf-8")


def ready() -> None:
    """Ends the program where pictures would show boxes in place of emoji."""
    if not subprocess.run(EMOJI, capture_output=True, check=True).stdout:
        raise SystemExit("There is no font for emoji: apt-get install fonts-noto-color-emoji")


async def main() -> None:
    """All of it, in a folder whose name may stand in a picture."""
    home = Path(tempfile.gettempdir()) / "you"
    home.mkdir(mode=0o700)
    try:
        async with desk(home) as at:
            await goal(at)
            await asked(at)
            await gates(at, home / "stats")
        tell(await agent(home))
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    ready()
    asyncio.run(main())
