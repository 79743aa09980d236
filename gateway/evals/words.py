"""What a model that judges has said of a row. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Word(StrEnum):
    """What a model made of a row."""

    PASS = "pass"  # noqa: S105 (no password)
    FAIL = "fail"
    UNVERIFIED = "unverified"
    """It gave no verdict, or none that is believed."""


class Lack(StrEnum):
    """Why a word is UNVERIFIED."""

    CALL = "call failed"
    """The model was not heard, which says nothing of how it judges."""
    VERDICT = "no verdict"
    """Its reply was none, or left open what it was asked."""
    BELIEF = "not believed"
    """It let pass what it could not show, or said two things."""


@dataclass(frozen=True, slots=True)
class Said:
    """A word; an UNVERIFIED one with what it lacks and why, in a sentence."""

    word: Word
    lack: Lack | None = None
    why: str = ""

    @property
    def decided(self) -> bool:
        """Whether it is a verdict."""
        return self.word is not Word.UNVERIFIED

    def __str__(self) -> str:
        return f"{self.word} ({self.lack}: {self.why})" if self.lack else self.word.value


def unverified(lack: Lack, why: str) -> Said:
    """No word that counts."""
    return Said(Word.UNVERIFIED, lack, why)
