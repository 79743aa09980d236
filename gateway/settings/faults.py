"""pydantic's errors in words for the person who wrote the configuration. Pure."""

from __future__ import annotations

from pydantic_core import ErrorDetails

from gateway.errors import KeyPath
from gateway.settings.keys import is_secret, later, nearest
from gateway.settings.values import HTTP_URL, HTTPS_URL, NAME
from gateway.settings.work import (
    ENV_NAME,
    HEADER_NAME,
    OF_SERVER,
    SERVER_NAME,
    TOOLSETS,
    URL_WITH_QUERY,
)

KEY_MARK = "[key]"
"""pydantic ends a location with this when a mapping's key is at fault, not its value."""

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "path_type": "a path",
    "tuple_type": "a list such as [a, b]",
    "dict_type": "a mapping of names",
    "model_type": "a mapping of keys",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
}
_PATTERNS = {
    NAME: "a name is made of lower-case letters, digits, `_`, `-` and `.`, at most 64",
    HTTP_URL: "must be an address such as https://host/path, without `?` and `#`",
    HTTPS_URL: "must be an address that begins with https://, without `?` and `#`",
    URL_WITH_QUERY: "must be an address such as https://host/path",
    ENV_NAME: "a variable's name is made of letters, digits and `_`",
    HEADER_NAME: "a header's name is made of letters, digits and `-`",
    SERVER_NAME: "a server's name is made of lower-case letters, digits, `_` and `-`, at most 32",
}


def explain(error: ErrorDetails, path: KeyPath) -> str:
    """What is wrong at `path`, with what was expected and what was found."""
    kind, context = error["type"], error.get("ctx", {})
    found = describe(error["input"], secret=is_secret(path))
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, found {found}{_quotes(kind, error['input'])}"
    if kind in _BOUNDS:
        limit, words = _BOUNDS[kind]
        return f"must be {words} {context[limit]:g}, found {found}"
    match kind:
        case "extra_forbidden":
            return _unknown(path)
        case "missing":
            return "is needed and has no default"
        case "literal_error":
            return f"expected {context['expected']}, found {found}"
        case "toolset":
            return _no_toolset(found)
        case "string_too_short":
            return "must not be empty"
        case "string_pattern_mismatch":
            return f"{_PATTERNS[context['pattern']]}; found {found}"
        case "value_error":
            return f"{context['error']}, found {found}"
        case _:
            return error["msg"]


def describe(value: object, *, secret: bool = False) -> str:
    """A value as an error shows it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number" if secret else f"the number {value}"
        case str():
            return "text" if secret else f"the text {_short(value)!r}"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return f"the text {_short(str(value))!r}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _quotes(kind: str, value: object) -> str:
    return " (put it in quotes)" if kind == "string_type" and isinstance(value, int) else ""


def _unknown(path: KeyPath) -> str:
    part = later(path)
    if part:
        return f"this version of Pursuit does not have it yet ({part}); remove the key"
    meant = nearest(path)
    return f"unknown key; did you mean `{meant}`?" if meant else "unknown key"


def _no_toolset(found: str) -> str:
    listed = ", ".join(map(repr, TOOLSETS))
    return f"expected {listed} or '{OF_SERVER}<server>', found {found}"
