"""The web chat's texts: Markdown as safe HTML, values as what the page is told, and back."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.web import decode
from adapters.web.encode import Kept, Shown, card_of, kind_of, posted, title_of, told
from adapters.web.markdown import ATTRIBUTES, TAGS, plain, render
from adapters.web.parts import MOST, parts
from core.errors import UserError
from core.goals.texts import going_on, resumed, was_set
from core.messages import Attachment, Button, Principal, RemoteId, Role, Say, SendFile
from core.sessions.conversation import Told

OWNER = Principal("owner", "You", Role.OWNER)
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "![x](javascript:alert(1))",
    '![x" onerror="alert(1)](https://evil.example/x.png)',
    "<javascript:alert(1)>",
    "<svg/onload=alert(1)>",
    '<a href="https://x" onclick="alert(1)">x</a>',
    '```"><script>alert(1)</script>\nx\n```',
    "`<script>alert(1)</script>`",
    "<iframe src=https://evil.example>",
    "<style>*{display:none}</style>",
    "<form action=/logout method=post><button>x</button></form>",
    "| <script>x</script> | b |\n|---|---|\n| <img src=x onerror=y> | c |",
    'https://evil.example/"onmouseover="alert(1)',
    "[a]: javascript:alert(1)\n\n[a]",
    "<<script>script>alert(1)<</script>/script>",
    "[]() [x](/logout) [y](//evil.example)",
]


class Walk(HTMLParser):
    """Every tag and attribute of some HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    walk = Walk()
    walk.feed(html)
    walk.close()
    return walk.found


def is_safe(html: str) -> bool:
    for tag, attributes in tags(html):
        allowed = ATTRIBUTES.get(tag, set()) | ({"rel"} if tag == "a" else set())
        if tag not in TAGS or not attributes.keys() <= allowed:
            return False
        href = attributes.get("href")
        if href is not None and not href.startswith(("http://", "https://", "mailto:")):
            return False
    return True


@pytest.mark.parametrize("text", ATTACKS)
def test_no_markdown_gets_code_into_the_page(text: str) -> None:
    assert is_safe(render(text)), render(text)
    assert not tags(plain(text))


@given(st.lists(st.sampled_from([*ATTACKS, "*", "`", "[", "](", ")", "<", ">", '"', "\n", "  "])))
def test_no_mixture_gets_code_into_the_page(pieces: list[str]) -> None:
    assert is_safe(render("".join(pieces)))


@given(st.text())
def test_any_text_can_be_shown(text: str) -> None:
    assert is_safe(render(text))
    json.dumps(posted(Shown(RemoteId("a"), Say(text, markdown=True), 1.0))).encode()


def test_markdown_is_rendered() -> None:
    html = render("# Title\n\n**bold** _it_ ~~no~~ `c`\n\n- one\n\n```py\nx < 1\n```")
    for piece in (
        "<h3>Title</h3>",
        "<strong>bold</strong>",
        "<em>it</em>",
        "<s>no</s>",
        "<li>one</li>",
        '<code class="language-py">x &lt; 1\n</code>',
    ):
        assert piece in html


def test_a_table_keeps_its_alignment_without_inline_styles() -> None:
    html = render("| a | b |\n|---|--:|\n| 1 | 2 |")
    assert '<td align="right">2</td>' in html
    assert "style" not in html


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("see https://a.example/x.", "https://a.example/x"),
        ("(https://a.example/x)", "https://a.example/x"),
        ("https://a.example/x_(y), and", "https://a.example/x_(y)"),
        ("http://a.example?q=1&r=2!", "http://a.example?q=1&r=2"),
        ("<https://a.example>", "https://a.example"),
        ("[here](https://a.example)", "https://a.example"),
    ],
)
def test_addresses_are_links_into_a_new_tab_that_tell_nothing(text: str, address: str) -> None:
    [link] = [attributes for tag, attributes in tags(render(text)) if tag == "a"]
    assert link["href"] == address
    assert link["target"] == "_blank"
    assert set((link["rel"] or "").split()) >= {"noopener", "noreferrer"}


def test_an_address_in_code_is_no_link() -> None:
    assert "<a" not in render("`https://a.example`\n\n```\nhttps://a.example\n```")


def test_an_image_is_a_link_and_never_loaded() -> None:
    html = render("![chart](https://a.example/c.png)")
    assert "<img" not in html
    assert 'href="https://a.example/c.png"' in html
    assert ">chart</a>" in html


def test_text_that_pretends_to_be_other_text_is_cleaned() -> None:
    assert plain("a\u202egnp.exe\u2066\x1b[2Jb\r\nc\ud800") == "agnp.exe[2Jb\nc\ufffd"


