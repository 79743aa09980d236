"""`pursuit agent`: one task, without a chat; the answer on standard output, what happens on
standard error."""

from __future__ import annotations

import codecs
import errno
import gc
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from core.commands import read
from core.errors import UserError
from core.goals.contract import Misread, SetGoal, read_goal
from core.goals.texts import counted
from core.transcript import Json
from gateway.cli.asking import one_line
from gateway.cli.options import config_option, log_level_option
from gateway.cli.start import here, hidden
from gateway.errors import KeyPath
from gateway.headless.profiles import as_profile
from gateway.headless.stop import Stop
from gateway.headless.streams import outliving
from gateway.logs import configure_logs
from gateway.redact import Redactor
from gateway.settings import Layer, Settings, data_place, load, secrets_of, uses_local_model
from gateway.settings.choice import no_such

if TYPE_CHECKING:
    from gateway.compose.run import Choices
    from gateway.headless.result import Result, Spent

SLASH = (
    "A task begins with no chat command. For a goal use --goal, for gates --verify and --critic."
)
NO_TASK = 'Say what is to be done: pursuit agent "<task>".'
EMPTY = "is empty. Say {what}, or leave the option out."
WHATS = {
    "--verify": "which command must succeed",
    "--critic-instructions": "what the critic sees to",
    "--model": "which model",
    "--profile": "which profile",
}
UNREAD, UNWRITTEN = 141, 74
"""The exit codes when nobody reads standard output any more, as of a program that the pipe's
signal ends, and when it cannot be written for another reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for."""

    task: str
    verify: tuple[str, ...]
    critic: bool
    critic_instructions: str | None
    goal: bool
    model: str | None
    profile: str | None

    @property
    def commands(self) -> tuple[str, ...]:
        """Those of --verify, each once."""
        return tuple(dict.fromkeys(command.strip() for command in self.verify))

    @property
    def empty(self) -> str:
        """An option that was given without a value, "" when there is none."""
        given = {
            "--verify": self.verify,
            "--critic-instructions": (self.critic_instructions,),
            "--model": (self.model,),
            "--profile": (self.profile,),
        }
        blank = (
            name
            for name, values in given.items()
            for one in values
            if one is not None and not one.strip()
        )
        return next(blank, "")

    @property
    def line(self) -> str:
        """What is said in the chat that there is not."""
        return f"/goal {self.task}" if self.goal else self.task

    @property
    def layer(self) -> Layer:
        """The settings that it changes."""
        values: dict[str, Json] = {}
        origins: dict[KeyPath, str] = {}
        if self.model:
            values["agent"] = {"model": self.model}
            origins["agent", "model"] = "--model"
        gates: dict[str, Json] = {}
        if self.verify:
            gates["verify"] = list(self.commands)
            origins["gates", "verify"] = "--verify"
        if self.critic or self.critic_instructions:
            critic: dict[str, Json] = {"enabled": True}
            if self.critic_instructions:
                critic["instructions"] = self.critic_instructions
                origins["gates", "critic", "instructions"] = "--critic-instructions"
            gates["critic"] = critic
        return Layer({**values, **({"gates": gates} if gates else {})}, origins)


@click.command()
@click.argument("task")
@click.option(
    "--verify",
    multiple=True,
    metavar="CMD",
    help="A command that must succeed before the answer counts; may be given several times.",
)
@click.option("--critic", is_flag=True, help="A model reads the answer and the receipts first.")
@click.option("--critic-instructions", metavar="TEXT", help="What it sees to; implies --critic.")
@click.option("--goal", is_flag=True, help="Work on it as a goal, turn after turn, until judged.")
@click.option("--model", metavar="M", help="A name under `models`.")
@click.option("--profile", metavar="P", help="A name under `delegation.profiles`.")
@click.option("--json", "as_json", is_flag=True, help="Print what happens and the result as JSON.")
@config_option
@log_level_option
def agent(config: Path | None, log_level: str | None, *, as_json: bool, **given: object) -> int:
    """Carry out one TASK in the current directory, and print the answer.

    It works as in a chat, with the same tools and checks, in a data folder of its own that is
    gone afterwards. Exit codes: 0 done (and verified, where there are gates), 1 unverified, 2
    usage, 3 blocked or a budget spent, 69 it failed, 130 it was stopped, 141 nobody reads it.
    """
    wanted = Wanted(**given)  # type: ignore[arg-type]  # click has seen to their types
    _refuse(wanted)
    out = _Out()
    out.hold()
    gc.disable()  # as `pursuit up` does
    folder = here()
    settings = _settings(config, log_level, wanted)
    redact = Redactor(secrets_of(settings))
    configure_logs(settings.logs, redact)
    from gateway.compose.agent import Task, harmless, run_task
    from gateway.compose.whoami import user_name
    from gateway.headless.report import Report

    report = Report(
        tell=_tell_json if as_json else _tell,
        redact=lambda text: harmless(redact(text)),
        told_answers=wanted.goal,
    )
    task = Task(
        lines=(wanted.line,),
        folder=folder,
        profile=wanted.profile or "",
        user=user_name(),
        stop=out.stop,
    )
    choices = _choices(settings, config)
    gc.freeze()
    gc.enable()
    spent = run_task(settings, task, report, choices)
    _show(report.result, spent, as_json=as_json)
    return out.code(report.result)


