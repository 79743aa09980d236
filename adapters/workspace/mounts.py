"""What a sandbox shows of the machine, in bubblewrap's words. It changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from adapters.workspace.guarded import guarded

Mount: TypeAlias = tuple[str, ...]

MOST_OPEN = 300
"""How many entries of a closed folder stay open; each costs every command some time."""

SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Links into /usr on merged systems, folders on others."""

ETC = (
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
)
"""What programs need of /etc; keys (/etc/ssl/private, /etc/shadow) stay outside even for root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is there beside the system: folders that can be written, and a runtime to read.
    `hidden` is covered wherever it lies, but for `home`, a folder to write of its own. `size`
    bounds what covers it, in bytes; None where bubblewrap cannot."""

    writable: tuple[Path, ...]
    runtime: Path | None
    hidden: tuple[Path, ...]
    size: int | None
    home: Path | None = None


def mounts(shown: Shown) -> Iterator[str]:
    """The open folders and the covers over what is hidden, the outer before the inner: a
    workspace in the data directory shows, the rest of that directory does not."""
    open_folders = [Path(os.path.realpath(p)) for p in shown.writable]
    found: dict[Path, Mount] = {p: _bound(p, writable=True) for p in open_folders if p.exists()}
    if shown.runtime is not None:
        found.setdefault(shown.runtime, _bound(shown.runtime, writable=False))
    visible = [*found, Path("/usr")]
    guards = guarded(open_folders)
    covered = [Path(os.path.realpath(p)) for p in shown.hidden]
    covered += [guard.path for guard in guards if guard.secret]
    for path in covered:
        if path not in found and any(path.is_relative_to(v) for v in visible):
            found.update(_cover(path, shown.size))
    start_ups = [
        guard.path
        for guard in guards
        if not guard.secret
        and guard.path not in found
        and any(guard.path.is_relative_to(folder) for folder in open_folders)
    ]
    if guards:
        _fix(found, start_ups, open_folders)
    if shown.home is not None:  # after all else, which would show the folders round it too
        found[shown.home] = _bound(shown.home, writable=True)
    for path in sorted(found, key=lambda p: len(p.parts)):
        yield from found[path]


def empty(path: Path, size: int | None) -> tuple[str, ...]:
    """An empty folder in memory."""
    return (*(() if size is None else ("--size", str(size))), "--tmpfs", str(path))


def _cover(path: Path, size: int | None) -> Mapping[Path, Mount]:
    """What hides a file or a folder, where there is one."""
    try:
        if path.is_dir():
            return {path: empty(path, size)}
        return {path: ("--ro-bind", "/dev/null", str(path))} if path.exists() else {}
    except OSError:  # this user cannot look there, and no more can the command
        return {}


def _fix(mounts: dict[Path, Mount], start_ups: list[Path], open_folders: list[Path]) -> None:
    """Let nobody change what is at these paths, nor put something there. Where there is nothing
    yet, the folder that would hold it takes no new entries; those that it has stay open, each
    as a mount of its own."""
    there = [path for path in start_ups if os.path.lexists(path)]
    closed = {_nearest(path) for path in start_ups if path not in there}.difference(there)
    for path in (*there, *closed):
        mounts[path] = _bound(path, writable=False)
    for folder in closed:
        for child in _entries(folder):
            mounts.setdefault(child, _bound(child, writable=True))
    for path in list(mounts):  # a folder that is a mount cannot be moved away with what it holds
        for above in path.parents:
            kept = any(above.is_relative_to(start_up) for start_up in there)
            if not kept and any(above.is_relative_to(folder) for folder in open_folders):
                mounts.setdefault(above, _bound(above, writable=True))


def _nearest(path: Path) -> Path:
    """The nearest folder above the path that there is."""
    return next(p for p in path.parents if os.path.lexists(p))


def _entries(folder: Path) -> list[Path]:
    """The files and folders in a folder, folders first, at most `MOST_OPEN`; a link stays what
    it is, and leads where it led."""
    try:
        found = [child for child in folder.iterdir() if not child.is_symlink()]
        folders = sorted(child for child in found if child.is_dir())
        files = sorted(child for child in found if child.is_file())
    except OSError:  # somebody else's
        return []
    return [*folders, *files][:MOST_OPEN]


def _bound(path: Path, *, writable: bool) -> Mount:
    return ("--bind" if writable else "--ro-bind", str(path), str(path))


def system() -> Iterator[str]:
    """The read-only system."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in SYSTEM_LINKS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--ro-bind-try", "/nix", "/nix")
    for name in ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
