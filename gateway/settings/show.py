"""Settings for people's eyes: as YAML with secrets masked, and as a JSON schema. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import yaml
from pydantic import BaseModel, SecretStr

from gateway.settings.schema import Settings


def as_yaml(settings: Settings) -> str:
    """The settings in effect, in the file's own form; secrets read as asterisks."""
    values = settings.model_dump(mode="json")
    for provider in values["providers"].values():
        if provider["kind"] == "local":
            provider.clear()
            provider["kind"] = "local"
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


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