def test_a_long_text_is_at_most_three_parts_else_a_file() -> None:
    words = "word " * (MOST // 5)
    assert len(parts(words)) == 1
    assert len(parts(words * 2)) <= 3
    beginning, file = parts(words * 6)
    assert isinstance(beginning, Say)
    assert isinstance(file, SendFile)
    assert file.content == words * 6
    assert parts("  \n ") == ()


GOAL = "Write a poem\nin two lines"


def test_a_goals_status_message_is_told_in_its_parts() -> None:
    text = f"{was_set(GOAL, 20)}\npaused · 3/20 turns · 1,234 tokens · $0.02 · 1m 5s"
    assert card_of(f"{text}\nLast verdict: one line is missing") == {
        "goal": GOAL,
        "status": "paused",
        "used": 3,
        "most": 20,
        "spent": "1,234 tokens · $0.02 · 1m 5s",
        "verdict": "one line is missing",
    }


@pytest.mark.parametrize(
    ("line", "used"),
    [(was_set("x", 7), 0), (resumed("x", 7), 0), (going_on("x", 2, 7), 2)],
)
def test_every_first_line_of_a_status_message_is_known(line: str, used: int) -> None:
    for text in (line, f"(may be a repeat) {line}"):
        found = card_of(text)
        assert found is not None
        assert (found["goal"], found["used"], found["most"]) == ("x", used, 7)
        assert kind_of(Say(text)) == "card"


def test_messages_are_told_apart_by_how_they_look() -> None:
    assert kind_of(Say("x", markdown=True)) == "answer"
    assert kind_of(Say("↻ Continuing toward goal (1/20): more")) == "notice"
    assert (
        kind_of(Say("⏸ Goal paused: x", buttons=(Button("Resume", "/goal resume"),))) == "notice"
    )
    assert kind_of(Say("You are Anna")) == "plain"
    assert kind_of(Say("⊙ Goal (active)\nmore lines")) == "plain"


def test_a_file_is_told_with_a_path_of_its_own_id() -> None:
    what = posted(Shown(RemoteId("i" * 22), Kept("i" * 22, '../"x".png', "image/png", 9), 1.0))
    assert what["file"] == {
        "id": "i" * 22,
        "name": '../"x".png',
        "size": 9,
        "image": True,
        "url": f"/files/{'i' * 22}/..%2F%22x%22.png",
    }


def test_what_a_person_said_is_told_under_the_browsers_own_id() -> None:
    file = Attachment("f" * 22, "a.txt", "text/plain", 3)
    line = Told(dedupe="web:chat01:abc12345", by=OWNER, text="<b>", at=2.0, attachments=(file,))
    what = told(line)
    assert (what["id"], what["html"], what["kind"]) == ("abc12345", "&lt;b&gt;", "text")
    assert what["files"]


def test_a_title_is_one_short_line() -> None:
    assert title_of("a\n b  c") == "a b c"
    assert len(title_of("x" * 500)) == 80


# What browsers send

ID = "client-id-1"


def test_a_message_is_decoded_with_its_key() -> None:
    wanted = decode.wanted({"id": ID, "text": " hi\r\nthere\x00 ", "files": []})
    message = decode.message("chat01", wanted, (), 5.0)
    assert (message.text, message.remote, message.dedupe) == (
        "hi\nthere",
        ID,
        f"web:chat01:{ID}",
    )
    assert message.sender.id == "owner"
    assert message.private


def test_a_press_has_a_key_that_no_message_can_have() -> None:
    press = decode.press("chat01", {"id": ID, "message": "m", "command": "/goal pause"}, 5.0)
    assert (press.command, press.remote) == ("/goal pause", "m")
    with pytest.raises(UserError):
        decode.wanted({"id": decode.client_id(press.dedupe), "text": "x"})


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "x",
        {},
        {"id": ID},
        {"id": 5, "text": "x"},
        {"id": "short", "text": "x"},
        {"id": "has:colon:in", "text": "x"},
        {"id": ID, "text": ["x"]},
        {"id": ID, "text": "x", "files": "abc"},
        {"id": ID, "text": "x", "files": ["../../etc/passwd"]},
        {"id": ID, "text": "x", "files": [5]},
        {"id": ID, "text": "x", "files": ["a" * 22] * 21},
        {"id": ID, "text": "  ", "files": []},
        {"id": ID, "text": "x", "reply": 5},
        {"id": ID, "text": "x", "reply": "../a message"},
    ],
)
def test_what_cannot_be_a_message_is_refused_in_words(body: object) -> None:
    with pytest.raises(UserError, match=r"\w+ \w+"):
        decode.wanted(body)


@pytest.mark.parametrize(
    "body",
    [
        {"id": ID, "message": "m", "command": "say hello"},
        {"id": ID, "message": "m", "command": "/" + "x" * 300},
        {"id": ID, "message": 5, "command": "/stop"},
        {"id": ID, "command": "/stop"},
    ],
)
def test_what_cannot_be_a_press_is_refused(body: object) -> None:
    with pytest.raises(UserError):
        decode.press("chat01", body, 1.0)


@pytest.mark.parametrize(
    "name", ["", "abc", "a|b|c|d|e", "../secret", "A" * 8, "x" * 41, "a.b.c.d"]
)
def test_a_chats_id_can_never_be_a_path_or_another_lane(name: str) -> None:
    assert not decode.is_chat(name)
