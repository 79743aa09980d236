"""The types that settings are made of, and the base of their groups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

NAME = r"^[a-z0-9][a-z0-9_.-]{0,63}$"
HTTP_URL = r"^https?://[^\s/?#]+[^\s?#]*$"
HTTPS_URL = r"^https://[^\s/?#]+[^\s?#]*$"


def _absolute(path: Path) -> Path:
    try:
        path = path.expanduser()
    except RuntimeError as error:
        raise ValueError("there is no such user") from error
    if not path.is_absolute() or "\0" in str(path):
        raise ValueError("must be an absolute path, or one below `~`")
    return path


def unique(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words, of which none may be there twice."""
    if len(set(words)) < len(words):
        raise ValueError("a word must not be there twice")
    return words


Name = Annotated[str, StringConstraints(pattern=NAME)]
Text = Annotated[str, StringConstraints(min_length=1)]
HttpUrl = Annotated[str, StringConstraints(pattern=HTTP_URL)]
HttpsUrl = Annotated[str, StringConstraints(pattern=HTTPS_URL)]
Port = Annotated[int, Field(ge=1, le=65535)]
Count = Annotated[int, Field(ge=1, le=10_000)]
Dollars = Annotated[float, Field(ge=0, le=1_000_000)]
Folder = Annotated[Path, AfterValidator(_absolute)]
Seconds = Annotated[float, Field(gt=0, le=86_400 * 365)]


class Group(BaseModel):
    """The base of all groups: frozen, and unknown keys are errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        protected_namespaces=(),
        defer_build=True,  # once for all of them, not again for each that holds another
    )
