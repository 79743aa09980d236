"""Runs the local model in a child process and keeps it running.

The gateway never loads the native library: a crash there costs one request and a restart on the
same port, and its memory goes with the process. It may not fetch a model; that is `fetch`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import secrets
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from types import TracebackType
from typing import Self

import adapters
from core.errors import PermanentError, UserError

CONTEXT_TOKENS = 8192

_LOG = logging.getLogger(__name__)
_START_S = 180.0
_END_S = 3.0
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_STEADY_S = 60.0
_LOG_TAIL = 600


class LocalServer:
    """An OpenAI-compatible server of one model file on loopback, as a context.

    Inside, `base_url` and `api_key` stay the same through restarts. Entering raises UserError
    when the native library is missing and PermanentError when the model cannot be served.
    `port` 0 takes a free one.
    """

    def __init__(
        self, model: Path, log: Path, context_tokens: int = CONTEXT_TOKENS, *, port: int = 0
    ) -> None:
        self.api_key = secrets.token_urlsafe(32)
        self._model = model.resolve()
        self._log = log
        self._context_tokens = context_tokens
        self._port = port
        self._child: Process | None = None
        self._tasks = asyncio.TaskGroup()
        self._watch: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """Where the `openai` client finds it."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def pid(self) -> int | None:
        """The process that serves, None between a death and the restart."""
        return None if self._child is None else self._child.pid

    async def __aenter__(self) -> Self:
        if importlib.util.find_spec("xllamacpp") is None:
            raise UserError(
                "The local model needs its native library: pip install '.[local]' in the"
                " clone of Pursuit"
            )
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.write_bytes(b"")
        child = await self._spawn()
        await self._tasks.__aenter__()
        self._watch = self._tasks.create_task(self._keep_running(child), name="local model")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._watch is not None:
            self._watch.cancel()
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            # Not in the task: cancelled before its first step, it would never run its body.
            if self._child is not None:
                await _end(self._child)

    async def _keep_running(self, child: Process) -> None:
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE_S
        while True:
            since = loop.time()
            code = await child.wait()
            self._child = None
            if loop.time() - since > _STEADY_S:
                pause = _FIRST_PAUSE_S
            _LOG.warning("the local model ended with %s; restarting in %.0f s", code, pause)
            child, pause = await self._restart(pause)

    async def _restart(self, pause: float) -> tuple[Process, float]:
        while True:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)
            try:
                return await self._spawn(), pause
            except PermanentError as error:
                _LOG.error("%s Trying again in %.0f s.", error, pause)

    async def _spawn(self) -> Process:
        # From the folder of our packages, so that the child imports these and no others.
        root = Path(adapters.__path__[0]).parent
        command = [sys.executable, "-m", "adapters.local_model.child", str(self._model)]
        command += [str(self._context_tokens), str(self._port)]
        with self._log.open("ab") as sink:
            child = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=sink, cwd=root
            )
        try:
            self._port = await self._handshake(child)
        except BaseException:
            await _end(child)
            raise
        self._child = child
        return child

    async def _handshake(self, child: Process) -> int:
        assert child.stdin is not None  # noqa: S101  both are pipes
        assert child.stdout is not None  # noqa: S101
        child.stdin.write(f"{self.api_key}\n".encode())
        try:
            async with asyncio.timeout(_START_S):
                line = await child.stdout.readline()
        except TimeoutError:
            raise PermanentError(f"The local model did not start in {_START_S:.0f} s.") from None
        if not line:
            code = await child.wait()
            raise PermanentError(
                f"The local model could not be served (exit {code}): {self._last_words()}"
            )
        return int(line)

    def _last_words(self) -> str:
        text = self._log.read_text(encoding="utf-8", errors="replace").strip()
        return text[-_LOG_TAIL:] or f"nothing was logged to {self._log}"


async def _end(child: Process) -> None:
    """Close the child's standard input, which ends it; kill it when it does not heed."""
    if child.stdin is not None:
        child.stdin.close()
    try:
        async with asyncio.timeout(_END_S):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
