"""Every chat platform: files both ways, and texts that are longer than a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import PermanentError
from core.messages import Message, Say, SendFile
from tests.contracts.platform_rig import Can, PlatformRig, Seen, deliver, shown

MAX_PARTS = 3
LONG = 30_000
"""Words enough for a file where a message has a limit at all."""


def prose(characters: int) -> str:
    """Paragraphs of numbered words."""
    words = [f"word{number}" for number in range(characters // 9)]
    lines = [" ".join(words[at : at + 8]) for at in range(0, len(words), 8)]
    return "\n\n".join(lines)


def words_of(seen: list[Seen]) -> list[str]:
    return [word for each in seen for word in each.text.split() if word.startswith("word")]


@pytest.fixture
def half(there: PlatformRig) -> int:
    """Half of what a message may hold, or of a page."""
    return (there.traits.most or 8_000) // 2


async def test_a_file_goes_out_with_its_caption(there: PlatformRig) -> None:
    await deliver(there, there.home, SendFile("notes.txt", "Your notes.", content="näh\nlines\n"))
    [seen] = await shown(there, there.home, 1)
    assert (seen.file, seen.content) == ("notes.txt", "näh\nlines\n".encode())
    assert seen.text == "Your notes."


async def test_a_file_goes_out_from_disk(there: PlatformRig, tmp_path: Path) -> None:
    path = tmp_path / "report.bin"
    path.write_bytes(bytes(range(256)) * 400)
    await deliver(there, there.home, SendFile("report.bin", path=str(path)), Say("below"))
    file, below = await shown(there, there.home, 2)
    assert (file.file, file.content) == ("report.bin", path.read_bytes())
    assert below.text == "below"


async def test_a_file_that_is_not_there_is_a_permanent_error(
    there: PlatformRig, tmp_path: Path
) -> None:
    with pytest.raises(PermanentError, match=r"gone\.txt"):
        await deliver(there, there.home, SendFile("gone.txt", path=str(tmp_path / "gone.txt")))
    await deliver(there, there.home, Say("next"))
    assert [seen.text for seen in await shown(there, there.home, 1)] == ["next"]


@pytest.mark.needs(Can.ROOMS, Can.THREADS)
async def test_a_file_goes_into_its_thread(there: PlatformRig) -> None:
    place = await there.thread(await there.room())
    await deliver(there, place, SendFile("a.txt", "here", content="a"))
    [seen] = await shown(there, place, 1)
    assert (seen.file, seen.text, seen.content) == ("a.txt", "here", b"a")


@pytest.mark.needs(Can.UPLOAD)
async def test_a_file_comes_in_and_is_fetched(there: PlatformRig, tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    await there.upload(there.home, "plan.bin", content, caption="read this")
    [message] = await there.intake.got(1)
    assert isinstance(message, Message)
    assert (message.text, message.address) == ("read this", there.home)
    [attachment] = message.attachments
    assert attachment.name == "plan.bin"
    assert attachment.size in {0, len(content)}
    await there.platform.download(attachment, tmp_path / "fetched")
    assert (tmp_path / "fetched").read_bytes() == content


@pytest.mark.needs(Can.UPLOAD)
async def test_a_file_without_a_word_comes_in(there: PlatformRig, tmp_path: Path) -> None:
    await there.upload(there.home, "plan.txt", b"step 1")
    [message] = await there.intake.got(1)
    assert isinstance(message, Message)
    assert message.text == ""
    await there.platform.download(message.attachments[0], tmp_path / "plan.txt")
    assert (tmp_path / "plan.txt").read_bytes() == b"step 1"


async def test_a_text_that_fits_is_one_message(there: PlatformRig, half: int) -> None:
    [part] = there.platform.parts(prose(half))
    assert isinstance(part, Say)
    assert part.markdown


async def test_a_long_text_arrives_whole_in_at_most_three_messages(
    there: PlatformRig, half: int
) -> None:
    text = prose(4 * half)
    parts = there.platform.parts(text)
    assert len(parts) <= MAX_PARTS
    await deliver(there, there.home, *parts)
    seen = await shown(there, there.home, len(parts))
    assert words_of(seen) == text.split()
    if there.traits.most:
        assert len(parts) > 1
        assert all(there.traits.size(each.text) <= there.traits.most for each in seen)


async def test_a_code_block_that_is_cut_stays_one_in_every_message(
    there: PlatformRig, half: int
) -> None:
    text = "```py\n" + "".join(f"word{n} = {n}\n" for n in range(4 * half // 16)) + "```"
    parts = there.platform.parts(text)
    assert len(parts) <= MAX_PARTS
    for part in parts:
        assert isinstance(part, Say)
        assert part.text.startswith("```py\n")
        assert part.text.endswith("\n```")
    await deliver(there, there.home, *parts)
    seen = await shown(there, there.home, len(parts))
    assert words_of(seen) == [word for word in text.split() if word.startswith("word")]


async def test_a_text_of_many_messages_is_a_beginning_and_a_file(there: PlatformRig) -> None:
    text = prose(max(LONG, 6 * there.traits.most))
    parts = there.platform.parts(text)
    assert parts == there.platform.parts(text)
    await deliver(there, there.home, *parts)
    seen = await shown(there, there.home, len(parts))
    if not there.traits.most:
        assert words_of(seen) == text.split()
        return
    beginning, file = seen
    assert words_of([beginning]) == text.split()[: len(words_of([beginning]))] != []
    assert file.content.decode() == text
    assert file.file
