"""Markdown into Telegram's text and entities: nothing lost, nobody pinged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.decode import units
from adapters.telegram.encode import (
    MAX_UNITS,
    ROOM,
    UNSEEN,
    Rendered,
    cut,
    keyboard,
    plainer,
    render,
    verbatim,
)
from adapters.telegram.menu import menu, same_menu
from adapters.telegram.options import MenuEntry
from core.escalations import card
from core.escalations.card import TooLong
from core.escalations.record import Kind
from core.messages import Button
from tests.fakes.cards import running_command
from tests.fakes.escalated import NOW, SECRET, escalation

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


@given(st.text(max_size=50), st.integers(2, 60))
def test_a_cut_text_fits_and_tells_that_it_was_cut(text: str, limit: int) -> None:
    made = cut(text, limit)
    assert units(made) <= limit
    assert made == text or made.endswith("…")


def test_three_buttons_stand_in_a_row_and_more_in_a_list_and_long_commands_are_refused() -> None:
    made = keyboard([Button(str(n), f"/goal {n}") for n in range(4)])
    assert made is not None
    assert [len(row) for row in made.inline_keyboard] == [1] * 4
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


@given(st.text(st.sampled_from("ab1 \n`*_~<>|[]()#-$@\\!.🎉│"), min_size=1, max_size=3_800))
def test_what_has_room_goes_out_whole_in_either_form(text: str) -> None:
    for one in (running_command(text), escalation(Kind.CHOOSE)):
        what = card.ask(one, SECRET, NOW, ROOM)
        if isinstance(what, TooLong):
            assert len(text) > 1_000
            continue
        for group in (False, True):
            made = render(what.text, group=group)
            written = verbatim(what.text, group=group)
            assert made.fits
            assert max(units(made.text), units(written.text)) <= ROOM.limit < MAX_UNITS
            assert written.text.replace(UNSEEN, "") == what.text
            if what.markdown and one.exact:
                assert covered(made, "pre")[0].rstrip("\n") == text.rstrip("\n")
            assert plainer(made, what.text, group=group) in {written, Rendered(made.text)}


def test_many_entities_leave_a_text_the_room_it_has_as_it_is() -> None:
    text = "**a** `b` " * 60
    assert not render(text, group=True).fits
    assert ROOM.holds(text)
    assert not ROOM.holds(text * 10)


def test_a_text_with_blocks_is_plainer_as_it_was_written_and_another_without_its_marks() -> None:
    block = "**May** I?\n\n```\nrm @anna\n```"
    made = render(block, group=True)
    assert plainer(made, block, group=True).text == block.replace("@", f"@{UNSEEN}")
    bold = "**May** I?"
    assert plainer(render(bold, group=True), bold, group=True).text == "May I?"
    long = "**x**" * 2_000 + block
    made = render(long, group=False)
    assert plainer(made, long, group=False).text == made.text
