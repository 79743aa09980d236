"""An agent of the Agent Client Protocol on the protocol's own SDK, run as a program.

The task it gets is its script: one order a line, such as `say hello` or `crash 3`, headings aside.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn, get_args

from acp import RequestError, run_agent
from acp.helpers import (
    plan_entry,
    start_tool_call,
    update_agent_message_text,
    update_plan,
    update_tool_call,
)
from acp.interfaces import Client
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PermissionOptionKind,
    PromptResponse,
    StopReason,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

STUBBORN = (
    "import signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('ready', flush=True)\n"
    "time.sleep(600)\n"
)
REASONS: tuple[StopReason, ...] = get_args(StopReason)
Update = AgentMessageChunk | AgentPlanUpdate | ToolCallProgress | ToolCallStart
OPTIONS: dict[str, tuple[PermissionOptionKind, ...]] = {
    "once": ("allow_always", "allow_once", "reject_always", "reject_once"),
    "always": ("allow_always", "reject_always"),
}


def give_up(said: str, code: int) -> NoReturn:
    """End at once, whatever else goes on."""
    os.write(2, f"{said}\n".encode())
    os._exit(code)


def leave(name: str, text: str = "") -> None:
    """Write a file into the workspace, for the test to see."""
    Path(name).write_text(text)


def spawn(*words: str) -> subprocess.Popen[bytes]:
    """A child that leaves the session."""
    return subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)


def environments() -> list[str]:
    """Those of all processes that can be seen."""
    return [p.read_bytes().decode() for p in Path("/proc").glob("[0-9]*/environ")]


class ScriptedAgent:
    """Carries out the orders of its task."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.session: str = ""
        self.cancelled = asyncio.Event()
        self.stop: StopReason = "end_turn"

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: object) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: object) -> NewSessionResponse:
        if "LOGGED_OUT" in os.environ:
            raise RequestError.auth_required({"details": "log in first"})
        self.session = f"session in {cwd}"
        return NewSessionResponse(session_id=self.session)

    async def cancel(self, session_id: str, **_: object) -> None:
        leave("cancelled", session_id)
        self.cancelled.set()

    async def prompt(self, prompt: list[TextContentBlock], **more: object) -> PromptResponse:
        for line in prompt[0].text.splitlines():
            order, _, rest = line.partition(" ")
            if order not in {"", "#"}:
                await ORDERS[order](self, rest)
        return PromptResponse(stop_reason=self.stop)

    async def say(self, text: str) -> None:
        await self._update(update_agent_message_text(text))

    async def _update(self, update: Update) -> None:
        assert self.client is not None
        await self.client.session_update(self.session, update)

    async def tool(self, title: str) -> None:
        await self._update(start_tool_call(title, title, kind="execute", status="in_progress"))
        await self._update(update_tool_call(title, status="completed"))

    async def plan(self, steps: str) -> None:
        entries = [plan_entry(step, status="pending") for step in steps.split("|")]
        await self._update(update_plan([plan_entry("look", status="completed"), *entries]))

    async def ask(self, which: str) -> None:
        call = ToolCallUpdate(
            tool_call_id="c1", title="Remove\x1b[31m it", raw_input={"command": "rm -rf build"}
        )
        await self._ask(call, OPTIONS[which])

    async def beg(self, fields: str) -> None:
        """Ask leave for a tool call that is given as JSON."""
        call = ToolCallUpdate.model_validate({"toolCallId": "c1", **json.loads(fields)})
        await self._ask(call, OPTIONS["once"])

    async def announce(self, fields: str) -> None:
        """Begin a tool call that is given as JSON."""
        call = {"toolCallId": "c1", "sessionUpdate": "tool_call", **json.loads(fields)}
        await self._update(ToolCallStart.model_validate(call))

    async def _ask(self, call: ToolCallUpdate, kinds: tuple[PermissionOptionKind, ...]) -> None:
        assert self.client is not None
        options = [PermissionOption(option_id=k, name=k, kind=k) for k in kinds]
        answer = await self.client.request_permission(self.session, call, options)
        leave("outcome", answer.outcome.outcome)
        await self.say(getattr(answer.outcome, "option_id", answer.outcome.outcome))

    async def want(self, path: str) -> None:
        """Ask for what the client does not offer."""
        assert self.client is not None
        asks: tuple[Awaitable[object], ...] = (
            self.client.read_text_file(self.session, path),
            self.client.create_terminal(self.session, "ls"),
            self.client.ext_method("made_up", {}),
        )
        for asked in asks:
            try:
                await asked
            except RequestError as error:
                await self.say(f"{error.code} ")

    async def big(self, size: str) -> None:
        await self.say("<" + "x" * (int(size) - 2) + ">")

    async def raw(self, line: str) -> None:
        """A line on standard output that the SDK knows nothing of; \\N repeats it N times."""
        text, _, times = line.partition("\\")
        os.write(1, f"{text}\n".encode() * int(times or 1))

    async def shout(self, size: str) -> None:
        """A flood on standard error."""
        for _ in range(int(size) // 100_000):
            sys.stderr.buffer.write(b"e" * 99_999 + b"\n")
        sys.stderr.buffer.flush()

    async def crash(self, code: str) -> None:
        give_up("out of luck \x1b[31mhere", int(code))

    async def hang(self, how: str) -> None:
        if how == "politely":
            await self.cancelled.wait()
            self.stop = "cancelled"
            return
        await asyncio.Event().wait()

    async def spawn(self, _: str) -> None:
        """A child that leaves the session and ignores SIGTERM."""
        child = spawn(sys.executable, "-c", STUBBORN)
        assert child.stdout is not None
        child.stdout.readline()

    async def hold_output(self, _: str) -> None:
        """A child that has this program's own standard output."""
        spawn("sh", "-c", "sleep 600 >/proc/$PPID/fd/1")

    async def env(self, _: str) -> None:
        await self.say(json.dumps([dict(os.environ), environments()]))

    async def write(self, words: str) -> None:
        path, _, text = words.partition(" ")
        try:
            leave(path, text)
            await self.say("written ")
        except OSError as error:
            await self.say(f"{error.strerror} ")

    async def connect(self, port: str) -> None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", int(port))
        except OSError:
            await self.say("no network ")
        else:
            writer.close()
            await self.say("connected ")

    async def end(self, reason: str) -> None:
        self.stop = next(r for r in REASONS if r == reason)

    async def link(self, _: str) -> None:
        """An update that no version of the protocol knows."""
        update = {"sessionUpdate": "made_up", "content": 1}
        params = {"sessionId": self.session, "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        await self.raw(json.dumps(message))


Order = Callable[[ScriptedAgent, str], Awaitable[None]]
ORDERS: dict[str, Order] = {
    name: getattr(ScriptedAgent, name)
    for name in (
        *("say", "tool", "plan", "ask", "beg", "announce", "want", "big", "raw", "shout"),
        *("crash", "hang"),
        *("spawn", "hold_output", "env", "write", "connect", "end", "link"),
    )
}


if __name__ == "__main__":
    asyncio.run(run_agent(ScriptedAgent()))  # type: ignore[arg-type]
