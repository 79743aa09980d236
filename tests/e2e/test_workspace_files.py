"""The file tools on a real disk: reading, writing, patching, listing, searching."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.workspace.listing import FACTS, snapshot
from adapters.workspace.options import WorkspaceOptions
from core.tools.facts import FileFact
from tests.e2e.workspace_lane import Lane, open_lane


@pytest.fixture
async def lane(tmp_path: Path) -> AsyncIterator[Lane]:
    (tmp_path / "extra").mkdir()
    async with open_lane(tmp_path, WorkspaceOptions(extra=(tmp_path / "extra",))) as lane:
        yield lane


# Reading, writing, patching


async def test_a_written_file_is_read_back(lane: Lane) -> None:
    written = await lane.call("write_file", path="a/b/naïve.txt", content="één\ntwee\n")
    assert written.text == "Created a/b/naïve.txt (11 bytes)."
    assert (written.receipt.ok, written.receipt.path, written.receipt.size) == (
        True,
        "a/b/naïve.txt",
        11,
    )
    assert (await lane.call("read_file", path="a/b/naïve.txt")).text == "één\ntwee\n"


async def test_a_replaced_file_keeps_its_mode_and_leaves_nothing_beside_it(lane: Lane) -> None:
    script = lane.workspace / "run.sh"
    script.write_text("old")
    script.chmod(0o755)
    again = await lane.call("write_file", path=str(script), content="new")
    assert again.text == "Replaced run.sh (3 bytes)."
    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("new", 0o755)
    assert [p.name for p in lane.workspace.iterdir()] == ["run.sh"]


async def test_a_long_file_is_read_page_by_page(lane: Lane) -> None:
    lines = [f"line {n} {'x' * 50}" for n in range(1, 1001)]
    (lane.workspace / "long.txt").write_text("\n".join(lines) + "\n")
    pages, start = "", 1
    while start:
        page = (await lane.call("read_file", path="long.txt", start_line=start)).text
        body, _, footer = page.rpartition("\n[lines ")
        pages += (body or page) + "\n"
        start = int(footer.partition("start_line=")[2].rstrip("]") or 0)
    assert pages.split() == "\n".join(lines).split()


async def test_a_part_of_a_file_says_which_part_it_is(lane: Lane) -> None:
    (lane.workspace / "ten.txt").write_text("".join(f"{n}\n" for n in range(1, 11)))
    part = await lane.call("read_file", path="ten.txt", start_line=4, lines=2)
    assert part.text == "4\n5\n[lines 4-5 of 10; go on with start_line=6]"
    assert (await lane.call("read_file", path="ten.txt", start_line=9)).text == (
        "9\n10\n[lines 9-10 of 10]"
    )
    past = await lane.call("read_file", path="ten.txt", start_line=99)
    assert past.text == "(the file has only 10 lines)"


async def test_a_huge_line_is_cut_and_the_lines_behind_it_are_still_read(lane: Lane) -> None:
    (lane.workspace / "wide.txt").write_text("a" * 5_000_000 + "\nnext\n")
    text = (await lane.call("read_file", path="wide.txt")).text
    assert len(text) < 6_000
    assert "[… 4996001 more bytes in this line]\nnext" in text


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "(empty file)"), (b"\x89PNG\0\0", "binary file (6 bytes)")]
)
async def test_empty_and_binary_files_are_named_as_such(
    lane: Lane, content: bytes, said: str
) -> None:
    (lane.workspace / "f").write_bytes(content)
    assert said in (await lane.call("read_file", path="f")).text


async def test_a_patch_changes_the_one_place_it_names(lane: Lane) -> None:
    (lane.workspace / "a.py").write_text("x = 1\ny = 2\n")
    done = await lane.call("patch_file", path="a.py", old="y = 2", new="y = 3")
    assert (done.text, done.receipt.size) == ("Patched a.py at line 2.", 12)
    assert (lane.workspace / "a.py").read_text() == "x = 1\ny = 3\n"


async def test_a_patch_follows_the_file_in_its_line_ends(lane: Lane) -> None:
    (lane.workspace / "dos.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    await lane.call("patch_file", path="dos.txt", old="a\nb\n", new="A\nB\n")
    assert (lane.workspace / "dos.txt").read_bytes() == b"A\r\nB\r\nc\r\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("same", "x", "stands in f.txt 3 times (lines 1, 2, 4): add neighbouring lines"),
        ("othr line", "x", "The nearest line is 3: 'other line'"),
        ("nothing like it", "x", "Read the file first."),
        ("other", "other", "nothing to do"),
        ("", "x", "old"),
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing_and_says_why(
    lane: Lane, old: str, new: str, said: str
) -> None:
    text = "same\nsame\nother line\nsame\n"
    (lane.workspace / "f.txt").write_text(text)
    result = await lane.call("patch_file", path="f.txt", old=old, new=new)
    assert said in result.text
    assert not result.receipt.ok
    assert (lane.workspace / "f.txt").read_text() == text


@pytest.mark.parametrize("name", ["read_file", "list_files", "search_files"])
async def test_what_is_not_there_is_said_in_a_sentence(lane: Lane, name: str) -> None:
    more = {"pattern": "x"} if name == "search_files" else {}
    result = await lane.call(name, path="none/here", **more)
    assert result.text == "There is no none/here. list_files shows what there is."


async def test_folders_pipes_and_sockets_are_no_files(lane: Lane) -> None:
    os.mkfifo(lane.workspace / "pipe")
    (lane.workspace / "folder").mkdir()
    os.mknod(lane.workspace / "sock", stat.S_IFSOCK | 0o600)
    for name in ("pipe", "folder", "sock"):
        for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
            assert not (await lane.call(tool, path=name, **more)).receipt.ok
    assert (lane.workspace / "pipe").is_fifo()


# Listing, searching, facts


async def test_a_listing_names_sizes_links_and_what_it_leaves_out(lane: Lane) -> None:
    (lane.workspace / "src").mkdir()
    (lane.workspace / "src" / "a.py").write_text("12345")
    (lane.workspace / "node_modules" / "x").mkdir(parents=True)
    (lane.workspace / ".pursuit").mkdir()
    (lane.workspace / "link").symlink_to("/etc")
    text = (await lane.call("list_files")).text
    assert text == "link (link)\nnode_modules/ (not listed)\nsrc/\nsrc/a.py (5 bytes)"


async def test_a_big_folder_is_listed_in_part(lane: Lane) -> None:
    for n in range(500):
        (lane.workspace / f"{n:03}.txt").touch()
    lines = (await lane.call("list_files")).text.splitlines()
    assert (len(lines), lines[-1]) == (201, "[more is not listed: name a folder]")


async def test_names_that_are_no_text_are_listed_all_the_same(lane: Lane) -> None:
    (lane.workspace / os.fsdecode(b"bad\xff")).touch()
    assert (await lane.call("list_files")).text == "bad? (0 bytes)"
    assert snapshot(lane.workspace) == (FileFact("bad?", 0),)


async def test_a_search_gives_path_line_and_text(lane: Lane) -> None:
    (lane.workspace / "src").mkdir()
    (lane.workspace / "src" / "a.py").write_text("import os\nvalue = 42\n")
    (lane.workspace / "b.bin").write_bytes(b"\0value = 42")
    found = await lane.call("search_files", pattern=r"value\s=\s\d+")
    assert found.text == "src/a.py:2:value = 42"
    in_file = await lane.call("search_files", pattern="import", path="src/a.py")
    assert in_file.text == "src/a.py:1:import os"
    none = await lane.call("search_files", pattern="nothing here", path="src")
    assert (none.text, none.receipt.ok) == ("(no match)", True)


async def test_many_matches_are_cut(lane: Lane) -> None:
    for n in range(40):
        (lane.workspace / f"{n}.txt").write_text("hit\n" * 50)
    lines = (await lane.call("search_files", pattern="hit")).text.splitlines()
    assert (len(lines), lines[-1]) == (61, "[there are more matches: narrow the search]")


async def test_a_bad_pattern_is_told(lane: Lane) -> None:
    result = await lane.call("search_files", pattern="(")
    assert (result.text.startswith("The search failed: "), result.receipt.ok) == (True, False)


def test_facts_are_of_the_newest_files_and_of_none_that_are_hidden(lane: Lane) -> None:
    for n in range(30):
        (lane.workspace / f"{n:02}.txt").write_text(f"note {n}")
        os.utime(lane.workspace / f"{n:02}.txt", (n, n))
    (lane.workspace / ".git").mkdir()
    (lane.workspace / ".git" / "config").write_text("x")
    (lane.workspace / "link").symlink_to(lane.data / "secret.txt")
    facts = snapshot(lane.workspace)
    assert len(facts) == FACTS
    assert facts[-1] == FileFact("29.txt", 7, "note 29")
    assert facts[0].path == "10.txt"
    assert snapshot(lane.workspace / "nowhere") == ()


def test_facts_of_big_and_binary_files_show_no_text(lane: Lane) -> None:
    (lane.workspace / "big").write_text("x" * 100_000)
    (lane.workspace / "bin").write_bytes(b"\0\1")
    (lane.workspace / "text").write_text("y" * 500)
    assert snapshot(lane.workspace) == (
        FileFact("big", 100_000),
        FileFact("bin", 2),
        FileFact("text", 500, "y" * 80),
    )
