"""Slack's markup of what people write, as plain text. Pure: no I/O.

Slack escapes `&`, `<` and `>`, and writes links and mentions as `<…>`.
"""

from __future__ import annotations

import re

from core.commands import BY_NAME

UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff\ufffe\uffff]")
TOKEN = re.compile(r"<([^<>\n]+)>")
BANG = re.compile(r"!([A-Za-z0-9_]+)(?=\s|\Z)")


def cleaned(text: str) -> str:
    """The text with Unix line ends and without control characters and lone surrogates."""
    return UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """A name, whatever is in it, on one line."""
    return " ".join(cleaned(text).split())


def readable(text: str) -> str:
    """The text as the person saw it when they wrote it."""
    spelled = TOKEN.sub(lambda token: _spelled(token[1]), text)
    plain = spelled.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return cleaned(plain).strip()


def without_mention(text: str, user: str) -> tuple[str, bool]:
    """The text without the mentions of a user, and whether there was any."""
    rest, count = re.subn(rf" *<@{re.escape(user)}(?:\|[^<>]*)?>", "", text)
    return (rest.strip(" ,:\n\t"), True) if count else (text.strip(), False)


def command_line(text: str) -> str:
    """`!goal …` as `/goal …`: Slack takes no slash command in a thread. Other words after a
    `!` are text."""
    found = BANG.match(text)
    if found is None or found[1].lower() not in BY_NAME:
        return text
    return f"/{text[1:]}"


def _spelled(token: str) -> str:
    target, _, label = token.partition("|")
    if target[0] in "@#!":
        if label:
            return target[0].replace("!", "@") + label.lstrip("@#")
        return f"@{target[1:].partition('^')[0]}" if target[0] == "!" else target
    if not label or label == target.removeprefix("mailto:"):
        return target.removeprefix("mailto:")
    # The label of a bare `example.org` is what was typed.
    return label if target.endswith(label) else f"{label} ({target})"
