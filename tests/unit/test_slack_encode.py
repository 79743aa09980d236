"""What goes out to Slack: forms of a message, lengths, mentions, buttons, parts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.encode import (
    MAX_MARKDOWN,
    MAX_SECTION,
    MAX_TEXT,
    edited,
    keyboard,
    note,
    posted,
    unpinged,
)
from adapters.slack.menu import NATIVE, manifest, slash_commands
from adapters.slack.pacing import Pacing
from adapters.slack.parts import MAX_PARTS, parts
from core.commands import COMMANDS
from core.messages import Button, Say, SendFile
from tests.fakes.slack_methods import MAX_EDIT, Refusal, _content

BUTTONS = (Button("Pause", "/goal pause"), Button("Clear", "/goal clear"))
CALLS = re.compile(r"<[@!#]|(?<!\w)@(?:channel|here|everyone)\b")

markup = st.lists(
    st.sampled_from([*"ab @<!#>|U&`*\n", "@here", "<!channel>", "```\n", "é", "🎉"]), max_size=200
).map("".join)


def shown(form: Any) -> str:
    """What Slack would show of it, if it takes it at all."""
    return str(_content(dict(form), MAX_EDIT)["text"])


def test_markdown_goes_out_as_such_and_plain_when_it_is_refused() -> None:
    first, second = posted(Say("**a** & <b>", markdown=True))
    assert first == {"markdown_text": "**a** & <b>"}
    assert second == {"text": "**a** &amp; &lt;b&gt;", "mrkdwn": False}


def test_buttons_come_with_blocks_and_a_text_for_notifications() -> None:
    first, second = posted(Say("**a**", markdown=True, buttons=BUTTONS))
    assert first["blocks"][0] == {"type": "markdown", "text": "**a**"}  # type: ignore[index]
    assert first["text"] == "**a**"
    for form in (first, second):
        buttons = _content(dict(form), MAX_EDIT)["buttons"]
        assert buttons == [("Pause", "/goal pause"), ("Clear", "/goal clear")]


def test_an_edit_always_says_which_blocks_there_are() -> None:
    for what in (Say("x"), Say("**x**", markdown=True), Say("x", buttons=BUTTONS)):
        assert all("blocks" in form for form in edited(what))


def test_a_message_without_words_is_still_one() -> None:
    for make in (posted, edited):
        assert [shown(form) for form in make(Say(" \n"))] == ["…"]


@given(markup, st.booleans(), st.booleans())
def test_slack_takes_every_form_and_nobody_is_called(
    text: str, markdown: bool, buttons: bool
) -> None:
    what = Say(text, markdown=markdown, buttons=BUTTONS if buttons else ())
    for form in (*posted(what), *edited(what)):
        content = _content(dict(form), MAX_EDIT)
        assert content["pings"] == []
        assert not CALLS.search(content["text"])


@pytest.mark.parametrize("length", [MAX_SECTION, MAX_TEXT, MAX_MARKDOWN, 40_000])
@pytest.mark.parametrize("word", ["x", "<b> ", "line\n"])
def test_a_long_verbatim_text_is_taken_in_posts_and_edits(length: int, word: str) -> None:
    text = (word * length)[:length]
    for form in (*posted(Say(text)), *edited(Say(text))):
        assert len(shown(form).replace("\n", "")) <= MAX_MARKDOWN
        assert shown(form)[:100] == text[:100]


@given(markup)
def test_breaking_mentions_once_is_enough_and_loses_nothing(text: str) -> None:
    once = unpinged(text)
    assert unpinged(once) == once
    assert once.replace("\u2060", "") == text


def test_a_note_shows_markup_as_it_is() -> None:
    assert note("a <b> & <!here>") == "a &lt;b&gt; &amp; &lt;\u2060!here&gt;"


def test_more_buttons_than_slack_takes_are_refused_here() -> None:
    with pytest.raises(ValueError, match="25"):
        keyboard([Button(str(n), "/stop") for n in range(26)])
    with pytest.raises(ValueError, match="2000"):
        keyboard([Button("x", "/" + "x" * 2000)])


def test_the_fake_refuses_what_slack_refuses() -> None:
    for form in (
        {"markdown_text": "a", "text": "a"},
        {"markdown_text": "x" * 12_001},
        {"text": "x" * 4_001},
        {"text": " "},
        {"blocks": [{"type": "section", "text": {"type": "plain_text", "text": "x" * 3_001}}]},
        {"blocks": [{"type": "header"}]},
    ):
        with pytest.raises(Refusal):
            _content(form, MAX_EDIT)


@given(
    st.lists(st.sampled_from(["word ", "\n\n", "```py\n", "```\n", "<!here> ", "ü"]), max_size=60)
)
def test_a_short_text_is_one_part_as_it_is(words: list[str]) -> None:
    text = "".join(words).strip("\n")
    assert parts(text) == ((Say(text, markdown=True),) if text.strip() else ())


@given(st.integers(1, 40), st.integers(200, 3_000), st.sampled_from(["plain", "fenced", "calls"]))
def test_parts_fit_and_keep_every_word(blocks: int, length: int, kind: str) -> None:
    lines = [f"w{number} " + "x" * (length % 79) for number in range(length // 10)]
    body = "\n".join(lines)
    block = {"plain": body, "fenced": f"```\n{body}\n```", "calls": f"<!here> {body}"}[kind]
    text = "\n\n".join([block] * blocks)
    made = parts(text)
    assert made == parts(text)
    assert 1 <= len(made) <= MAX_PARTS
    for part in made:
        if isinstance(part, Say):
            [first, *_] = posted(part)
            assert len(str(first["markdown_text"])) <= MAX_MARKDOWN
            assert part.text.count("```") % 2 == 0
    if isinstance(made[-1], SendFile):
        assert made[-1].content == text
    else:
        words = [w for part in made if isinstance(part, Say) for w in part.text.split()]
        kept = [w for w in words if w.startswith("w")]
        assert kept == [w for w in text.split() if w.startswith("w")]


def test_the_manifest_keeps_to_slacks_limits() -> None:
    told = slash_commands(COMMANDS)
    names = [entry["command"] for entry in told if isinstance(entry, dict)]
    assert names == [*(f"/{spec.name}" for spec in COMMANDS if spec.name in NATIVE), "/pursuit"]
    assert len(names) <= 50
    features: Any = manifest()["display_information"]
    assert len(features["description"]) <= 140
    for entry in told:
        assert isinstance(entry, dict)
        assert 0 < len(str(entry["description"])) <= 2000
        assert len(str(entry.get("usage_hint", ""))) <= 1000


class HeldClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


def test_a_cool_down_is_one_channels_and_ends() -> None:
    clock = HeldClock()
    pacing = Pacing(clock, extras_per_minute=10, progress_gap_s=2.0)
    pacing.cool("C1", 30.0)
    assert (pacing.wait_s("C1"), pacing.wait_s("C2")) == (30.0, 0.0)
    assert not pacing.take_progress("C1")
    clock.at += 30.0
    assert pacing.wait_s("C1") == 0.0
    assert pacing.take_progress("C1")


def test_a_refused_extra_holds_up_no_answer() -> None:
    pacing = Pacing(HeldClock(), extras_per_minute=10, progress_gap_s=2.0)
    pacing.cool("C1", 30.0, extras_only=True)
    assert pacing.wait_s("C1") == 0.0
    assert not pacing.take_extra("C1")


def test_progress_keeps_its_distance_and_the_workspaces_limit() -> None:
    clock = HeldClock()
    pacing = Pacing(clock, extras_per_minute=3, progress_gap_s=2.0)
    assert [pacing.take_progress("C1") for _ in range(2)] == [True, False]
    assert [pacing.take_progress(f"C{n}") for n in range(2, 5)] == [True, True, False]
    clock.at += 61.0
    assert pacing.take_progress("C4")
