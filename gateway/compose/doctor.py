"""The whole examination: what only adapters can look at, and the order of it all.

Platforms, models and MCP servers are asked once each; nothing is changed anywhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from adapters.discord.options import API_BASE
from adapters.discord.probe import probe as probe_discord
from adapters.local_model.fetch import present
from adapters.slack.options import BASE_URL as SLACK_URL
from adapters.slack.probe import probe as probe_slack
from adapters.sqlite.locking import LOCK_NAME
from adapters.telegram.options import BASE_URL as TELEGRAM_URL
from adapters.telegram.probe import probe as probe_telegram
from adapters.workspace.options import Sandboxing, WorkspaceOptions
from adapters.workspace.sandbox import Sandbox
from core.errors import UserError
from core.findings import Finding, fault, warning, well
from core.ports import FailureKind, Model, ModelFailure, Request
from core.transcript import User
from gateway.clock import SystemClock
from gateway.compose.foreign import examine_runners, examine_servers
from gateway.compose.local import folder as models_folder
from gateway.compose.models import OPENAI_URL, Models
from gateway.doctor.jobs import without
from gateway.doctor.machine import check_clock, check_disk, check_files, check_ports
from gateway.doctor.places import check_file, check_folder
from gateway.doctor.processes import check_processes, holder
from gateway.settings import Choice, Settings, chosen, secrets_of
from gateway.settings.choice import Job, jobs
from gateway.settings.schema import LOCAL_MODEL
from gateway.token_lock import locks_folder

SANDBOX = "sandbox"
CALL_S = 30.0
ANSWER_TOKENS = 64
_SAID_NOTHING = (aiohttp.ClientError, TimeoutError, OSError)


async def examine(settings: Settings, file: Path | None, data: Path) -> list[Finding]:
    """Look at everything that these settings use."""
    found = [
        *check_file(file, secrets_of(settings)),
        *check_folder(data),
        *check_disk(data),
        *check_files(settings.agent.max_model_calls),
        *_processes(settings, data),
        *await _sandbox(settings),
        *[finding async for finding in examine_runners(settings)],
        *await examine_servers(settings, data),
    ]
    limits = aiohttp.ClientTimeout(total=15, connect=5)
    async with aiohttp.ClientSession(timeout=limits, trust_env=True) as http:
        found += [finding async for finding in _platforms(settings, http)]
        found += [finding async for finding in _models(settings)]
        seen = [time async for time in _server_times(settings, http)]
    return [*found, *check_clock(SystemClock().now(), seen)]


def _processes(settings: Settings, data: Path) -> Iterator[Finding]:
    lock = data / LOCK_NAME
    locks = locks_folder()
    yield from check_processes(lock, locks, _tokens(settings))
    if holder(lock) is None:
        yield from check_ports(_ports(settings))


def _tokens(settings: Settings) -> Mapping[str, str]:
    platforms = settings.platforms
    named = {
        "telegram": (platforms.telegram.enabled, platforms.telegram.token),
        "discord": (platforms.discord.enabled, platforms.discord.token),
        "slack": (platforms.slack.enabled, platforms.slack.bot_token),
    }
    return {name: token.get_secret_value() for name, (on, token) in named.items() if on and token}


def _ports(settings: Settings) -> Mapping[str, tuple[str, int]]:
    platforms, health = settings.platforms, settings.health
    web, hook, events = platforms.web, platforms.telegram.webhook, platforms.slack.events
    alone = not any(
        (platforms.telegram.enabled, platforms.discord.enabled, platforms.slack.enabled)
    )
    ports: dict[str, tuple[str, int]] = {}
    if web.enabled or (web.enabled is None and alone):
        ports["platforms.web"] = (web.host, web.port)
    if platforms.telegram.enabled and hook is not None:
        ports["platforms.telegram.webhook"] = (hook.host, hook.port)
    if platforms.slack.enabled and events is not None:
        ports["platforms.slack.events"] = (events.host, events.port)
    if health.enabled:
        ports["health"] = (health.host, health.port)
    return ports


async def _sandbox(settings: Settings) -> list[Finding]:
    if "terminal" not in settings.agent.toolsets:
        return []
    if settings.workspace.sandbox == "none":
        return [
            warning(
                SANDBOX,
                "commands run without one",
                why="what the agent runs may do all that you may do",
                fix="Set workspace.sandbox: bwrap, and install bubblewrap.",
            )
        ]
    options = WorkspaceOptions(sandbox=Sandboxing.BWRAP, network=settings.workspace.network)
    try:
        await Sandbox(options, ()).check()
    except UserError as error:
        what, _, fix = str(error).partition(". ")
        return [
            fault(SANDBOX, what, why="the agent can read and write files but run nothing", fix=fix)
        ]
    return [well(SANDBOX, "bubblewrap works")]


async def _platforms(settings: Settings, http: aiohttp.ClientSession) -> AsyncIterator[Finding]:
    platforms, tokens = settings.platforms, _tokens(settings)
    if "telegram" in tokens:
        base, polls = platforms.telegram.base_url, platforms.telegram.webhook is None
        async for finding in probe_telegram(
            http, tokens["telegram"], base or TELEGRAM_URL, polls=polls
        ):
            yield finding
    if "discord" in tokens:
        api = (platforms.discord.api_base or API_BASE).rstrip("/")
        async for finding in probe_discord(http, tokens["discord"], api):
            yield finding
    if "slack" in tokens:
        slack = platforms.slack
        app = slack.app_token if slack.events is None else None
        token = app.get_secret_value() if app else None
        url = (slack.base_url or SLACK_URL).rstrip("/") + "/"
        async for finding in probe_slack(http, tokens["slack"], token, url):
            yield finding


async def _models(settings: Settings) -> AsyncIterator[Finding]:
    """One tiny call to each model that has a job."""
    used: dict[str, Choice] = {}
    work: dict[str, list[Job]] = {}
    for job in jobs(settings):
        choice = chosen(settings, job)
        used[choice.name] = choice
        work.setdefault(choice.name, []).append(job)
    models = Models(settings, None)
    try:
        remote = {name: models.of(choice) for name, choice in used.items() if not choice.local}
        if remote:
            await models.load()
        for name, choice in used.items():
            check = f"model {name}"
            if name in remote:
                yield await _call(remote[name], choice, check, without(work[name]))
            else:
                yield _local(check)
    finally:
        await models.close()


def _local(check: str) -> Finding:
    if find_spec("xllamacpp") is None:
        return fault(
            check,
            "the embedded model's library is not installed",
            why="it is what runs while no other model is configured",
            fix="pip install '.[local]' in the clone of Pursuit, or name another model under "
            "providers and models, or set OPENAI_API_KEY.",
        )
    if present(LOCAL_MODEL, models_folder()) is None:
        return warning(
            check,
            "the embedded model is not fetched yet",
            why="the first start fetches 1.1 GB, and needs the network for that",
            fix="pursuit local pull",
        )
    return well(check, "the embedded model is here")


async def _call(model: Model, choice: Choice, check: str, why: str) -> Finding:
    done = await model.complete(
        Request(
            system="You check a connection. Answer with one word.",
            messages=(User("Say OK."),),
            max_tokens=ANSWER_TOKENS,
            deadline_s=CALL_S,
        )
    )
    if not isinstance(done, ModelFailure):
        return well(check, "it answers")
    provider = f"providers.{choice.model.provider}"
    again = (
        "Try again in a while. If it stays so, check"
        if done.kind is FailureKind.TRANSIENT
        else "Check"
    )
    return fault(
        check,
        done.message,
        why=why,
        fix=f"{again} {provider}.base_url and .api_key, the model's id, and what the provider's "
        "own pages say of the key and its quota.",
    )


async def _server_times(settings: Settings, http: aiohttp.ClientSession) -> AsyncIterator[float]:
    """What time it is on the servers that are used."""
    for url in _servers(settings):
        try:
            async with http.get(url, allow_redirects=False) as answer:
                yield parsedate_to_datetime(answer.headers["Date"]).timestamp()
        except (*_SAID_NOTHING, KeyError, ValueError):
            continue


def _servers(settings: Settings) -> set[str]:
    platforms, tokens = settings.platforms, _tokens(settings)
    used = [chosen(settings, job) for job in jobs(settings)]
    urls = [c.provider.base_url or OPENAI_URL for c in used if not c.local]
    urls += [platforms.telegram.base_url or TELEGRAM_URL] if "telegram" in tokens else []
    urls += [platforms.discord.api_base or API_BASE] if "discord" in tokens else []
    urls += [platforms.slack.base_url or SLACK_URL] if "slack" in tokens else []
    parts = map(urlsplit, urls)
    return {f"{part.scheme}://{part.netloc}/" for part in parts}
