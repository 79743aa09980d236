"""What is stored of a run beside its steps: what it came to, how its check stands, where its
branch table stands. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Self

from core.delegation.acceptance.verdict import Graded, Verdict
from core.delegation.result import Work
from core.delegation.waiting import Waits
from core.transcript import Json


@dataclass(frozen=True, slots=True)
class Kept:
    """Each is None until it is known: the work, the host's own word, and the whole verdict.

    `asked` are the questions to people that its calls have waited for. Of a branch table's run,
    `table` is the text of `core.branches.codec`, "" before it has begun, and `children` how many
    have been started.
    """

    work: Work | None = None
    found: tuple[Graded, ...] | None = None
    verdict: Verdict | None = None
    asked: tuple[str, ...] = ()
    table: str = ""
    children: int = 0

    def waiting(self, waits: Waits) -> Self:
        """The same for a run that waits for people."""
        return replace(self, asked=tuple(dict.fromkeys((*self.asked, *waits.asked))))

    def dump(self) -> str:
        """The text that the store keeps."""
        kept: dict[str, Json] = {}
        if self.work is not None:
            kept["work"] = self.work.to_json()
        if self.found is not None:
            kept["found"] = [each.to_json() for each in self.found]
        if self.verdict is not None:
            kept["verdict"] = self.verdict.to_json()
        if self.asked:
            kept["asked"] = list(self.asked)
        if self.table:
            kept |= {"table": self.table, "children": self.children}
        return json.dumps(kept)

    @classmethod
    def load(cls, text: str) -> Self:
        """What `dump` gave; "" is nothing yet."""
        kept = json.loads(text or "{}")
        return cls(
            work=Work.from_json(kept["work"]) if "work" in kept else None,
            found=tuple(map(Graded.from_json, kept["found"])) if "found" in kept else None,
            verdict=Verdict.from_json(kept["verdict"]) if "verdict" in kept else None,
            asked=tuple(kept.get("asked", ())),
            table=kept.get("table", ""),
            children=kept.get("children", 0),
        )
