"""Telegram from its settings."""

from __future__ import annotations

import platformdirs

from adapters.telegram.adapter import TelegramPlatform
from adapters.telegram.options import (
    BASE_FILE_URL,
    BASE_URL,
    MenuEntry,
    TelegramOptions,
    Webhook,
)
from core.commands import COMMANDS
from core.ports import Platform
from gateway.compose.setup import Setup
from gateway.settings.chats import Webhook as WebhookSettings


def telegram(setup: Setup) -> Platform:
    """The bot. Raises UserError for a token that cannot be one."""
    settings = setup.settings.platforms.telegram
    options = TelegramOptions(
        token=settings.token.get_secret_value() if settings.token else "",
        base_url=settings.base_url or BASE_URL,
        base_file_url=settings.base_file_url or BASE_FILE_URL,
        webhook=_webhook(settings.webhook) if settings.webhook else None,
    )
    return TelegramPlatform(
        options,
        commands=[MenuEntry(spec.name, spec.summary) for spec in COMMANDS],
        clock=setup.clock,
        lock_dir=platformdirs.user_state_path("pursuit") / "locks",
    )


def _webhook(settings: WebhookSettings) -> Webhook:
    secret = settings.secret.get_secret_value() if settings.secret else ""
    return Webhook(url=settings.url, host=settings.host, port=settings.port, secret=secret)
