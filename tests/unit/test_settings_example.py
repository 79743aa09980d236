"""The example file is complete, loads, and tells the defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from core.transcript import Json
from gateway.errors import KeyPath
from gateway.settings import Settings, load
from gateway.settings.document import parse
from gateway.settings.keys import ANY, fields, group_in

EXAMPLE = Path(__file__).parents[2] / "config.example.yaml"


def _uncommented() -> str:
    """The example with its commented-out settings (`#key:` without a space) switched on."""
    return re.sub(r"(?m)^( *)#(?=\S|  )", r"\1", EXAMPLE.read_text(encoding="utf-8"))


NAMED = {("providers",), ("models",), ("delegation", "profiles"), ("mcp", "servers")}
"""Where people choose the names."""
FREE = {"params", "acp_env", "env", "headers"}
"""What people fill as they like."""


def _schema_keys() -> set[KeyPath]:
    return {path for path, info in fields() if path[-1] in FREE or not group_in(info.annotation)}


def _written(value: Json, path: KeyPath) -> Iterator[KeyPath]:
    named = path in NAMED
    if isinstance(value, dict) and (value or named) and not FREE & set(path[-1:]):
        for key, item in value.items():
            yield from _written(item, (*path, ANY if named else key))
    else:
        yield path


def test_the_example_has_every_key_of_the_schema_and_no_other() -> None:
    written = set(_written(dict(parse(_uncommented(), "example").values), ()))
    priced = {("models", ANY, "price", part) for part in ("input", "output", "cached")}
    assert priced <= written
    assert written == _schema_keys()


def test_the_example_as_shipped_is_the_defaults() -> None:
    assert load(EXAMPLE, environ={}) == load(_nothing(), environ={})


def test_the_commented_settings_of_the_example_load_too(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(_uncommented(), encoding="utf-8")
    settings = load(file, environ={"SLACK_SIGNING_SECRET": "x"})
    assert settings.agent.model == "sonnet"
    assert settings.platforms.telegram.webhook is not None
    assert list(settings.delegation.profiles) == ["coder", "critic", "runner"]
    assert list(settings.mcp.servers) == ["github", "search"]


def test_every_key_of_the_example_has_a_word_about_it() -> None:
    bare = [
        line
        for line in EXAMPLE.read_text(encoding="utf-8").splitlines()
        if re.match(r" *#?\w+: *[^# ]", line) and "  # " not in line
    ]
    assert bare == []


def test_every_setting_has_a_description_for_editors() -> None:
    assert not [path for path, info in fields(Settings) if not info.description]


def _nothing() -> Path:
    return Path("/dev/null")
