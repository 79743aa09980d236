"""Markdown into Telegram's text and entities: nothing lost, nobody pinged, every part fits."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.telegram.decode import units
from adapters.telegram.encode import (
    MAX_ENTITIES,
    MAX_UNITS,
    Rendered,
    cut,
    keyboard,
    render,
    verbatim,
)
from adapters.telegram.menu import menu, same_menu
from adapters.telegram.options import MenuEntry
from adapters.telegram.parts import MAX_PARTS, parts
from core.messages import Button, Say, SendFile
from core.splitting import FENCE, pieces_of

WORD = st.text(st.sampled_from("abcxyzäß🎉漢"), min_size=1, max_size=9)
INLINE = st.one_of(
    WORD,
    WORD.map("**{}**".format),
    WORD.map("`{}`".format),
    WORD.map("*{}*".format),
    WORD.map("[{}](https://example.org/page)".format),
    WORD.map("<{}>".format),
    st.sampled_from(["a || b", "$HOME/$USER", "@somebody", "List<int>", "1 < 2"]),
)
PARAGRAPH = st.lists(INLINE, min_size=1, max_size=60).map(" ".join)
CODE = st.lists(WORD, max_size=200).map(lambda lines: "```py\n" + "\n".join(lines) + "\n```")
LIST = st.lists(WORD, min_size=1, max_size=30).map(lambda rows: "\n".join(f"- {r}" for r in rows))
LONG = st.integers(3_000, 9_000).map(lambda n: "x" * n)
MARKDOWN = st.lists(st.one_of(PARAGRAPH, CODE, LIST, LONG), max_size=12).map("\n\n".join)
ANY = st.text(st.sampled_from("ab \n`*_~<>|[]()#-$@\\!1.🎉\x00\ud800"), max_size=3000)


def covered(made: Rendered, kind: str) -> list[str]:
    data = made.text.encode("utf-16-le")
    return [
        data[2 * e.offset : 2 * (e.offset + e.length)].decode("utf-16-le")
        for e in made.entities
        if e.type == kind
    ]


def sound(made: Rendered) -> bool:
    length = units(made.text)
    return all(0 <= e.offset < e.offset + e.length <= length for e in made.entities)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("use List<int> here", "use List<int> here"),
        ("<div>block</div>", "<div>block</div>"),
        ("<!-- note -->", "<!-- note -->"),
        ("echo $HOME/$USER", "echo $HOME/$USER"),
        ("make || exit || true", "make || exit || true"),
        ("see\n\n[1]: https://example.org", "see\n\n[1]: https://example.org"),
        ("x[^1]\n\n[^1]: note", "x[^1]\n\n[^1]: note"),
        ("[main](src/main.py) runs", "main (src/main.py) runs"),
        ("# Title\n\ntext", "Title\n\ntext"),
        ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
        ("a\x00b\x1b", "ab"),
    ],
)
def test_no_text_is_lost_to_markup(markdown: str, text: str) -> None:
    assert render(markdown, group=False).text == text


def test_code_keeps_every_character() -> None:
    code = "<b> || $x/$y [1]: z @name {}"
    made = render(f"```sh\n{code}\n```\n\n`{code}`", group=True)
    assert covered(made, "pre") == [code]
    assert covered(made, "code") == [code]


def test_a_tables_empty_cells_stay_cells() -> None:
    [table] = covered(render("| a | b |\n|---|---|\n| 1 || x |\n", group=False), "pre")
    assert table.splitlines()[0] == "a | b"


@pytest.mark.parametrize("text", ["@somebody look", "(@somebody)", "[@somebody](https://a.org)"])
def test_a_mention_is_broken_in_groups_only(text: str) -> None:
    assert "@somebody" in render(text, group=False).text
    assert "@somebody" not in render(text, group=True).text
    assert "@somebody" not in verbatim(text, group=True).text


def test_a_link_to_a_person_is_dropped_and_addresses_are_left_alone() -> None:
    made = render("[Bob](tg://user?id=7) <bob@example.org>", group=True)
    assert covered(made, "text_link") in ([], ["bob@example.org"])
    assert "bob@example.org" in made.text


def test_entities_move_with_what_is_put_before_them() -> None:
    made = render("🎉 @somebody **bold** [x](rel) `code`", group=True)
    assert covered(made, "bold") == ["bold"]
    assert covered(made, "code") == ["code"]


@given(st.one_of(MARKDOWN, ANY))
def test_rendering_never_fails_and_entities_lie_inside_the_text(text: str) -> None:
    for group in (False, True):
        assert sound(render(text, group=group))


@given(st.one_of(MARKDOWN, ANY))
@example("```" + "x" * 9000)
@example(">" * 5000)
@example("`<\n" * 3000)
@example("|a" * 3000 + "\n" + "|-" * 3000)
def test_every_part_fits_and_a_restart_cuts_alike(text: str) -> None:
    made = parts(text)
    assert made == parts(text)
    assert len(made) <= MAX_PARTS
    for part in made:
        if isinstance(part, Say):
            shown = render(part.text, group=True)
            assert units(shown.text) <= MAX_UNITS
            assert len(shown.entities) <= MAX_ENTITIES
            assert shown.text.strip()
        else:
            assert part == SendFile("answer.md", content=text)


def balanced(markdown: str) -> bool:
    """Whether every fence that opens closes."""
    mark = ""
    for line in markdown.split("\n"):
        found = FENCE.match(line)
        if found is None:
            continue
        if not mark:
            mark = found["mark"]
        elif found["mark"].startswith(mark) and not found["info"].strip():
            mark = ""
    return not mark


@given(MARKDOWN, st.integers(60, 4000))
def test_pieces_hold_every_word_in_order_and_balanced_fences(text: str, budget: int) -> None:
    pieces = list(pieces_of(text, budget))
    assert all(balanced(piece) for piece in pieces)
    bare = [re.sub(r"^```(py)?$", "", t, flags=re.MULTILINE) for t in (text, "\n".join(pieces))]
    before, after = ("".join(t.split()) for t in bare)
    assert before == after


def test_a_long_code_block_is_reopened_with_its_language() -> None:
    made = parts("```py\n" + "x = 1\n" * 1500 + "```")
    assert [type(part) for part in made] == [Say, Say, Say]
    for part in made:
        assert isinstance(part, Say)
        assert part.text.startswith("```py\n")
        assert part.text.endswith("\n```")


def test_three_full_messages_are_not_yet_a_file() -> None:
    assert len(parts("word " * 2350)) == 3
    assert isinstance(parts("word " * 3000)[-1], SendFile)


def test_many_entities_in_a_short_text_are_spread() -> None:
    assert len(parts("**a** b\n" * 150)) == 2


def test_ten_megabytes_become_a_file_at_once() -> None:
    teaser, file = parts("word " * 2_000_000)
    assert isinstance(teaser, Say)
    assert len(teaser.text) < 1000
    assert isinstance(file, SendFile)
    assert len(file.content) == 10_000_000


def test_a_blank_text_is_no_message() -> None:
    assert parts(" \n\x00") == ()


@given(st.text(max_size=50), st.integers(2, 60))
def test_a_cut_text_fits_and_tells_that_it_was_cut(text: str, limit: int) -> None:
    made = cut(text, limit)
    assert units(made) <= limit
    assert made == text or made.endswith("…")


def test_buttons_stand_three_in_a_row_and_refuse_long_commands() -> None:
    made = keyboard([Button(str(n), f"/goal {n}") for n in range(4)])
    assert made is not None
    assert [len(row) for row in made.inline_keyboard] == [3, 1]
    assert keyboard(()) is None
    with pytest.raises(ValueError, match="64 bytes"):
        keyboard([Button("x", "/" + "ä" * 32)])


def test_the_menu_keeps_to_telegrams_limits() -> None:
    entries = [MenuEntry(f"cmd{n}", "x" * 300) for n in range(120)]
    made = menu([MenuEntry("not-valid", "x"), MenuEntry("goal", " "), *entries])
    assert len(made) == 100
    assert (made[0].command, made[0].description) == ("goal", "goal")
    assert len(made[1].description) == 256
    assert same_menu(made, made)
    assert not same_menu(made[1:], made)
