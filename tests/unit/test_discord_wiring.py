"""Discord in the program: started where it is enabled, loaded only then, described as it is."""

from __future__ import annotations

import re
import subprocess
import sys
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path

import discord
import pytest

from core.messages import PlatformName, Role
from core.pairing import Book
from core.pairing import Paired as PairedPerson
from gateway.access import Access, Allowlist
from gateway.cli.start import _platforms
from gateway.compose.discord import Admitted
from gateway.settings import load
from tests.fakes.people import MemoryPeople

PAGE = Path(__file__).parents[2] / "docs" / "discord.md"
TOKEN = urlsafe_b64encode(b"123456789012345678").decode() + ".x.y"


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """The page's configuration as a file."""
    [example] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "config.yaml"
    path.write_text(example, encoding="utf-8")
    return path


def test_the_pages_configuration_starts_discord(shown: Path) -> None:
    settings = load(shown, environ={"DISCORD_BOT_TOKEN": TOKEN})
    assert settings.access.discord.owners == (123456789012345678,)
    assert [maker.__name__ for maker in _platforms(settings)] == ["discord"]


def test_the_pages_invitation_asks_for_what_the_bot_needs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    asked = re.search(r"scope=([\w.+]+)&permissions=(\d+)", text)
    assert asked is not None
    assert set(asked[1].split("+")) == {"bot", "applications.commands"}
    permissions = discord.Permissions(int(asked[2]))
    assert {name for name, given in permissions if given} == {
        "read_messages",
        "send_messages",
        "send_messages_in_threads",
        "attach_files",
        "read_message_history",
        "add_reactions",
    }


def test_the_sdk_is_not_loaded_where_discord_is_not_enabled() -> None:
    code = (
        "import sys; from gateway.cli.start import _platforms; from gateway.settings import load;"
        "_platforms(load(None)); sys.exit('discord' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@dataclass(slots=True)
class Paired(MemoryPeople):
    """Bob was let in on Discord, and somebody on Telegram."""

    def book(self) -> Book:
        """See `People.book`."""
        one, other = PlatformName.DISCORD, PlatformName.TELEGRAM
        return Book(paired=(let_in(one, "30"), let_in(other, "40"), let_in(one, "10")))


def let_in(platform: PlatformName, person: str) -> PairedPerson:
    return PairedPerson(
        platform=platform, person=person, name="Bob", role=Role.MEMBER, at=0.0, by="10"
    )


def test_the_people_are_those_of_the_lists_and_those_let_in_by_pairing() -> None:
    lists = Allowlist(owners=frozenset({"10"}), members=frozenset({"20"}))
    roles = {(PlatformName.DISCORD, "30"): Role.MEMBER}
    access = Access({PlatformName.DISCORD: lists}, Paired(roles))
    people = Admitted(access)
    assert people.known() == (10, 20, 30)
    assert [people.admits(who, "7") for who in ("10", "20", "30", "40")] == [True] * 3 + [False]
    access.relist({})
    assert people.known() == (30, 10)
    assert not people.admits("20", "7")


def test_the_page_and_the_example_name_one_variable() -> None:
    example = (PAGE.parents[1] / "config.example.yaml").read_text(encoding="utf-8")
    named = r"\bDISCORD\w*TOKEN\b"
    assert set(re.findall(named, example)) == set(re.findall(named, PAGE.read_text("utf-8")))
