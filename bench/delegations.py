"""The measurements of delegation: what it adds to a turn, and what its judge costs in tokens."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from adapters.sqlite.database import FILE_NAME
from bench import rigs, tasks
from bench.rigs import FIRST_CHAT, Chat, Drive
from bench.sizes import Size
from bench.stats import Figure, middle, share

CHATS = 10
PEOPLE = 1_000
KINDS = {"": tasks.DELEGATED, " with criteria": tasks.CHECKED}
JUDGE = "acceptance_judge"
PURPOSES = ("agent", "child", JUDGE)


def delegation(folder: Path, size: Size) -> list[Figure]:
    """A turn that hands one task to a child, which answers in one call, at a 0 ms model."""
    with (
        rigs.models(folder) as url,
        rigs.chat(folder) as our_chat,
        rigs.chat(folder) as bare_chat,
        rigs.program(folder, our_chat, url, PEOPLE, rigs.STAFF) as ours,
        rigs.bare_bot(folder, bare_chat, url) as bare,
    ):
        our_chat.start(ours)
        bare_chat.start(bare)
        taken = _taken(our_chat, bare_chat, size)
        _check(spent(_database(folder)), size)
    ordinary = middle(taken[tasks.ORDINARY][0])
    figures = []
    for name, words in KINDS.items():
        mine, plain = taken[words]
        more = middle(plain) - middle(taken[tasks.ORDINARY][1])
        figures += [
            Figure(
                what=f"own time of a turn that delegates{name}, p50",
                unit="ms",
                ours=middle(mine) * 1e3,
                bare=middle(plain) * 1e3,
                note="bare makes the same model calls; "
                f"p90 {share(mine, 0.9) * 1e3:.1f} ms against {share(plain, 0.9) * 1e3:.1f} ms",
            ),
            Figure(
                what=f"own time per delegation{name}",
                unit="ms",
                ours=(middle(mine) - ordinary) * 1e3,
                bare=ordinary * 1e3,
                note="over an ordinary turn of Pursuit, which stands under bare; the same model"
                f" calls add {more * 1e3:.1f} ms to the bare bot's turn",
            ),
        ]
    return figures


def _taken(
    our_chat: Chat, bare_chat: Chat, size: Size
) -> Mapping[str, tuple[list[float], list[float]]]:
    """Seconds of each turn, ours and the baseline's, by the words that ask for its kind. Each
    kind has chats of its own, for a delegation leaves more behind in a conversation."""
    drives = [
        Drive(size.handed_over, CHATS, 1, size.gap_s, FIRST_CHAT + at * CHATS, words)
        for at, words in enumerate((tasks.ORDINARY, *KINDS.values()))
    ]
    taken: dict[str, tuple[list[float], list[float]]] = {d.text: ([], []) for d in drives}
    for drive in drives:  # the first turns open connections and sessions
        our_chat.drive(drive)
        bare_chat.drive(drive)
    for _ in range(size.blocks):
        for drive in drives:
            mine, plain = taken[drive.text]
            plain += bare_chat.drive(drive).took
            mine += our_chat.drive(drive).took
    return taken


def _check(booked: Sequence[tuple[str, int]], size: Size) -> None:
    """Raise ValueError where not every turn did what it was measured for."""
    calls = Counter(purpose for purpose, _ in booked)
    turns = size.handed_over * (size.blocks + 1)
    wanted = {"agent": 5 * turns, "child": 2 * turns, JUDGE: turns}
    if calls != wanted:
        raise ValueError(f"the program made the calls {calls}, not {wanted}")


def judge_share(folder: Path, size: Size) -> list[Figure]:
    """What the books of the program say after some delegations of real size, each by the first
    message of a chat."""
    with (
        rigs.models(folder) as url,
        rigs.chat(folder) as at,
        rigs.program(folder, at, url, PEOPLE, rigs.STAFF) as ours,
    ):
        at.start(ours)
        at.drive(Drive(size.judged, size.judged, text=tasks.BUILT))
        return share_of(spent(_database(folder)), size.judged)


def _database(folder: Path) -> Path:
    """The database of the one program that runs."""
    [found] = folder.glob(f"data-*/**/{FILE_NAME}")
    return found


def spent(database: Path) -> list[tuple[str, int]]:
    """The purpose and the tokens, in and out, of each booked call."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as conn:
        return conn.execute("SELECT purpose, input + output FROM usage ORDER BY id").fetchall()


def share_of(booked: Sequence[tuple[str, int]], delegations: int) -> list[Figure]:
    """The judge's share of so many delegations' tokens, and what each purpose took. Raises
    ValueError for books that are not those of delegations with a judge."""
    each = {p: sum(tokens for purpose, tokens in booked if purpose == p) for p in PURPOSES}
    whole = sum(each.values())
    if not all(each.values()) or whole != sum(tokens for _, tokens in booked):
        raise ValueError(f"not what {delegations} judged delegations book: {booked[:20]}")
    alone = each[JUDGE] / (each["child"] + each[JUDGE])
    first = Figure(
        what="acceptance judge's share of tokens",
        unit="%",
        ours=each[JUDGE] / whole * 100,
        note=f"of all tokens of {delegations} delegations, the parent's two calls included; of"
        f" the child's and the judge's alone {alone * 100:.1f} %",
    )
    return [first, *(_tokens(p, tokens / delegations) for p, tokens in each.items())]


def _tokens(purpose: str, tokens: float) -> Figure:
    return Figure(what=f"tokens a delegation: {purpose}", unit="tokens", ours=tokens)
