"""The argument `branch_table`: its forms and faults, who works on it and who oversees it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.branches.faults import Code
from core.branches.table import MAX_CONDITIONS
from core.delegation import definition
from core.delegation.task import DelegateArguments, Delegator, Offer, Task, plan
from core.delegation.worker import Agent, Profile, Ranked, Runner
from core.errors import UserError
from core.messages import Role
from core.ports import Caller
from core.tools.arguments import parse
from core.transcript import Json
from gateway.settings.document import parse_value
from tests.fakes.branch_tables import CATALOGUE, JSON_OBJECT, OPUS, SONNET, TINY, YAML_LIST
from tests.fakes.branch_tables import OVERSEER as ESCALATE
from tests.fakes.table_rig import TOOLSETS, TableRig, looks, refused, reports, told

REPORT: Json = {"action": "report"}
HUMAN: Json = {"action": "escalate", "tier": "human"}
PLAIN = Profile(name="plain")
MIDDLE = Profile(name="middle", model=SONNET)
LOCAL = Profile(name="local", runner=Runner(command="runner"))
OFFER = Offer(
    catalogue=CATALOGUE, profiles=(PLAIN, MIDDLE, LOCAL), read_text=parse_value, max_depth=2
)
CALLER = Caller(model="opus", toolsets=TOOLSETS)


def table(**more: Json) -> dict[str, Json]:
    conditions: list[Json] = [{"condition": "It loads", "branch": REPORT}]
    return {"conditions": conditions, "default": ESCALATE, **more}


def only(branch: Json) -> dict[str, Json]:
    return table(conditions=[{"condition": "It loads", "branch": branch}])


def tasks_of(
    given: object, offer: Offer = OFFER, caller: Caller = CALLER, *, reaches: bool = True
) -> tuple[Task, ...]:
    arguments = parse(DelegateArguments, json.dumps(given), "delegate_task")
    return plan(arguments, offer, Delegator(caller, Role.OWNER, reaches))


def task_of(given: object = None, offer: Offer = OFFER, /, **fields: object) -> Task:
    call = {"goal": "do it", "branch_table": given or table(), **fields}
    (task,) = tasks_of(call, offer)
    return task


def model_of(task: Task) -> Ranked:
    assert isinstance(task.worker, Agent)
    return task.worker.model


def overseer_of(task: Task) -> Ranked:
    assert task.branching is not None
    return task.branching.overseer.model


# Its forms


@pytest.mark.parametrize(
    "given",
    [JSON_OBJECT, YAML_LIST, json.dumps(JSON_OBJECT), parse_value(YAML_LIST)],
    ids=["object", "YAML text", "JSON text", "list"],
)
def test_each_form_is_a_table(given: Json) -> None:
    branching = task_of(given).branching
    assert branching is not None
    assert branching.table.labels[-1] == "__default__"


@pytest.mark.parametrize("nothing", [None, ""])
def test_nothing_is_no_table(nothing: object) -> None:
    (task,) = tasks_of({"goal": "do it", "branch_table": nothing})
    assert task.branching is None
    assert model_of(task) == OPUS


def test_each_task_of_a_batch_has_its_own_table_or_the_calls() -> None:
    own = table(max_escalation_depth=5)
    given = {"branch_table": table(), "tasks": [{"goal": "a"}, {"goal": "b", "branch_table": own}]}
    depths = [task.branching.table.depth for task in tasks_of(given) if task.branching]
    assert depths == [2, 5]


# Its faults: each is told before anything starts


FAULTS: dict[Code, tuple[Json, str, str]] = {
    Code.MISSING_DEFAULT: (
        {"conditions": [{"condition": "It loads", "branch": REPORT}]},
        "default",
        'add "default"',
    ),
    Code.BAD_SCHEMA: (only({"action": "guess"}), "conditions[0].branch.action", "it must be"),
    Code.DUPLICATE_ID: (
        table(conditions=[{"id": "a", "condition": "x", "branch": REPORT}] * 2),
        "conditions[1].id",
        "give each an id of its own",
    ),
    Code.UNKNOWN_VARIABLE: (
        only({"action": "report", "format": "{observed_state.__class__}"}),
        "conditions[0].branch.format",
        "there are {observed_state}",
    ),
    Code.UNKNOWN_MODEL: (table(escalation_model="gpt"), "escalation_model", "Name one of"),
    Code.TIER_ABOVE_PARENT: (
        table(escalation_model="opus"),
        "escalation_model",
        "above your own tier 2",
    ),
    Code.NO_HUMAN_ROUTE: (only(HUMAN), "conditions[0].branch.tier", "no person can be reached"),
    Code.TOO_MANY_BRANCHES: (
        table(conditions=[{"condition": "x", "branch": REPORT}] * (MAX_CONDITIONS + 1)),
        "conditions",
        "at most 24",
    ),
    Code.DEPTH_RANGE: (table(max_escalation_depth=6), "max_escalation_depth", "give 0 to 5"),
    Code.CHOOSE_NEEDS_OPTIONS: (
        only({"action": "escalate", "tier": "human", "human": {"kind": "choose"}}),
        "conditions[0].branch.human.options",
        "2 to 8",
    ),
}


def rig_for(code: Code) -> TableRig:
    rig = TableRig(desk=code is not Code.NO_HUMAN_ROUTE)
    if code is Code.TIER_ABOVE_PARENT:
        rig.caller = replace(rig.caller, model="sonnet")
    rig.child(looks())
    return rig


@pytest.mark.parametrize("code", Code)
async def test_each_fault_is_told_with_code_place_and_remedy_and_nothing_starts(
    code: Code,
) -> None:
    given, path, fix = FAULTS[code]
    rig = rig_for(code)
    said = refused(await rig.delegate(given))
    assert said.startswith("nothing was started: branch_table cannot be used. ")
    assert f"{code} at {path}: " in said
    assert fix in said
    assert rig.briefs == []
    assert rig.models.children["tiny"].requests == []


async def test_one_bad_table_of_a_batch_keeps_the_whole_batch_from_starting() -> None:
    rig = TableRig()
    bad, _, _ = FAULTS[Code.MISSING_DEFAULT]
    tasks = [{"goal": "a", "branch_table": table()}, {"goal": "b", "branch_table": bad}]
    said = refused(await rig.run({"tasks": tasks}))
    assert said.startswith("tasks[1]: nothing was started: branch_table cannot be used. ")
    assert "missing_default at default" in said
    assert rig.briefs == []


async def test_all_faults_of_a_table_are_told_at_once() -> None:
    given = table(escalation_model="gpt", max_escalation_depth=9)
    said = refused(await TableRig().delegate(given))
    assert "unknown_model" in said
    assert "depth_range" in said


async def test_a_text_that_is_no_yaml_is_told_what_is_wrong_with_it() -> None:
    said = refused(await TableRig().delegate("- condition: [a\n- default"))
    assert "bad_schema at the table: not valid YAML" in said
    assert "Give the table as JSON" in said


# Who works


def test_a_child_with_a_table_is_on_the_lowest_tier_unless_something_says_otherwise() -> None:
    assert model_of(task_of()) == TINY
    assert model_of(task_of(None, OFFER, model="sonnet")) == SONNET
    assert model_of(task_of(None, OFFER, profile="middle")) == SONNET
    assert model_of(task_of(None, OFFER, profile="plain")) == OPUS, "it inherits"
    (task,) = tasks_of({"model": "sonnet", "tasks": [{"goal": "a", "branch_table": table()}]})
    assert model_of(task) == SONNET


def test_a_parent_below_the_catalogue_keeps_its_own_model() -> None:
    below = Ranked("raw", 9, "lab/raw")
    offer = replace(OFFER, profiles=(Profile(name="low", model=below),))
    caller = replace(CALLER, model="raw", client="low", depth=1, path="c.0")
    (task,) = tasks_of({"goal": "do it", "branch_table": table()}, offer, caller)
    assert (model_of(task), task.client) == (below, "low")
    assert task.branching is not None
    assert (overseer_of(task), task.branching.client) == (below, "low")


def test_a_local_runner_takes_no_table() -> None:
    with pytest.raises(UserError, match=r"takes no branch_table: the host does not see its calls"):
        task_of(None, OFFER, profile="local")
    with pytest.raises(UserError, match=r"tasks\[0\]: A local agent runner takes no branch_table"):
        tasks_of({"branch_table": table(), "tasks": [{"goal": "a", "profile": "local"}]})


# Who oversees


def test_the_overseer_is_the_tables_the_settings_or_the_parents_own_model() -> None:
    configured = replace(OFFER, escalation_model="sonnet")
    assert overseer_of(task_of(table(escalation_model="tiny"), configured)) == TINY
    assert overseer_of(task_of(table(), configured)) == SONNET
    assert overseer_of(task_of(table())) == OPUS


def test_the_settings_lift_no_overseer_above_the_parents_tier() -> None:
    offer = replace(OFFER, escalation_model="opus")
    caller = replace(CALLER, model="sonnet")
    (task,) = tasks_of({"goal": "a", "branch_table": table()}, offer, caller)
    assert overseer_of(task) == SONNET


async def test_the_result_names_the_childs_model() -> None:
    rig = TableRig()
    rig.child(looks(), reports("c1"))
    result = told(await rig.run({"goal": "a", "branch_table": table()}))
    assert (result["model"], result["tier"]) == ("tiny", 3)


# How models are told of it


def test_the_embedded_model_is_not_told_of_tables() -> None:
    assert "branch_table" not in json.dumps(dict(definition.short_spec(OFFER).parameters))
