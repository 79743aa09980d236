"""How a download is shown on a terminal and elsewhere."""

from __future__ import annotations

import io

from gateway.download_progress import drawn


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_off_a_terminal_it_is_a_line_each_few_percent() -> None:
    stream = io.StringIO()
    with drawn("Local model", stream) as show:
        for done in range(0, 1_000_000_001, 1_000_000):
            show(done, 1_000_000_000, "the hub")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 21
    assert lines[0] == "Local model from the hub: 0 % of 1000 MB"
    assert lines[-1] == "Local model from the hub: 100 % of 1000 MB"


def test_the_end_is_always_shown() -> None:
    stream = io.StringIO()
    with drawn("Local model", stream) as show:
        show(98, 100, "")
        show(100, 100, "")
    assert stream.getvalue().splitlines()[-1] == "Local model: 100 % of 0 MB"


def test_nothing_is_shown_when_there_is_nothing_to_fetch() -> None:
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        with drawn("Local model", stream):
            pass
    assert plain.getvalue() == ""
    assert "Local model" not in terminal.getvalue()


def test_on_a_terminal_it_is_a_bar() -> None:
    stream = Terminal()
    with drawn("Local model", stream) as show:
        show(600_000_000, 1_000_000_000, "the hub")
    assert "Local model (the hub)" in stream.getvalue()
    assert "0.6/1.0 GB" in stream.getvalue()
