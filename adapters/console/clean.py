"""Makes any text harmless for a terminal. Pure.

What a model, a file name or another person wrote may carry escape sequences that move the
cursor, set the title, write the clipboard or hide text. Nothing reaches the screen, and nothing
typed reaches the gateway, without passing here.
"""

from __future__ import annotations

import re

# Whole sequences go first, so that no `[31m` is left behind. No body may hold an escape or a
# line break: an unfinished one must not swallow what follows, nor make the scan quadratic.
_SEQUENCES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)"  # strings
    "|\x1b[ -/]*[0-OQ-WYZ`-~\\\\]"  # the short ones
)
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without control characters (but newline and tab) and without bidi overrides."""
    text = _SEQUENCES.sub("", text)
    text = _LINE_BREAKS.sub("\n", text)
    text = _FORBIDDEN.sub("", text)
    return _SURROGATES.sub("\ufffd", text)


def one_line(text: str) -> str:
    """The cleaned text on a single line."""
    return " ".join(clean(text).split())
