"""A first configuration from a person's answers. Only `write_new` touches a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from core.errors import UserError
from core.transcript import Json
from gateway.errors import NoPermission
from gateway.settings.load import load
from gateway.settings.schema import LOCAL_MODEL

HEAD = """\
# Pursuit's configuration, written by `pursuit setup`. Every other key has its default;
# config.example.yaml shows them all. `pursuit config check` looks at it, `pursuit doctor` tries
# what it says.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """A platform's tokens by their keys, and the owner's id there (None: by pairing)."""

    name: str
    tokens: Mapping[str, str]
    owner: int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible endpoint; `base_url` "" is OpenAI's own, `api_key` "" is none."""

    base_url: str
    api_key: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was asked. Without an endpoint the embedded model is used; `web` starts the web chat
    beside the bots."""

    bots: tuple[Bot, ...] = ()
    web: bool = False
    endpoint: Endpoint | None = None


def document(answers: Answers) -> str:
    """The file's text."""
    provider: dict[str, Json] = {"kind": "local"}
    model = LOCAL_MODEL
    if (endpoint := answers.endpoint) is not None:
        named = {"base_url": endpoint.base_url, "api_key": endpoint.api_key}
        provider = {key: text for key, text in named.items() if text}
        model = endpoint.model
    platforms: dict[str, Json] = {
        bot.name: {"enabled": True, **bot.tokens} for bot in answers.bots
    }
    if answers.web:
        platforms["web"] = {"enabled": True}
    access: dict[str, Json] = {
        bot.name: {"pairing": True} if bot.owner is None else {"owners": [bot.owner]}
        for bot in answers.bots
    }
    groups: dict[str, Json] = {
        "providers": {"main": provider},
        "models": {"main": {"provider": "main", "model": model}},
        "platforms": platforms,
        "access": access,
    }
    kept = {name: group for name, group in groups.items() if group}
    return HEAD + yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)


def refuse_to_overwrite(file: Path) -> None:
    """Raises UserError when there is a configuration already."""
    if file.exists() or file.is_symlink():
        raise UserError(
            f"{file} is there already, and is not overwritten. Change it in an editor (pursuit "
            "config check tells faults by line), move it away, or name another one with --config."
        )


def write_new(file: Path, text: str) -> None:
    """Make the file, for this user alone, once it is known to load. Raises UserError."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as opened:
                opened.write(text)
            load(draft, environ={})
            os.link(draft, file)  # which fails, other than a rename, where somebody was faster
        finally:
            draft.unlink()
    except FileExistsError:
        refuse_to_overwrite(file)
        raise
    except PermissionError as error:
        raise NoPermission(f"{file} cannot be written: permission denied.") from error
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error
