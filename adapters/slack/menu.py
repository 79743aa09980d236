"""The app's manifest, made of the command table and cut to Slack's limits. Pure: no I/O.

Slack takes no slash command in a thread, and knows `/status` and others itself; so only a few
have a name of their own, and `/pursuit <command>` gives all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.commands import COMMANDS, CommandSpec
from core.transcript import Json

NATIVE = ("goal", "subgoal", "stop", "new", "resume")
"""Commands with a slash command of their own."""
UMBRELLA = "pursuit"
"""The slash command whose text is any command line."""
MAX_COMMAND = 32
MAX_DESCRIPTION = 2000
MAX_HINT = 1000
MAX_COMMANDS = 50
SCOPES = (
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "reactions:write",
    "users:read",
)
EVENTS = (
    "app_mention",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
)
SUMMARY = "Works on a goal until an independent judge says that it is done."


def manifest(commands: Iterable[CommandSpec] = COMMANDS) -> Mapping[str, Json]:
    """The manifest of an app for Socket Mode, as Slack's page for new apps takes it."""
    return {
        "display_information": {
            "name": "Pursuit",
            "description": SUMMARY,
            "background_color": "#1f2937",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "Pursuit", "always_online": True},
            "slash_commands": [*slash_commands(commands)],
        },
        "oauth_config": {"scopes": {"bot": [*SCOPES]}},
        "settings": {
            "event_subscriptions": {"bot_events": [*EVENTS]},
            "interactivity": {"is_enabled": True},
            "org_deploy_enabled": False,
            "socket_mode_enabled": True,
            "token_rotation_enabled": False,
        },
    }


def slash_commands(commands: Iterable[CommandSpec]) -> tuple[Json, ...]:
    """The native commands in the table's order, then the one for all."""
    specs = {spec.name: spec for spec in commands}
    native = [spec for name, spec in specs.items() if name in NATIVE]
    names = " | ".join(specs)
    umbrella = _slash(UMBRELLA, "Any command of Pursuit; help lists them", f"<{names}> …")
    return (*(_slash(s.name, s.summary, _hint(s)) for s in native), umbrella)


def _hint(spec: CommandSpec) -> str:
    """The words that may follow: the usage of the first line that has some, then the fixed."""
    prefix = f"/{spec.name} "
    lines = (line.partition(":")[0] for line in spec.usage)
    told = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
    return " | ".join(told)


def _slash(name: str, summary: str, hint: str) -> Json:
    command = f"/{name}"
    if len(command) > MAX_COMMAND:
        raise ValueError(f"slash command over {MAX_COMMAND} characters: {command}")
    made: dict[str, Json] = {"command": command, "description": summary[:MAX_DESCRIPTION]}
    if hint:
        made["usage_hint"] = hint[:MAX_HINT]
    made["should_escape"] = False
    return made
