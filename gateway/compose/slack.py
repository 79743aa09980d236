"""Slack from its settings."""

from __future__ import annotations

from functools import partial

from adapters.slack.adapter import SlackPlatform
from adapters.slack.options import BASE_URL, Events, SlackOptions
from core.messages import PlatformName
from core.ports import Platform
from gateway.access import Access
from gateway.compose.setup import Setup
from gateway.settings.chats import SlackEvents
from gateway.token_lock import lock_file, locks_folder, token_lock


def slack(setup: Setup) -> Platform:
    """The app. Raises UserError for tokens that cannot be such."""
    settings = setup.settings.platforms.slack
    options = SlackOptions(
        bot_token=settings.bot_token.get_secret_value() if settings.bot_token else "",
        app_token=settings.app_token.get_secret_value() if settings.app_token else "",
        base_url=settings.base_url or BASE_URL,
        events=_events(settings.events) if settings.events else None,
    )
    hold = partial(
        token_lock,
        lock_file(locks_folder(), PlatformName.SLACK, options.bot_token),
        runs="the app of platforms.slack.bot_token",
        instead="another app",
    )
    return SlackPlatform(
        options,
        clock=setup.clock,
        hold=hold,
        known=partial(_known, setup.access),
    )


def _known(access: Access, person: str, chat: str) -> bool:
    return access.role(PlatformName.SLACK, person, chat) is not None


def _events(settings: SlackEvents) -> Events:
    return Events(
        signing_secret=settings.signing_secret.get_secret_value(),
        host=settings.host,
        port=settings.port,
    )
