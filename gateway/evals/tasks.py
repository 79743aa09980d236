"""The scripted tasks, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Sequence

from core.transcript import Json
from gateway.evals.task import (
    AGENT,
    CHECKER,
    CHILD,
    CRITIC,
    FOLDER,
    JUDGE,
    ScriptedTask,
    approves,
    calls,
    data,
    graded,
    rejects,
    reports,
    runs,
    says,
    word,
    writes,
)

READ_BY_CRITIC: Json = {"critic": {"enabled": True, "model": CRITIC}}
TOOLSETS: Json = ["terminal", "file", "delegation", "think", "ask", "send"]
TABLE: Json = {
    "conditions": [
        {
            "id": "gone",
            "condition": "The page answers 404",
            "branch": {"action": "escalate", "tier": "human", "prompt": "Where is it now?"},
        },
        {
            "id": "there",
            "condition": "The page is there",
            "branch": {"action": "report_with_evidence"},
        },
    ],
    "default": {"action": "escalate", "tier": "human"},
}
CLEAR = "rm -f /opt/pursuit-eval-has-no-such-file"
"""Dangerous by the policy, as it is outside the workspace, and does nothing."""
FOUR = ("north", "east", "south", "west")

GATES = (
    ScriptedTask(
        name="finalize-critic",
        says=("Write a.txt with the word one, then check it.",),
        settings={"gates": READ_BY_CRITIC},
        scripts={
            AGENT: (
                writes("a.txt", "one"),
                says("I wrote a.txt and checked it."),
                runs("cat a.txt"),
                says("I wrote a.txt; cat shows one."),
            ),
            CRITIC: (rejects("no receipt shows a check"), approves()),
        },
        tells=("[critic] REJECT: no receipt", "cat a.txt", "[critic] APPROVE", "cat shows one"),
        never=("Unverified",),
        files={"a.txt": "one"},
    ),
    ScriptedTask(
        name="verify-then-critic",
        says=("Write b.txt.",),
        settings={
            "gates": {"verify": ["test -s b.txt"], "critic": {"enabled": True, "model": CRITIC}}
        },
        scripts={
            AGENT: (says("b.txt is there."), writes("b.txt", "two"), says("Now b.txt is there.")),
            CRITIC: (approves(),),
        },
        tells=("[verify] failed", "[verify] passed", "[critic] APPROVE", "Now b.txt is there."),
        files={"b.txt": "two"},
    ),
    ScriptedTask(
        name="shared-budget",
        says=("Write c.txt and say what it holds.",),
        settings={
            "gates": {"verify": ["test -s c.txt"], "critic": {"enabled": True, "model": CRITIC}}
        },
        scripts={
            AGENT: (
                says("It holds three."),
                writes("c.txt", "three"),
                says("It is written."),
                runs("cat c.txt"),
                says("It is there."),
            ),
            CRITIC: (rejects("it does not say what it holds"), rejects("it still does not say")),
        },
        tells=(
            "[verify] failed",
            "[critic] REJECT: it does not",
            "[critic] REJECT: it still",
            "It is there.",
        ),
        files={"c.txt": "three"},
    ),
    ScriptedTask(
        name="impossible",
        says=("Divide one by zero exactly.",),
        settings={"gates": READ_BY_CRITIC},
        scripts={
            AGENT: (says("That cannot be done: it has no value."),),
            CRITIC: (data(verdict="IMPOSSIBLE", reason="it has no value"),),
        },
        tells=("[critic] IMPOSSIBLE: it has no value", "cannot be done"),
    ),
)
CHILDREN = (
    ScriptedTask(
        name="judged-delegation",
        says=("Have d.txt written.",),
        settings={"agent": {"toolsets": TOOLSETS}},
        scripts={
            AGENT: (
                calls(
                    (
                        "delegate_task",
                        {
                            "goal": "write d.txt with the word four",
                            "model": CHILD,
                            "acceptance_criteria": "d.txt was written",
                            "retry_on_fail": 1,
                        },
                    )
                ),
                says("It was written, and accepted."),
            ),
            CHILD: (
                says("I wrote d.txt."),
                writes("d.txt", "four"),
                says("Now I wrote d.txt."),
            ),
            CHECKER: (graded("fail", "no receipt shows it"), graded("pass", "a receipt shows it")),
        },
        tells=("write d.txt with the word four", "It was written, and accepted."),
        files={"d.txt": "four"},
    ),
    ScriptedTask(
        name="branch-table-human",
        says=("See whether the page is there.",),
        answers=("below v2",),
        settings={"agent": {"toolsets": TOOLSETS}},
        scripts={
            AGENT: (
                calls(("delegate_task", {"goal": "Look at the page", "branch_table": TABLE})),
                says("It is below v2."),
            ),
            FOLDER: (
                runs("echo HTTP 404"),
                reports("gone", "HTTP 404"),
                runs("echo HTTP 200"),
                reports("there", "HTTP 200"),
            ),
        },
        tells=("Where is it now?", "E1 answered", "It is below v2."),
    ),
)
GOALS = (
    ScriptedTask(
        name="goal-of-four-files",
        says=("/goal Write north.txt, east.txt, south.txt and west.txt, each with its name.",),
        scripts={
            AGENT: tuple(
                line
                for name in FOUR
                for line in (writes(f"{name}.txt", name), says(f"I wrote {name}.txt."))
            ),
            JUDGE: (
                *(
                    word(done=False, reason=f"{at} of 4 files are there")
                    for at in range(1, len(FOUR))
                ),
                word(done=True, reason="all four files are there"),
            ),
        },
        tells=(
            "⊙ Goal set",
            "(1/20): 1 of 4",
            "(2/20): 2 of 4",
            "(3/20): 3 of 4",
            "✓ Goal achieved: all four files are there",
        ),
        files={f"{name}.txt": name for name in FOUR},
    ),
    ScriptedTask(
        name="parked-goal",
        says=("/goal Write colour.txt with the colour of the door.",),
        answers=("2",),
        settings={"agent": {"toolsets": TOOLSETS}},
        scripts={
            AGENT: (
                calls(
                    (
                        "ask",
                        {"question": "Which?", "kind": "choose", "options": ["red", "blue"]},
                    )
                ),
                writes("colour.txt", "blue"),
                says("The door is blue; colour.txt says so."),
            ),
            JUDGE: (word(done=True, reason="colour.txt says blue"),),
        },
        tells=("which one?", "E1 answered", "The door is blue", "✓ Goal achieved"),
        files={"colour.txt": "blue"},
    ),
    ScriptedTask(
        name="goal-out-of-turns",
        says=("/goal Count to a million, a step a turn.",),
        settings={"goals": {"max_turns": 2}},
        scripts={
            AGENT: (says("One."), says("Two.")),
            JUDGE: (
                word(done=False, reason="it stands at one"),
                word(done=False, reason="it stands at two"),
            ),
        },
        tells=("(1/2): it stands at one", "⏸ Goal paused — 2/2 turns used"),
    ),
    ScriptedTask(
        name="goal-blocked",
        says=("/goal Send the report.",),
        scripts={
            AGENT: (says("I need the mail password from you."),),
            JUDGE: (word(done=False, blocked=True, reason="a password is missing"),),
        },
        tells=("⛔ Goal blocked: a password is missing",),
    ),
)
WORK = (
    ScriptedTask(
        name="approved-command",
        says=("Remove the left-over file.",),
        answers=("yes",),
        scripts={AGENT: (runs(CLEAR), says("It is gone."))},
        tells=("may this command run?", "E1 approved", "rm -f", "It is gone."),
    ),
    ScriptedTask(
        name="denied-command",
        says=("Remove the left-over file.",),
        answers=("no",),
        scripts={AGENT: (runs(CLEAR), says("You did not want that."))},
        tells=("may this command run?", "E1 denied", "You did not want that."),
    ),
    ScriptedTask(
        name="nobody-to-ask",
        says=("Remove the left-over file.",),
        answers=None,
        scripts={AGENT: (runs(CLEAR), says("Nobody could be asked."))},
        tells=("waiting for E1", "Nobody could be asked."),
        never=("may this command run?",),
    ),
    ScriptedTask(
        name="repaired-call",
        says=("Write e.txt.",),
        scripts={
            AGENT: (
                calls(("write_file", '{"path": "e.txt", "content": ')),
                calls(("write_files", {"path": "e.txt"})),
                writes("e.txt", "five"),
                says("e.txt is written."),
            ),
        },
        tells=("failed", "failed", "e.txt", "e.txt is written."),
        files={"e.txt": "five"},
    ),
    ScriptedTask(
        name="compaction",
        says=("Count the words of a long text.", "How many were they?"),
        windows={AGENT: 3_000},
        scripts={
            AGENT: (
                runs("yes word | head -n 2500"),
                says("They are 2500."),
                says("2500, as said."),
            ),
            FOLDER: (says("The person asked to count words; there were 2500."),),
        },
        tells=("[context] folded", "2500, as said."),
    ),
)
TASKS: Sequence[ScriptedTask] = (*GATES, *CHILDREN, *GOALS, *WORK)
