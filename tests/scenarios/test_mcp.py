"""An MCP server's tools in the chat: the agent's, a child's by its profile, not everybody's."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.fakes import mcp_rig
from tests.fakes.openai_replies import calls, text
from tests.fakes.openai_seen import Seen
from tests.fakes.telegram_world import BOB
from tests.scenarios.rig import OWNER, running_bot
from tests.scenarios.test_delegation import MODELS, TOOLSETS

SERVER = {"command": sys.executable, "args": [str(mcp_rig.FAKES / "mcp_server.py")], "start_s": 30}
HUB: Mapping[str, object] = {
    "models": MODELS,
    "agent": {"toolsets": [*TOOLSETS, "mcp:hub"]},
    "mcp": {"servers": {"hub": SERVER}},
    "delegation": {"profiles": {"clerk": {"toolsets": ["mcp:hub"]}}},
}
ECHO = calls(("mcp__hub__echo", {"text": "hello", "times": 2}))


def tools(seen: Seen) -> set[str]:
    """What a request offers, each with its server's or its own name."""
    offered = seen.body["tools"]
    assert isinstance(offered, list)
    return {tool["function"]["name"] for tool in offered}


async def test_the_agent_calls_a_servers_tool(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **HUB) as bot:
        bot.models.script("main", ECHO, text("Done."))
        bot.say("go")
        await bot.heard("Done.")
        asked, told = bot.models.of("main")
        assert {"mcp__hub__echo", "run", "delegate_task"} <= tools(asked)
        assert "hello" in told.said()


async def test_a_childs_profile_may_have_a_servers_tools_alone(tmp_path: Path) -> None:
    async with running_bot(tmp_path, **HUB) as bot:
        task = calls(("delegate_task", {"goal": "say it", "profile": "clerk", "model": "child"}))
        bot.models.script("main", task, text("Done."))
        bot.models.script("child", ECHO, text("It said hello."))
        bot.say("go")
        await bot.heard("Done.")
        first, second = bot.models.of("child")
        assert all(name.startswith("mcp__hub__") for name in tools(first))
        assert "hello" in second.said()
        assert json.loads(bot.models.of("main")[1].said())["status"] == "ok"


async def test_a_server_is_for_owners_until_the_settings_open_it(tmp_path: Path) -> None:
    access = {"telegram": {"owners": [OWNER.id], "members": [BOB.id]}}
    async with running_bot(tmp_path, **HUB, access=access) as bot:
        bot.models.script("main", ECHO, text("Refused."))
        bot.say("go", user=BOB)
        await bot.heard("Refused.", chat=BOB.id)
        assert "for owners" in bot.models.of("main")[1].said()
