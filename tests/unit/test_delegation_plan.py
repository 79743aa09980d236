"""From the arguments of `delegate_task` to its children's tasks: every field and which one wins.

Arguments go through the tool's own parser, as a model's do.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.delegation.acceptance.criteria import MAX_CRITERIA, CommandSucceeds, FileExists, Judged
from core.delegation.task import DelegateArguments, Delegator, Offer, Task, TaskArguments, plan
from core.delegation.worker import Agent, Profile, Ranked, Runner, RunnerMode
from core.errors import UserError
from core.messages import Role
from core.ports import Caller
from core.tools.arguments import parse

BIG = Ranked("big", 1, "lab/big-9")
MID = Ranked("mid", 2, "lab/mid-5")
TINY = Ranked("tiny", 3, "lab/tiny-1")
OWN = Ranked("lab/raw-7", 2, "lab/raw-7")
"""A model that only a profile names."""

CODER = Profile(
    name="coder",
    nickname="Cody",
    model=OWN,
    toolsets=("file", "terminal", "mcp:absent"),
    max_iterations=7,
    persona="You are Cody.",
)
CRITIC = Profile(name="critic", toolsets=())
LOCAL = Profile(
    name="local",
    runner=Runner(
        command="runner", args=("--acp",), mode=RunnerMode.TEXT, env={"A": "b"}, network=True
    ),
)
OFFER = Offer(catalogue=(BIG, MID, TINY), profiles=(CODER, CRITIC, LOCAL))
PER_CALL = replace(OFFER, acp_per_call=True)
MINE = ("terminal", "file", "think", "delegation")
CALLER = Caller(model="mid", toolsets=MINE)
CHILD = replace(CALLER, depth=1, path="call_1.0")
GRANDCHILD = replace(CALLER, depth=2, path="call_1.0/call_2.1~2")


WIDE = replace(OFFER, max_children=8)


def planned(
    given: object, offer: Offer = OFFER, caller: Caller = CALLER, role: Role = Role.OWNER
) -> tuple[Task, ...]:
    arguments = parse(DelegateArguments, json.dumps(given), "delegate_task")
    return plan(arguments, offer, Delegator(caller, role))


def task_of(offer: Offer = OFFER, caller: Caller = CALLER, /, **given: object) -> Task:
    (task,) = planned({"goal": "do it", **given}, offer, caller)
    return task


def agent_of(task: Task) -> Agent:
    assert isinstance(task.worker, Agent), task.worker
    return task.worker


def runner_of(task: Task) -> Runner:
    assert isinstance(task.worker, Runner), task.worker
    return task.worker


def refused(offer: Offer = OFFER, caller: Caller = CALLER, /, **given: object) -> str:
    with pytest.raises(UserError) as caught:
        planned(given, offer, caller)
    return str(caught.value)


# One task or several


def test_a_call_without_anything_else_is_the_parents_own_worker_with_its_tools() -> None:
    assert planned({"goal": "  do it\n"}) == (
        Task(
            goal="do it",
            worker=Agent(
                model=MID,
                toolsets=("terminal", "file", "think"),
                max_iterations=50,
                limit_key="delegation.max_iterations",
            ),
        ),
    )


def test_profiles_in_the_settings_change_nothing_for_a_call_that_names_none() -> None:
    given = {"goal": "do it", "context": "in c", "acceptance_criteria": "it works"}
    assert planned(given) == planned(given, replace(OFFER, profiles=()))


def test_a_batch_is_planned_in_its_order() -> None:
    tasks = planned({"tasks": [{"goal": "a"}, {"goal": "b", "model": "tiny"}, {"goal": "c"}]})
    assert [task.goal for task in tasks] == ["a", "b", "c"]
    assert [agent_of(task).model for task in tasks] == [MID, TINY, MID]


@pytest.mark.parametrize("given", [{}, {"goal": ""}, {"goal": " \n"}, {"goal": None}])
def test_a_call_without_goal_and_tasks_is_told_to_give_one_of_them(given: object) -> None:
    with pytest.raises(UserError, match=r"goal is missing: .* or give tasks"):
        planned(given)


def test_goal_and_tasks_together_are_an_error() -> None:
    assert "either goal" in refused(goal="a", tasks=[{"goal": "b"}])


@pytest.mark.parametrize("blank", ["", " ", None])
def test_a_blank_goal_beside_tasks_is_no_goal(blank: str | None) -> None:
    (task,) = planned({"goal": blank, "tasks": [{"goal": "b"}]})
    assert task.goal == "b"


@pytest.mark.parametrize("count", [0, 4, 40])
def test_a_batch_of_a_wrong_size_is_told_the_limit_and_its_key(count: int) -> None:
    said = refused(tasks=[{"goal": "a"}] * count)
    assert f"holds {count};" in said
    assert "1 to 3" in said
    assert "delegation.max_children" in said


def test_the_largest_batch_is_what_the_settings_say() -> None:
    wider = replace(OFFER, max_children=5)
    assert len(planned({"tasks": [{"goal": "a"}] * 5}, wider)) == 5
    assert "1 to 5" in refused(wider, tasks=[{"goal": "a"}] * 6)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"goal": "b", "profile": "nobody"}, "profile 'nobody'"),
        ({"goal": "b", "model": "gpt"}, "model 'gpt'"),
        ({"goal": "b", "toolsets": ["send"]}, "send cannot be given"),
        ({"goal": "b", "acceptance_criteria": 7}, "acceptance_criteria"),
        ({"goal": " \t"}, "goal is missing"),
    ],
)
def test_a_batch_is_checked_whole_and_the_fault_names_its_task(fault: object, said: str) -> None:
    told = refused(tasks=[{"goal": "a"}, {"goal": "also"}, fault])
    assert told.startswith("tasks[2]: ")
    assert said in told


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tasks": [{"goal": "a"}, {"goal": ""}]}, "tasks.1.goal"),
        ({"tasks": [{"context": "a"}]}, "tasks.0.goal is missing"),
        ({"tasks": [{"goal": "a", "tasks": []}]}, "tasks.0.tasks is unknown"),
        ({"tasks": {"goal": "a"}}, "tasks"),
        ({"tasks": ["a"]}, "tasks.0"),
    ],
)
def test_a_batch_of_a_wrong_shape_is_told_where(given: dict[str, object], said: str) -> None:
    assert said in refused(**given)


@pytest.mark.parametrize(
    "name", ["max_iterations", "iterations", "tier", "system_prompt", "acp_env"]
)
def test_an_unknown_argument_is_an_error_for_a_call_and_for_a_task(name: str) -> None:
    assert f"{name} is unknown" in refused(goal="a", **{name: 5})
    assert f"tasks.0.{name} is unknown" in refused(tasks=[{"goal": "a", name: 5}])


def test_arguments_of_null_and_empty_names_are_arguments_left_out() -> None:
    fields = dict.fromkeys(TaskArguments.model_fields)
    plain = planned({"goal": "a"})
    assert planned({**fields, "goal": "a", "tasks": None}) == plain
    assert planned({"tasks": [{**fields, "goal": "a"}]}) == plain
    for given in (OFFER, PER_CALL):
        assert (
            planned({"goal": "a", "profile": "", "model": "", "acp_command": ""}, given) == plain
        )


def test_the_context_of_a_call_is_for_every_task_without_its_own() -> None:
    tasks = planned(
        {
            "context": " shared ",
            "tasks": [
                {"goal": "a"},
                {"goal": "b", "context": "own"},
                {"goal": "c", "context": ""},
            ],
        }
    )
    assert [task.context for task in tasks] == ["shared", "own", "shared"]
    assert task_of(context="\nalone ").context == "alone"


# Profiles


def test_an_unknown_profile_lists_the_names() -> None:
    said = refused(goal="a", profile="nobody")
    assert "no profile 'nobody'" in said
    assert "coder, critic, local" in said


def test_an_unknown_profile_where_there_are_none_says_to_leave_it_out() -> None:
    bare = replace(OFFER, profiles=())
    assert "leave profile out" in refused(bare, goal="a", profile="coder")


def test_a_nickname_is_no_name_of_a_profile() -> None:
    assert "no profile 'Cody'" in refused(goal="a", profile="Cody")


def test_an_endless_name_is_cut_in_the_error() -> None:
    assert len(refused(goal="a", profile="x" * 10_000)) < 200
    assert len(refused(goal="a", model="x" * 10_000)) < 200
    assert len(refused(goal="a", toolsets=["x" * 10_000])) < 400


def test_a_tasks_profile_goes_before_the_calls() -> None:
    tasks = planned(
        {"profile": "critic", "tasks": [{"goal": "a"}, {"goal": "b", "profile": "coder"}]}
    )
    assert [task.profile for task in tasks] == [CRITIC, CODER]


def test_people_see_a_profiles_nickname_else_its_name_else_the_goal() -> None:
    assert task_of(profile="coder").title == "Cody: do it"
    assert task_of(profile="critic").title == "critic: do it"
    assert task_of().title == "do it"


# Models and tiers


def test_a_task_before_its_call_before_its_profile_chooses_the_model() -> None:
    tasks = planned(
        {
            "model": "tiny",
            "tasks": [
                {"goal": "a"},
                {"goal": "b", "model": "mid"},
                {"goal": "c", "profile": "coder"},
                {"goal": "d", "profile": "coder", "model": "mid"},
            ],
        },
        WIDE,
    )
    assert [agent_of(task).model for task in tasks] == [TINY, MID, TINY, MID]
    (profiled,) = planned({"tasks": [{"goal": "e", "profile": "coder"}]})
    assert agent_of(profiled).model == OWN


def test_a_profiles_model_is_served_by_the_profile_and_a_named_one_by_the_catalogue() -> None:
    assert task_of(profile="coder").client == "coder"
    named = task_of(profile="coder", model="tiny")
    assert (named.client, named.profile) == ("", CODER)
    assert agent_of(named).model == TINY
    assert agent_of(named).max_iterations == 7, "the rest of the profile still holds"


@pytest.mark.parametrize("profile", [None, "critic"])
@pytest.mark.parametrize("model", ["big", "mid", "tiny"])
def test_without_a_model_a_child_inherits_its_parents(model: str, profile: str | None) -> None:
    task = task_of(OFFER, replace(CALLER, model=model), profile=profile)
    assert agent_of(task).model.name == model
    assert task.client == ""


@pytest.mark.parametrize("profile", [None, "critic"])
def test_a_parent_on_a_profiles_own_client_hands_that_client_on(profile: str | None) -> None:
    parent = Caller(model=OWN.name, client="coder", toolsets=MINE, path="call_1.0")
    deeper = replace(OFFER, max_depth=2)
    task = task_of(deeper, parent, profile=profile)
    assert (agent_of(task).model, task.client) == (OWN, "coder")
    said = refused(deeper, parent, goal="a", model="big")
    assert "above your own tier 2" in said


def test_a_parent_outside_the_catalogue_counts_as_the_weakest_and_is_inherited() -> None:
    stranger = replace(CALLER, model="elsewhere/m")
    task = task_of(OFFER, stranger)
    assert agent_of(task).model == Ranked("elsewhere/m", 3, "elsewhere/m")


def test_an_unknown_model_lists_the_allowed_names() -> None:
    said = refused(goal="a", model="gpt")
    assert "no model 'gpt'" in said
    assert "mid (tier 2), tiny (tier 3)" in said
    assert "big" not in said


def test_a_higher_tier_is_refused_with_the_allowed_names() -> None:
    said = refused(goal="a", model="big")
    assert "model big is tier 1, above your own tier 2" in said
    assert said.endswith("A child may run on: mid (tier 2), tiny (tier 3).")


def test_a_profiles_model_above_the_parents_tier_is_refused_with_the_allowed_names() -> None:
    weak = replace(CALLER, model="tiny")
    said = refused(OFFER, weak, goal="a", profile="coder")
    assert "profile coder is tier 2, above your own tier 3" in said
    assert "tiny (tier 3)" in said
    assert agent_of(task_of(OFFER, weak, profile="coder", model="tiny")).model == TINY


# Effort and iterations


def test_a_task_before_its_call_chooses_the_effort() -> None:
    tasks = planned(
        {
            "reasoning_effort": "low",
            "tasks": [{"goal": "a"}, {"goal": "b", "reasoning_effort": "high"}],
        }
    )
    assert [agent_of(task).effort for task in tasks] == ["low", "high"]
    assert agent_of(task_of()).effort == ""
    assert agent_of(task_of(reasoning_effort="none")).effort == "none"


def test_an_unknown_effort_is_an_error_that_lists_the_known_ones() -> None:
    said = refused(goal="a", reasoning_effort="huge")
    assert "reasoning_effort" in said
    assert "'medium'" in said


def test_a_profiles_iterations_go_before_the_settings_and_name_their_key() -> None:
    wider = replace(OFFER, max_iterations=99)
    own, plain = agent_of(task_of(wider, profile="coder")), agent_of(task_of(wider))
    assert (own.max_iterations, own.limit_key) == (7, "delegation.profiles.coder.max_iterations")
    assert (plain.max_iterations, plain.limit_key) == (99, "delegation.max_iterations")
    silent = agent_of(task_of(wider, profile="critic"))
    assert (silent.max_iterations, silent.limit_key) == (99, "delegation.max_iterations")


# Toolsets


def test_absent_toolsets_are_the_parents() -> None:
    assert agent_of(task_of()).toolsets == ("terminal", "file", "think")


def test_empty_toolsets_are_none_and_not_absent() -> None:
    assert agent_of(task_of(toolsets=[])).toolsets == ()
    assert agent_of(task_of(toolsets=[], profile="coder")).toolsets == ()
    assert agent_of(task_of(profile="critic")).toolsets == ()


def test_a_task_before_its_call_before_its_profile_chooses_the_toolsets() -> None:
    tasks = planned(
        {
            "toolsets": ["file"],
            "tasks": [
                {"goal": "a"},
                {"goal": "b", "toolsets": ["terminal"]},
                {"goal": "c", "toolsets": []},
                {"goal": "d", "profile": "coder"},
                {"goal": "e", "profile": "critic", "toolsets": ["think"]},
            ],
        },
        WIDE,
    )
    assert [agent_of(task).toolsets for task in tasks] == [
        ("file",),
        ("terminal",),
        (),
        ("file",),
        ("think",),
    ]
    nothing, own = planned(
        {"toolsets": [], "tasks": [{"goal": "a"}, {"goal": "b", "toolsets": ["file"]}]}
    )
    assert (agent_of(nothing).toolsets, agent_of(own).toolsets) == ((), ("file",))


def test_a_profiles_toolsets_are_narrowed_to_the_parents_without_a_word() -> None:
    assert agent_of(task_of(profile="coder")).toolsets == ("terminal", "file")
    poor = replace(CALLER, toolsets=("file", "delegation"))
    assert agent_of(task_of(OFFER, poor, profile="coder")).toolsets == ("file",)


def test_a_toolset_that_the_parent_lacks_is_an_error_that_lists_its_own() -> None:
    said = refused(goal="a", toolsets=["file", "send", "mcp:x"])
    assert "toolsets: send, mcp:x cannot be given" in said
    assert said.endswith("It can have: terminal, file, think.")
    assert refused(OFFER, replace(CALLER, toolsets=()), goal="a", toolsets=["file"]).endswith(
        "It can have: none."
    )


def test_toolsets_named_twice_or_in_another_order_are_the_same_toolsets() -> None:
    assert agent_of(task_of(toolsets=["think", "file", "think"])).toolsets == ("file", "think")


def test_a_child_at_the_greatest_depth_cannot_delegate() -> None:
    assert "delegation" not in agent_of(task_of()).toolsets
    assert "delegation cannot be given" in refused(goal="a", toolsets=["delegation"])
    deeper = replace(OFFER, max_depth=2)
    assert "delegation" not in agent_of(task_of(deeper, CHILD)).toolsets
    assert "delegation cannot be given" in refused(
        deeper, CHILD, goal="a", toolsets=["delegation"]
    )


def test_a_child_above_the_greatest_depth_can_delegate_unless_its_profile_says_no() -> None:
    deeper = replace(OFFER, max_depth=2)
    assert agent_of(task_of(deeper)).toolsets == MINE
    assert agent_of(task_of(deeper, toolsets=["delegation"])).toolsets == ("delegation",)
    assert agent_of(task_of(deeper, profile="coder")).toolsets == ("terminal", "file")


@pytest.mark.parametrize(("caller", "most"), [(CALLER, 0), (CHILD, 1), (GRANDCHILD, 2)])
def test_an_agent_at_the_greatest_depth_is_refused_with_the_key(caller: Caller, most: int) -> None:
    said = refused(replace(OFFER, max_depth=most), caller, goal="a")
    assert f"delegation.max_depth is {most}" in said
    assert task_of(replace(OFFER, max_depth=most + 1), caller).goal == "do it"


# Local agent runners


def test_a_runner_of_a_profile_is_taken_whole() -> None:
    task = task_of(profile="local")
    assert runner_of(task) is LOCAL.runner
    assert task.client == ""


def test_a_runner_per_call_is_refused_by_default_with_the_key() -> None:
    runners: tuple[dict[str, object], ...] = (
        {"acp_command": "sh"},
        {"acp_args": ["-x"]},
        {"acp_args": []},
    )
    for given in runners:
        for call in ({"goal": "a"}, {"goal": "a", "profile": "local"}):
            assert "delegation.allow_acp_per_call is false" in refused(**call, **given)
        said = refused(tasks=[{"goal": "a", **given}])
        assert said.startswith("tasks[0]: ")
        assert "delegation.allow_acp_per_call" in said


def test_a_runner_per_call_is_allowed_by_the_setting() -> None:
    assert runner_of(task_of(PER_CALL, acp_command="sh", acp_args=["-c", "x"])) == Runner(
        command="sh", args=("-c", "x")
    )
    assert runner_of(task_of(PER_CALL, acp_command="sh")) == Runner(command="sh")


def test_arguments_alone_replace_those_of_a_profiles_runner() -> None:
    own = LOCAL.runner
    assert own is not None
    task = task_of(PER_CALL, profile="local", acp_args=["-v"])
    assert runner_of(task) == replace(own, args=("-v",))
    assert runner_of(task_of(PER_CALL, profile="local", acp_args=[])) == replace(own, args=())


def test_the_profiles_own_program_given_again_keeps_the_rest_of_its_runner() -> None:
    own = LOCAL.runner
    assert own is not None
    assert runner_of(task_of(PER_CALL, profile="local", acp_command="runner")) == own
    task = task_of(PER_CALL, profile="local", acp_command="runner", acp_args=["-v"])
    assert runner_of(task) == replace(own, args=("-v",))


def test_another_program_takes_nothing_of_a_profiles_runner() -> None:
    task = task_of(PER_CALL, profile="local", acp_command="other")
    assert runner_of(task) == Runner(command="other"), "no environment, network or arguments"
    assert task.profile == LOCAL


def test_a_task_before_its_call_before_its_profile_chooses_the_runner() -> None:
    tasks = planned(
        {
            "acp_command": "call",
            "acp_args": ["of-call"],
            "tasks": [
                {"goal": "a"},
                {"goal": "b", "profile": "local"},
                {"goal": "c", "acp_command": "task"},
            ],
        },
        PER_CALL,
    )
    assert [(runner_of(t).command, runner_of(t).args) for t in tasks] == [
        ("call", ("of-call",)),
        ("call", ("of-call",)),
        ("task", ("of-call",)),
    ]


def test_a_tasks_arguments_go_before_the_calls() -> None:
    tasks = planned(
        {
            "acp_command": "call",
            "acp_args": ["of-call"],
            "tasks": [{"goal": "a", "acp_args": ["of-task"]}, {"goal": "b", "acp_args": []}],
        },
        PER_CALL,
    )
    assert [runner_of(task).args for task in tasks] == [("of-task",), ()]


@pytest.mark.parametrize("profile", [None, "coder", "critic"])
def test_arguments_without_a_runner_are_an_error(profile: str | None) -> None:
    said = refused(PER_CALL, goal="a", profile=profile, acp_args=["-v"])
    assert "acp_args needs acp_command" in said


@pytest.mark.parametrize("given", [{"profile": "local"}, {"acp_command": "sh"}])
def test_only_a_parent_with_the_terminal_may_use_a_runner(given: dict[str, object]) -> None:
    poor = replace(CALLER, toolsets=("file", "delegation"))
    assert "needs the toolset terminal" in refused(PER_CALL, poor, goal="a", **given)


@pytest.mark.parametrize("how", [{"profile": "local"}, {"acp_command": "sh"}])
@pytest.mark.parametrize(
    "given",
    [
        {"model": "tiny"},
        {"reasoning_effort": "low"},
        {"toolsets": []},
        {"toolsets": ["file"]},
        {"model": "tiny", "toolsets": ["file"]},
    ],
)
def test_a_runner_takes_no_model_effort_or_toolsets(
    how: dict[str, object], given: dict[str, object]
) -> None:
    said = refused(PER_CALL, goal="a", **how, **given)
    assert f"takes no {', '.join(given)}:" in said


def test_a_runner_takes_the_names_that_a_model_left_empty() -> None:
    given: dict[str, object] = {"model": "", "reasoning_effort": None, "toolsets": None}
    assert runner_of(task_of(profile="local", **given)) is LOCAL.runner


def test_what_a_batch_says_for_models_does_not_reach_a_profiles_runner() -> None:
    agent, runner = planned(
        {
            "model": "tiny",
            "toolsets": ["file"],
            "tasks": [{"goal": "a"}, {"goal": "b", "profile": "local"}],
        }
    )
    assert agent_of(agent).model == TINY
    assert runner_of(runner) is LOCAL.runner


def test_a_call_whose_runner_and_model_contradict_each_other_is_an_error() -> None:
    tasks: list[object] = [{"goal": "a"}]
    assert "takes no model" in refused(PER_CALL, acp_command="sh", model="tiny", tasks=tasks)
    assert "takes no model" in refused(profile="local", model="tiny", tasks=tasks)
    tasks = [{"goal": "a", "model": "tiny"}]
    assert "takes no model" in refused(PER_CALL, acp_command="sh", tasks=tasks)
    assert "takes no model" in refused(profile="local", tasks=tasks)


def test_a_runner_that_a_task_names_goes_before_a_model_that_its_call_names() -> None:
    tasks = planned(
        {"model": "tiny", "tasks": [{"goal": "a", "acp_command": "sh"}, {"goal": "b"}]}, PER_CALL
    )
    assert runner_of(tasks[0]) == Runner(command="sh")
    assert agent_of(tasks[1]).model == TINY


@pytest.mark.parametrize("given", [{"acp_command": "a\0b"}, {"acp_args": ["a\0b"]}])
def test_a_nul_in_a_command_is_an_error(given: dict[str, object]) -> None:
    assert "NUL" in refused(PER_CALL, goal="a", **given)


# Criteria


def test_criteria_are_read_and_kept_in_order() -> None:
    given = ["it works", {"file_exists": "a.txt"}, {"command_succeeds": "make"}]
    assert task_of(acceptance_criteria=given).criteria == (
        Judged("it works"),
        FileExists("a.txt"),
        CommandSucceeds("make"),
    )
    assert task_of(acceptance_criteria="it works").criteria == (Judged("it works"),)
    assert task_of().criteria == task_of(acceptance_criteria=None).criteria == ()


def test_a_batchs_criteria_are_added_to_each_tasks_own() -> None:
    tasks = planned(
        {
            "acceptance_criteria": ["shared"],
            "tasks": [{"goal": "a", "acceptance_criteria": "own"}, {"goal": "b"}],
        }
    )
    assert [task.criteria for task in tasks] == [
        (Judged("own"), Judged("shared")),
        (Judged("shared"),),
    ]


def test_a_single_calls_criteria_are_its_own_and_count_once() -> None:
    texts = [f"c{n}" for n in range(MAX_CRITERIA)]
    assert task_of(acceptance_criteria=texts).criteria == tuple(map(Judged, texts))
    assert f"at most {MAX_CRITERIA}" in refused(goal="a", acceptance_criteria=[*texts, "more"])


def test_a_tasks_own_and_its_batchs_criteria_are_limited_in_sum() -> None:
    five, four = [f"a{n}" for n in range(5)], [f"b{n}" for n in range(4)]
    said = refused(
        acceptance_criteria=four,
        tasks=[{"goal": "a"}, {"goal": "b", "acceptance_criteria": five}],
    )
    assert said.startswith("tasks[1]: ")
    assert "there are 9 (5 of the task and 4 of the batch), at most 8" in said
    (task,) = planned(
        {"acceptance_criteria": four, "tasks": [{"goal": "b", "acceptance_criteria": five[:4]}]}
    )
    assert len(task.criteria) == MAX_CRITERIA


def test_a_command_as_a_criterion_needs_a_parent_with_the_terminal() -> None:
    poor = replace(CALLER, toolsets=("file", "delegation"))
    check = {"command_succeeds": "true"}
    assert "needs the toolset terminal" in refused(
        OFFER, poor, goal="a", acceptance_criteria=check
    )
    said = refused(OFFER, poor, acceptance_criteria=[check], tasks=[{"goal": "a"}])
    assert "needs the toolset terminal" in said
    kept = task_of(acceptance_criteria=check, toolsets=[])
    assert kept.criteria == (CommandSucceeds("true"),), "the parent has it, and the host runs it"


# The second run


@pytest.mark.parametrize(
    ("given", "retry"),
    [({}, False), ({"retry_on_fail": 0}, False), ({"retry_on_fail": 1}, True)]
    + [({"retry_on_fail": value}, bool(value)) for value in (True, False, "1", None)],
)
def test_a_failed_child_runs_again_only_when_asked(given: dict[str, object], retry: bool) -> None:
    assert task_of(**given).retry is retry


@pytest.mark.parametrize("value", [2, -1, 0.5, "yes", [], 10**30])
def test_a_second_failure_is_never_tried_again(value: object) -> None:
    assert "retry_on_fail" in refused(goal="a", retry_on_fail=value)


def test_a_task_before_its_call_says_whether_it_runs_again() -> None:
    tasks = planned(
        {
            "retry_on_fail": 1,
            "tasks": [{"goal": "a"}, {"goal": "b", "retry_on_fail": 0}],
        }
    )
    assert [task.retry for task in tasks] == [True, False]
    (own,) = planned({"retry_on_fail": 0, "tasks": [{"goal": "a", "retry_on_fail": 1}]})
    assert own.retry


def test_a_runner_is_for_owners_unless_its_profile_is_open_to_members() -> None:
    given = {"goal": "do it", "profile": "local"}
    with pytest.raises(UserError, match="for owners"):
        planned(given, role=Role.MEMBER)
    assert planned(given)[0].worker == LOCAL.runner
    opened = replace(OFFER, profiles=(replace(LOCAL, members=True),))
    assert planned(given, opened, role=Role.MEMBER)[0].worker == LOCAL.runner


def test_a_member_never_names_a_runner_by_itself() -> None:
    with pytest.raises(UserError, match="for owners"):
        planned({"goal": "do it", "acp_command": "own"}, PER_CALL, role=Role.MEMBER)


def test_a_parent_that_nobody_ranked_has_the_rights_of_the_lowest_tier() -> None:
    stranger = replace(CALLER, model="stranger")
    with pytest.raises(UserError, match="above your own tier"):
        planned({"goal": "do it", "model": "mid"}, caller=stranger)


def test_a_member_chooses_no_program_and_no_arguments_with_an_owners_key() -> None:
    opened = replace(PER_CALL, profiles=(replace(LOCAL, members=True),))
    for own in ({"acp_command": "bash"}, {"acp_args": ["-c", "env"]}):
        with pytest.raises(UserError, match="for owners"):
            planned({"goal": "a", "profile": "local", **own}, opened, role=Role.MEMBER)
        assert planned({"goal": "a", "profile": "local", **own}, opened)


def test_no_other_model_leaves_a_profiles_own_connection() -> None:
    bound = replace(OFFER, profiles=(replace(CODER, model=MID, bound=True),))
    with pytest.raises(UserError, match="profile coder has a connection of its own"):
        planned({"goal": "a", "profile": "coder", "model": "tiny"}, bound)
    [own] = planned({"goal": "a", "profile": "coder", "model": "mid"}, bound)
    assert own.client == "coder", "its own model is called as the profile says"
