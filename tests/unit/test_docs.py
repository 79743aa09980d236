"""The documents tell the truth about settings, commands and files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest

from adapters.console.menu import OWN_COMMANDS
from gateway.cli import pursuit
from gateway.cli.outcome import (
    BAD_CONFIG,
    BUG,
    INTERRUPTED,
    NO_PERMISSION,
    TRY_LATER,
    UNAVAILABLE,
)
from gateway.settings import ConfigError, load

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], key=lambda path: path.as_posix()
)


def _commands(group: click.Group, name: str) -> list[str]:
    context = click.Context(group)
    found = [name] if group.invoke_without_command and group is not pursuit else []
    for sub in group.list_commands(context):
        command = group.get_command(context, sub)
        if isinstance(command, click.Group):
            found += _commands(command, f"{name} {sub}")
        else:
            found.append(f"{name} {sub}")
    return found


def test_the_readme_lists_every_command_of_the_shell() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^\| `(pursuit [^`]+)` \|", text)
    assert sorted(listed) == sorted(_commands(pursuit, "pursuit"))


def test_the_readme_names_the_terminals_own_commands_and_every_exit_code() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name, _ in OWN_COMMANDS if f"`/{name}" not in text] == []
    codes = re.search(r"(?s)^Exit codes: (.*?)\.$", text, re.MULTILINE)
    assert codes is not None
    told = {int(code) for code in re.findall(r"\b\d+\b", codes[1])}
    ends = {UNAVAILABLE, BUG, TRY_LATER, NO_PERMISSION, BAD_CONFIG, INTERRUPTED}
    assert told == {0, 1, 2} | ends


def test_the_licence_is_the_one_that_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert project["license"] == "Apache-2.0"
    assert re.search(r"Apache License\s+Version 2\.0", licence)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    gone = [link for link in links if not (document.parent / link.partition("#")[0]).exists()]
    assert gone == []


@pytest.mark.parametrize(
    "name", ["README.md", "docs/configuration.md", "docs/delegation.md", "docs/gates.md"]
)
def test_every_configuration_shown_can_be_loaded(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    examples = re.findall(r"(?ms)^ *```yaml\n(.*?)^ *```", text)
    keys = dict.fromkeys(("OPENROUTER_API_KEY", "GITHUB_TOKEN", "SEARCH_TOKEN"), "k")
    environ = {**keys, "TELEGRAM_BOT_TOKEN": "123456789:AA"}
    assert examples
    for example in examples:
        (tmp_path / "c.yaml").write_text(example, encoding="utf-8")
        load(tmp_path / "c.yaml", environ=environ)


def test_the_errors_shown_are_the_errors_told(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    shown = re.search(r"(?ms)^```\n(/home/ann.*?)^```", text)
    file = tmp_path / "config.yaml"
    file.write_text(
        "#\n" * 10 + "goals:\n  max_turn: 5\n#\n#\nlanes: {collect: on}\n", encoding="utf-8"
    )
    with pytest.raises(ConfigError) as caught:
        load(file, environ={"PURSUIT_LOGS__LEVEL": "loud"})
    told = str(caught.value).replace(str(file), "/home/ann/.config/pursuit/config.yaml")
    assert shown is not None
    assert sorted(shown[1].splitlines()) == sorted(told.splitlines())


def test_the_makefile_has_the_targets_that_the_documents_name() -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    for document in DOCUMENTS:
        named = re.findall(
            r"(?:^|`|\| )make ([a-z]+)", document.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert set(named) <= targets
