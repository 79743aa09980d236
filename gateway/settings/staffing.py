"""Rules between the keys of profiles, of MCP servers and of toolsets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pydantic import BaseModel

from gateway.errors import KeyPath
from gateway.settings.choice import no_such
from gateway.settings.schema import Settings
from gateway.settings.work import OF_SERVER, Profile

Fault: TypeAlias = tuple[KeyPath, str]

_CONNECTION = ("base_url", "api_key", "api_mode", "proxy")
_OF_A_MODEL = ("model", "provider", *_CONNECTION, "tier")
_OF_OUR_AGENT = ("toolsets", "max_iterations", "system_prompt")
_OF_A_RUNNER = ("acp_args", "acp_mode", "acp_env", "acp_network", "members")
_NO_RUNNER = "goes with `acp_command`, which is not set: "
_NAME_IT = "name the runner's program there"
_FOR_ALL = "members may use any profile that starts no runner"
ASKED_LATE = frozenset({"acp_command", *_OF_A_RUNNER, "model", "provider", *_CONNECTION})
"""Of a profile, what is needed only when a child starts: its variables may have no value."""
_OF_A_PROGRAM = ("args", "env", "cwd")


def staffing(settings: Settings, unset: Mapping[KeyPath, str]) -> Iterator[Fault]:
    """Every broken rule with its key; `unset` are keys whose variable has no value, which count
    as set."""
    yield from _toolsets(settings, ("agent", "toolsets"), settings.agent.toolsets)
    overseer = settings.delegation.escalation_model
    if overseer is not None and overseer not in settings.models:
        yield ("delegation", "escalation_model"), no_such("model", overseer, settings.models)
    for name, profile in settings.delegation.profiles.items():
        path: KeyPath = ("delegation", "profiles", name)
        given = _given(profile, path, unset)
        yield from _toolsets(settings, (*path, "toolsets"), profile.toolsets or ())
        if "acp_command" in given:
            yield from _runner(profile, path, given)
        else:
            yield from _agent(settings, profile, path, given)
    yield from _servers(settings, unset)


def _given(group: BaseModel, path: KeyPath, unset: Mapping[KeyPath, str]) -> set[str]:
    """The keys of a group that say something, or would if their variable had a value."""
    wanted = {at[len(path)] for at in unset if at[: len(path)] == path and len(at) > len(path)}
    said = {key for key in group.model_fields_set if _says(getattr(group, key))}
    return said | {str(key) for key in wanted}


def _says(value: object) -> bool:
    return value is not None and value not in ((), {})


def _toolsets(settings: Settings, path: KeyPath, words: tuple[str, ...]) -> Iterator[Fault]:
    servers = settings.mcp.servers
    for position, word in enumerate(words):
        name = word.removeprefix(OF_SERVER)
        if name != word and name not in servers:
            known = ", ".join(f"{OF_SERVER}{server}" for server in sorted(servers))
            there = f"there: {known}" if known else "there are none"
            text = f"there is no MCP server {name!r} under `mcp.servers` ({there})"
            yield (*path, position), text


def _runner(profile: Profile, path: KeyPath, given: set[str]) -> Iterator[Fault]:
    clash = next((key for key in _OF_A_MODEL if key in given), "")
    if clash:
        text = (
            f"`{clash}` and `acp_command` are both set: a profile calls a model or starts a "
            "local runner; keep one of them"
        )
        yield (*path, "acp_command"), text
    for key in _OF_OUR_AGENT:
        if key in given:
            text = "goes with a model: a local runner has tools and a prompt of its own; remove it"
            yield (*path, key), text
    yield from _program(profile.acp_command, (*path, "acp_command"), "acp_args")


def _agent(
    settings: Settings, profile: Profile, path: KeyPath, given: set[str]
) -> Iterator[Fault]:
    for key in _OF_A_RUNNER:
        if key in given:
            yield (*path, key), _NO_RUNNER + (_FOR_ALL if key == "members" else _NAME_IT)
    if profile.provider is not None and profile.provider not in settings.providers:
        yield (*path, "provider"), no_such("provider", profile.provider, settings.providers)
    if "model" not in given:
        yield from _without_a_model(path, given)
    elif "provider" not in given and profile.model is not None:
        yield from _of_the_catalogue(settings, profile, path)
    yield from _embedded(settings, profile, path, given)


def _without_a_model(path: KeyPath, given: set[str]) -> Iterator[Fault]:
    if "provider" in given:
        yield (*path, "model"), "is needed when `provider` is set: the model's id there"
        return
    for key in (*_CONNECTION, "tier"):
        if key in given:
            yield (*path, key), "goes with a model of the profile's own: set `model` too"


def _of_the_catalogue(settings: Settings, profile: Profile, path: KeyPath) -> Iterator[Fault]:
    name = profile.model or ""
    if name not in settings.models:
        text = no_such("model", name, settings.models)
        yield (*path, "model"), f"{text} (for a raw model id set `provider` too)"
    elif profile.tier not in {None, settings.models[name].tier}:
        tier = settings.models[name].tier
        text = f"the tier of {name} is set under models, and is {tier}; remove the key"
        yield (*path, "tier"), text


def _embedded(
    settings: Settings, profile: Profile, path: KeyPath, given: set[str]
) -> Iterator[Fault]:
    listed = settings.models.get(profile.model or "")
    name = profile.provider or (listed.provider if listed else "")
    if name in settings.providers and settings.providers[name].kind == "local":
        for key in _CONNECTION:
            if key in given:
                yield (*path, key), "the embedded model (`kind: local`) takes no such key"


def _servers(settings: Settings, unset: Mapping[KeyPath, str]) -> Iterator[Fault]:
    for name, server in settings.mcp.servers.items():
        path: KeyPath = ("mcp", "servers", name)
        given = _given(server, path, unset)
        if {"command", "url"} <= given:
            text = "`command` and `url` are both set: start a program or call an address; keep one"
            yield (*path, "url"), text
        elif not {"command", "url"} & given:
            yield path, "needs `command`, a program to start, or `url`, an address to call"
        elif "url" in given:
            for key in _OF_A_PROGRAM:
                if key in given:
                    yield (*path, key), "goes with `command`, not with `url`; remove it"
        elif "headers" in given:
            yield (*path, "headers"), "goes with `url`, not with `command`; remove it"
        yield from _program(server.command, (*path, "command"), "args")


def _program(command: str | None, path: KeyPath, arguments: str) -> Iterator[Fault]:
    """A whole command line where a program belongs; a path may have spaces."""
    if command is not None and "/" not in command and re.search(r"\s", command):
        yield path, f"is the program alone: its arguments go into `{arguments}`, each by itself"
