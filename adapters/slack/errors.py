"""The errors of slack_sdk and aiohttp as those of the core, with the tokens cut out.

The one place that knows Slack's error codes. A refusal (`ok: false`) is certain: nothing was
done. What broke on its way is in doubt unless no connection came about.
"""

from __future__ import annotations

from collections.abc import Iterable

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from core.errors import Misconfigured, PermanentError, PursuitError, TransientError
from core.transcript import Json

FAILED_CALL = (SlackClientError, aiohttp.ClientError, OSError, AttributeError)
"""What a call may raise. AttributeError: slack_sdk asks a text that came instead of JSON, as
captive portals send it, for its fields."""

BOT_REFUSED = (
    "Slack refused the bot token ({code}). Check platforms.slack.bot_token: copy the Bot User "
    "OAuth Token anew from OAuth & Permissions at https://api.slack.com/apps."
)
APP_REFUSED = (
    "Slack refused the app-level token ({code}). Check platforms.slack.app_token (it needs the "
    "scope connections:write) and that Socket Mode is switched on at https://api.slack.com/apps."
)
SCOPE_MISSING = (
    "The Slack app lacks the scope {needed}. Add it under OAuth & Permissions at "
    "https://api.slack.com/apps, reinstall the app, and check platforms.slack.bot_token."
)
NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)
REFUSED_AT_DOOR = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_allowed_token_type",
        "org_login_required",
        "two_factor_setup_required",
    }
)
FLOODED = frozenset({"ratelimited", "rate_limited"})
SLACK_FAILS = frozenset(
    {
        "fatal_error",
        "internal_error",
        "service_unavailable",
        "request_timeout",
        "team_added_to_org",
    }
)
THREAD_GONE = frozenset({"thread_not_found", "cannot_reply_to_message"})
CHAT_REFUSES = frozenset(
    {
        "channel_not_found",
        "not_in_channel",
        "is_archived",
        "is_inactive",
        "user_disabled",
        "user_not_found",
        "cannot_dm_bot",
        "messages_tab_disabled",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "restricted_action_non_threadable_channel",
        "restricted_action_thread_locked",
        "message_not_found",
        "cant_update_message",
        "edit_window_closed",
        "access_denied",
        "no_permission",
        "ekm_access_denied",
        "team_access_not_granted",
    }
)
"""The chat or message is the trouble, so that other words would not help."""
EXPLAINED = {
    "channel_not_found": "the channel does not exist, or the app is not in it",
    "not_in_channel": "the app is not in that channel; invite it with /invite",
    "is_archived": "the channel is archived",
    "message_not_found": "the message does not exist any more",
}
DEFAULT_REST_S = 30.0


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without any of the secrets."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def code_of(error: BaseException) -> str:
    """Slack's own code of a refusal, "" for everything else."""
    data = _data(error)
    code = data.get("error") if isinstance(data, dict) else None
    return code if isinstance(code, str) and status_of(error) == 200 else ""


def status_of(error: BaseException) -> int:
    """The HTTP status of an answer, 0 for none."""
    response = error.response if isinstance(error, SlackApiError) else None
    status = getattr(response, "status_code", getattr(response, "status", 0))
    return status if isinstance(status, int) else 0


def rest_s(error: BaseException) -> float | None:
    """The seconds that Slack wants to be left alone for; None when it does not."""
    if not isinstance(error, SlackApiError):
        return None
    if status_of(error) != 429 and code_of(error) not in FLOODED:
        return None
    headers = getattr(error.response, "headers", None) or {}
    told = {str(name).lower(): str(value) for name, value in headers.items()}
    try:
        return max(0.0, float(told["retry-after"]))
    except (KeyError, ValueError):
        return DEFAULT_REST_S


def refuses_content(error: BaseException) -> bool:
    """A certain refusal that other words or plainer ones may get around."""
    code = code_of(error)
    if not code or code in FLOODED | SLACK_FAILS | REFUSED_AT_DOOR | CHAT_REFUSES | THREAD_GONE:
        return False
    return code != "missing_scope"


def translate(
    error: BaseException, secrets: Iterable[str], *, refused: str = BOT_REFUSED
) -> PursuitError:
    """What the error means for the caller; `refused` is said of a token that is not taken."""
    if (seconds := rest_s(error)) is not None:
        return TransientError(f"Slack asks for a rest of {seconds:.0f} s.", retry_after=seconds)
    code = code_of(error)
    if code in REFUSED_AT_DOOR:
        return Misconfigured(refused.format(code=code))
    if code == "missing_scope":
        needed = _data(error)
        named = needed.get("needed") if isinstance(needed, dict) else None
        return Misconfigured(SCOPE_MISSING.format(needed=named or "that this needs"))
    if code in SLACK_FAILS:
        return TransientError(f"Slack: {code}", doubtful=True)
    if code:
        return PermanentError(f"Slack: {EXPLAINED.get(code, code)}.")
    if status := status_of(error):
        return TransientError(f"Slack answered {status} without sense.", doubtful=True)
    text = redact(str(error), secrets) if not isinstance(error, SlackApiError) else ""
    told = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return TransientError(f"Slack: {told}", doubtful=not isinstance(error, NEVER_SENT))


def _data(error: BaseException) -> Json:
    response = error.response if isinstance(error, SlackApiError) else None
    data: Json = getattr(response, "data", None)
    return data
