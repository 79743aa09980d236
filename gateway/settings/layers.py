"""Settings from elsewhere than the file, and how layers are put over one another.

A variable `PURSUIT_GOALS__MAX_TURNS` and a credential file of that name (any case) both mean
`goals.max_turns`. Pure but for the credentials' folder, which it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.transcript import Json
from gateway.errors import ConfigError, KeyPath, Problem
from gateway.settings.schema import DEFAULT_OPENAI_MODEL, LOCAL_MODEL, Settings

PREFIX = "PURSUIT_"
_NOT_OURS = re.compile(
    r"PURSUIT_(?:HOME|RUN|OWNER|(?:[A-Z0-9]+_)*"
    r"(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[0-9]+_(?:TCP|UDP|SCTP)(?:_[A-Z]+)?)?))"
)
"""PURSUIT_HOME says where the settings are, RUN and OWNER mark what the agent runs; the rest is
what Kubernetes sets."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Values that go over those of the layers below; `origins` says where each came from.

    Those of variables and credentials are text, whatever the setting's type.
    """

    values: Mapping[str, Json] = field(default_factory=dict)
    origins: Mapping[KeyPath, str] = field(default_factory=dict)

    def over(self, below: Layer) -> Layer:
        """Both layers as one."""
        return Layer(_merged(below.values, self.values), {**below.origins, **self.origins})

    def origin(self, path: KeyPath) -> str:
        """Where a setting at or above `path` came from, "" when not from this layer."""
        ends = range(len(path), 0, -1)
        return next((self.origins[path[:n]] for n in ends if path[:n] in self.origins), "")


def from_environment(environ: Mapping[str, str]) -> Layer:
    """The settings among the environment's variables: all of that prefix, so that a mistyped one
    is refused as an unknown key; but for the ones that Kubernetes sets for a service of that
    name.
    """
    ours = (name for name in environ if name.startswith(PREFIX) and not _NOT_OURS.fullmatch(name))
    named = {name: f"environment variable {name}" for name in ours}
    return _layer((name, environ[name], origin) for name, origin in sorted(named.items()))


def from_credentials(folder: Path | None) -> Layer:
    """The settings among systemd's credentials (`$CREDENTIALS_DIRECTORY`).

    Raises ConfigError when one of them cannot be read.
    """
    if folder is None:
        return Layer()
    found = []
    try:
        for path in sorted(folder.iterdir()):
            if _is_setting(path.name.upper()):
                text = path.read_text(encoding="utf-8").rstrip("\r\n")
                found.append((path.name.upper(), text, f"credential {path.name}"))
    except OSError as error:
        fault = f"the credentials cannot be read: {error.strerror}"
        raise ConfigError([Problem(str(error.filename or folder), "", fault)]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(str(path), "", "the credential is not UTF-8 text")]) from error
    return _layer(found)


def implicit_models(environ: Mapping[str, str]) -> Layer:
    """The catalogue of a configuration that has none: OpenAI's variables, else the embedded
    model."""
    key, url = environ.get("OPENAI_API_KEY", ""), environ.get("OPENAI_BASE_URL", "")
    if not key and not url:
        return Layer(
            {
                "providers": {"local": {"kind": "local"}},
                "models": {"local": {"provider": "local", "model": LOCAL_MODEL}},
            }
        )
    provider: dict[str, Json] = {"api_key": key or None, "base_url": url or None}
    model = environ.get("OPENAI_MODEL") or DEFAULT_OPENAI_MODEL
    origins: dict[KeyPath, str] = {
        ("providers", "openai", "api_key"): "environment variable OPENAI_API_KEY",
        ("providers", "openai", "base_url"): "environment variable OPENAI_BASE_URL",
        ("models", "openai", "model"): "environment variable OPENAI_MODEL",
    }
    return Layer(
        {
            "providers": {"openai": provider},
            "models": {"openai": {"provider": "openai", "model": model}},
        },
        origins,
    )


def _is_setting(name: str) -> bool:
    key = name.removeprefix(PREFIX)
    return key != name and ("__" in key or key.lower() in Settings.model_fields)


def _layer(found: Iterable[tuple[str, str, str]]) -> Layer:
    layer = Layer()
    for name, text, origin in found:
        path = tuple(name.removeprefix(PREFIX).lower().split("__"))
        value: dict[str, Json] = {path[-1]: text}
        for key in reversed(path[:-1]):
            value = {key: value}
        layer = Layer(value, {path: origin}).over(layer)
    return layer


def _merged(below: Mapping[str, Json], above: Mapping[str, Json]) -> dict[str, Json]:
    """Mappings are merged key by key; anything else is replaced whole."""
    merged = dict(below)
    for key, value in above.items():
        match merged.get(key), value:
            case dict() as under, dict() as over:
                merged[key] = _merged(under, over)
            case _:
                merged[key] = value
    return merged
