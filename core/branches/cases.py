"""What of a child's report is handed on: a template's text, a case for somebody else. Pure."""

from __future__ import annotations

from core.branches import template
from core.branches.report import Account
from core.branches.run import Case
from core.branches.table import Choice, Escalate, Human

QUESTION_CHARS = 2_000


def case_of(goal: str, choice: Choice, account: Account | None, why: str) -> Case:
    """What is handed up of a branch; `account` is None where the child's report is of no use."""
    branch = choice.branch
    prompt = branch.prompt if isinstance(branch, Escalate) else ""
    known = account or Account(label=choice.label, observed="")
    return Case(
        why=why,
        label=choice.label,
        condition=choice.words,
        expected=known.expected,
        observed=known.observed,
        tried=known.tried,
        quotes=known.quotes,
        question=filled(goal, prompt, choice, account, QUESTION_CHARS),
        human=branch.human if isinstance(branch, Escalate) else Human(),
    )


def filled(goal: str, form: str, choice: Choice, account: Account | None, limit: int) -> str:
    """A branch's template filled in, at most `limit` characters."""
    known = account or Account(label=choice.label, observed="")
    values = template.Values(
        observed_state=known.observed,
        expected=known.expected,
        branch=choice.label,
        condition=choice.words,
        tried="; ".join(known.tried),
        goal=goal,
    )
    return template.render(form, values)[:limit]
