"""Long Markdown texts in pieces, and as the messages of every platform: nothing lost, fences
balanced, every message fits, and no more than three of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.console.encode import parts as console_parts
from adapters.discord.decode import cleaned as discord_cleaned
from adapters.discord.encode import render as discord_render
from adapters.discord.parts import parts as discord_parts
from adapters.slack.encode import posted
from adapters.slack.parts import parts as slack_parts
from adapters.slack.reading import cleaned as slack_cleaned
from adapters.telegram.decode import cleaned as telegram_cleaned
from adapters.telegram.decode import units
from adapters.telegram.encode import MAX_ENTITIES
from adapters.telegram.encode import render as telegram_render
from adapters.telegram.parts import parts as telegram_parts
from adapters.web.markdown import clean as web_cleaned
from adapters.web.parts import MOST as WEB_MOST
from adapters.web.parts import parts as web_parts
from core.messages import Outbound, Say, SendFile
from core.splitting import FENCE, FULL, TIDY, Size, pieces_of

MAX_PARTS = 3
MORE = "\n\n… The whole answer is in the file."

WORD = st.text(st.sampled_from("abcxyzäß🎉漢"), min_size=1, max_size=9)
INLINE = st.one_of(
    WORD,
    WORD.map("**{}**".format),
    WORD.map("`{}`".format),
    WORD.map("*{}*".format),
    WORD.map("[{}](https://example.org/page)".format),
    WORD.map("<{}>".format),
    st.sampled_from(["a || b", "$HOME/$USER", "@somebody", "<!channel>", "List<int>", "1 < 2"]),
)
PARAGRAPH = st.lists(INLINE, min_size=1, max_size=60).map(" ".join)
FENCES = st.sampled_from(["```", "```py", "~~~", "````md", "> ```", "  ~~~~ js"])
LIST = st.lists(WORD, min_size=1, max_size=30).map(lambda rows: "\n".join(f"- {r}" for r in rows))
LONG = st.integers(1_500, 9_000).map(lambda n: "x" * n)


def fenced(opening: str, lines: list[str]) -> str:
    """A code block."""
    closing = re.sub(r"[a-z ]+$", "", opening)
    return "\n".join((opening, *lines, closing))


CODE = st.builds(fenced, FENCES, st.lists(WORD, max_size=250))
MARKDOWN = st.lists(st.one_of(PARAGRAPH, CODE, LIST, LONG), max_size=14).map("\n\n".join)
ANY = st.text(st.sampled_from("ab \n`*_~<>|[]()#-$@\\!1.🎉\x00\ud800"), max_size=3000)


@dataclass(frozen=True, slots=True)
class Limit:
    """What one message may hold, and how its length is counted."""

    most: int
    size: Size


LIMITS = {
    "telegram": Limit(4_096, units),
    "discord": Limit(2_000, len),
    "slack": Limit(11_500, len),
    "web": Limit(20_000, len),
    "small": Limit(160, units),
}


@dataclass(frozen=True, slots=True)
class Cutter:
    """A platform's `parts`, how it cleans a text, and whether a part can be posted."""

    parts: Callable[[str], tuple[Outbound, ...]]
    cleaned: Callable[[str], str]
    fits: Callable[[str], bool]
    full: int
    """So many characters of plain words are more than one message and less than four."""


def fits_telegram(text: str) -> bool:
    shown = telegram_render(text, group=True)
    return units(shown.text) <= LIMITS["telegram"].most and len(shown.entities) <= MAX_ENTITIES


def fits_discord(text: str) -> bool:
    return len(discord_render(text)) <= LIMITS["discord"].most


def fits_slack(text: str) -> bool:
    form = posted(Say(text, markdown=True))[0]
    shown = str(form["markdown_text"])
    return len(shown) <= LIMITS["slack"].most and not shown.endswith("…")


def fits_web(text: str) -> bool:
    return len(text) <= WEB_MOST


CUTTERS = {
    "telegram": Cutter(telegram_parts, telegram_cleaned, fits_telegram, 11_700),
    "discord": Cutter(discord_parts, discord_cleaned, fits_discord, 5_700),
    "slack": Cutter(slack_parts, slack_cleaned, fits_slack, 32_000),
    "web": Cutter(web_parts, web_cleaned, fits_web, 55_000),
}


def balanced(markdown: str) -> bool:
    """Whether every fence that opens closes."""
    mark = ""
    for line in markdown.split("\n"):
        found = FENCE.match(line)
        if found is None:
            continue
        if not mark:
            backticked = found["mark"][0] == "`" and "`" in found["info"]
            mark = "" if backticked else found["mark"]
        elif found["mark"].startswith(mark) and not found["info"].strip():
            mark = ""
    return not mark


def letters(text: str) -> str:
    """All that a reader reads: without blanks and the lines that open and close code."""
    return "".join("".join(line.split()) for line in text.split("\n") if not FENCE.match(line))


