"""Discord's dialect of Markdown, the cutting of long texts, commands and bookmarks."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.discord.bookmark import MAX_DIRECT, OVERLAP_S, Bookmark, id_at
from adapters.discord.encode import (
    MAX_UNITS,
    ROOM,
    command_of,
    custom_ids,
    render,
    shown,
    units,
    verbatim,
)
from adapters.discord.menu import choices, digest, line_of, menu
from adapters.discord.options import DiscordOptions, MenuEntry
from adapters.discord.pacing import EVERYWHERE, Pacing
from adapters.discord.parts import MAX_PARTS, parts
from core.commands import COMMANDS
from core.errors import UserError
from core.escalations import card
from core.escalations.card import TooLong
from core.escalations.record import Kind
from core.messages import Address, Button, PlatformName, Say, SendFile
from tests.fakes.cards import running_command
from tests.fakes.escalated import NOW, SECRET, escalation
from tests.fakes.telegram_rig import HeldClock

ESCAPED = re.compile(r"\\([^0-9A-Za-z\s])")
LANE = Address(PlatformName.DISCORD, "1", "2").key
TEXTS = st.text(st.sampled_from("abc 012.-#>*_~`|[]()<>!\\\n😀é"), max_size=400) | st.lists(
    st.sampled_from(
        ["```py\n", "```\n", "~~~\n", "| a | b |\n", "|---|---|\n", "word word\n", "\n", "# t\n"]
    ),
    max_size=80,
).map("".join)


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**bold** and `code`", "**bold** and `code`"),
        ("#### Deep", "**Deep**"),
        ("# Top", "# Top"),
        ("![alt](https://x.org/a.png)", "[alt](https://x.org/a.png)"),
        ("a || b, `c || d`", r"a \|\| b, `c || d`"),
        ("- [ ] open\n- [x] done", "- ☐ open\n- ☑ done"),
        (">>> print(1)", r"\>>> print(1)"),
        ("> quoted", "> quoted"),
        ("one\n\n---\n\ntwo", "one\n\n──────────\n\ntwo"),
        ("~~~sh\necho ```\n~~~", "```sh\necho `\u200b``\n```"),
        ("````md\n```py\n```\n````", "```md\n`\u200b``py\n`\u200b``\n```"),
        ("```py\nx = a || b\n---\n```", "```py\nx = a || b\n---\n```"),
        ("```py\nx = 1", "```py\nx = 1\n```"),
    ],
)
def test_markdown_becomes_discords_dialect(markdown: str, expected: str) -> None:
    assert render(markdown) == expected


def test_a_table_becomes_a_block_with_its_columns_in_line() -> None:
    table = "| name | n |\n|:--|--:|\n| a\\|b | 1 |\n| **long** | 22 |"
    assert render(table) == "```\nname  n\n────  ──\na|b   1\nlong  22\n```"


def test_a_line_with_pipes_is_no_table() -> None:
    assert render("| just | this |") == "| just | this |"


@given(TEXTS)
@example("1. one\n- two\n# three\n-# four\n> five")
@example("https://example.org/a_b_(c)*d* _x_")
def test_verbatim_text_is_shown_as_it_is(text: str) -> None:
    made = verbatim(text)
    assert units(made) <= MAX_UNITS
    plain = text.strip("\n")
    if plain.strip() and "\\" not in plain and len(plain) < 900:
        assert ESCAPED.sub(r"\1", made) == plain


@given(TEXTS.map(lambda text: text * 40))
def test_a_message_never_exceeds_the_limit(text: str) -> None:
    for markdown in (True, False):
        assert 0 < units(shown(text, markdown=markdown)) <= MAX_UNITS


@given(TEXTS.map(lambda text: text * 12))
def test_a_long_text_is_at_most_three_messages_that_fit_or_a_file(text: str) -> None:
    made = parts(text)
    assert made == parts(text)
    says = [part for part in made if isinstance(part, Say)]
    assert len(says) <= MAX_PARTS
    for part in says:
        assert units(render(part.text)) <= MAX_UNITS
    for file in made:
        if isinstance(file, SendFile):
            assert (file.name, file.content) == ("answer.md", text)


def test_a_long_text_keeps_every_word() -> None:
    text = "\n\n".join(f"word{number} " * 20 for number in range(30))
    made = parts(text)
    assert [w for part in made if isinstance(part, Say) for w in part.text.split()] == text.split()
    assert 1 < len(made) <= MAX_PARTS


def test_buttons_carry_their_command_within_the_limit() -> None:
    assert custom_ids([Button("Pause", "/goal pause")]) == (("Pause", "pursuit:/goal pause"),)
    longest = Button("x" * 90, "/" + "x" * 91)
    [(label, custom_id)] = custom_ids([longest])
    assert (units(label), len(custom_id)) == (80, 100)
    with pytest.raises(ValueError, match="button command"):
        custom_ids([Button("x", "/" + "x" * 92)])
    with pytest.raises(ValueError, match="25"):
        custom_ids([Button("x", "/x")] * 26)


def test_every_command_fits_discords_limits() -> None:
    entries = [MenuEntry(spec.name, spec.summary, spec.words) for spec in COMMANDS]
    made = menu(entries)
    assert [entry.name for entry in made] == [spec.name for spec in COMMANDS]
    for entry in made:
        assert re.fullmatch(r"[a-z0-9_-]{1,32}", entry.name)
        assert 1 <= len(entry.summary) <= 100
        assert len(choices(entry, "")) <= 25
    assert menu([MenuEntry("Not Fit", "x"), MenuEntry("ok", "")]) == (MenuEntry("ok", "ok"),)


def test_completion_offers_what_begins_alike() -> None:
    goal = MenuEntry("goal", "x", ("pause", "resume", "show"))
    assert choices(goal, "") == ("pause", "resume", "show")
    assert choices(goal, " RE") == ("resume",)
    assert choices(goal, "pause now") == ()


def test_a_command_line_is_what_a_person_would_type() -> None:
    assert line_of("goal", " write tests ") == "/goal write tests"
    assert line_of("stop", "") == "/stop"


def test_a_digest_changes_with_the_commands_only() -> None:
    assert digest([{"a": 1, "b": 2}]) == digest([{"b": 2, "a": 1}])
    assert digest([{"a": 1}]) != digest([{"a": 2}])


def test_a_bookmark_reads_itself_back() -> None:
    mark = Bookmark(100).read(90).read(200).talked(7).talked(8).talked(7)
    assert mark == Bookmark(200, (7, 8))
    assert Bookmark.of(str(mark)) == mark
    assert Bookmark.of("") is None
    assert Bookmark.of("1 two") is None


def test_a_bookmark_keeps_the_latest_private_chats_and_looks_back_a_little() -> None:
    mark = Bookmark(id_at(2_000_000_000))
    for channel in range(60):
        mark = mark.talked(channel)
    assert len(mark.direct) == MAX_DIRECT
    assert mark.direct[0] == 59
    assert mark.since == id_at(2_000_000_000 - OVERLAP_S)
    assert Bookmark.first(2_000_000_000).since == id_at(2_000_000_000)


def test_a_cool_down_holds_one_channel_and_a_global_one_all() -> None:
    clock = HeldClock()
    pacing = Pacing(clock, progress_gap_s=1.5)
    pacing.cool(1, 10)
    pacing.cool(2, 10, extras_only=True)
    assert (pacing.wait_s(1), pacing.wait_s(2)) == (10, 0)
    assert not pacing.extras_allowed(2)
    assert pacing.take_progress(3)
    assert not pacing.take_progress(3)
    clock.at += 1.5
    assert pacing.take_progress(3)
    pacing.cool(EVERYWHERE, 5)
    assert pacing.wait_s(9) == 5
    clock.at += 20
    assert pacing.wait_s(1) == pacing.wait_s(9) == 0


def test_the_account_is_in_the_token() -> None:
    head = urlsafe_b64encode(b"123456789012345678").decode().rstrip("=")
    assert DiscordOptions(token=f"{head}.x.y").account == "123456789012345678"


@pytest.mark.parametrize("token", ["", "abc", "a.b.c", "MTIz.x", "ü.x.y", "bm90IGFuIGlk.x.y"])
def test_what_is_no_token_is_refused_with_the_key_that_holds_it(token: str) -> None:
    with pytest.raises(UserError, match=r"platforms\.discord\.token"):
        DiscordOptions(token=token)


@given(st.text(st.sampled_from("ab1 \n`*_~<>|[]()#-$@\\!.🎉│"), min_size=1, max_size=1_500))
def test_what_has_room_goes_out_whole_in_either_form(text: str) -> None:
    for one in (running_command(text), escalation(Kind.CHOOSE)):
        what = card.ask(one, SECRET, NOW, ROOM)
        if isinstance(what, TooLong):
            assert len(text) > 400
            continue
        formatted = shown(what.text, markdown=what.markdown)
        plain = shown(what.text, markdown=False)
        assert max(units(formatted), units(plain)) <= ROOM.limit < MAX_UNITS
        assert formatted == (render(what.text) if what.markdown else plain)
        assert re.sub(r"\\([^0-9A-Za-z\s])", r"\1", plain) == what.text
        if what.markdown and one.exact:
            assert f"\n```\n{text}\n```\n" in formatted


def test_an_id_that_is_not_ours_stands_for_itself() -> None:
    assert command_of("pursuit:esc:abc.y") == "esc:abc.y"
    assert command_of("pursuit:/goal pause") == "/goal pause"
    assert command_of("page:2") == "page:2"
