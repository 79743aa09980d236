"""A YAML file as plain values that know their line and column.

Stricter than PyYAML: only `true`, `false`, `null`, whole and decimal numbers are not text (so
`on`, `012`, `12:30:45` and dates stay text), keys are unique, and tags are refused. Pure: it is
given the text and reads no file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from yaml import MappingNode, Node, ScalarNode, SequenceNode
from yaml.composer import Composer
from yaml.error import Mark, MarkedYAMLError
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from core.transcript import Json
from gateway.errors import ConfigError, KeyPath, Problem, dotted

_TAG = "tag:yaml.org,2002:"
_MOST_NODES = 20_000
"""Far above any real file; aliases of aliases would otherwise expand without end."""
_DEEPEST = 40
_TOO_DEEP = "the values are nested too deeply"


_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,99})\Z")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?\Z")


class _Resolver(BaseResolver):
    """The scalars that are not text."""


for _kind, _pattern, _first in (
    ("bool", re.compile(r"(?:true|false)\Z"), "tf"),
    ("null", re.compile(r"(?:null|~|)\Z"), ("n", "~", "")),
    ("int", _INT, "-+0123456789"),
    ("float", _FLOAT, "-+0123456789"),
):
    _Resolver.add_implicit_resolver(_TAG + _kind, _pattern, list(_first))


class _Loader(Reader, Scanner, Parser, Composer, _Resolver):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _Resolver.__init__(self)


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its values, and where each of them stands."""

    name: str
    values: Mapping[str, Json]
    root: Node | None

    def where(self, path: KeyPath) -> str:
        """`file:line:column` of the key, or of the nearest one above it that is written."""
        place = self.root.start_mark if self.root else None
        node = self.root
        for part in path:
            match node:
                case MappingNode():
                    entry = next((e for e in node.value if _key(e[0]) == part), None)
                    if entry is None:
                        break
                    place, node = entry[0].start_mark, entry[1]
                case SequenceNode() if isinstance(part, int) and part < len(node.value):
                    node = node.value[part]
                    place = node.start_mark
                case _:
                    break
        return _at(self.name, place)


def parse(text: str, name: str) -> Document:
    """Read a configuration file's text; `name` stands for it in errors.

    Raises ConfigError with every fault of the YAML itself; an empty file is an empty mapping.
    """
    root = _compose(text, name)
    reading = _Reading(name)
    values = reading.value(root, ()) if root is not None else None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        what = "the file must be a mapping (`group:` and its keys below it)"
        reading.fault(root, (), what)
        values = {}
    if reading.problems:
        raise ConfigError(reading.problems)
    return Document(name, values, root)


def parse_value(text: str) -> Json:
    """The value that a text (a variable's, a credential's) would be in YAML.

    Raises ConfigError when it is not one.
    """
    root = _compose(text, "")
    reading = _Reading("")
    value = reading.value(root, ()) if root is not None else None
    if reading.problems:
        raise ConfigError(reading.problems)
    return value


def _compose(text: str, name: str) -> Node | None:
    try:
        return _Loader(text).get_single_node()
    except MarkedYAMLError as error:
        words = " ".join(part for part in (error.context, error.problem) if part)
        mark = error.problem_mark or error.context_mark
        raise ConfigError([Problem(_at(name, mark), "", f"not valid YAML: {words}")]) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        words = f"not valid YAML: the character U+{ord(text[error.position]):04X} is not allowed"
        raise ConfigError([Problem(f"{name}:{line}", "", words)]) from error
    except RecursionError as error:
        raise ConfigError([Problem(name, "", _TOO_DEEP)]) from error


class _Reading:
    """Turns nodes into values, collecting faults."""

    def __init__(self, name: str) -> None:
        self.problems: list[Problem] = []
        self._name = name
        self._nodes = 0
        self._open: set[int] = set()

    def fault(self, node: Node | None, path: KeyPath, text: str) -> None:
        """Note a fault at a node."""
        where = _at(self._name, node.start_mark if node else None)
        self.problems.append(Problem(where, dotted(path), text))

    def value(self, node: Node, path: KeyPath) -> Json:
        """The node's value, None where it has a fault."""
        self._nodes += 1
        if id(node) in self._open or self._nodes > _MOST_NODES:
            if self._nodes <= _MOST_NODES + 1:
                self.fault(node, path, "an alias (`*name`) expands without end")
            return None
        if len(self._open) > _DEEPEST:
            self.fault(node, path, _TOO_DEEP)
            return None
        if not isinstance(node, ScalarNode) and node.tag not in {_TAG + "map", _TAG + "seq"}:
            self.fault(node, path, f"the tag `{node.tag}` is not supported")
        self._open.add(id(node))
        try:
            match node:
                case MappingNode():
                    return self._mapping(node, path)
                case SequenceNode():
                    return [self.value(child, (*path, n)) for n, child in enumerate(node.value)]
                case _:
                    return self._scalar(node, path)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: MappingNode, path: KeyPath) -> Json:
        values: dict[str, Json] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = _key(key_node)
            if key is None:
                self.fault(key_node, path, "a key must be text; put it in quotes")
            elif key in lines:
                first = f"it stands in line {lines[key]} already"
                self.fault(key_node, (*path, key), f"the key is there twice: {first}")
            else:
                lines[key] = key_node.start_mark.line + 1
                values[key] = self.value(value_node, (*path, key))
        return values

    def _scalar(self, node: Node, path: KeyPath) -> Json:
        text = str(node.value)
        match node.tag.removeprefix(_TAG):
            case "str":
                return text
            case "null":
                return None
            case "bool" if text in {"true", "false"}:
                return text == "true"
            case "int" if _INT.match(text):
                return int(text)
            case "float" if _FLOAT.match(text):
                return float(text)
            case tag:
                self.fault(node, path, f"`{tag}` is not supported for {text[:40]!r}")
                return None


def _key(node: Node) -> str | None:
    """A mapping's key as text; a number that serves as a name is one too."""
    if isinstance(node, ScalarNode) and node.tag in {_TAG + "str", _TAG + "int"}:
        return str(node.value)
    return None


def _at(name: str, mark: Mark | None) -> str:
    return f"{name}:{mark.line + 1}:{mark.column + 1}" if mark and name else name
