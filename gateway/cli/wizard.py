"""The questions of `pursuit setup`, asked on a terminal. Writes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import questionary

from gateway.settings.first import Answers, Bot, Endpoint
from gateway.settings.rules import BOT_TOKEN, DISCORD_TOKEN, SLACK_APP, SLACK_BOT
from gateway.settings.values import HTTP_URL

Judge: TypeAlias = Callable[[str], bool | str]

_WEB = "Web chat: a page in this machine's browser"
_BOTS = {
    "Telegram: a bot from @BotFather": "telegram",
    "Discord: a bot from discord.com/developers/applications": "discord",
    "Slack: an app from api.slack.com/apps": "slack",
}
_OPENAI = "OpenAI, with a key"
_OTHER = "Another OpenAI-compatible endpoint, with its address"
_EMBEDDED = "The embedded one: small, free, runs here (1.1 GB to fetch)"
_NUMBER = re.compile(r"[1-9][0-9]{0,18}")
_SLACK_ID = re.compile(r"[A-Z][A-Z0-9]{4,20}")
_BLANK = "; leave it blank to let yourself in with a pairing code"


def ask() -> Answers:
    """Everything that a first configuration needs. Raises KeyboardInterrupt when given up."""
    places = questionary.checkbox(
        "Where will you talk to it?",
        choices=[*_BOTS, _WEB],
        instruction="(space marks, enter goes on; the terminal is always there: pursuit chat)",
        validate=lambda chosen: bool(chosen) or "Mark at least one with the space bar.",
    ).unsafe_ask()
    bots = tuple(_bot(name) for label, name in _BOTS.items() if label in places)
    return Answers(bots=bots, web=_WEB in places, endpoint=_endpoint())


def _bot(name: str) -> Bot:
    match name:
        case "telegram":
            return Bot(
                name=name,
                tokens={"token": _secret("Telegram: the token from @BotFather", BOT_TOKEN)},
                owner=_number("Telegram: your own numeric id (ask @userinfobot" + _BLANK + ")"),
            )
        case "discord":
            return Bot(
                name=name,
                tokens={"token": _secret("Discord: the bot's token", DISCORD_TOKEN)},
                owner=_number(
                    "Discord: your own id (right-click yourself, Copy User ID" + _BLANK + ")"
                ),
            )
        case _:
            tokens = {
                "bot_token": _secret("Slack: the bot token (xoxb-…)", SLACK_BOT),
                "app_token": _secret("Slack: the app-level token (xapp-…)", SLACK_APP),
            }
            words = "Slack: your own member id (profile, ⋮, Copy member ID" + _BLANK + ")"
            owner = _text(
                words, _fits(_SLACK_ID, "It begins with U, such as U012AB3CD.", blank=True)
            )
            return Bot(name=name, tokens=tokens, owner=owner or None)


def _endpoint() -> Endpoint | None:
    which = questionary.select("Which model?", choices=[_OPENAI, _OTHER, _EMBEDDED]).unsafe_ask()
    if which == _EMBEDDED:
        return None
    base_url = ""
    if which == _OTHER:
        judge = _fits(re.compile(HTTP_URL), "Such as https://host/v1, without ? and #.")
        base_url = _text("Its address, with /v1", judge)
    key = _secret("Its API key", re.compile(r"\S+") if which == _OPENAI else re.compile(r"\S*"))
    model = _text("The model's id there", _fits(re.compile(r"\S+"), "It has no blanks."))
    return Endpoint(base_url=base_url, api_key=key, model=model)


def _number(question: str) -> int | None:
    said = _text(question, _fits(_NUMBER, "Digits only.", blank=True))
    return int(said) if said else None


def _text(question: str, judge: Judge) -> str:
    return str(questionary.text(question, validate=judge).unsafe_ask()).strip()


def _secret(question: str, form: re.Pattern[str]) -> str:
    judge = _fits(form, "That is not one: copy it whole.")
    return str(questionary.password(question, validate=judge).unsafe_ask()).strip()


def _fits(form: re.Pattern[str], otherwise: str, *, blank: bool = False) -> Judge:
    def judge(text: str) -> bool | str:
        said = text.strip()
        return (blank and not said) or bool(form.fullmatch(said)) or otherwise

    return judge
