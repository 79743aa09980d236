"""The tier rule: a child runs on its parent's tier or a lower one, by the settings alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.delegation import tiers
from core.delegation.worker import Ranked
from core.errors import UserError

BIG, MID, TWIN, TINY = (
    Ranked(name, tier, f"lab/{name}")
    for name, tier in (("big", 1), ("mid", 2), ("twin", 2), ("tiny", 3))
)
CATALOGUE = (TINY, MID, BIG, TWIN)

ranked = st.builds(
    lambda n, tier: Ranked(f"m{n}", tier, f"id{n}"), st.integers(0, 9), st.integers(1, 4)
)
catalogues = st.lists(ranked, unique_by=lambda model: model.name, max_size=6)


def refused(name: str, parent: Ranked, catalogue: tuple[Ranked, ...] = CATALOGUE) -> str:
    with pytest.raises(UserError) as caught:
        tiers.named(catalogue, parent, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("parent", "names"),
    [
        (BIG, ["tiny", "mid", "big", "twin"]),
        (MID, ["tiny", "mid", "twin"]),
        (TINY, ["tiny"]),
        (Ranked("weakest", 9, "x"), []),
    ],
)
def test_the_parents_tier_and_lower_ones_are_allowed_in_the_settings_order(
    parent: Ranked, names: list[str]
) -> None:
    assert [model.name for model in tiers.allowed(CATALOGUE, parent)] == names


@given(catalogues, ranked, ranked)
def test_a_model_can_be_named_exactly_when_it_is_allowed(
    catalogue: list[Ranked], parent: Ranked, wanted: Ranked
) -> None:
    allowed = {model.name: model for model in tiers.allowed(catalogue, parent)}
    if wanted.name in allowed:
        assert tiers.named(catalogue, parent, wanted.name) is allowed[wanted.name]
        return
    said = refused(wanted.name, parent, tuple(catalogue))
    assert all(f"{name} (tier {model.tier})" in said for name, model in allowed.items())


@given(catalogues.filter(bool))
def test_the_lowest_model_is_the_first_of_the_weakest_tier(catalogue: list[Ranked]) -> None:
    lowest = tiers.lowest(catalogue)
    weakest = [m for m in catalogue if m.tier == max(m.tier for m in catalogue)]
    assert lowest is weakest[0]


def test_a_name_that_sounds_strong_says_nothing() -> None:
    parent, grand = Ranked("tiny-turbo", 2, "a"), Ranked("gpt-ultra-max", 3, "b")
    assert tiers.named((grand,), parent, "gpt-ultra-max") is grand
    humble = Ranked("nano", 1, "c")
    assert "nano is tier 1, above your own tier 2" in refused("nano", parent, (humble,))


def test_a_higher_tier_is_an_error_with_both_tiers_and_the_allowed_names() -> None:
    assert refused("big", MID) == (
        "model big is tier 1, above your own tier 2; a child runs on its parent's tier or a lower"
        " one. A child may run on: tiny (tier 3), mid (tier 2), twin (tier 2)."
    )


def test_an_unknown_model_is_an_error_with_the_allowed_names() -> None:
    assert refused("Mid", MID).startswith("There is no model 'Mid'. A child may run on: tiny (")


def test_where_nothing_is_allowed_the_error_says_to_leave_the_model_out() -> None:
    outside = Ranked("outside", 9, "x")
    assert "your own model only, so leave model out" in refused("big", outside)
    assert "leave model out" in refused("big", BIG, ())


def test_a_check_names_who_wants_the_model() -> None:
    tiers.check(MID, "profile coder", CATALOGUE, BIG)
    tiers.check(TWIN, "profile coder", CATALOGUE, MID)
    with pytest.raises(UserError, match=r"^profile coder is tier 1, above your own tier 3"):
        tiers.check(BIG, "profile coder", CATALOGUE, TINY)
