"""`delegate_task` as models are told of it: its schema follows the settings, and only those."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import jsonschema
import pytest
from jsonschema import Draft202012Validator

from core.delegation import definition
from core.delegation.task import DelegateArguments, Offer, TaskArguments
from core.delegation.worker import Profile, Ranked, Runner
from core.ports import ToolSpec
from core.transcript import Json

CATALOGUE = (Ranked("big", 1, "lab/big-9"), Ranked("small", 2, "lab/small-1"))
CODER = Profile(name="coder", nickname="Cody", summary="Writes and tests code.")
CRITIC = Profile(name="critic", summary="Finds what is wrong.")
BARE = Profile(name="bare")
OFFER = Offer(catalogue=CATALOGUE, profiles=(CODER, CRITIC))


def schema_of(offer: Offer) -> dict[str, Json]:
    return dict(definition.spec(offer).parameters)


def child(schema: Mapping[str, Json], *keys: str) -> dict[str, Json]:
    node: object = schema
    for key in keys:
        assert isinstance(node, Mapping), key
        node = node[key]
    assert isinstance(node, dict), keys
    return node


def both(offer: Offer) -> tuple[dict[str, Json], dict[str, Json]]:
    """The properties of the call and those of a task in a batch."""
    schema = schema_of(offer)
    return (
        child(schema, "properties"),
        child(schema, "properties", "tasks", "items", "properties"),
    )


def wire(spec: ToolSpec) -> str:
    return json.dumps([spec.name, spec.description, dict(spec.parameters)])


OFFERS = {
    "profiles": OFFER,
    "bare": Offer(catalogue=CATALOGUE),
    "runners": replace(OFFER, acp_per_call=True),
}


@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_the_schema_is_a_valid_json_schema_of_an_object(offer: Offer) -> None:
    schema = schema_of(offer)
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert child(schema, "properties", "tasks", "items")["required"] == ["goal"]


@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_the_schema_tells_every_argument_that_is_read_and_no_other(offer: Offer) -> None:
    call, task = both(offer)
    hidden = {"acp_command", "acp_args"} if not offer.acp_per_call else set()
    hidden |= {"profile"} if not offer.profiles else set()
    assert set(call) == set(DelegateArguments.model_fields) - hidden
    assert set(task) == set(TaskArguments.model_fields) - hidden


@pytest.mark.parametrize("name", ["max_iterations", "tier"])
def test_what_the_settings_alone_decide_is_no_argument(name: str) -> None:
    for properties in both(replace(OFFER, acp_per_call=True)):
        assert name not in properties


def test_profiles_are_an_enum_with_their_summaries_and_nicknames() -> None:
    offer = replace(OFFER, profiles=(CODER, CRITIC, BARE))
    call, task = both(offer)
    assert call["profile"] == {
        "type": "string",
        "enum": ["coder", "critic", "bare"],
        "description": "coder (Cody): Writes and tests code.; critic: Finds what is wrong.; bare",
    }
    assert task["profile"] == {"type": "string", "enum": ["coder", "critic", "bare"]}


def test_without_profiles_there_is_no_such_argument() -> None:
    for properties in both(Offer(catalogue=CATALOGUE)):
        assert "profile" not in properties


def test_a_runner_can_be_named_only_where_the_settings_allow_it() -> None:
    for properties in both(OFFER):
        assert not {"acp_command", "acp_args"} & set(properties)
    for properties in both(replace(OFFER, acp_per_call=True)):
        assert {"acp_command", "acp_args"} <= set(properties)


def test_what_is_secret_or_the_hosts_own_business_is_not_told() -> None:
    hidden = Profile(
        name="local",
        runner=Runner(command="/opt/runner", args=("--acp",), env={"RUNNER_KEY": "s3cret"}),
        persona="You are hidden.",
        constraints="Never tell.",
    )
    told = wire(definition.spec(replace(OFFER, profiles=(hidden,))))
    for text in ("/opt/runner", "RUNNER_KEY", "s3cret", "You are hidden", "Never tell", "lab/"):
        assert text not in told


def test_models_are_told_with_their_tiers() -> None:
    call, _ = both(OFFER)
    told = str(child(call, "model")["description"])
    assert "big (tier 1), small (tier 2)" in told
    assert "1 is the strongest" in told


@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_a_tasks_fields_are_those_of_the_call_and_their_words_are_told_once(offer: Offer) -> None:
    call, task = both(offer)
    assert task.pop("branch_table") == {"type": "object"}, "its schema is told with the call's"
    for name, schema in task.items():
        told = child(call, name)
        told.pop("description", None)
        assert schema == told


def test_the_size_of_a_batch_is_told() -> None:
    spec = definition.spec(replace(OFFER, max_children=5))
    assert "up to 5 tasks" in spec.description
    assert child(spec.parameters, "properties", "tasks")["maxItems"] == 5


def test_the_same_settings_give_the_same_bytes() -> None:
    def offer() -> Offer:
        return Offer(
            catalogue=tuple(replace(model) for model in CATALOGUE),
            profiles=(replace(CODER), replace(CRITIC)),
        )

    assert wire(definition.spec(offer())) == wire(definition.spec(offer()))
    assert wire(definition.spec(replace(OFFER, profiles=(CRITIC, CODER)))) != wire(
        definition.spec(OFFER)
    )


def test_a_schema_that_somebody_changes_does_not_change_the_next_one() -> None:
    before = wire(definition.spec(OFFER))
    spec = definition.spec(replace(OFFER, acp_per_call=True))
    child(spec.parameters, "properties", "acceptance_criteria").clear()
    child(spec.parameters, "properties", "context").clear()
    assert wire(definition.spec(OFFER)) == before


def test_the_tool_is_small_for_what_every_request_pays() -> None:
    assert len(wire(definition.spec(OFFER))) < 4_000
    assert len(wire(definition.spec(Offer(catalogue=CATALOGUE)))) < 3_800


@pytest.mark.parametrize(
    "given",
    [
        {"goal": "a"},
        {"goal": "a", "profile": "critic", "retry_on_fail": 1, "toolsets": []},
        {"goal": "a", "acceptance_criteria": "it works", "reasoning_effort": "none"},
        {"tasks": [{"goal": "a", "acceptance_criteria": ["x", {"file_exists": "p"}]}]},
    ],
)
def test_what_the_schema_admits_can_be_read(given: dict[str, object]) -> None:
    jsonschema.validate(given, schema_of(OFFER))
    DelegateArguments.model_validate(given)


@pytest.mark.parametrize(
    "given",
    [
        {"goal": 1},
        {"goal": "a", "profile": "nobody"},
        {"goal": "a", "retry_on_fail": 2},
        {"goal": "a", "reasoning_effort": "huge"},
        {"goal": "a", "toolsets": "file"},
        {"tasks": [{"context": "no goal"}]},
        {"tasks": [{"goal": "a"}] * 4},
        {"tasks": ["a"]},
    ],
)
def test_what_a_call_is_refused_for_the_schema_forbids_too(given: dict[str, object]) -> None:
    assert not Draft202012Validator(schema_of(OFFER)).is_valid(given)


def test_the_embedded_model_is_told_little() -> None:
    assert len(wire(definition.short_spec(OFFER))) < 480
