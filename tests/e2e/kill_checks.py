"""What must hold when the dust has settled: nothing lost, nothing doubled, nothing out of order.

Each function raises AssertionError with the facts; none of them asks the program.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from tests.e2e.kill_autopsy import Autopsy, words_of
from tests.e2e.kill_people import NOTHING, REPEAT, STOPPED, Chat, answers
from tests.e2e.kill_world import ASK, STEP

PROGRESS = ("💻", "📎", "…", "↓ answered below", "⏹ ended without an answer")
INTERRUPTED = "interrupted by a restart"
CUT_OFF = "cut off"


def check_outbox(
    conn: sqlite3.Connection, shown: Mapping[int, Sequence[str]], deaths: Iterable[Autopsy]
) -> None:
    """Everything that was to be said is in the chat once; a second copy is marked, and only
    what was on its way at a death has one."""
    open_ = conn.execute("SELECT id, state, body FROM outbox WHERE state <> 'sent'").fetchall()
    assert not open_, open_
    assert not conn.execute("SELECT * FROM audit").fetchall()
    flights = Counter(flight for death in deaths for flight in death.in_flight)
    wanted: Counter[tuple[int, str]] = Counter()
    for lane, body in conn.execute("SELECT lane, body FROM outbox"):
        wanted[int(lane.split("|")[2]), words_of(body)] += 1
    heads = {text.split("\n", 1)[0]: text for _, text in wanted}
    plain: Counter[tuple[int, str]] = Counter()
    marked: Counter[tuple[int, str]] = Counter()
    for chat, texts in shown.items():
        for text in texts:
            if text.startswith(PROGRESS):
                continue
            said = text.removeprefix(REPEAT)
            said = said if (chat, said) in wanted else heads.get(said.split("\n", 1)[0], said)
            (marked if text.startswith(REPEAT) else plain)[chat, said] += 1
    for key in wanted | plain | marked:
        facts = f"{key}: wanted {wanted[key]}, plain {plain[key]}, marked {marked[key]}"
        assert plain[key] + marked[key] >= wanted[key], f"lost, {facts}"
        assert plain[key] <= wanted[key], f"doubled, {facts}"
        assert marked[key] <= flights[key], f"marked without need, {facts}, {flights[key]}"


def check_answers(chat: Chat, shown: Sequence[str]) -> None:
    """Every question is answered in the order they were asked; /stop drops what it says."""
    said_in = [found for text in shown if (found := answers(text))]
    assert all(a <= b for a, b in pairwise(said_in)), f"out of order: {said_in}"
    numbers = {number for found in said_in for number in found}
    replies = [t.removeprefix(REPEAT) for t in shown]
    dropped: list[int] = []
    open_: list[int] = []
    for said in chat.said:
        if ask := ASK.search(said):
            open_.append(int(ask["number"]))
        elif said == "/stop":
            dropped += [n for n in open_ if n not in numbers]
            open_.clear()
    lost = [n for n in open_ if n not in numbers]
    assert not lost, f"never answered: {lost}"
    words = list(dict.fromkeys(t for t in replies if STOPPED.fullmatch(t) or t == NOTHING))
    assert bool(words) >= bool(dropped), f"dropped without a word: {dropped}"


def check_goals(conn: sqlite3.Connection, chat: Chat, shown: Sequence[str]) -> None:
    """Goals that nobody stopped were achieved, with the steps that the judge wanted, each once."""
    steps: dict[str, list[int]] = defaultdict(list)
    for text in dict.fromkeys(t.removeprefix(REPEAT) for t in shown):
        if found := STEP.fullmatch(text):
            steps[found["goal"]].append(int(found["step"]))
    for goal, done in steps.items():
        assert done == list(range(1, len(done) + 1)), (goal, done)
    for text in (said for said in chat.said if said.startswith("/goal reach")):
        found_set = re.fullmatch(r"/goal reach (g\d+) in (\d+) turns", text)
        assert found_set is not None
        if "/stop" in chat.said:
            continue
        name, turns = found_set[1], int(found_set[2])
        assert f"✓ Goal achieved: all steps of {name} are there" in {
            t.removeprefix(REPEAT) for t in shown
        }
        spoken = sum(said != "/goal resume" for said in _since(chat, text))
        assert turns <= len(steps[name]) <= turns + spoken, (name, turns, steps[name])
    used = conn.execute(
        "SELECT count(*) FROM turn WHERE goal IS NOT NULL AND phase = 'failed'"
    ).fetchone()
    assert used == (0,)


def _since(chat: Chat, command: str) -> list[str]:
    rest = chat.said[chat.said.index(command) + 1 :]
    end = next((i for i, said in enumerate(rest) if said.startswith("/goal reach")), len(rest))
    return rest[:end]


def check_tools(
    conn: sqlite3.Connection, ledgers: Iterable[Path], deaths: Iterable[Autopsy]
) -> None:
    """A call that had begun at a death was told as interrupted and not run again; every other
    one ran once, if it was not stopped."""
    lines: Counter[str] = Counter()
    for ledger in ledgers:
        if ledger.exists():
            lines.update(ledger.read_text(encoding="utf-8").splitlines())
    doubled = [line for line, count in lines.items() if count > 1]
    assert not doubled, f"ran twice: {doubled}"
    keys = Counter(line.split()[0] for line in lines)
    assert not [key for key, count in keys.items() if count > 1], keys.most_common(3)
    asked, results = _calls(conn)
    assert asked.keys() == results.keys(), asked.keys() ^ results.keys()
    told = {call for call, text in results.items() if text.startswith(INTERRUPTED)}
    cut = {call for death in deaths for call in death.cut_calls}
    assert told <= cut, f"told as interrupted without a death: {told - cut}"
    forgiven = {call for call in cut if results[call].startswith(CUT_OFF)}
    assert cut - forgiven <= told, f"begun before a death and run again: {cut - forgiven - told}"
    for call, text in results.items():
        if text.startswith("Queued for sending"):
            continue
        if "[exit code 0]" in text:
            line = re.search(r"echo (\S+ \d+) >> ledger", asked[call])
            assert line is not None
            assert lines[line[1]] == 1, (call, asked[call], text)
        else:
            assert call in told or text.startswith(CUT_OFF), (call, text)


def _calls(
    conn: sqlite3.Connection,
) -> tuple[dict[tuple[int, str], str], dict[tuple[int, str], str]]:
    """The calls of all transcripts and their results, by turn and call id."""
    asked: dict[tuple[int, str], str] = {}
    results: dict[tuple[int, str], str] = {}
    for turn, body in conn.execute("SELECT turn, body FROM message ORDER BY session, n"):
        entry = json.loads(body)
        for call in entry.get("calls", ()):
            asked[turn, call["id"]] = call["arguments"]
        if entry["role"] == "tool":
            key = (turn, entry["call_id"])
            assert key not in results, key
            results[key] = entry["text"]
    return asked, results


def check_books(conn: sqlite3.Connection) -> None:
    """The file is sound, every lane idle, no row left over, no goal at work."""
    assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
    assert conn.execute("SELECT count(*) FROM step").fetchone() == (0,)
    assert not conn.execute("SELECT * FROM turn WHERE phase = 'begun'").fetchall()
    states = conn.execute(
        "SELECT DISTINCT state FROM inbox WHERE state NOT IN ('done', 'dropped')"
    )
    assert not states.fetchall()
    answered = conn.execute(
        "SELECT t.id FROM turn t WHERE phase = 'answered' AND "
        "(SELECT count(*) FROM outbox o WHERE o.turn = t.id) <> 1"
    ).fetchall()
    assert not answered, f"turns without exactly one answer: {answered}"


def quiet(data: Path) -> bool:
    """Whether nothing is left to do; asks the living file."""
    conn = sqlite3.connect(f"file:{data / 'pursuit.db'}?mode=ro", uri=True)
    try:
        (busy,) = conn.execute(
            "SELECT EXISTS (SELECT 1 FROM lane WHERE phase <> 'idle') OR "
            "EXISTS (SELECT 1 FROM inbox WHERE state = 'ready') OR "
            "EXISTS (SELECT 1 FROM outbox WHERE state IN ('ready', 'sending')) OR "
            "EXISTS (SELECT 1 FROM state_meta WHERE key LIKE 'goal:%' AND "
            "json_extract(value, '$.goal.status') = 'active')"
        ).fetchone()
    finally:
        conn.close()
    return not busy
