"""Settings for people's eyes: as YAML with secrets masked, and as a JSON schema. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import yaml
from pydantic import BaseModel, SecretStr

from core.transcript import Json
from gateway.settings.schema import Settings

MASK = "**********"
_SECRET = re.compile("key|token|secret|password", re.IGNORECASE)


def as_data(settings: Settings) -> dict[str, Json]:
    """The settings in effect, as JSON takes them; secrets read as asterisks."""
    values = settings.model_dump(mode="json")
    for model in values["models"].values():
        model["params"] = _masked(model["params"])
    for provider in values["providers"].values():
        if provider["kind"] == "local":
            provider.clear()
            provider["kind"] = "local"
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


def schema_text() -> str:
    """The JSON schema that editors check a configuration file against."""
    schema = Settings.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2)


def secrets_of(value: object) -> Iterator[str]:
    """Every secret in the settings or in a part of them, in clear."""
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case BaseModel():
            for name in type(value).model_fields:
                yield from secrets_of(getattr(value, name))
        case Mapping():
            for item in value.values():
                yield from secrets_of(item)
        case tuple() | list():
            for item in value:
                yield from secrets_of(item)
        case _:
            pass
