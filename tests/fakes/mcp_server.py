"""A real MCP server, built with the protocol's own server SDK: a program over stdio, or over
streamable HTTP on loopback with the argument "http" (and a port), which prints its port.

Its tools do what servers do: answer, fail, take long, die, change their list.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import Any

import anyio
import mcp.types as sdk
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("fake")
cancelled: list[str] = []


class Mood(BaseModel):
    """What a person would be asked."""

    mood: str


@server.tool()
def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times


@server.tool(name="odd name/with.dots")
def odd() -> str:
    return "odd"


@server.tool()
def fail() -> str:
    raise ValueError("the disk is on fire")


@server.tool()
async def wait(mark: str, ctx: Context[Any]) -> str:
    """Wait until cancelled."""
    await ctx.report_progress(1, 3, f"waiting\nfor {mark}")
    try:
        await anyio.sleep(600)
    except anyio.get_cancelled_exc_class():
        cancelled.append(mark)
        raise
    return "never"


@server.tool()
def was_cancelled(mark: str) -> str:
    return "yes" if mark in cancelled else "no"


@server.tool()
def die() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@server.tool()
def big(size: int) -> str:
    return "start " + "x" * size + " end"


@server.tool()
def environment() -> list[str]:
    return sorted(f"{name}={value}" for name, value in os.environ.items())


@server.tool()
def header(name: str, ctx: Context[Any]) -> str:
    return (ctx.headers or {}).get(name, "none")


@server.tool()
def child() -> str:
    """Leave a process behind."""
    return str(subprocess.Popen(["sleep", "1000"]).pid)


@server.tool()
def media() -> sdk.CallToolResult:
    link = sdk.ResourceLink(type="resource_link", name="report", uri="file:///report.pdf")
    text = sdk.TextResourceContents(uri="file:///notes.txt", text="the notes")
    return sdk.CallToolResult(
        content=[
            sdk.ImageContent(type="image", data="QUJD" * 100, mime_type="image/png"),
            link,
            sdk.EmbeddedResource(type="resource", resource=text),
        ]
    )


@server.tool()
def structured() -> sdk.CallToolResult:
    return sdk.CallToolResult(content=[], structured_content={"answer": 42})


@server.tool()
def nothing() -> sdk.CallToolResult:
    return sdk.CallToolResult(content=[])


@server.tool()
async def ask(ctx: Context[Any]) -> str:
    return (await ctx.elicit("How are you?", Mood)).action


@server.tool()
async def grow(name: str, ctx: Context[Any]) -> str:
    """Have one tool more, and say so."""
    server.add_tool(echo, name=name)
    await ctx.session.send_tool_list_changed()
    return "grown"


def main() -> None:
    """Serve until told to stop."""
    _, *how = sys.argv
    if not how:
        sys.stderr.write("a server that chats\n")
        server.run()
        return
    _, *port = how
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(port[0]) if port else 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