def said(parts: tuple[Outbound, ...]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Say)]


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("early", [TIDY, FULL])
@given(text=MARKDOWN)
def test_pieces_hold_every_word_in_order_and_balanced_fences(
    limit: Limit, early: float, text: str
) -> None:
    pieces = list(pieces_of(text, limit.most, early, size=limit.size))
    assert all(balanced(piece) for piece in pieces)
    assert letters("\n".join(pieces)) == letters(text)
    assert all(piece.strip() for piece in pieces)


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@given(text=st.one_of(MARKDOWN, ANY))
@example("```" + "x" * 9000)
@example("`" * 9000)
@example("~~~\n" * 3000)
@example("word " * 4999)
def test_a_piece_is_longer_than_its_budget_by_a_fence_at_most(limit: Limit, text: str) -> None:
    pieces = list(pieces_of(text, limit.most, size=limit.size))
    assert all(limit.size(piece) <= limit.most * 1.1 + 1 for piece in pieces)
    assert pieces == list(pieces_of(text, limit.most, size=limit.size))


@given(text=MARKDOWN, budget=st.integers(60, 4000))
def test_a_text_within_its_budget_is_one_piece(text: str, budget: int) -> None:
    pieces = list(pieces_of(text, budget, FULL))
    if text.strip() and len(text) + 5 <= budget:
        assert len(pieces) == 1


def test_a_piece_ends_at_a_blank_line_where_one_is_near() -> None:
    paragraphs = ["word " * 30 for _ in range(9)]
    pieces = list(pieces_of("\n\n".join(paragraphs), 500))
    assert all(piece.count("word") % 30 == 0 for piece in pieces)


@pytest.mark.parametrize("cutter", CUTTERS.values(), ids=CUTTERS)
@given(text=st.one_of(MARKDOWN, ANY))
@example("```" + "x" * 9000)
@example(">" * 5000)
@example("`<\n" * 3000)
@example("|a" * 3000 + "\n" + "|-" * 3000)
@example("<!channel> @everyone " * 1500)
@example("\\" * 6000)
def test_every_message_fits_and_a_restart_cuts_alike(cutter: Cutter, text: str) -> None:
    made = cutter.parts(text)
    assert made == cutter.parts(text)
    assert len(made) <= MAX_PARTS
    assert all(cutter.fits(each) and each.strip() for each in said(made))
    assert all(part.markdown for part in made if isinstance(part, Say))


@pytest.mark.parametrize("cutter", CUTTERS.values(), ids=CUTTERS)
@given(text=MARKDOWN)
def test_messages_hold_the_whole_text_or_a_file_does(cutter: Cutter, text: str) -> None:
    made = cutter.parts(text)
    texts, whole = said(made), letters(cutter.cleaned(text))
    assert all(balanced(each) for each in texts)
    match made[-1:]:
        case (SendFile(content=content),):
            assert content == text
            [beginning] = texts
            assert beginning.endswith(MORE)
            assert whole.startswith(letters(beginning.removesuffix(MORE)))
        case _:
            assert letters("\n".join(texts)) == whole


@pytest.mark.parametrize("cutter", CUTTERS.values(), ids=CUTTERS)
def test_a_long_code_block_is_opened_again_with_its_language(cutter: Cutter) -> None:
    made = cutter.parts("```py\n" + "x = 1\n" * (cutter.full // 8) + "```")
    texts = said(made)
    assert 1 < len(texts) == len(made)
    assert all(text.startswith("```py\n") and text.endswith("\n```") for text in texts)


@pytest.mark.parametrize("cutter", CUTTERS.values(), ids=CUTTERS)
def test_three_full_messages_are_not_yet_a_file(cutter: Cutter) -> None:
    words = "word " * (cutter.full // 5)
    assert [type(part) for part in cutter.parts(words)] == [Say, Say, Say]
    assert [type(part) for part in cutter.parts(words * 2)] == [Say, SendFile]


@pytest.mark.parametrize("cutter", CUTTERS.values(), ids=CUTTERS)
def test_a_text_of_many_pages_becomes_a_short_beginning_and_a_file(cutter: Cutter) -> None:
    beginning, file = cutter.parts("word " * 100_000)
    assert isinstance(beginning, Say)
    assert len(beginning.text) < 1000
    assert isinstance(file, SendFile)
    assert len(file.content) == 500_000


def test_ten_megabytes_become_a_file_at_once() -> None:
    beginning, file = telegram_parts("word " * 2_000_000)
    assert isinstance(beginning, Say)
    assert isinstance(file, SendFile)
    assert len(file.content) == 10_000_000


@pytest.mark.parametrize("cutter", CUTTERS.values(), ids=CUTTERS)
def test_a_blank_text_is_no_message(cutter: Cutter) -> None:
    assert cutter.parts(" \n\x00") == ()


def test_many_entities_in_a_short_text_are_spread_on_telegram() -> None:
    assert len(telegram_parts("**a** b\n" * 150)) == 2


def test_a_terminal_takes_any_length_at_once() -> None:
    text = "word " * 200_000
    assert console_parts(text) == (Say(text, markdown=True),)
