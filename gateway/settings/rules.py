"""Rules between settings, checked once each of them is right by itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import TypeAlias

from pydantic import SecretStr

from gateway.errors import KeyPath
from gateway.settings.chats import Telegram
from gateway.settings.choice import chosen, jobs, no_such
from gateway.settings.schema import Provider, Settings, Task
from gateway.settings.staffing import ASKED_LATE, staffing

Fault: TypeAlias = tuple[KeyPath, str]
_CATALOGUE = frozenset({"providers", "models", "agent", "auxiliary"})
_WORK = frozenset({"delegation", "mcp"})
_PEOPLE = frozenset({"platforms", "access"})
BOT_TOKEN = re.compile(r"[0-9]+:\S+")
DISCORD_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+")
_DISCORD = "the Bot page of https://discord.com/developers/applications"
SLACK_BOT = re.compile(r"xoxb-\S+")
_SLACK_OAUTH = "OAuth & Permissions of https://api.slack.com/apps; it begins with xoxb-"
SLACK_APP = re.compile(r"xapp-\S+")
_SLACK_BASIC = "Basic Information of https://api.slack.com/apps; it begins with xapp-"
_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")


def faults(
    settings: Settings, unset: Mapping[KeyPath, str], without: Set[str] = frozenset()
) -> list[Fault]:
    """Every broken rule with its key; `unset` are keys whose variable has no value.

    The groups `without` could not be read: rules that look at one of them are left out.
    """
    found: list[Fault] = []
    used: set[str] = set()
    if not without & _CATALOGUE:
        found += [*_models(settings), *_auxiliary(settings)]
        if settings.models and not found:
            used = {chosen(settings, job).model.provider for job in jobs(settings)}
            found += _used_providers(settings, unset, used)
        elif not settings.models:
            found.append((("models",), "no model uses the providers: name at least one"))
        if not without & _WORK:
            found += staffing(settings, unset)
    if not without & _PEOPLE:
        found += _people(settings)
        found += _tokens(settings, unset)
        found += _webhook(settings.platforms.telegram)
    known = {path: name for path, name in unset.items() if path[0] not in without}
    return [*found, *_unset(settings, known, used)]


def _models(settings: Settings) -> Iterator[Fault]:
    for name, model in settings.models.items():
        if model.provider not in settings.providers:
            text = no_such("provider", model.provider, settings.providers)
            yield ("models", name, "provider"), text
    agent = settings.agent.model
    if agent is not None and agent not in settings.models:
        yield ("agent", "model"), no_such("model", agent, settings.models)
    for name, provider in settings.providers.items():
        yield from _local_provider(name, provider)


def _local_provider(name: str, provider: Provider) -> Iterator[Fault]:
    if provider.kind == "local":
        for key in sorted(provider.model_fields_set - {"kind"}):
            yield ("providers", name, key), "the embedded model (`kind: local`) takes no such key"


def _auxiliary(settings: Settings) -> Iterator[Fault]:
    critic = settings.gates.critic.model
    if critic is not None and critic not in settings.models:
        text = no_such("model", critic, settings.models)
        yield ("gates", "critic", "model"), f"{text} (a raw model id goes to `auxiliary.critic`)"
    for name in type(settings.auxiliary).model_fields:
        task: Task = getattr(settings.auxiliary, name)
        path: KeyPath = ("auxiliary", name)
        if task.provider is None:
            if task.model is not None and task.model not in settings.models:
                text = no_such("model", task.model, settings.models)
                yield (*path, "model"), f"{text} (for a raw model id set `provider` too)"
        elif task.provider not in settings.providers:
            text = no_such("provider", task.provider, settings.providers)
            yield (*path, "provider"), text
        elif task.model is None:
            yield (*path, "model"), "is needed when `provider` is set: the model's id there"


PLATFORMS = ("telegram", "discord", "slack")
"""Those whose people are listed."""


def _people(settings: Settings) -> Iterator[Fault]:
    """An enabled platform needs somebody who may talk; ids must be ids."""
    for name in PLATFORMS:
        access = getattr(settings.access, name)
        at: KeyPath = ("access", name)
        for group in ("owners", "members"):
            if any(isinstance(id_, int) and id_ <= 0 for id_ in getattr(access, group)):
                text = "a person's id is a positive number; the ids of groups go into `chats`"
                yield (*at, group), text
        listed = access.owners or access.members or access.pairing
        if getattr(settings.platforms, name).enabled and not listed:
            yield (
                at,
                f"nobody may talk to the bot: put ids into `access.{name}.owners` or `members`, "
                f"or set `access.{name}.pairing: true`",
            )


def _tokens(settings: Settings, unset: Mapping[KeyPath, str]) -> Iterator[Fault]:
    """What an enabled platform logs in with."""
    telegram, discord, slack = (getattr(settings.platforms, name) for name in PLATFORMS)
    wanted: list[tuple[bool, KeyPath, SecretStr | None, re.Pattern[str], str]] = [
        (telegram.enabled, ("telegram", "token"), telegram.token, BOT_TOKEN, "@BotFather"),
        (discord.enabled, ("discord", "token"), discord.token, DISCORD_TOKEN, _DISCORD),
        (slack.enabled, ("slack", "bot_token"), slack.bot_token, SLACK_BOT, _SLACK_OAUTH),
        (
            slack.enabled and slack.events is None,
            ("slack", "app_token"),
            slack.app_token,
            SLACK_APP,
            _SLACK_BASIC,
        ),
    ]
    for enabled, key, token, form, source in wanted:
        path: KeyPath = ("platforms", *key)
        if not enabled or path in unset:
            continue
        text = token.get_secret_value() if token else ""
        if not text:
            yield path, f"is needed because platforms.{key[0]} is enabled: get it from {source}"
        elif not form.fullmatch(text):
            what = str(path[-1]).replace("_", " ")
            yield path, f"is not a {what}: copy it from {source}"


def _webhook(telegram: Telegram) -> Iterator[Fault]:
    if telegram.enabled and telegram.webhook is not None and telegram.webhook.secret is not None:
        secret = telegram.webhook.secret.get_secret_value()
        if not _WEBHOOK_SECRET.fullmatch(secret):
            text = "must be 1 to 256 letters, digits, `_` or `-`"
            yield ("platforms", "telegram", "webhook", "secret"), text


def _used_providers(
    settings: Settings, unset: Mapping[KeyPath, str], used: set[str]
) -> Iterator[Fault]:
    for name in sorted(used):
        provider = settings.providers[name]
        path: KeyPath = ("providers", name, "api_key")
        own = provider.kind == "openai" and provider.base_url is None
        key = provider.api_key.get_secret_value() if provider.api_key else ""
        if own and not key and path not in unset and (*path[:2], "base_url") not in unset:
            yield path, "is needed for OpenAI's own endpoint; or set `base_url` to another one"


def _unset(settings: Settings, unset: Mapping[KeyPath, str], used: set[str]) -> Iterator[Fault]:
    """Variables without a value matter only where their setting is in use."""
    for path, variable in unset.items():
        match path:
            case ("providers", name, *_) if name not in used:
                pass
            case ("delegation", "profiles", _, key, *_) if key in ASKED_LATE:
                pass
            case ("mcp", "servers", name, *_) if not settings.mcp.servers[str(name)].enabled:
                pass
            case ("platforms", name, *_) if not getattr(settings.platforms, str(name)).enabled:
                pass
            case _:
                yield path, unset_text(variable)


def unset_text(variable: str) -> str:
    """What to say of a setting whose variable has no value."""
    return f"the environment variable {variable} is not set (or write ${{{variable}:-default}})"
