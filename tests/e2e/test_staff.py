"""Who works on delegated tasks: the composition root's staff, over the real SDK on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.branches.table import overseer_model
from core.delegation.worker import Runner, RunnerMode
from core.errors import UserError
from core.ports import ModelFailure, Reply
from gateway.compose.setup import Endpoint
from tests.fakes.branch_tables import OVERSEER, read
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import Scripted, text
from tests.fakes.openai_replies import refusal as refusal_of
from tests.fakes.openai_seen import Seen
from tests.fakes.staff_rig import ASK, StaffRig, agent, staffed


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        server.default("main", text("I am big"))
        server.default("child", text("I am small"))
        yield server


def key_of(fake: FakeOpenAI) -> str:
    """The key of the last request."""
    return fake.requests[-1].headers["Authorization"].removeprefix("Bearer ")


async def refusal(rig: StaffRig, profile: str) -> str:
    with pytest.raises(UserError) as caught:
        await rig.child(profile)
    return str(caught.value)


# The catalogue and the profiles


async def test_the_catalogue_is_what_can_be_called(tmp_path: Path, fake: FakeOpenAI) -> None:
    async with staffed(tmp_path, fake) as rig:
        named = [(model.name, model.tier) for model in rig.staff.catalogue]
        assert named == [("big", 1), ("twin", 2), ("small", 3)]


async def test_two_names_of_one_model_have_one_id(tmp_path: Path, fake: FakeOpenAI) -> None:
    raw = "raw: {provider: twin, model: child-small}"
    moved = "moved: {model: small, base_url: 'http://127.0.0.1:9/v1'}"
    async with staffed(tmp_path, fake, raw, moved) as rig:
        big, twin, small = (model.id for model in rig.staff.catalogue)
        assert big == twin != small
        assert rig.own("raw").id == small
        assert rig.own("moved").id != small


@pytest.mark.parametrize(
    ("named", "parent", "overseer"),
    [
        ("twin", "big", "twin"),
        ("child-small", "big", "small"),
        ("main-big", "big", "big"),
        ("main-big", "twin", "twin"),
    ],
)
async def test_a_branch_table_may_name_its_overseers_model_by_the_raw_id(
    tmp_path: Path, fake: FakeOpenAI, named: str, parent: str, overseer: str
) -> None:
    given = {
        "escalation_model": named,
        "conditions": [{"condition": "It loads", "branch": {"action": "report"}}],
        "default": OVERSEER,
    }
    async with staffed(tmp_path, fake) as rig:
        known, own = rig.staff.catalogue, rig.listed(parent)
        table = read(given, parent=own, catalogue=known)
        assert overseer_model(table, "", known, own) == rig.listed(overseer)


async def test_a_profile_says_what_its_settings_say(tmp_path: Path, fake: FakeOpenAI) -> None:
    coder = (
        "coder: {provider: here, model: org/raw, tier: 4, toolsets: [file], max_iterations: 9, "
        "system_prompt: You code.}"
    )
    runner = (
        "runner: {acp_command: sh, acp_args: [-c], acp_mode: text, acp_env: {A: b}, "
        "acp_network: true, members: true}"
    )
    async with staffed(tmp_path, fake, coder, runner) as rig:
        heir, coding, running = rig.staff.profiles
        own = rig.own("coder")
    assert (heir.title, heir.summary, heir.constraints) == ("Heir", "Inherits", "Be kind.")
    assert (heir.model, heir.runner, heir.toolsets, heir.max_iterations) == (None, None, (), None)
    assert (own.name, own.tier) == ("here/org/raw", 4)
    assert (coding.toolsets, coding.max_iterations, coding.persona) == (("file",), 9, "You code.")
    assert (running.model, running.toolsets, running.title) == (None, None, "runner")
    assert (heir.members, running.members) == (False, True)
    assert running.runner == Runner(
        command="sh", args=("-c",), mode=RunnerMode.TEXT, env={"A": "b"}, network=True
    )


# The clients


async def test_a_child_on_a_listed_model_uses_its_provider(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    async with staffed(tmp_path, fake) as rig:
        done = await rig.ask(rig.listed("small"))
        assert isinstance(done, Reply)
        assert (done.text, key_of(fake)) == ("I am small", "main-key")
        await rig.ask(rig.listed("twin"), "heir")
        assert key_of(fake) == "other-key"
        assert rig.counted == [("small", "child"), ("twin", "child")]


async def test_a_profiles_own_connection_goes_over_the_providers(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    far = (
        f"own: {{provider: openai, model: child-x, base_url: '{fake.base_url}', "
        "api_key: own-key, api_mode: responses}"
    )
    async with staffed(tmp_path, fake, far) as rig:
        done = await rig.child("own")
        assert isinstance(done, Reply)
        assert (done.text, key_of(fake)) == ("I am small", "own-key")
        assert fake.requests[-1].path.endswith("/responses")


async def test_one_client_serves_all_children_of_a_profile(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    async with staffed(tmp_path, fake, "own: {model: small, api_key: k}") as rig:
        child = agent(rig.listed("small"))
        assert rig.staff.model(child, "own") is rig.staff.model(child, "own")
        assert rig.staff.model(child, "own") is not rig.staff.model(child, "")


async def test_children_share_the_slots_for_model_calls(tmp_path: Path, fake: FakeOpenAI) -> None:
    at_once: list[int] = []

    def answer(_: Seen) -> Scripted:
        at_once.append(fake.running + 1)
        return text("at last", gate="g")

    fake.default("child", answer)
    async with staffed(tmp_path, fake, "own: {model: small, api_key: k}", slots=2) as rig:
        waiting = [asyncio.create_task(rig.child("own")) for _ in range(4)]
        waiting += [asyncio.create_task(rig.ask(rig.listed("small"))) for _ in range(4)]
        await fake.wait_for_requests(2)
        fake.open("g")
        done = await asyncio.gather(*waiting)
    assert [isinstance(each, Reply) for each in done] == [True] * 8
    assert max(at_once) == 2, "agent.max_model_calls"


async def test_an_effort_goes_with_the_calls_of_that_child_alone(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    async with staffed(tmp_path, fake) as rig:
        for effort in ("high", "", "low"):
            await rig.ask(rig.listed("small"), effort=effort)
    sent = [seen.body.get("reasoning_effort") for seen in fake.requests]
    assert sent == ["high", None, "low"]


async def test_an_effort_that_a_server_refuses_is_left_out(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    fake.refuses.add("reasoning_effort")
    async with staffed(tmp_path, fake) as rig:
        for _ in range(2):
            assert isinstance(await rig.ask(rig.listed("small"), effort="high"), Reply)
    sent = [seen.body.get("reasoning_effort") for seen in fake.requests]
    assert sent == ["high", None, None]


async def test_the_embedded_model_is_small_and_asked_for_no_effort(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    near = "near: {provider: near, model: child-tiny}"
    served = Endpoint(fake.base_url, "local-key")
    async with staffed(tmp_path, fake, near, local=served) as rig:
        assert rig.staff.small(agent(rig.own("near")))
        assert not rig.staff.small(agent(rig.listed("small")))
        assert isinstance(await rig.ask(rig.own("near"), "near", effort="high"), Reply)
    assert key_of(fake) == "local-key"
    assert "reasoning_effort" not in fake.requests[-1].body


async def test_the_judge_is_the_settings_own(tmp_path: Path, fake: FakeOpenAI) -> None:
    async with staffed(tmp_path, fake) as rig:
        judge = rig.staff.judge()
        assert judge is rig.staff.judge()
        assert (judge.ranked, judge.timeout_s, judge.small) == (rig.listed("small"), 7, False)
        assert isinstance(await judge.model.complete(ASK), Reply)
        assert rig.counted == [("small", "acceptance_judge")]


async def test_an_overseers_calls_are_counted_apart(tmp_path: Path, fake: FakeOpenAI) -> None:
    own, bare = "own: {model: small, api_key: own-key}", "bare: {model: keyless}"
    async with staffed(tmp_path, fake, own, bare) as rig:
        small = agent(rig.listed("small"))
        overseer = rig.staff.overseer(small, "")
        assert overseer is rig.staff.overseer(small, "")
        assert overseer is not rig.staff.model(small, "")
        assert isinstance(await overseer.complete(ASK), Reply)
        assert key_of(fake) == "main-key"
        await rig.staff.overseer(small, "own").complete(ASK)
        assert key_of(fake) == "own-key"
        assert rig.counted[:2] == [("small", "overseer"), ("small", "child")]
        with pytest.raises(UserError, match="an overseer of profile bare cannot start"):
            rig.staff.overseer(agent(rig.own("bare")), "bare")


async def test_a_key_that_is_refused_is_told_by_the_profiles_setting(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    fake.api_key = "another"
    async with staffed(tmp_path, fake, "own: {provider: here, model: x, api_key: wrong}") as rig:
        done = await rig.child("own")
    assert isinstance(done, ModelFailure)
    assert "set delegation.profiles.own.api_key" in done.message


async def test_a_raw_model_that_is_refused_is_told_by_who_names_it(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    gone = refusal_of(404, "no such model")
    fake.default("child", gone)
    fake.default("judge", gone)
    judge = "auxiliary: {acceptance_judge: {provider: here, model: judge-x}}"
    own = "own: {provider: here, model: child-x}"
    async with staffed(tmp_path, fake, own, auxiliary=judge) as rig:
        child, judged = await rig.child("own"), await rig.staff.judge().model.complete(ASK)
    assert isinstance(child, ModelFailure)
    assert isinstance(judged, ModelFailure)
    assert "check delegation.profiles.own.model" in child.message
    assert "check auxiliary.acceptance_judge.model" in judged.message


# Credentials are looked at when a child starts


async def test_a_child_whose_key_is_missing_names_profile_variable_and_setting(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    own = "own: {model: small, api_key: '${OWN_KEY}'}"
    async with staffed(tmp_path, fake, own) as rig:
        assert await refusal(rig, "own") == (
            "a child of profile own cannot start: delegation.profiles.own.api_key takes the "
            "environment variable OWN_KEY, which is not set. Set it and restart Pursuit."
        )
        assert isinstance(await rig.ask(rig.listed("small")), Reply), "others can"
    async with staffed(tmp_path, fake, own, environ={"OWN_KEY": "k-own"}) as rig:
        await rig.child("own")
        assert key_of(fake) == "k-own"


async def test_the_providers_key_is_asked_for_unless_the_profile_has_its_own(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    lent, own = "lent: {provider: far, model: x}", "own: {provider: far, model: x, api_key: k}"
    async with staffed(tmp_path, fake, lent, own) as rig:
        assert (
            "profile lent cannot start: providers.far.api_key takes the environment variable"
            in (await refusal(rig, "lent"))
        )
        assert isinstance(await rig.child("own"), Reply)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("model: '${M}'", "delegation.profiles.own.model takes the environment variable M,"),
        ("provider: '${P}', model: a/b", "delegation.profiles.own.provider takes the environment"),
        ("model: small, proxy: '${X}'", "delegation.profiles.own.proxy takes the environment"),
        ("model: keyless", "providers.openai.api_key is needed for OpenAI's own endpoint"),
        ("model: small, api_key: 'kéy'", "own.api_key holds characters that no key has"),
        ("model: small, base_url: 'http://h:x/v1'", "delegation.profiles.own.base_url is no URL"),
        ("provider: near, model: x", "the embedded model is not being served"),
    ],
)
async def test_a_child_that_cannot_start_says_what_to_mend(
    tmp_path: Path, fake: FakeOpenAI, keys: str, says: str
) -> None:
    async with staffed(tmp_path, fake, f"own: {{{keys}}}") as rig:
        assert says in await refusal(rig, "own")


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ("acp_command: sh, acp_env: {TOKEN: '${T}'}", "acp_env.TOKEN"),
        ("acp_command: sh, acp_args: ['--as=${T}']", "acp_args[0]"),
        ("acp_command: '${T}'", "acp_command"),
    ],
)
async def test_a_runner_whose_variable_is_missing_says_so_when_it_starts(
    tmp_path: Path, fake: FakeOpenAI, keys: str, key: str
) -> None:
    own = f"own: {{{keys}}}"
    async with staffed(tmp_path, fake, own) as rig:
        runner = rig.profile("own").runner
        assert runner is not None
        assert runner.lacking == (
            f"the runner of profile own cannot start: delegation.profiles.own.{key} takes the "
            "environment variable T, which is not set. Set it and restart Pursuit."
        )
    async with staffed(tmp_path, fake, own, environ={"T": "x"}) as rig:
        runner = rig.profile("own").runner
        assert runner is not None
        assert runner.lacking == ""
