"""What a child is told: the layers of its system prompt and the order of its brief."""

from __future__ import annotations

import pytest

from core.agent.prompts import ENVIRONMENT, SHORT_PERSONA, SHORT_RULES, TOOL_ADVICE
from core.branches.prompts import CHILD as TABLE_MODE
from core.delegation import prompts

TOOLSETS = ("terminal", "file")


def test_a_persona_replaces_the_first_layer_and_nothing_else() -> None:
    plain = prompts.system(persona="", toolsets=TOOLSETS, small=False)
    own = prompts.system(persona="  You are Cody.\n", toolsets=TOOLSETS, small=False)
    assert plain.startswith(f"{prompts.PERSONA}\n\n")
    assert own.startswith("You are Cody.\n\n")
    assert own == plain.replace(prompts.PERSONA, "You are Cody.", 1)


@pytest.mark.parametrize("small", [False, True])
def test_a_child_that_works_by_a_table_has_one_layer_more_and_ends_with_no_text(
    *, small: bool
) -> None:
    text = prompts.system(persona="", toolsets=TOOLSETS, small=small, by_table=True)
    assert text.endswith(f"\n\n{TABLE_MODE}")
    assert "End with a report in plain text" not in text
    assert "change something" not in text, "what fits no condition is the default branch's"
    plain = prompts.system(persona="", toolsets=TOOLSETS, small=small)
    assert TABLE_MODE not in plain


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_a_blank_persona_is_none(blank: str) -> None:
    assert prompts.system(persona=blank, toolsets=(), small=False).startswith(prompts.PERSONA)


def test_a_child_reads_advice_for_its_own_tools_alone() -> None:
    text = prompts.system(persona="", toolsets=("file",), small=False)
    assert TOOL_ADVICE["file"] in text
    assert not any(TOOL_ADVICE[name] in text for name in TOOL_ADVICE if name != "file")


def test_a_child_without_tools_has_no_part_about_them() -> None:
    text = prompts.system(persona="", toolsets=(), small=False)
    assert "# Tools" not in text
    assert text == f"{prompts.PERSONA}\n\n{prompts.RULES}\n\n{ENVIRONMENT}"
    assert "# Tools" not in prompts.system(persona="", toolsets=("mcp:x",), small=False)


def test_a_child_is_told_to_report_and_that_nobody_answers() -> None:
    text = prompts.system(persona="", toolsets=TOOLSETS, small=False)
    assert "Nobody answers questions." in text
    assert "End with a report in plain text without tool calls" in text
    assert "[Continuing toward your standing goal]" not in text, "goals are the parent's"


def test_the_small_model_is_told_little_and_keeps_its_persona() -> None:
    text = prompts.system(persona="", toolsets=TOOLSETS, small=True)
    assert text == f"{SHORT_PERSONA}\n\n{SHORT_RULES}"
    assert len(text) < 700
    own = prompts.system(persona="You are Cody.", toolsets=TOOLSETS, small=True)
    assert own == f"You are Cody.\n\n{SHORT_RULES}"


def test_the_small_model_is_told_its_task_as_a_person_would() -> None:
    text = prompts.brief(
        "do it", context="It is old.", constraints="Never push.", criteria=["c"], small=True
    )
    assert text == "Never push.\ndo it\nIt is old."


def test_a_brief_of_a_goal_alone_is_the_task() -> None:
    assert prompts.brief(" do it\n") == "# Task\ndo it"


def test_constraints_stand_before_the_task_and_all_else_behind_it() -> None:
    text = prompts.brief(
        "do it",
        context="in c",
        constraints="Never push.",
        criteria=["it works", "a.txt exists"],
        feedback="1. it works",
    )
    titles = [line for line in text.splitlines() if line.startswith("# ")]
    assert titles == [
        "# Constraints",
        "# Task",
        "# Context",
        "# Acceptance criteria (checked when you have ended)",
        "# An earlier run was judged",
    ]
    assert text.startswith("# Constraints\nNever push.\n\n# Task\ndo it\n\n# Context\nin c\n\n")
    assert "1. it works\n2. a.txt exists\n\n# An earlier run" in text
    assert text.endswith("leave alone what is right.\n1. it works")


def test_only_a_second_run_hears_of_an_earlier_one() -> None:
    first = prompts.brief("do it", criteria=["it works"])
    second = prompts.brief("do it", criteria=["it works"], feedback="1. it works")
    assert "earlier run" not in first
    assert second.startswith(f"{first}\n\n")


def test_blank_parts_leave_no_title() -> None:
    assert prompts.brief("do it", context=" ", constraints="\n", feedback=" ") == "# Task\ndo it"


def test_a_child_that_is_taken_up_again_is_told_the_same() -> None:
    def told() -> tuple[str, str]:
        return (
            prompts.system(persona="P", toolsets=TOOLSETS, small=False),
            prompts.brief("g", context="c", constraints="k", criteria=["a", "b"], feedback="f"),
        )

    assert told() == told()
    backwards = prompts.system(persona="P", toolsets=TOOLSETS[::-1], small=False)
    assert backwards == told()[0], "the order of the toolsets says nothing"
