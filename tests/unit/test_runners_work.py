"""What a runner's end becomes for its parent and the judge."""

from __future__ import annotations

import pytest

from core.delegation.ports import RunnerEnd
from core.delegation.result import Status
from core.delegation.runners import runners_work


def test_what_it_was_refused_is_told_below_its_report() -> None:
    work = runners_work(RunnerEnd("Built it.", refused=("Push (Ann said no)", "Tag (no)")))
    assert work.text == (
        "Built it.\n\n[Refused while it worked: Push (Ann said no)]\n"
        "[Refused while it worked: Tag (no)]"
    )
    assert (work.status, work.error) == (Status.OK, "")


def test_a_runner_that_said_nothing_is_told_of_all_the_same() -> None:
    work = runners_work(RunnerEnd("", "it crashed", ("Push (no)",)))
    assert work.text == "[Refused while it worked: Push (no)]"
    assert (work.status, work.error) == (Status.FAILED, "it crashed")


def test_only_some_refusals_are_shown() -> None:
    text = runners_work(RunnerEnd("Done.", refused=tuple(map(str, range(9))))).text
    assert text.count("[Refused while it worked:") == 5
    assert text.endswith("[Refused too: 4 more]")


@pytest.mark.parametrize("answer", ['{"a": 1}', '```json\n{"a": 1}\n```'])
def test_an_answer_in_json_stays_what_a_program_can_read(answer: str) -> None:
    work = runners_work(RunnerEnd(answer, refused=("Push (no)",)))
    assert (work.text, work.error) == (answer, "[Refused while it worked: Push (no)]")
    assert work.status is Status.OK


def test_without_a_refusal_the_report_is_its_own() -> None:
    assert runners_work(RunnerEnd("Done.")).text == "Done."
    assert runners_work(RunnerEnd("")).text == ""
