"""The embedded model: fetched when it is missing, and served while the program runs."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import platformdirs

from adapters.local_model.fetch import Progress, fetch, present
from adapters.local_model.serve import LocalServer
from gateway.compose.setup import Endpoint
from gateway.download_progress import OnProgress, drawn
from gateway.settings import Settings
from gateway.settings.schema import LOCAL_MODEL

LOG_NAME = "local_model.log"


def folder() -> Path:
    """Where model files are kept: a cache of the user's, shared by all data directories."""
    return platformdirs.user_cache_path("pursuit") / "models"


def pull(settings: Settings, data: Path, progress: OnProgress) -> Path:
    """Fetch and check the model's file; its path. `settings` and `data` do not matter yet."""

    def show(at: Progress) -> None:
        progress(at.done_bytes, at.total_bytes, at.source)

    return present(LOCAL_MODEL, folder()) or fetch(LOCAL_MODEL, folder(), show)


class _GivenUp(Exception):
    """Nobody waits for the file any more."""


async def _pulled(settings: Settings, data: Path, progress: OnProgress) -> Path:
    """`pull` off the loop. When it is cancelled the thread ends at its next step, for the
    program's exit waits for it."""
    given_up = threading.Event()

    def show(done: int, total: int, source: str) -> None:
        if given_up.is_set():
            raise _GivenUp
        progress(done, total, source)

    try:
        return await asyncio.to_thread(pull, settings, data, show)
    except asyncio.CancelledError:
        given_up.set()
        raise


@asynccontextmanager
async def serving(settings: Settings, data: Path) -> AsyncIterator[Endpoint]:
    """Serve the model; the first time, fetch it with its progress on standard error."""
    with drawn("Local model", sys.stderr) as progress:
        path = await _pulled(settings, data, progress)
    async with LocalServer(path, data / LOG_NAME) as server:
        yield Endpoint(server.base_url, server.api_key)


def serve(settings: Settings, data: Path, port: int) -> int:
    """Serve the model by itself until interrupted; its address and key go to standard output."""
    asyncio.run(_serve(settings, data, port))
    return 0


async def _serve(settings: Settings, data: Path, port: int) -> None:
    with drawn("Local model", sys.stderr) as progress:
        path = await _pulled(settings, data, progress)
    async with LocalServer(path, data / LOG_NAME, port=port) as server:
        sys.stdout.write(f"OPENAI_BASE_URL={server.base_url}\nOPENAI_API_KEY={server.api_key}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