@dataclass(slots=True)
class _Out:
    """The process's standard streams, whose readers may leave: without standard output the run
    is to stop, without standard error it goes on."""

    stop: Stop = field(default_factory=Stop)
    _error: OSError | None = None

    def hold(self) -> None:
        """Write to them from now on; those that somebody has put in their place stay."""
        if (out := sys.__stdout__) is not None and sys.stdout is out:
            sys.stdout = outliving(out, self._failed)
        if (err := sys.__stderr__) is not None and sys.stderr is err:
            sys.stderr = outliving(err)

    def code(self, result: Result) -> int:
        """The exit code; says why where nothing but standard error is left to say it."""
        from gateway.headless.result import EXIT

        if self._error is None:
            return EXIT[result.status]
        if self._error.errno == errno.EPIPE:
            return UNREAD
        click.echo(f"Standard output cannot be written: {self._error.strerror}.", err=True)
        return UNWRITTEN

    def _failed(self, error: OSError) -> None:
        self._error = error
        self.stop.ask()


def _refuse(wanted: Wanted) -> None:
    if not wanted.task.strip():
        raise click.UsageError(NO_TASK)
    if option := wanted.empty:
        raise click.UsageError(f"{option} {EMPTY.format(what=WHATS[option])}")
    if read(wanted.task) is not None:
        raise click.UsageError(SLASH)
    if wanted.goal and isinstance(order := read_goal(wanted.task), Misread):
        raise click.UsageError(order.text)
    if wanted.goal and not isinstance(order, SetGoal):
        raise click.UsageError(f"{wanted.task!r} is a word of /goal, not a goal. Say more of it.")


def _settings(config: Path | None, log_level: str | None, wanted: Wanted) -> Settings:
    """Raises ConfigError, and UsageError for a model or a profile that is not there."""
    level = Layer({"logs": {"level": log_level}}, {("logs", "level"): "--log-level"})
    flags = wanted.layer.over(level) if log_level else wanted.layer
    models = load(config).models if wanted.model else {}
    if wanted.model and wanted.model not in models:
        raise click.BadParameter(no_such("model", wanted.model, models), param_hint="--model")
    settings = load(config, flags=flags)
    if not wanted.profile:
        return settings
    try:
        return as_profile(settings, wanted.profile)
    except UserError as error:
        raise click.BadParameter(str(error), param_hint="--profile") from error


def _choices(settings: Settings, config: Path | None) -> Choices:
    from gateway.compose.run import Choices

    choices = Choices(hidden=(*hidden(config), data_place()))
    if uses_local_model(settings):
        from gateway.compose.local import serving

        choices = replace(choices, local=serving)
    return choices


def _tell(line: str, data: Mapping[str, Json]) -> None:
    if line:
        click.echo(line, err=True)


def _tell_json(line: str, data: Mapping[str, Json]) -> None:
    unicode = codecs.lookup(getattr(sys.stdout, "encoding", "utf-8")).name == "utf-8"
    click.echo(json.dumps(data, ensure_ascii=not unicode))


def _show(result: Result, spent: Spent, *, as_json: bool) -> None:
    if as_json:
        _tell_json("", result.data(spent))
        return
    if result.answer:
        click.echo(result.answer)
    used = f"{spent.usage.input_tokens} tokens in, {spent.usage.output_tokens} out"
    why = f": {one_line(result.reason, 600)}" if result.reason else ""
    click.echo(f"[{result.status}]{why} ({counted(spent.turns, 'turn')}, {used})", err=True)
