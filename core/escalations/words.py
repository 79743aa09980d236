"""What a person's words mean as an answer: nothing, unless they are exactly one. Pure.

A yes has to be bare. "Yes, but wait" is none, and neither is "yes?": whoever adds something has
not simply agreed. A no in doubt is safe, a yes in doubt is not, so the list of yes is the
stricter one: a word that means no in any other language (Malay "tak", Albanian "jo") is not in it.
"""

from __future__ import annotations

import re
import unicodedata

from core.escalations.record import Answer, Approved, Chose, Denied, Escalation, Kind, Wrote
from core.escalations.shown import unseen

MOST_WRITTEN = 8_000
"""The longest answer in words, in characters."""

_YES = """
    y yes yep yeah ok okay approve approved accept allow confirm confirmed
    ja jawohl oui sí si sì sim da да ano áno igen evet ναι kyllä jā
    はい 예 네 是 好 好的 可以 是的 同意 ya có نعم כן हाँ हां ใช่
"""
_NO = """
    n no nope nah deny denied reject rejected refuse disallow decline cancel
    nein nee non não nao nej nei ei нет не ні nie ne nem hayır hayir όχι
    いいえ 아니요 아니오 不 否 不行 不可以 拒绝 tidak không لا לא नहीं ไม่
"""

YES, NO = frozenset(_YES.split()), frozenset(_NO.split())

_TYPED = str.maketrans({"’": "'", "！": "!", "。": "."})
_OPTION = re.compile(r"(?:option\s+)?#?([1-8])[.)]?", re.IGNORECASE)


def read(escalation: Escalation, text: str) -> Answer | None:
    """The answer that the words are to this escalation, None when they are none."""
    match escalation.kind:
        case Kind.APPROVE:
            return yes_or_no(text)
        case Kind.CHOOSE:
            return chosen(escalation, text)
        case Kind.TEXT:
            return written(text)


def yes_or_no(text: str) -> Approved | Denied | None:
    """A bare yes or no, in some languages, however it is capitalised; one full stop or some
    exclamation marks may follow."""
    word = _folded(text)
    bare = word[:-1] if word.endswith(".") else word.rstrip("!")
    if bare in YES:
        return Approved()
    return Denied() if bare in NO else None


def chosen(escalation: Escalation, text: str) -> Chose | None:
    """The option whose number or whole text this is; None also where it is the number of one
    and the text of another."""
    said = _folded(text)
    options = escalation.options
    found = {at for at, option in enumerate(options) if said and said == _folded(option)}
    number = _OPTION.fullmatch(said)
    if number is not None and int(number[1]) <= len(options):
        found.add(int(number[1]) - 1)
    if len(found) != 1:
        return None
    (index,) = found
    return Chose(index, options[index])


def written(text: str) -> Wrote | None:
    """The text as an answer, None for nothing and for more than anybody asked for."""
    kept = "".join(c for c in text if c in "\n\t" or not unseen(c)).strip()
    return Wrote(kept) if 0 < len(kept) <= MOST_WRITTEN else None


def _folded(text: str) -> str:
    """The text as it is compared: what shows as nothing and what differs in case is gone."""
    seen = "".join(c for c in text.translate(_TYPED) if c.isspace() or not unseen(c))
    return " ".join(unicodedata.normalize("NFC", seen).casefold().split())
