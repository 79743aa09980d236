"""Telegram from its settings."""

from __future__ import annotations

from functools import partial

from adapters.telegram.adapter import TelegramPlatform
from adapters.telegram.options import (
    BASE_FILE_URL,
    BASE_URL,
    MenuEntry,
    TelegramOptions,
    Webhook,
)
from core.commands import COMMANDS
from core.messages import PlatformName
from core.ports import Platform
from gateway.compose.setup import Setup
from gateway.settings.chats import Webhook as WebhookSettings
from gateway.token_lock import lock_file, locks_folder, token_lock


def telegram(setup: Setup) -> Platform:
    """The bot. Raises UserError for a token that cannot be one."""
    settings = setup.settings.platforms.telegram
    options = TelegramOptions(
        token=settings.token.get_secret_value() if settings.token else "",
        base_url=settings.base_url or BASE_URL,
        base_file_url=settings.base_file_url or BASE_FILE_URL,
        webhook=_webhook(settings.webhook) if settings.webhook else None,
    )
    hold = partial(
        token_lock,
        lock_file(locks_folder(), PlatformName.TELEGRAM, options.token),
        runs="the bot of platforms.telegram.token",
        instead="another token",
    )
    return TelegramPlatform(
        options,
        commands=[MenuEntry(spec.name, spec.summary) for spec in COMMANDS],
        clock=setup.clock,
        hold=hold,
    )


def _webhook(settings: WebhookSettings) -> Webhook:
    secret = settings.secret.get_secret_value() if settings.secret else ""
    return Webhook(url=settings.url, host=settings.host, port=settings.port, secret=secret)
