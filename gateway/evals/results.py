"""The words on rows that were asked, kept line by line, so that a run that was cut goes on.

A row of which a call failed is not kept: a run that goes on asks it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from core.errors import UserError
from gateway.evals.rows import Row
from gateway.evals.scoring import Asked
from gateway.evals.seats import Seat
from gateway.evals.words import Lack, Said, Word, unverified

OTHER = "{file} line {line} is of another run ({what}). Name another file, or delete this one."


class Results:
    """A file of results; each is of one seat and model. None keeps nothing."""

    def __init__(self, file: Path | None, seat: Seat, model: str) -> None:
        self._file = file
        self._of = {"seat": seat.value, "model": model}
        self._open: TextIO | None = None
        self.known: dict[str, tuple[Said, Said | None]] = {}

    def open(self) -> None:
        """Read what is there, and be ready for more. Raises UserError for a file that holds
        something else, or that cannot be written."""
        if self._file is None:
            return
        try:
            if self._file.exists():
                self._read(self._file)
            self._open = self._file.open("a", encoding="utf-8")
        except OSError as error:
            raise UserError(f"{self._file} cannot be used: {error.strerror}") from error

    def close(self) -> None:
        """Let go of the file."""
        if self._open is not None:
            self._open.close()

    def keep(self, row: Row, said: Said, again: Said | None) -> None:
        """Keep one word at once."""
        self.known[row.id] = (said, again)
        if self._open is None or self.of(row).failure:
            return
        words = {"word": said.word, "again": again.word if again else None, "lack": said.lack}
        self._open.write(json.dumps({**self._of, "id": row.id, **words}) + "\n")
        self._open.flush()

    def of(self, row: Row) -> Asked:
        """A row with its word."""
        said, again = self.known[row.id]
        return Asked(
            id=row.id, rows=row.rows, kind=row.kind, done=row.done, said=said, again=again
        )

    def _read(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        if text and not text.endswith("\n"):  # the run was cut while it wrote
            text = text[: text.rfind("\n") + 1]
            file.write_text(text, encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            try:
                kept = json.loads(line)
                self._take(kept)
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(OTHER.format(file=file, line=number, what=error)) from error

    def _take(self, kept: Mapping[str, object]) -> None:
        if {key: kept[key] for key in self._of} != self._of:
            raise ValueError(f"seat {kept['seat']}, model {kept['model']}")
        again, word = kept["again"], Word(str(kept["word"]))
        lack = Lack(str(kept.get("lack") or Lack.VERDICT))
        self.known[str(kept["id"])] = (
            unverified(lack, "") if word is Word.UNVERIFIED else Said(word),
            None if again is None else Said(Word(str(again))),
        )
