"""The console without a terminal: a real process on real pipes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.console_program import accepted, piped

LIMIT_S = 20


async def told(folder: Path, data: bytes) -> tuple[str, str]:
    """Standard output and error of a run that is given `data`."""
    process = await piped(folder)
    async with asyncio.timeout(LIMIT_S):
        out, err = await process.communicate(data)
    assert process.returncode == 0, err
    return out.decode(), err.decode()


async def test_answers_go_to_standard_output_and_all_else_to_standard_error(
    tmp_path: Path,
) -> None:
    out, err = await told(tmp_path, b"one\n\ntwo\r\nthree")
    assert out == "echo: one\necho: two\necho: three\n"
    assert "💻 echo one (0.1s)" in err
    assert "queued (1 before it)" in err
    assert accepted(tmp_path) == [
        ("console:r1:1", "one"),
        ("console:r1:2", "two"),
        ("console:r1:3", "three"),
    ]


async def test_progress_whose_seconds_alone_go_on_is_told_once(tmp_path: Path) -> None:
    out, err = await told(tmp_path, b"children\n")
    assert out == "echo: children\n"
    assert err.splitlines()[-3:] == [
        "👥 2 of 2 children at work",
        "  a: step 1 · 0s · thinking",
        "  b: step 1 · 0s · thinking",
    ]


async def test_it_ends_only_when_a_goal_has_come_to_its_end(tmp_path: Path) -> None:
    out, err = await told(tmp_path, b"/goal two notes\n")
    assert out.splitlines() == [
        "⊙ Goal set (20-turn budget): two notes",
        "I wrote note 1.",
        "↻ Continuing toward goal (1/20): more to do",
        "I wrote note 2.",
        "↻ Continuing toward goal (2/20): more to do",
        "✓ Goal achieved: both notes are there",
    ]
    assert "⊙ Goal (active, 0/20 turns): two notes" in err


async def test_a_line_of_ten_megabytes_is_refused_and_the_next_one_is_taken(
    tmp_path: Path,
) -> None:
    out, err = await told(tmp_path, b"x" * (10 << 20) + b"\nnext\n")
    assert out == "echo: next\n"
    assert "That message is too long (10.0 MB)." in err


async def test_control_characters_and_broken_text_come_in_clean(tmp_path: Path) -> None:
    await told(tmp_path, b"\x1b[31mred\x1b[0m\x00\x07 \xff ok\n\x1b[A\n")
    assert [text for _, text in accepted(tmp_path)] == ["red \ufffd ok"]


async def test_escape_sequences_of_the_model_are_not_passed_on(tmp_path: Path) -> None:
    out, _ = await told(tmp_path, b"evil\n")
    assert out == "beforeredback after\n"


async def test_buttons_are_told_as_commands_and_files_as_paths(tmp_path: Path) -> None:
    out, _ = await told(tmp_path, b"card\nfile\n1\n")
    assert out == (
        "May I run `make deploy`?\n  Approve: /approve E1\n  Deny: /deny E1\n"
        f"Your notes.\n📄 {tmp_path}/files/notes.txt\necho: 1\n"
    )


async def test_two_hundred_lines_are_answered_in_their_order(tmp_path: Path) -> None:
    out, _ = await told(tmp_path, "".join(f"m{n}\n" for n in range(200)).encode())
    assert out.splitlines() == [f"echo: m{n}" for n in range(200)]


async def test_input_from_a_file_or_from_nowhere_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("from a file\n")
    for source, expected in ((tmp_path / "in", b"echo: from a file\n"), (Path(os.devnull), b"")):
        with source.open("rb") as stream:
            process = await piped(tmp_path, stdin=stream.fileno())
        async with asyncio.timeout(LIMIT_S):
            assert (await process.communicate())[0] == expected
        assert process.returncode == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
async def test_a_closed_descriptor_ends_it_quietly(tmp_path: Path, closed: str) -> None:
    (tmp_path / "in").write_text("hello\n")
    program = f"'{sys.executable}' -m tests.fakes.console_driver '{tmp_path}'"
    process = await asyncio.create_subprocess_shell(
        f"{program} < '{tmp_path}/in' {closed}",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    async with asyncio.timeout(LIMIT_S):
        out, err = await process.communicate()
    assert process.returncode == 0, err
    assert out == (b"echo: hello\n" if closed == "2>&-" else b"")


async def test_it_ends_when_nobody_reads_the_answers_any_more(tmp_path: Path) -> None:
    read, write = os.pipe()
    process = await piped(tmp_path, stdout=write)
    os.close(write)
    os.close(read)
    assert process.stdin is not None
    process.stdin.write(b"hello\n")
    async with asyncio.timeout(LIMIT_S):
        assert await process.wait() == 0
    assert [text for _, text in accepted(tmp_path)] == ["hello"]
    process.stdin.close()


async def test_a_silent_input_does_not_hold_up_the_end(tmp_path: Path) -> None:
    process = await piped(tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"hello\n")
    assert await process.stdout.readline() == b"echo: hello\n"
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(5):
        assert await process.wait() == 0
    process.stdin.close()


async def test_a_reader_that_stalls_holds_up_neither_the_input_nor_the_end(
    tmp_path: Path,
) -> None:
    read, write = os.pipe()
    process = await piped(tmp_path, stdout=write)
    os.close(write)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"x" * (200 << 10) + b"\nsecond\n")
    async with asyncio.timeout(LIMIT_S):
        while b"queued (1 before it)" not in await process.stderr.readline():
            pass
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(5):
        assert await process.wait() == 0
    assert [text[:6] for _, text in accepted(tmp_path)] == ["xxxxxx", "second"]
    os.close(read)
    process.stdin.close()


async def test_a_question_says_how_it_is_answered_by_a_command(tmp_path: Path) -> None:
    out, _ = await told(tmp_path, b"ask\n/approve E7\n")
    assert "rm -rf /srv/data" in out
    assert "/approve E7, or /deny E7 reason" in out
    assert "esc:" not in out
    assert [text for _, text in accepted(tmp_path)] == ["ask", "/approve E7"]
