"""`pursuit up` on a platform that refuses what was configured: exit 78, and systemd does not
try again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from gateway.cli.outcome import BAD_CONFIG
from gateway.service.unit import Start, system_unit
from tests.e2e.gateway_process import gateway
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.slack_api import FakeSlack
from tests.fakes.telegram_api import FakeTelegram

FOREIGN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.forged.s3cret-AAHdqTcvCH1vGWJx"


async def told_by(folder: Path, name: str, platform: Mapping[str, object]) -> tuple[int, str]:
    """The exit code and last words of a gateway with that platform alone."""
    config = folder / "c.yaml"
    settings = {
        "providers": {"none": {"base_url": "http://127.0.0.1:9/v1", "api_key": "test"}},
        "models": {"main": {"provider": "none", "model": "main", "context_tokens": 100_000}},
        "agent": {"model": "main", "toolsets": ["think"]},
        "platforms": {name: {"enabled": True, **platform}},
        "access": {name: {"pairing": True}},
    }
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    async with gateway(config, folder / "d") as up:
        return await up.ended(), "".join(up.lines)


def discord(fake: FakeDiscord, token: str) -> dict[str, object]:
    """Discord's settings."""
    return {"token": token, "api_base": fake.api_base, "gateway_url": fake.gateway_url}


def test_systemd_does_not_try_a_configuration_fault_again() -> None:
    found = re.search(r"(?m)^RestartPreventExitStatus=(.+)$", system_unit(Start()))
    assert found is not None
    assert str(BAD_CONFIG) in found[1].split()


async def test_a_discord_intent_that_is_off_is_a_fault_of_the_configuration(
    tmp_path: Path,
) -> None:
    async with FakeDiscord() as fake:
        fake.gateway.allowed_intents.message_content = False
        code, words = await told_by(tmp_path, "discord", discord(fake, fake.token))
    assert code == BAD_CONFIG
    assert "Message Content Intent is off" in words


async def test_a_token_that_discord_refuses_is_a_fault_of_the_configuration(
    tmp_path: Path,
) -> None:
    async with FakeDiscord() as fake:
        code, words = await told_by(tmp_path, "discord", discord(fake, FOREIGN))
    assert code == BAD_CONFIG
    assert "Discord refused the bot token." in words


async def test_a_malformed_discord_token_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        code, words = await told_by(tmp_path, "discord", discord(fake, "not.a.token"))
    assert code == BAD_CONFIG
    assert "platforms.discord.token does not look like a bot token" in words


async def test_a_token_that_slack_refuses_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    async with FakeSlack() as fake:
        tokens = {"bot_token": "xoxb-forged", "app_token": fake.app_token}
        code, words = await told_by(tmp_path, "slack", {**tokens, "base_url": fake.base_url})
    assert code == BAD_CONFIG
    assert "invalid_auth" in words


async def test_an_app_token_that_slack_refuses_is_a_fault_of_the_configuration(
    tmp_path: Path,
) -> None:
    async with FakeSlack() as fake:
        tokens = {"bot_token": fake.bot_token, "app_token": "xapp-forged"}
        code, words = await told_by(tmp_path, "slack", {**tokens, "base_url": fake.base_url})
    assert code == BAD_CONFIG
    assert "invalid_auth" in words


async def test_a_token_that_telegram_refuses_is_a_fault_of_the_configuration(
    tmp_path: Path,
) -> None:
    async with FakeTelegram() as fake:
        code, words = await told_by(
            tmp_path, "telegram", {"token": "4243:forged", "base_url": fake.base_url}
        )
    assert code == BAD_CONFIG
    assert "Telegram refused the bot token." in words
