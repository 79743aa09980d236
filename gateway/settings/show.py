"""Settings for people's eyes: as YAML with secrets masked, and as a JSON schema. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, SecretStr

from core.transcript import Json
from gateway.settings.schema import Settings
from gateway.settings.work import McpServer

MASK = "**********"
_SECRET = re.compile("key|token|secret|password", re.IGNORECASE)
_NAMES_A_SECRET = re.compile(f"{_SECRET.pattern}|auth|cookie|credential|pass|pat$", re.IGNORECASE)
_MADE_UP = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w.~+=-]{16,}")
"""What a machine made: no word that a chat could use."""


def as_data(settings: Settings) -> dict[str, Json]:
    """The settings in effect, as JSON takes them; secrets read as asterisks."""
    values = settings.model_dump(mode="json")
    for model in values["models"].values():
        model["params"] = _masked(model["params"])
    for provider in values["providers"].values():
        if provider["kind"] == "local":
            provider.clear()
            provider["kind"] = "local"
    for server in values["mcp"]["servers"].values():
        server["url"] = server["url"] and _without_secrets(server["url"])
    return values


def as_yaml(settings: Settings) -> str:
    """The settings in effect, in the file's own form; secrets read as asterisks."""
    return yaml.safe_dump(as_data(settings), sort_keys=False, allow_unicode=True)


def _masked(value: Json) -> Json:
    """Fields for a request, where a person may have put a secret under a name of theirs."""
    match value:
        case dict():
            return {
                key: MASK if _SECRET.search(key) and isinstance(item, str) else _masked(item)
                for key, item in value.items()
            }
        case list():
            return [_masked(item) for item in value]
        case _:
            return value


def _without_secrets(url: str) -> str:
    """An address without what some services put a key into: the user and the query."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    masked = parts._replace(netloc=f"{MASK if user else ''}{at}{host}")
    return masked._replace(query=MASK if parts.query else "").geturl()


def schema_text() -> str:
    """The JSON schema that editors check a configuration file against."""
    schema = Settings.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2)


def secrets_of(value: object) -> Iterator[str]:
    """Every secret in the settings or in a part of them, in clear.

    A variable or a header that somebody named is one where its name or its value looks like it:
    to take `production` out of all texts would wreck them.
    """
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case McpServer(url=str() as url):
            yield from filter(None, (urlsplit(url).query, urlsplit(url).password))
            yield from secrets_of(value.headers)
        case BaseModel():
            for name in type(value).model_fields:
                yield from secrets_of(getattr(value, name))
        case Mapping():
            for name, item in value.items():
                if isinstance(item, SecretStr):
                    yield from _secrets_in(str(name), item.get_secret_value())
                else:
                    yield from secrets_of(item)
        case tuple() | list():
            for item in value:
                yield from secrets_of(item)
        case _:
            pass


def _secrets_in(name: str, text: str) -> Iterator[str]:
    """What to keep out of sight of a named text: all of it, and what follows a `Bearer`."""
    last = text.rpartition(" ")[2]
    if _NAMES_A_SECRET.search(name) or _MADE_UP.fullmatch(last):
        yield from dict.fromkeys((text, last))
