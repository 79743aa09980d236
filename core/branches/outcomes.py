"""Reads what is to follow from a condition: a report, or an escalation and how a person is asked.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.branches import template
from core.branches.faults import Code
from core.branches.reading import Reading
from core.branches.table import (
    DAY_S,
    Branch,
    Escalate,
    Human,
    Report,
    Route,
)
from core.escalations.record import LEAST_OPTIONS, MOST_OPTIONS, Kind, OnTimeout
from core.escalations.shown import line
from core.fence import one_line
from core.replies import kind

MIN_TIMEOUT_S, MAX_TIMEOUT_S = 10, 30 * 86_400
TEMPLATE_CHARS = 1_000
OPTION_CHARS = 80

_BRANCH_KEYS: Mapping[str, tuple[str, ...]] = {
    "report": ("action", "format"),
    "report_with_evidence": ("action", "format"),
    "escalate": ("action", "tier", "prompt", "human"),
}
_HUMAN_KEYS = ("kind", "options", "timeout_s", "on_timeout")


class Outcomes(Reading):
    """Reads branches; `human_route` says whether they may ask a person."""

    def __init__(self, *, human_route: bool) -> None:
        super().__init__()
        self.human_route = human_route

    def branch(self, given: object, path: str) -> Branch:
        """What follows from a condition."""
        action = given.get("action") if isinstance(given, dict) else None
        if not isinstance(given, dict) or not isinstance(action, str):
            found = kind(given) if not isinstance(given, dict) else "an object without one"
            self.bad(path, f"it must be an object with action ({_actions()}), not {found}")
            return Report()
        if action not in _BRANCH_KEYS:
            found = repr(one_line(action, 40))
            self.bad(f"{path}.action", f"it must be {_actions()}, not {found}")
            return Report()
        fields = self.fields(given, path, _BRANCH_KEYS[action])
        if action != "escalate":
            return Report(self._template(fields, path, "format"), action != "report")
        return self._escalate(fields, path)

    def _escalate(self, fields: Mapping[str, object], path: str) -> Escalate:
        if "tier" in fields:
            route = self.word(fields["tier"], f"{path}.tier", Route, Route.OVERSEER)
        else:
            self.bad(f"{path}.tier", "it is missing; write overseer or human")
            route = Route.OVERSEER
        if route is Route.HUMAN and not self.human_route:
            self.fault(
                Code.NO_HUMAN_ROUTE,
                f"{path}.tier",
                "no person can be reached from here; write overseer, or report",
            )
        prompt = self._template(fields, path, "prompt")
        if "human" not in fields:
            return Escalate(route, prompt)
        return Escalate(route, prompt, self.human(fields["human"], f"{path}.human"))

    def human(self, given: object, path: str) -> Human:
        fields = self.fields(given, path, _HUMAN_KEYS)
        asked, late = Kind.TEXT, OnTimeout.ABORT
        if "kind" in fields:
            asked = self.word(fields["kind"], f"{path}.kind", Kind, asked)
        if "on_timeout" in fields:
            late = self.word(fields["on_timeout"], f"{path}.on_timeout", OnTimeout, late)
        return Human(
            kind=asked,
            options=self._options(fields, asked, f"{path}.options"),
            timeout_s=self._timeout(fields.get("timeout_s", Human().timeout_s), path),
            on_timeout=late,
        )

    def _options(self, fields: Mapping[str, object], asked: Kind, path: str) -> tuple[str, ...]:
        given = fields.get("options", [])
        if asked is not Kind.CHOOSE:
            if "options" in fields:
                self.bad(path, f"they are for kind choose; here it is {asked}. Set kind: choose")
            return ()
        items = self.items(given, path, "texts")
        if isinstance(given, list) and not LEAST_OPTIONS <= len(items) <= MOST_OPTIONS:
            bounds = f"{LEAST_OPTIONS} to {MOST_OPTIONS}"
            why = f"kind choose needs {bounds} options; there are {len(items)}"
            self.fault(Code.CHOOSE_NEEDS_OPTIONS, path, why)
        places = [f"{path}[{n}]" for n in range(min(len(items), MOST_OPTIONS))]
        options = [self._option(*each) for each in zip(items, places, strict=False)]
        first: dict[str, str] = {}
        for option, place in zip(options, places, strict=True):
            same = first.setdefault(option.casefold(), place)
            if option and same != place:
                why = f"it reads like {same}; make them differ in their words"
                self.fault(Code.CHOOSE_NEEDS_OPTIONS, place, why)
        return tuple(options)

    def _option(self, given: object, path: str) -> str:
        """An option as a card shows it; "" after a fault."""
        before = len(self.faults)
        text = self.text(given, path, OPTION_CHARS)
        if len(self.faults) > before:
            return ""
        shown = line(text, OPTION_CHARS)
        if not shown:
            self.fault(Code.CHOOSE_NEEDS_OPTIONS, path, "nothing of it would show; write words")
        return shown

    def _timeout(self, given: object, path: str) -> float:
        if not isinstance(given, int | float) or isinstance(given, bool):
            self.bad(f"{path}.timeout_s", f"it must be a number of seconds, not {kind(given)}")
        elif MIN_TIMEOUT_S <= given <= MAX_TIMEOUT_S:
            return given
        else:
            bounds = f"from {MIN_TIMEOUT_S} to {MAX_TIMEOUT_S:,} seconds"
            self.bad(f"{path}.timeout_s", f"it must be {bounds} (a day is {DAY_S:,})")
        return Human().timeout_s

    def _template(self, fields: Mapping[str, object], path: str, key: str) -> str:
        if key not in fields:
            return ""
        text = self.text(fields[key], f"{path}.{key}", TEMPLATE_CHARS)
        if unknown := template.unknown(text[:TEMPLATE_CHARS]):
            shown = ", ".join(one_line(piece, 60) for piece in unknown[:3])
            self.fault(
                Code.UNKNOWN_VARIABLE,
                f"{path}.{key}",
                f"{shown} cannot be filled in; there are {_variables()}, without anything else"
                " between the braces. Write {{ and }} for braces that are text",
            )
        return text


def _actions() -> str:
    return ", ".join(_BRANCH_KEYS)


def _variables() -> str:
    return " ".join(f"{{{name}}}" for name in template.VARIABLES)


def human_of(stored: object) -> Human:
    """How a person is asked, as it was stored. Raises ValueError for what is none."""
    reading = Outcomes(human_route=True)
    human = reading.human(stored, "human")
    if reading.faults:
        raise ValueError(str(reading.faults[0]))
    return human
