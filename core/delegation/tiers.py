"""The tier rule: a child runs on its parent's tier or a lower one. Pure.

Tiers come from the settings, 1 the strongest; a model's name says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.delegation.worker import Ranked
from core.errors import UserError


def allowed(catalogue: Sequence[Ranked], parent: Ranked) -> tuple[Ranked, ...]:
    """The models that a child of `parent` may run on, in the catalogue's order."""
    return tuple(model for model in catalogue if model.tier >= parent.tier)


def lowest(catalogue: Sequence[Ranked]) -> Ranked:
    """The weakest model; the first one among equals."""
    return max(catalogue, key=lambda model: model.tier)


def named(catalogue: Sequence[Ranked], parent: Ranked, name: str) -> Ranked:
    """The model that a call names. Raises UserError with the allowed names."""
    found = next((model for model in catalogue if model.name == name), None)
    if found is None:
        raise UserError(f"There is no model {name[:60]!r}. {_offer(catalogue, parent)}")
    check(found, f"model {found.name}", catalogue, parent)
    return found


def check(model: Ranked, what: str, catalogue: Sequence[Ranked], parent: Ranked) -> None:
    """Raise UserError when a model stands above the parent's tier; `what` names who wants it."""
    if model.tier < parent.tier:
        raise UserError(
            f"{what} is tier {model.tier}, above your own tier {parent.tier}; a child runs on its"
            f" parent's tier or a lower one. {_offer(catalogue, parent)}"
        )


def _offer(catalogue: Sequence[Ranked], parent: Ranked) -> str:
    names = ", ".join(f"{m.name} (tier {m.tier})" for m in allowed(catalogue, parent))
    return f"A child may run on: {names or 'your own model only, so leave model out'}."
