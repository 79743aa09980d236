"""Markdown as HTML that is safe in the page. Pure.

Two walls: the renderer passes no HTML through, and the sanitiser lets only the tags and
attributes of `TAGS` and `ATTRIBUTES` pass, whatever the renderer made. Nothing is ever loaded
from elsewhere: an image becomes a link to it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

TAGS = {
    *("a", "br", "code", "del", "em", "s", "strong"),
    *("blockquote", "hr", "li", "ol", "p", "pre", "ul"),
    *("h3", "h4", "h5", "h6"),
    *("table", "tbody", "td", "th", "thead", "tr"),
}
ATTRIBUTES: dict[str, set[str]] = {
    "a": {"href", "title", "target"},
    "code": {"class"},
    "ol": {"start"},
    "td": {"align"},
    "th": {"align"},
}
SCHEMES = {"http", "https", "mailto"}
REL = "noopener noreferrer nofollow"

_URL = re.compile(r"https?://[^\s<>\"'`\\^{|}]+", re.IGNORECASE)
_TRAILING = ".,;:!?*_~…"
_UNWANTED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_ALIGN = re.compile(r"text-align:(left|right|center)")


def clean(text: str) -> str:
    """The text without control characters and bidi overrides, which can make it read as
    something else, and without half characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _UNWANTED.sub("", text))


def plain(text: str) -> str:
    """Verbatim text as HTML; the page keeps its line ends."""
    return html.escape(clean(text))


@lru_cache(maxsize=512)
def render(text: str) -> str:
    """Markdown as HTML that may be put into the page as it is."""
    made = str(_PARSER.render(clean(text)))
    return nh3.clean(
        made,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        url_relative="deny",  # what a model wrote is no place in this page
        link_rel=REL,
    )


def _image(
    _: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    """A link in the image's place: loading it would tell its server who reads this."""
    token = tokens[index]
    source = str(token.attrGet("src") or "")
    words = token.content or source
    return f'<a href="{html.escape(source)}" target="_blank">{html.escape(words)}</a>'


def _adjust(state: StateCore) -> None:
    """Headings below the page's own, links into new tabs, alignment without inline styles."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        elif token.type in {"td_open", "th_open"}:
            aligned = _ALIGN.search(str(token.attrGet("style") or ""))
            token.attrs.pop("style", None)
            if aligned:
                token.attrSet("align", aligned[1])
        elif token.type == "inline":
            token.children = list(_linked(token.children or []))


def _linked(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens with bare addresses made links."""
    inside = 0
    for token in tokens:
        if token.type == "link_open":
            inside += 1
            token.attrSet("target", "_blank")
        elif token.type == "link_close":
            inside -= 1
        if token.type == "text" and not inside and "://" in token.content:
            yield from _split(token.content)
        else:
            yield token


def _split(text: str) -> Iterator[Token]:
    position = 0
    for found in _URL.finditer(text):
        address = _trimmed(found[0])
        yield _text(text[position : found.start()])
        opening = Token("link_open", "a", 1, attrs={"href": address, "target": "_blank"})
        yield from (opening, _text(address), Token("link_close", "a", -1))
        position = found.start() + len(address)
    yield _text(text[position:])


def _trimmed(address: str) -> str:
    """The address without the sentence's punctuation, and without a bracket that it did not
    open itself."""
    while address:
        last = address[-1]
        loose = last == ")" and address.count(")") > address.count("(")
        if last not in _TRAILING and last != "]" and not loose:
            break
        address = address[:-1]
    return address


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.core.ruler.push("pursuit", _adjust)
    parser.add_render_rule("image", _image)
    return parser


_PARSER = _parser()
