"""MCP servers that misbehave, each as its argument says; plain JSON lines, no SDK."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

LEGACY = "2025-06-18"
TOOLS = [{"name": "hang", "description": "Never ends.", "inputSchema": {"type": "object"}}]


def answer(request: dict[str, object], how: str) -> None:
    """Answer the handshake and the list; nothing else."""
    later = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    results: dict[object, object] = {
        "initialize": {
            "protocolVersion": LEGACY,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "misfit", "version": "1"},
        },
        "tools/list": {"tools": TOOLS},
    }
    if how == "modern":
        versions = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        results = {"server/discover": versions | later, "tools/list": {"tools": TOOLS} | later}
        if request.get("method") == "initialize":
            refused = {"code": -32601, "message": "Method not found"}
            said = {"jsonrpc": "2.0", "id": request["id"], "error": refused}
            sys.stdout.write(json.dumps(said) + "\n")
    if request.get("method") in results:
        result = results[request["method"]]
        said = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def misbehave(how: str) -> None:
    """What comes before the first word."""
    match how:
        case "crash":
            sys.exit("\x1b[31mFatal:\x1b[0m no database at " + os.environ.get("DATABASE_URL", ""))
        case "mute":
            time.sleep(600)
        case "torrent":
            while True:
                os.write(1, b"x" * 2**20)
        case "noise":
            os.write(1, b"Welcome!\n\xff\xfe\n{}\n[1]\n\n")
        case "flood":
            sys.stderr.write("e" * 2**20)
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            held = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            TOOLS[0]["name"] = f"pids-{os.getpid()}-{held.pid}"


def main(how: str) -> None:
    """Speak the protocol, more or less."""
    misbehave(how)
    for line in sys.stdin:
        request = json.loads(line)
        answer(request, how)
        if how == "deaf" and request.get("method") == "tools/list":
            break
    if how in {"stubborn", "deaf"}:
        time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1])
