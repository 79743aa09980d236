"""What the docs derive from code is up to date."""

from __future__ import annotations

from docs import generate


def test_the_diagrams_are_those_of_the_machines() -> None:
    assert generate.MACHINES.read_text(encoding="utf-8") == generate.state_machines()


def test_the_readme_lists_every_command() -> None:
    assert generate.README.read_text(encoding="utf-8") == generate.readme()


def test_the_page_of_settings_has_every_key() -> None:
    assert generate.SETTINGS.read_text(encoding="utf-8") == generate.configuration()


def test_the_slack_manifest_has_every_command() -> None:
    assert generate.SLACK.read_text(encoding="utf-8") == generate.slack_manifest()
