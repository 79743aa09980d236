"""The measurements, each a function that starts what it needs and returns figures.

Blocks of ours and of the baseline take turns within a measurement, so that whatever else the
machine does meets both.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import rigs
from bench.delegations import delegation, judge_share
from bench.processes import ROOT, Child, peak_mb, python, resident_mb, rss_mb
from bench.rigs import FIRST_CHAT, Chat, Drive
from bench.sizes import Size
from bench.stats import Figure, Target, middle, share

QUIET_S = 1.0
"""How long a fresh process is left alone before its memory is read."""


def starting(folder: Path, size: Size) -> list[Figure]:
    """From the spawn to the first poll, and the memory held a second after it."""
    with rigs.model(folder) as url, rigs.chat(folder) as at:
        ours: list[tuple[float, float, float]] = []
        bare: list[tuple[float, float, float]] = []
        for _ in range(size.starts):
            ours.append(_started(at, lambda: rigs.program(folder, at, url, people=3)))
            bare.append(_started(at, lambda: rigs.bare_bot(folder, at, url)))
    pss, rss = _pair(ours, bare, 1), _pair(ours, bare, 2)
    return [
        Figure(
            what="start to first poll",
            unit="s",
            ours=middle([run[0] for run in ours]),
            bare=middle([run[0] for run in bare]),
            target=Target(1.25),
        ),
        Figure(what="memory idle (PSS)", unit="MB", ours=pss[0], bare=pss[1], target=Target(1.25)),
        Figure(what="memory idle (RSS)", unit="MB", ours=rss[0], bare=rss[1], target=Target(1.25)),
    ]


def turns(folder: Path, size: Size) -> list[Figure]:
    """One turn's own time, and turns a second with many lanes at once, both at a 0 ms model."""
    with (
        rigs.model(folder) as url,
        rigs.chat(folder) as our_chat,
        rigs.chat(folder) as bare_chat,
        rigs.program(folder, our_chat, url) as ours,
        rigs.bare_bot(folder, bare_chat, url) as bare,
        Child(python("-m", "bench.bare_calls", url), folder / "calls.log", speaks=True) as calls,
    ):
        our_chat.start(ours)
        bare_chat.start(bare)
        calls.read()
        return [*_warm(our_chat, bare_chat, size), *_rush(our_chat, bare_chat, calls, size)]


def crowd(folder: Path, size: Size) -> list[Figure]:
    """Many lanes waiting on a slow model at once."""
    with (
        rigs.model(folder, size.wait_s) as url,
        rigs.chat(folder) as at,
        rigs.program(folder, at, url) as ours,
    ):
        at.start(ours)
        at.drive(Drive(1, 1))
        before = rss_mb(ours.pid)
        done = at.drive(Drive(size.crowd, size.crowd, size.crowd, first=FIRST_CHAT + 1))
        most = peak_mb(ours.pid)
    waiting = f"{size.crowd:,} lanes, model of {size.wait_s:g} s"
    spread = f"slowest turn {max(done.took):.1f} s, median {middle(done.took):.1f} s"
    return [
        Figure(what=f"{waiting}: all answered", unit="s", ours=done.seconds, note=spread),
        Figure(
            what=f"{waiting}: peak memory a lane",
            unit="KB",
            ours=(most - before) / size.crowd * 1024,
            note=f"{before:.0f} MB before, {most:.0f} MB at the peak (RSS)",
        ),
    ]


def idle_lanes(folder: Path, size: Size) -> list[Figure]:
    """What lanes leave in memory that each had a turn. The first lanes only warm the process
    up: pools, caches, the heap's high-water mark."""
    warm = size.idle_lanes // 4
    with (
        rigs.model(folder) as url,
        rigs.chat(folder) as at,
        rigs.program(folder, at, url) as ours,
    ):
        at.start(ours)
        at.drive(Drive(warm, warm, min(32, warm)))
        time.sleep(QUIET_S)
        sizes = [resident_mb(ours.pid)]
        for half in range(2):
            lanes = size.idle_lanes // 2
            at.drive(Drive(lanes, lanes, min(32, lanes), first=FIRST_CHAT + warm + half * lanes))
            time.sleep(QUIET_S)
            sizes.append(resident_mb(ours.pid))
    grown = (sizes[-1] - sizes[0]) / size.idle_lanes * 100
    seen = ", ".join(f"{mb:.1f}" for mb in sizes)
    return [
        Figure(
            what="memory per 100 idle lanes",
            unit="MB",
            ours=grown,
            target=Target(2.0, of_ratio=False),
            note=f"PSS after {warm}, {warm + size.idle_lanes // 2} and "
            f"{warm + size.idle_lanes} lanes: {seen} MB",
        )
    ]


