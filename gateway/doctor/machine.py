"""The machine: disk, open files, clock and ports."""

from __future__ import annotations

import resource
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median

from core.findings import Finding, fault, warning, well

DISK, FILES, CLOCK, PORT = "disk space", "open files", "clock", "port"
LEAST_FREE, LITTLE_FREE = 100 << 20, 1 << 30
OWN_FILES = 256
SKEW_S, DRIFT_S = 60.0, 10.0
_MB = 1 << 20


def check_disk(folder: Path) -> Iterator[Finding]:
    """Free space where the data is, or will be."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < LEAST_FREE:
        yield fault(
            DISK,
            f"only {free // _MB} MB are free for {folder}",
            why="with a full disk nothing new is taken from people",
            fix="Free some space, or move the data folder to another disk (--data DIR).",
        )
    elif free < LITTLE_FREE:
        yield warning(
            DISK,
            f"{free // _MB} MB are free for {folder}",
            why="the embedded model alone takes 1.1 GB, and files of chats add up",
            fix="Free some space, or move the data folder to another disk (--data DIR).",
        )
    else:
        yield well(DISK, f"{free / 2**30:.1f} GB are free")


def check_files(calls: int) -> Iterator[Finding]:
    """The limit of open files, for so many model calls at once."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = OWN_FILES + 2 * calls
    if soft == resource.RLIM_INFINITY or soft >= needed:
        yield well(FILES, f"{soft} may be open")
        return
    yield fault(
        FILES,
        f"only {soft} files may be open, {needed} may be needed",
        why="each connection is one; beyond the limit calls and commands fail",
        fix=f"LimitNOFILE={max(needed, 65536)} in the unit, or `ulimit -n {needed}` before the "
        "start, or a lower agent.max_model_calls.",
    )


def check_clock(now: float, seen: Iterable[float]) -> Iterator[Finding]:
    """This machine's time against what servers said it was a moment ago."""
    others = list(seen)
    if not others:
        yield well(CLOCK, "not compared: no server said what time it is")
        return
    skew = median(now - other for other in others)
    way = "ahead" if skew > 0 else "behind"
    if abs(skew) > SKEW_S:
        yield fault(
            CLOCK,
            f"the clock is {abs(skew):.0f} s {way}",
            why="certificates, Slack's signatures and all timers go by it",
            fix="timedatectl set-ntp true (or start systemd-timesyncd, chrony or ntpd).",
        )
    elif abs(skew) > DRIFT_S:
        yield warning(
            CLOCK,
            f"the clock is {abs(skew):.0f} s {way}",
            why="it will go on drifting",
            fix="timedatectl set-ntp true (or start systemd-timesyncd, chrony or ntpd).",
        )
    else:
        yield well(CLOCK, "right")


def check_ports(wanted: Mapping[str, tuple[str, int]]) -> Iterator[Finding]:
    """Ports to listen on, by the settings' keys; only where Pursuit does not run yet."""
    for key, (host, port) in wanted.items():
        problem = _cannot_listen(host, port)
        if not problem:
            yield well(f"{PORT} {port}", f"free for {key}")
            continue
        yield fault(
            f"{PORT} {port}",
            f"{host}:{port} cannot be listened on ({problem})",
            why=f"{key} needs it",
            fix=f"Stop the program that has it (ss -ltnp 'sport = :{port}'), or set {key}.port.",
        )


def _cannot_listen(host: str, port: int) -> str:
    """Why not, "" where it can."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return error.strerror or str(error)
    return ""
