"""Loading: from a file, the environment, credentials and flags to checked settings.

The only place of the program that reads the environment. It shows values in errors, but never
those of secrets.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from core.transcript import Json
from gateway.errors import ConfigError, KeyPath, Problem, dotted
from gateway.settings.choice import Job, chosen, toolsets
from gateway.settings.document import Document, parse, parse_value
from gateway.settings.faults import KEY_MARK, explain
from gateway.settings.layers import Layer, from_credentials, from_environment, implicit_models
from gateway.settings.manager import ServiceManager, from_manager
from gateway.settings.places import data_folder, data_path, find_config, read_config
from gateway.settings.rules import faults, unset_text
from gateway.settings.schema import Settings, Task
from gateway.settings.variables import Substitution

LOCAL_TIMEOUT_S = 180.0
"""The embedded model's one slot is shared."""


def load(
    config: Path | None = None,
    *,
    flags: Layer | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """The settings to run with; no file at all is fine.

    `flags` are values from the command line, which go over everything else. Raises ConfigError
    with every fault that can be told from the others.
    """
    file = find_config(config, environ)
    document = parse(read_config(file), str(file)) if file else Document("", {}, None)
    folder = environ.get("CREDENTIALS_DIRECTORY")
    outer = from_environment(environ).over(from_credentials(Path(folder) if folder else None))
    outer = (flags or Layer()).over(outer)
    values = outer.over(Layer(document.values)).values
    bare = not values.get("models") and not values.get("providers")
    if bare:
        implied = implicit_models(environ)
        outer = outer.over(implied)
        values = outer.over(Layer(document.values)).values
    return _Loading(document, outer, bare).settings(values, environ)


def config_file(config: Path | None = None) -> Path | None:
    """The file that `load` reads, None for none."""
    return find_config(config, os.environ)


def config_place(config: Path | None = None) -> Path:
    """Where a configuration is, or where a new one belongs."""
    home = os.environ.get("PURSUIT_HOME")
    new = Path(home) if home else config_home() / "pursuit"
    return (config_file(config) or new / "config.yaml").absolute()


def secret_places(config: Path | None = None) -> tuple[Path, ...]:
    """The files and folders that settings and their secrets come from; the agent's commands
    must not see them."""
    file = config_file(config)
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return (*((file.absolute(),) if file else ()), *((Path(folder),) if folder else ()))


def config_home() -> Path:
    """Where the user's configuration files are, of all programs."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def service_manager() -> ServiceManager | None:
    """What systemd has told this process, None where it was started otherwise."""
    return from_manager(os.environ)


def data_place(data: Path | None = None) -> Path:
    """Where the data folder is or would be; nothing is made."""
    return data_path(data, os.environ)


def data_dir(data: Path | None = None) -> Path:
    """The data folder, made if need be; raises NoPermission or UserError."""
    return data_folder(data, os.environ)


@dataclass(frozen=True, slots=True)
class _Loading:
    document: Document
    outer: Layer
    implied: bool
    """Whether the catalogue is the one of a configuration that has none."""

    def settings(self, values: Mapping[str, Json], environ: Mapping[str, str]) -> Settings:
        """Check the values and fill in what depends on others."""
        variables = Substitution(environ, lambda path: bool(self.outer.origin(path)))
        tree = variables.mapping(values)
        texts = variables.done | set(self.outer.origins)
        self._refuse([(path, _BROKEN) for path in variables.broken])
        self._refuse([(path, "is not valid Unicode text") for path in _garbled(tree)])
        unset = variables.unset
        settings = self._validated(tree, texts, unset)
        self._refuse(self._broken(settings, unset))
        filled = _filled(settings)
        filled.came_from(self.outer.origins)
        filled.left_out(unset)
        return filled

    def _validated(
        self, tree: dict[str, Json], texts: set[KeyPath], unset: Mapping[KeyPath, str]
    ) -> Settings:
        """Strict for what a file says; the text of a variable becomes what its setting takes."""
        while True:
            try:
                return Settings.model_validate_json(json.dumps(tree), strict=True)
            except ValidationError as error:
                details = error.errors(include_url=False)
            mended = [_mend(tree, detail, texts) for detail in details]
            if not any(mended):
                found = [_fault(detail, unset) for detail in details]
                self._refuse([*found, *self._others(tree, details, unset)])

    def _others(
        self, tree: dict[str, Json], details: list[ErrorDetails], unset: Mapping[KeyPath, str]
    ) -> list[tuple[KeyPath, str]]:
        """The rules that the groups without such faults break."""
        bad = {str(detail["loc"][0]) for detail in details if detail["loc"]}
        good = {key: value for key, value in tree.items() if key not in bad}
        try:
            settings = Settings.model_validate_json(json.dumps(good), strict=True)
        except ValidationError:
            return []  # a text that is still to be mended
        return self._broken(settings, unset, bad)

    def _broken(
        self, settings: Settings, unset: Mapping[KeyPath, str], without: Set[str] = frozenset()
    ) -> list[tuple[KeyPath, str]]:
        found = faults(settings, unset, without)
        if not self.implied:
            return found
        note = "; the configuration names no models, and this is the default one"
        return [(path, text + note if "(there:" in text else text) for path, text in found]

    def _refuse(self, found: list[tuple[KeyPath, str]]) -> None:
        if found:
            raise ConfigError(Problem(self._where(path), dotted(path), t) for path, t in found)

    def _where(self, path: KeyPath) -> str:
        return self.outer.origin(path) or self.document.where(path)


_HALF = re.compile("[\ud800-\udfff]")
_BROKEN = (
    "a reference to a variable is `${NAME}` or `${NAME:-default}`; write `$${` for a plain `${`"
)


def _fault(detail: ErrorDetails, unset: Mapping[KeyPath, str]) -> tuple[KeyPath, str]:
    path = detail["loc"]
    if path in unset:
        return path, unset_text(unset[path])
    if path[-1:] == (KEY_MARK,):
        path = path[:-1]
    return path, explain(detail, path)


def _garbled(value: Json, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Where a text or a key holds half a character, as from bytes that are not UTF-8."""
    match value:
        case str() if _HALF.search(value):
            yield path
        case dict():
            for key, item in value.items():
                yield from _garbled(key, (*path, key))
                yield from _garbled(item, (*path, key))
        case list():
            for position, item in enumerate(value):
                yield from _garbled(item, (*path, position))
        case _:
            pass


def _mend(tree: dict[str, Json], detail: ErrorDetails, texts: set[KeyPath]) -> bool:
    """Try to make a value what its setting takes: true when it is worth checking again.

    A group without keys is null in YAML and means its defaults; the text of a variable is read
    as YAML where the setting is not text.
    """
    path, kind = detail["loc"], detail["type"]
    if not kind.endswith("_type"):
        return False
    if detail["input"] is None and kind in {"model_type", "dict_type"}:
        return _put(tree, path, {})
    if path in texts and isinstance(detail["input"], str):
        texts.discard(path)
        try:
            return _put(tree, path, parse_value(detail["input"]))
        except ConfigError:
            return False
    return False


def _put(tree: dict[str, Json], path: KeyPath, value: Json) -> bool:
    place: Json = tree
    for part in path[:-1]:
        match place, part:
            case dict(), str():
                place = place[part]
            case list(), int():
                place = place[part]
            case _:
                return False
    match place, path[-1]:
        case dict(), str() as key:
            place[key] = value
        case list(), int() as position:
            place[position] = value
        case _:
            return False
    return True


def _filled(settings: Settings) -> Settings:
    """Name the agent's model and toolsets, and fit the defaults to an embedded one."""
    agent, auxiliary = settings.agent, settings.auxiliary
    changes: dict[str, object] = {
        "model": chosen(settings, "agent").name,
        "toolsets": toolsets(settings),
    }
    tasks: Mapping[Job, Task] = {
        "goal_judge": auxiliary.goal_judge,
        "compaction": auxiliary.compaction,
        "acceptance_judge": auxiliary.acceptance_judge,
        "critic": auxiliary.critic,
    }
    patient: dict[str, object] = {
        name: task.model_copy(update={"timeout_s": LOCAL_TIMEOUT_S})
        for name, task in tasks.items()
        if chosen(settings, name).local and "timeout_s" not in task.model_fields_set
    }
    return settings.model_copy(
        update={
            "agent": agent.model_copy(update=changes),
            "auxiliary": auxiliary.model_copy(update=patient),
        }
    )