def command_line(_: Path, size: Size) -> list[Figure]:
    """`pursuit --help` against an interpreter that does nothing."""
    pursuit = [str(Path(sys.executable).with_name("pursuit")), "--help"]
    ours: list[float] = []
    bare: list[float] = []
    for _round in range(size.helps):
        ours.append(_timed(pursuit))
        bare.append(_timed(python("-c", "")))
    return [
        Figure(
            what="pursuit --help",
            unit="s",
            ours=middle(ours),
            bare=middle(bare),
            target=Target(0.15, of_ratio=False),
            note=f"bare is `python -c ''`; fastest {min(ours):.3f} s",
        )
    ]


def accepts(folder: Path, size: Size) -> list[Figure]:
    """Durable accepts through the store."""
    command = python("-m", "bench.store_accepts", "--folder", str(folder))
    done = subprocess.run(
        [*command, "--rounds", str(size.accept_rounds)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    return [
        Figure(
            what="durable accepts",
            unit="/s",
            ours=middle(told["rates"]),
            bare=middle(told["bare"]),
            target=Target(20_000, of_ratio=False, at_most=False),
            note="bare is the same rows by SQL alone, as many to a commit; best round "
            f"{max(told['rates']):,.0f} against {max(told['bare']):,.0f}",
        )
    ]


MEASURES: dict[str, Callable[[Path, Size], list[Figure]]] = {
    "turns": turns,
    "crowd": crowd,
    "start": starting,
    "idle": idle_lanes,
    "help": command_line,
    "accepts": accepts,
    "delegation": delegation,
    "judge": judge_share,
}


def _warm(our_chat: Chat, bare_chat: Chat, size: Size) -> list[Figure]:
    drive = Drive(size.block_turns, 10, gap_s=size.gap_s)
    ours: list[float] = []
    bare: list[float] = []
    for chat in (our_chat, bare_chat):
        chat.drive(drive)  # the first turns open connections and sessions
    for _ in range(size.blocks):
        bare += bare_chat.drive(drive).took
        ours += our_chat.drive(drive).took
    return [
        Figure(
            what="own time per warm turn, p50",
            unit="ms",
            ours=middle(ours) * 1e3,
            bare=middle(bare) * 1e3,
            target=Target(1.5),
            note=f"p90 {share(ours, 0.9) * 1e3:.1f} ms against {share(bare, 0.9) * 1e3:.1f} ms, "
            f"fastest {min(ours) * 1e3:.1f} ms against {min(bare) * 1e3:.1f} ms",
        )
    ]


def _rush(our_chat: Chat, bare_chat: Chat, calls: Child, size: Size) -> list[Figure]:
    drive = Drive(size.rush_turns, size.at_once * 2, size.at_once)
    ours: list[float] = []
    bare: list[float] = []
    loop: list[float] = []
    for number in range(size.rush_blocks + 1):
        calls.write(f"{size.rush_turns} {size.at_once}")
        seconds = (
            float(calls.read()),
            bare_chat.drive(drive).seconds,
            our_chat.drive(drive).seconds,
        )
        if number:  # the first one opens connections
            for rates, taken in zip((loop, bare, ours), seconds, strict=True):
                rates.append(size.rush_turns / taken)
    what = f"turns a second, {size.at_once} lanes"
    return [
        Figure(
            what=f"{what}, against SDK calls",
            unit="/s",
            ours=middle(ours),
            bare=middle(loop),
            target=Target(0.5, at_most=False),
            note="bare makes the same model calls, without a chat",
        ),
        Figure(
            what=f"{what}, against the bare bot",
            unit="/s",
            ours=middle(ours),
            bare=middle(bare),
            note="what is between the two baselines is the price of the chat platform",
        ),
    ]


def _started(at: Chat, spawn: Callable[[], Child]) -> tuple[float, float, float]:
    """Seconds to the first poll, then PSS and RSS in MB."""
    at.forget()
    with spawn() as child:
        seconds = at.start(child)
        time.sleep(QUIET_S)
        child.check()
        return seconds, resident_mb(child.pid), rss_mb(child.pid)


def _pair(
    ours: Sequence[tuple[float, ...]], bare: Sequence[tuple[float, ...]], at: int
) -> tuple[float, float]:
    return middle([run[at] for run in ours]), middle([run[at] for run in bare])


def _timed(command: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def clean(folder: Path) -> None:
    """Drop what a measurement left, so that the next one finds the disk as it was."""
    for place in folder.glob("data-*"):
        shutil.rmtree(place, ignore_errors=True)
