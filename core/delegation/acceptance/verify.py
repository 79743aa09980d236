"""The independent check of a child's work: the host's own checks first, then one question to a
judge for the rest. A judge that gives no word makes a verdict UNVERIFIED, never PASS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, assert_never

from core.delegation.acceptance import late_schema, local, prompts
from core.delegation.acceptance.criteria import (
    CommandSucceeds,
    Criterion,
    FileContains,
    FileExists,
    JsonSchema,
    Judged,
)
from core.delegation.acceptance.prompts import Delivered
from core.delegation.acceptance.reading import Reading, Unreadable, read_reply
from core.delegation.acceptance.verdict import Grade, Graded, Verdict
from core.delegation.ports import Checks, Finding, Judge
from core.fence import one_line
from core.judging import Silence, reply_of
from core.ports import Completion, Model, Reply, Request, ToolContext, Usage
from core.transcript import User

MAX_OUTPUT = 24_000
MAX_OUTPUT_SMALL = 6_000
"""The most characters of an output that a judge can be shown; the small one's window is small."""
WHY_LIMIT = 300

Ask: TypeAlias = Callable[[Model, Request], Awaitable[Completion]]
"""Makes a model call, and books it."""


async def ask_directly(model: Model, request: Request) -> Completion:
    """An `Ask` that keeps no books."""
    return await model.complete(request)


@dataclass(frozen=True, slots=True)
class Host:
    """What the host checks with: its checks and whose workspace they look at."""

    checks: Checks
    context: ToolContext


async def examine(
    criteria: Sequence[Criterion], work: Delivered, host: Host
) -> tuple[Graded, ...]:
    """The host's own word on the criteria that need no model."""
    return tuple(
        [
            _by_host(n, await _look(criterion, work, host))
            for n, criterion in enumerate(criteria, 1)
            if not isinstance(criterion, Judged)
        ]
    )


async def missing(criteria: Sequence[Criterion], host: Host) -> frozenset[str]:
    """The files that the host does not find, of those that judged criteria want to be made."""
    texts = (criterion.text for criterion in criteria if isinstance(criterion, Judged))
    names = {name for text in texts for name in local.made_files(text)}
    looked = {name: await host.checks.exists(host.context, name) for name in sorted(names)}
    return frozenset(name for name, finding in looked.items() if finding.met is False)


async def verify(
    criteria: Sequence[Criterion],
    work: Delivered,
    found: Sequence[Graded],
    judge: Judge,
    ask: Ask = ask_directly,
    absent: Collection[str] = frozenset(),
) -> tuple[Verdict, tuple[Usage, ...]]:
    """Hold the work against its criteria, of which `examine` has `found` some; `absent` are the
    files that `missing` found, against which the small judge's word is held. Failures are
    verdicts, not raises; also gives what the judge's calls used, two at most."""
    graded = {each.n: each for each in found}
    asked = {n: c.text for n, c in enumerate(criteria, 1) if isinstance(c, Judged)}
    if not asked:
        return Verdict(criteria=tuple(graded.values())), ()
    blank = Verdict(criteria=(), judge=judge.model.name, independent=work.model != judge.ranked.id)
    if error := work.unfinished or _too_long(work.output, judge):
        return _without_word(graded, asked, replace(blank, error=error)), ()
    reading, used = await _Bench(judge, ask, absent).question(work, asked)
    if isinstance(reading, Unreadable):
        return _without_word(graded, asked, replace(blank, error=reading.why)), used
    graded |= reading.graded
    whole = tuple(graded[n] for n in sorted(graded))
    return replace(blank, criteria=whole, reasoning=reading.reasoning), used


def _too_long(output: str, judge: Judge) -> str:
    """Why an output cannot be shown to the judge, "" when it can."""
    limit = MAX_OUTPUT_SMALL if judge.small else MAX_OUTPUT
    if len(output) <= limit:
        return ""
    return (
        f"the output is too long to be shown whole ({len(output):,} characters, at most {limit:,})"
    )


def _by_host(n: int, finding: Finding) -> Graded:
    grade = {True: Grade.PASS, False: Grade.FAIL, None: Grade.UNCLEAR}[finding.met]
    return Graded(n, grade, why=one_line(finding.why, WHY_LIMIT))


async def _look(criterion: Criterion, work: Delivered, host: Host) -> Finding:
    match criterion:
        case FileExists(path):
            return await host.checks.exists(host.context, path)
        case FileContains(path, text):
            return await host.checks.contains(host.context, path, text)
        case CommandSucceeds(command):
            return await host.checks.succeeds(host.context, command)
        case JsonSchema(schema):
            return await asyncio.to_thread(late_schema.fits, schema, work.output)
        case Judged():
            raise AssertionError("judged criteria are the judge's")
        case _:
            assert_never(criterion)


def _without_word(
    graded: Mapping[int, Graded], asked: Mapping[int, str], verdict: Verdict
) -> Verdict:
    """The verdict when the judge gave no word on what it was asked."""
    unclear = {n: Graded(n, Grade.UNCLEAR, why=verdict.error) for n in asked}
    known = {**graded, **unclear}
    return replace(verdict, criteria=tuple(known[n] for n in sorted(known)))


Read: TypeAlias = Callable[[Reply], Reading | Unreadable]


@dataclass(frozen=True, slots=True)
class _Bench:
    """A judge and how it is asked."""

    judge: Judge
    ask: Ask
    absent: Collection[str]

    async def question(
        self, work: Delivered, asked: Mapping[int, str]
    ) -> tuple[Reading | Unreadable, tuple[Usage, ...]]:
        """Ask, and once more where the reply could not be read."""
        request, read = self._prepared(work, asked)
        said, used = await self._once(request)
        if isinstance(said, Unreadable):
            return said, used
        reading = read(said)
        if not isinstance(reading, Unreadable):
            return reading, used
        said, more = await self._once(_with_complaint(request, reading.why))
        return (said if isinstance(said, Unreadable) else read(said)), used + more

    def _prepared(self, work: Delivered, asked: Mapping[int, str]) -> tuple[Request, Read]:
        if self.judge.small:
            request = local.request(work, asked, self.judge.timeout_s)
            evidence = local.evidence(work, asked)
            read = partial(read_reply, evidence=evidence, quotes=local.QUOTES, strict=True)
            against = local.refuted(work, asked, self.absent)
            return request, lambda said: _corrected(read(said), against)
        request = prompts.request(work, asked, self.judge.timeout_s)
        evidence = dict.fromkeys(asked, prompts.evidence(work))
        # Of a runner's calls nothing is known: its judge must show where its pass comes from.
        return request, partial(read_reply, evidence=evidence, strict=work.receipts is None)

    async def _once(self, request: Request) -> tuple[Reply | Unreadable, tuple[Usage, ...]]:
        call = self.ask(self.judge.model, request)
        said = await reply_of(call, self.judge.timeout_s)
        if isinstance(said, Silence):
            return Unreadable(said.why), (said.usage,)
        return said, (said.usage,)


def _corrected(reading: Reading | Unreadable, against: Mapping[int, str]) -> Reading | Unreadable:
    """The reading, with what the host knows better."""
    if isinstance(reading, Unreadable):
        return reading
    known = {n: Graded(n, Grade.FAIL, why=why) for n, why in against.items()}
    return replace(reading, graded={**reading.graded, **known})


def _with_complaint(request: Request, why: str) -> Request:
    *before, last = request.messages
    text = (
        f"{last.text}\n\nYour last reply was of no use: {why}. Reply with the JSON object alone."
    )
    return replace(request, messages=(*before, User(text)))
