"""The child process of the local model: the native server and the front before it.

`python -m adapters.local_model.child MODEL CONTEXT PORT`. The key comes as the first line of
standard input; the port that is served goes out as the only line of standard output. The process
ends when standard input closes, so it cannot outlive its parent, however that dies. Only this
module imports the native library.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from importlib.resources import files
from pathlib import Path

import aiohttp
import xllamacpp
from aiohttp import web

from adapters.local_model.front import Front

_WARNINGS = 2
_PROMPT_CACHE_MIB = 512


def main() -> None:
    """Serve until standard input closes."""
    model, context, port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    key = sys.stdin.readline().strip()
    # The native library may print; the parent reads the port from the real standard output.
    handshake = os.dup(1)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()
    native = xllamacpp.Server(_parameters(model, context, key))
    asyncio.run(_serve(native.listening_address, key, port, handshake))


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


def _parameters(model: Path, context: int, key: str) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {model.stem}
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.offline = True
    params.verbosity = _WARNINGS
    params.use_jinja = True
    params.chat_template = (
        files("adapters.local_model").joinpath("template.jinja").read_text(encoding="utf-8")
    )
    params.force_pure_content_parser = True
    # Judge and agent share the one slot; this keeps both prompts warm across their turns.
    params.cache_prompt = True
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    return params


async def _serve(native_url: str, key: str, port: int, handshake: int) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(native_url, headers=headers, timeout=timeout) as session:
        front = Front(session, key, xllamacpp.json_schema_to_grammar)
        runner = web.AppRunner(front.application(), handler_cancellation=True, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        os.write(handshake, f"{runner.addresses[0][1]}\n".encode())
        os.close(handshake)
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
