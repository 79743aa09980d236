"""The model files that may be fetched, each pinned by size and SHA-256.

Values and the reader of the shipped `models.json`; it may not touch the network or the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from pydantic import TypeAdapter

DEFAULT_MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
TEST_MODEL = "smollm2-135m-instruct-q4_1"


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of a model file inside a package wheel; `sha256` is the wheel's own."""

    name: str
    version: str
    sha256: str
    member: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One GGUF file: what it must hash to, and where it can be had.

    The members of `parts`, one after the other, are the file. `hub_url` is None where the
    official hub has no file with this hash.
    """

    gguf_sha256: str
    size: int
    hub_url: str | None
    parts: tuple[Part, ...]


def shipped_catalogue() -> Mapping[str, ModelFile]:
    """The models this version knows, by id."""
    text = files("adapters.local_model").joinpath("models.json").read_bytes()
    return TypeAdapter(dict[str, ModelFile]).validate_json(text)
