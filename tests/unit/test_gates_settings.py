"""The settings of gates: what they choose, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.gates.wanted import Wanted
from gateway.compose.house import house
from gateway.settings import ConfigError, Settings, chosen, load
from gateway.settings.schema import LOCAL_MODEL

TWO = """\
providers: {far: {base_url: "https://far.example/v1"}, near: {kind: local}}
models:
  main: {provider: far, model: m}
  other: {provider: far, model: o}
  small: {provider: near, model: LOCAL}
""".replace("LOCAL", LOCAL_MODEL)


def settings(tmp_path: Path, text: str = "") -> Settings:
    file = tmp_path / "c.yaml"
    file.write_text(TWO + text, encoding="utf-8")
    return load(file, environ={})


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "main"),
        ("agent: {model: other}", "other"),
        ("auxiliary: {critic: {model: other}}", "other"),
        ("auxiliary: {critic: {provider: far, model: raw/id}}", "far/raw/id"),
        ("auxiliary: {critic: {model: other}}\ngates: {critic: {model: small}}", "small"),
    ],
)
def test_the_critics_model_is_its_own_the_tasks_or_the_agents(
    tmp_path: Path, text: str, name: str
) -> None:
    assert chosen(settings(tmp_path, text), "critic").name == name


def test_an_embedded_critic_has_more_time(tmp_path: Path) -> None:
    assert settings(tmp_path).auxiliary.critic.timeout_s == 30
    near = settings(tmp_path, "gates: {critic: {model: small}}")
    assert near.auxiliary.critic.timeout_s == 180


def test_no_gate_is_there_unless_it_is_set(tmp_path: Path) -> None:
    home = lambda _: tmp_path  # noqa: E731
    assert house(settings(tmp_path), local=True, home=home).gates == Wanted()
    text = 'gates: {verify: [" ruff check ", pytest -q], critic: {enabled: true}}'
    gates = house(settings(tmp_path, text), local=True, home=home).gates
    assert gates == Wanted(verify=("ruff check", "pytest -q"), critic=True)


def test_a_goal_pays_for_a_critic_that_is_on(tmp_path: Path) -> None:
    text = "auxiliary: {critic: {provider: far, model: c}}\ngates: {critic: {enabled: %s}}"
    home = lambda _: tmp_path  # noqa: E731
    for word, paid in (("true", True), ("false", False)):
        found = house(settings(tmp_path, text % word), local=True, home=home)
        assert ("far/c" in found.aides) is paid


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "gates: {critic: {model: othr}}",
            "gates.critic.model: there is no model 'othr'; did you",
        ),
        ("gates: {verify: pytest}", "gates.verify: expected a list such as [a, b]"),
        ("gates: {verify: ['']}", "gates.verify[0]: must not be empty"),
        ("gates: {verify: [a, a]}", "gates.verify: a word must not be there twice"),
        ("gates: {max_bounces: -1}", "gates.max_bounces: must be at least 0"),
        ("gates: {max_bounce: 1}", "did you mean `gates.max_bounces`?"),
        ("auxiliary: {critic: {model: none}}", "auxiliary.critic.model: there is no model 'none'"),
    ],
)
def test_a_fault_names_its_key(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(tmp_path, text)
