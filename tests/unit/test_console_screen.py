"""What the terminal front shows: rendered messages and the live lines."""

from __future__ import annotations

import pytest
from prompt_toolkit.utils import get_cwidth

from adapters.console.clean import clean
from adapters.console.live import Fragments, Live, duration, shorten
from adapters.console.render import Renderer
from core.messages import Button, Say

COLOURS = {"TERM": "xterm-256color"}
ANSWER = """# Title

Some **bold** and `code`, see [the docs](https://example.org/a).

```python
def f() -> int:


    return 1
```

- one [red]not markup[/red] :smile:
"""


def plain(text: str) -> str:
    return clean(text)


def text_of(rows: list[Fragments]) -> list[str]:
    return ["".join(text for _, text in row) for row in rows]


def test_markdown_is_rendered_plainly_from_the_left_edge() -> None:
    shown = plain(Renderer(COLOURS).say(Say(ANSWER, markdown=True), 80))
    assert shown == (
        "Title\n\nSome bold and code, see the docs (https://example.org/a).\n\n"
        "  def f() -> int:\n\n\n      return 1\n\n • one [red]not markup[/red] :smile:\n\n"
    )


def test_verbatim_text_is_not_taken_for_markdown() -> None:
    shown = plain(Renderer(COLOURS).say(Say("# **x** [b]y[/b]"), 80))
    assert shown == "# **x** [b]y[/b]\n\n"


@pytest.mark.parametrize("width", [20, 40, 80, 300])
def test_no_line_is_wider_than_the_terminal_or_padded(width: int) -> None:
    text = ANSWER + "word " * 60 + "x" * 200
    lines = plain(Renderer(COLOURS).say(Say(text, markdown=True), width)).splitlines()
    assert max(map(get_cwidth, lines)) <= min(width, 100)
    assert [line for line in lines if line != line.rstrip()] == []


def test_no_colour_is_used_where_none_is_wanted() -> None:
    assert "\x1b[36m" in Renderer(COLOURS).say(Say(ANSWER, markdown=True), 80)
    bare = Renderer({**COLOURS, "NO_COLOR": "1"}).say(Say(ANSWER, markdown=True), 80)
    assert "\x1b[3" not in bare.replace("\x1b[3m", "")
    assert "\x1b" not in Renderer({"TERM": "dumb"}).say(Say(ANSWER, markdown=True), 80)


def test_buttons_are_numbered_choices() -> None:
    what = Say("Go?", buttons=(Button("Pause", "/goal pause"), Button("Stop", "/stop")))
    assert plain(Renderer(COLOURS).say(what, 80)) == (
        "Go?\n[1] Pause  [2] Stop  (type the number)\n\n"
    )


def test_what_was_sent_is_echoed_line_by_line() -> None:
    assert plain(Renderer(COLOURS).echo("one\n  two", 80)) == "› one\n    two\n"


def test_the_live_line_tells_what_runs_and_for_how_long() -> None:
    live = Live()
    assert live.lines(100.0, 80) == []
    live.start(100.0)
    assert live.lines(100.1, 80) == [], "what is over at once must not flicker"
    assert text_of(live.lines(109.0, 80)) == ["⠴ working · 9s · Ctrl-C stops"]
    live.progress(7, "🔍 reading\n💻 pytest -q (0.1s)\n", 110.0)
    assert text_of(live.lines(175.0, 80)) == ["⠴ 💻 pytest -q (0.1s) · 1m 05s · Ctrl-C stops"]
    live.progress(8, "next turn", 180.0)
    assert text_of(live.lines(180.0, 80)) == ["⠋ next turn · 0s · Ctrl-C stops"]
    live.progress(0, "", 181.0)
    assert text_of(live.lines(181.0, 80)) == ["⠴ working · 1s · Ctrl-C stops"]
    live.stopping_since = 181.0
    assert text_of(live.lines(181.0, 80)) == ["⠴ stopping · 1s"]
    live.stop()
    assert live.lines(200.0, 80) == []


def test_a_pinned_status_stays_in_sight_with_the_numbers_that_press_its_buttons() -> None:
    live = Live()
    buttons = (Button("Pause", "/goal pause"), Button("Stop", "/stop"))
    live.pin(Say("⊙ Goal\nactive · 1/20 turns", buttons=buttons))
    assert text_of(live.lines(0.0, 80)) == ["⊙ Goal · active · 1/20 turns · [1] Pause [2] Stop"]
    live.advise("Press Ctrl-C again to leave.", 5.0)
    assert text_of(live.lines(6.0, 80))[1:] == ["Press Ctrl-C again to leave."]
    assert text_of(live.lines(7.5, 80))[1:] == []
    live.pin(None)
    assert live.lines(8.0, 80) == []


def test_the_goals_text_gives_way_to_how_it_stands() -> None:
    live = Live()
    stands = "active · 12/20 turns · 1,234,567 tokens"
    live.pin(Say(f"⊙ Goal set: {'write ' * 40}\n{stands}\nLast verdict: tests fail"))
    (row,) = text_of(live.lines(0.0, 80))
    assert row.startswith("⊙ Goal set: write")
    assert row.endswith(f"… · {stands}")
    (row,) = text_of(live.lines(0.0, 400))
    assert row.endswith(f" · {stands} · Last verdict: tests fail")


def test_live_lines_fit_a_narrow_terminal() -> None:
    live = Live(unicode=False)
    live.pin(Say("目" * 60))
    live.progress(1, "💻 " + "long " * 40, 0.0)
    rows = text_of(live.lines(0.0, 40))
    assert rows[0].endswith("…")
    assert rows[1].startswith("| ")
    assert max(map(get_cwidth, rows)) <= 40


def test_cutting_counts_cells_not_characters() -> None:
    assert shorten("目目目", 6) == "目目目"
    assert shorten("目目目", 5) == "目目…"


def test_durations_are_short() -> None:
    assert [duration(s) for s in (0.9, 59, 65, 7380)] == ["0s", "59s", "1m 05s", "2h 03m"]
