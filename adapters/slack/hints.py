"""The commands that the host's texts name, spelled as they work in Slack. Pure: no I/O.

The host's texts name commands as `/approve E7`. Slack takes no slash command in a thread, and
elsewhere only those that the app's manifest names.
"""

from __future__ import annotations

import re
from dataclasses import replace

from adapters.slack.menu import NATIVE, UMBRELLA
from core.commands import COMMANDS
from core.escalations import token
from core.escalations.commands import Verb
from core.escalations.shown import BAR, FENCE
from core.messages import Say

HINT = re.compile(
    r"(?<![^\s(])/(?P<name>"
    rf"(?:{'|'.join(Verb)})(?= E[0-9])"
    r"|(?:help|pending|sessions|subgoal)(?= (?:lists|shows)\b)"
    r"|verify(?= (?:add <|list\b|remove N))|critic(?= (?:on|off)\b)|pair(?= approve [A-Z0-9]{8}\b)"
    r"|goal(?= (?:<text>|resume goes\b|clear drops\b))|resume(?= (?:N )?goes\b)"
    r")"
)
"""Only what can be nothing else: people's goals, which some texts repeat, name paths as well."""
LISTED = re.compile(rf"(?<!\S)/(?P<name>{'|'.join(spec.name for spec in COMMANDS)})\b")
HELP = re.compile(r"/[a-z]+ — ")
"""How the list of all commands begins, which repeats nobody's words."""


def localised(what: Say, *, threaded: bool) -> Say:
    """A message with its hints spelled for a thread, or for elsewhere. What a model wrote is
    never changed: it goes out as Markdown, as only questions to people do besides."""
    asks = any(token.is_ours(button.command) for button in what.buttons)
    if what.markdown and not asks:
        return what
    return replace(what, text=spelled(what.text, threaded=threaded))


def spelled(text: str, *, threaded: bool) -> str:
    """The text with its hints spelled so, except in what is set off as somebody's words."""
    if HELP.match(text):
        return LISTED.sub(lambda hint: _name(hint, threaded=threaded), text)
    if not HINT.search(text):
        return text
    lines: list[str] = []
    quoted = False
    for line in text.split("\n"):
        fence = line.startswith(FENCE)
        quoted ^= fence
        own = not (quoted or fence or line.startswith(BAR))
        lines.append(HINT.sub(lambda hint: _name(hint, threaded=threaded), line) if own else line)
    return "\n".join(lines)


def _name(hint: re.Match[str], *, threaded: bool) -> str:
    name = hint["name"]
    if threaded:
        return f"!{name}"
    return f"/{name}" if name in NATIVE else f"/{UMBRELLA} {name}"
