"""The settings of delegation: profiles, the acceptance judge, toolsets and MCP servers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.settings import Settings, chosen, load, secrets_of, uses_local_model
from gateway.settings.choice import jobs, of_profile
from gateway.settings.show import MASK, as_data, as_yaml

Load = Callable[..., Settings]

REMOTE = """
providers:
  here: {base_url: "http://127.0.0.1:9/v1"}
  there: {api_key: "${THERE_KEY}"}
models:
  big: {provider: here, model: big-1, tier: 2}
  small: {provider: here, model: small-1, tier: 3}
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Load:
    def load_text(text: str, **environ: str) -> Settings:
        file = tmp_path / "c.yaml"
        file.write_text(text, encoding="utf-8")
        return load(file, environ=environ)

    return load_text


def profiles(**named: str) -> str:
    lines = [f"    {name}: {{{keys}}}\n" for name, keys in named.items()]
    return REMOTE + "delegation:\n  profiles:\n" + "".join(lines)


def servers(**named: str) -> str:
    lines = [f"    {name}: {{{keys}}}\n" for name, keys in named.items()]
    return REMOTE + "mcp:\n  servers:\n" + "".join(lines)


def refusal(load_text: Load, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_text(text)
    return str(caught.value)


# Overseers


def test_the_overseers_model_is_a_name_of_the_catalogue(loaded: Load) -> None:
    assert loaded(REMOTE).delegation.escalation_model is None
    named = loaded(REMOTE + "delegation: {escalation_model: small}\n")
    assert named.delegation.escalation_model == "small"
    said = refusal(loaded, REMOTE + "delegation: {escalation_model: smal}\n")
    assert "delegation.escalation_model: there is no model 'smal'; did you mean `small`?" in said


def test_an_overseer_on_the_embedded_model_has_it_served(loaded: Load) -> None:
    near = REMOTE.replace("models:", "  near: {kind: local}\nmodels:")
    text = near + "  tiny: {provider: near, model: tiny, tier: 4}\nagent: {model: big}\n"
    text += "auxiliary: {compaction: {model: big}, acceptance_judge: {model: big}}\n"
    assert not uses_local_model(loaded(text))
    assert uses_local_model(loaded(text + "delegation: {escalation_model: tiny}\n"))


# Profiles


def test_delegation_has_the_limits_that_are_documented(loaded: Load) -> None:
    limits = loaded(REMOTE).delegation
    assert (limits.max_children, limits.max_depth, limits.max_iterations) == (3, 1, 50)
    assert (limits.runner_timeout_s, limits.allow_acp_per_call) == (3600, False)
    assert limits.profiles == {}


def test_a_profile_takes_a_model_of_the_catalogue_or_a_raw_one(loaded: Load) -> None:
    settings = loaded(
        profiles(
            listed="model: small",
            raw="provider: here, model: org/raw",
            weak="provider: here, model: org/raw, tier: 7",
            heir="toolsets: [file]",
            runner="acp_command: claude",
        )
    )
    of = {name: of_profile(settings, name) for name in settings.delegation.profiles}
    found = {name: (c.name, c.model.tier) if c else None for name, c in of.items()}
    assert found == {
        "listed": ("small", 3),
        "raw": ("here/org/raw", 2),  # the agent's own tier
        "weak": ("here/org/raw", 7),
        "heir": None,
        "runner": None,
    }


def test_toolsets_that_are_empty_are_not_toolsets_that_are_absent(loaded: Load) -> None:
    text = profiles(none="toolsets: []", absent="model: small", unset="toolsets: null")
    named = loaded(text).delegation.profiles
    assert [named[name].toolsets for name in ("none", "absent", "unset")] == [(), None, None]


@pytest.mark.parametrize(
    "keys",
    [
        "model: small, acp_command: claude",
        "provider: here, model: x, acp_command: claude",
        "model: '${NO_MODEL}', acp_command: '${NO_COMMAND}'",
    ],
)
def test_a_model_and_a_runner_in_one_profile_are_refused_by_both_keys(
    loaded: Load, keys: str
) -> None:
    says = refusal(loaded, profiles(both=keys))
    assert "delegation.profiles.both.acp_command: `model` and `acp_command` are both set" in says
    assert "keep one of them" in says


@pytest.mark.parametrize(
    "key", ["base_url: 'http://h'", "api_key: k", "tier: 1", "api_mode: chat"]
)
def test_a_runner_takes_no_key_of_a_model(loaded: Load, key: str) -> None:
    name = key.partition(":")[0]
    says = refusal(loaded, profiles(both=f"acp_command: claude, {key}"))
    assert f"`{name}` and `acp_command` are both set" in says


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("acp_args: [--acp]", "acp_args: goes with `acp_command`, which is not set"),
        ("acp_command: claude, toolsets: [file]", "toolsets: goes with a model"),
        ("acp_command: claude, max_iterations: 3", "max_iterations: goes with a model"),
        ("acp_command: claude, system_prompt: Be", "system_prompt: goes with a model"),
        ("acp_mode: text", "acp_mode: goes with `acp_command`"),
        ("acp_env: {A: b}", "acp_env: goes with `acp_command`"),
        ("model: small, acp_network: true", "acp_network: goes with `acp_command`"),
        ("model: small, members: true", "members may use any profile that starts no runner"),
        ("provider: here", "model: is needed when `provider` is set"),
        ("base_url: 'http://h/v1'", "base_url: goes with a model of the profile's own"),
        ("api_key: k", "api_key: goes with a model of the profile's own"),
        ("api_mode: responses", "api_mode: goes with a model of the profile's own"),
        ("proxy: 'http://h:1'", "proxy: goes with a model of the profile's own"),
        ("tier: 3", "tier: goes with a model of the profile's own"),
        ("acp_command: claude --acp", "acp_command: is the program alone: its arguments go into"),
        ("acp_command: ''", "acp_command: must not be empty"),
        ("acp_command: claude, acp_mode: mcp", "acp_mode: expected 'acp' or 'text'"),
        (
            "acp_command: claude, acp_env: {A: 1}",
            "expected text, found a number (put it in quotes)",
        ),
        ("acp_command: claude, acp_env: {A-B: x}", "a variable's name is made of letters"),
        ("model: smal", "model: there is no model 'smal'; did you mean `small`?"),
        ("model: org/raw", "(for a raw model id set `provider` too)"),
        ("provider: her, model: x", "provider: there is no provider 'her'; did you mean `here`?"),
        ("model: small, tier: 1", "tier: the tier of small is set under models, and is 3"),
        ("max_iterations: 0", "must be at least 1"),
        (
            "toolsets: [fil]",
            "expected 'terminal', 'file', 'delegation', 'think', 'ask', 'send' or",
        ),
        ("toolsets: [file, file]", "toolsets: a word must not be there twice"),
        ("nick: Ann", "nick: unknown key; did you mean"),
    ],
)
def test_a_profile_that_cannot_work_says_why(loaded: Load, keys: str, says: str) -> None:
    told = refusal(loaded, profiles(one=keys))
    assert "delegation.profiles.one" in told
    assert says in told
    assert len(told.splitlines()) == 1


def test_the_tier_of_a_listed_model_may_be_repeated(loaded: Load) -> None:
    assert loaded(profiles(one="model: small, tier: 3")).delegation.profiles["one"].tier == 3


def test_a_profiles_name_is_a_name(loaded: Load) -> None:
    assert "a name is made of lower-case letters" in refusal(
        loaded, profiles(Coder="model: small")
    )


def test_a_profiles_own_connection_goes_over_the_listed_models(loaded: Load) -> None:
    own = "model: small, base_url: 'http://h/v1', api_key: k, api_mode: responses"
    profile = loaded(profiles(one=own)).delegation.profiles["one"]
    assert (profile.base_url, profile.api_mode) == ("http://h/v1", "responses")


def test_the_embedded_model_takes_no_connection(loaded: Load) -> None:
    text = profiles(one="model: tiny, api_key: k").replace(
        "models:", "  near: {kind: local}\nmodels:\n  tiny: {provider: near, model: x}"
    )
    assert "one.api_key: the embedded model (`kind: local`) takes no such key" in refusal(
        loaded, text.replace("delegation:", "agent: {model: big}\ndelegation:")
    )


@pytest.mark.parametrize(
    "proxy",
    [
        "http://proxy.example:3128",
        "https://u:p@proxy.example",
        "socks5://127.0.0.1:1080",
        "socks5h://[::1]:1080/",
    ],
)
def test_a_proxy_is_an_http_or_a_socks_address(loaded: Load, proxy: str) -> None:
    settings = loaded(profiles(one=f"model: small, proxy: '{proxy}'"))
    assert proxy in secrets_of(settings)


@pytest.mark.parametrize(
    "proxy",
    ["socks4://h:1", "ftp://h", "h:3128", "http://", "http://h:99999", "http://h/?a=1", ""],
)
def test_a_proxy_that_is_none_is_refused_without_being_shown(loaded: Load, proxy: str) -> None:
    says = refusal(loaded, profiles(one=f"model: small, proxy: '{proxy}'"))
    assert "one.proxy: must be a proxy's address that begins with http://" in says
    assert says.endswith("found text")


# What children alone use is asked for when one starts


def test_an_unset_variable_that_only_a_profile_uses_is_no_fault(loaded: Load) -> None:
    settings = loaded(
        profiles(
            one="provider: there, model: x, api_key: '${OWN_KEY}', proxy: '${PROXY}'",
            two="acp_command: '${RUNNER}', acp_args: ['--as=${ME}'], acp_env: {K: '${KEY}'}",
            three="provider: '${PROVIDER}', model: raw/id",
        )
    )
    wanted = settings.unset_below(("delegation", "profiles"))
    assert {path[2:]: name for path, name in wanted.items()} == {
        ("one", "api_key"): "OWN_KEY",
        ("one", "proxy"): "PROXY",
        ("two", "acp_command"): "RUNNER",
        ("two", "acp_args", 0): "ME",
        ("two", "acp_env", "K"): "KEY",
        ("three", "provider"): "PROVIDER",
    }
    assert settings.unset_below(("providers", "there")) == {
        ("providers", "there", "api_key"): "THERE_KEY"
    }
    assert not uses_local_model(settings)


def test_an_unset_variable_of_what_a_profile_says_is_a_fault(loaded: Load) -> None:
    says = refusal(loaded, profiles(one="model: small, constraints: '${RULES}'"))
    assert "one.constraints: the environment variable RULES is not set" in says


def test_a_provider_of_a_job_is_still_asked_for_at_the_start(loaded: Load) -> None:
    text = profiles(one="provider: there, model: x")
    judged = text + "auxiliary: {acceptance_judge: {provider: there, model: y}}\n"
    assert "there.api_key: the environment variable THERE_KEY is not set" in refusal(
        loaded, judged
    )


def test_settings_with_other_unset_variables_are_the_same_settings(loaded: Load) -> None:
    off = REMOTE + 'platforms: {telegram: {token: "${NOT_THERE}"}}\n'
    assert loaded(off) == loaded(REMOTE)


# The acceptance judge


def test_the_acceptance_judge_is_the_lowest_tiers_model_unless_one_is_named(loaded: Load) -> None:
    assert chosen(loaded(REMOTE), "acceptance_judge").name == "small"
    named = loaded(REMOTE + "auxiliary: {acceptance_judge: {model: big}}\n")
    assert chosen(named, "acceptance_judge").name == "big"
    raw = loaded(REMOTE + "auxiliary: {acceptance_judge: {provider: here, model: a/b}}\n")
    assert chosen(raw, "acceptance_judge").name == "here/a/b"


def test_the_acceptance_judge_has_more_time_on_the_embedded_model(loaded: Load) -> None:
    assert loaded(REMOTE).auxiliary.acceptance_judge.timeout_s == 30
    assert loaded("").auxiliary.acceptance_judge.timeout_s == 180
    own = "auxiliary: {acceptance_judge: {timeout_s: 5}}\n"
    assert loaded(own).auxiliary.acceptance_judge.timeout_s == 5


def test_an_unknown_judge_is_told(loaded: Load) -> None:
    says = refusal(loaded, REMOTE + "auxiliary: {acceptance_judge: {model: smal}}\n")
    assert "auxiliary.acceptance_judge.model: there is no model 'smal'; did you mean" in says


def test_nobody_is_asked_to_judge_where_nothing_is_delegated(loaded: Load) -> None:
    alone = (
        "agent: {toolsets: [file]}\nauxiliary: {acceptance_judge: {provider: there, model: y}}\n"
    )
    settings = loaded(REMOTE + alone)
    assert "acceptance_judge" not in jobs(settings)
    assert "acceptance_judge" in jobs(loaded(REMOTE))


def test_a_profile_on_the_embedded_model_has_it_served(loaded: Load) -> None:
    near = profiles(one="provider: near, model: x").replace(
        "models:", "  near: {kind: local}\nmodels:"
    )
    assert uses_local_model(loaded(near))
    assert not uses_local_model(loaded(near + "agent: {toolsets: [file]}\n"))


# Toolsets


def test_the_agent_has_every_toolset_and_every_enabled_server(loaded: Load) -> None:
    known = ("terminal", "file", "delegation", "think", "ask", "send")
    assert loaded(REMOTE).agent.toolsets == known
    text = servers(web="url: 'http://h/mcp'", off="command: x, enabled: false", db="command: y")
    assert loaded(text).agent.toolsets[-3:] == ("send", "mcp:web", "mcp:db")


def test_with_the_embedded_model_toolsets_are_few_unless_set(loaded: Load) -> None:
    web = "mcp: {servers: {web: {command: x}}}\n"
    assert loaded(web).agent.toolsets == ("terminal", "file")
    own = loaded(web + "agent: {toolsets: [delegation, 'mcp:web']}\n")
    assert own.agent.toolsets == ("delegation", "mcp:web")


@pytest.mark.parametrize("where", ["agent: {toolsets: ['mcp:wob']}\n", ""])
def test_a_toolset_of_an_unknown_server_lists_those_there_are(loaded: Load, where: str) -> None:
    text = servers(web="command: x", db="command: y, enabled: false") + where
    if not where:
        text += "delegation: {profiles: {one: {toolsets: [file, 'mcp:wob']}}}\n"
    says = refusal(loaded, text)
    assert "toolsets[" in says
    assert "there is no MCP server 'wob' under `mcp.servers` (there: mcp:db, mcp:web)" in says


def test_a_server_that_is_switched_off_may_stay_in_lists(loaded: Load) -> None:
    text = servers(db="command: y, enabled: false") + "agent: {toolsets: [file, 'mcp:db']}\n"
    assert loaded(text).agent.toolsets == ("file", "mcp:db")


# MCP servers


def test_a_server_has_the_defaults_that_are_documented(loaded: Load) -> None:
    server = loaded(servers(a="command: x")).mcp.servers["a"]
    assert (server.timeout_s, server.start_s) == (60, 10)
    assert (server.members, server.enabled) == (False, True)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("args: [a]", "needs `command`, a program to start, or `url`"),
        ("command: x, url: 'http://h'", "`command` and `url` are both set"),
        ("command: x, headers: {A: b}", "headers: goes with `url`"),
        ("url: 'http://h', args: [a]", "args: goes with `command`, not with `url`"),
        ("url: 'http://h', env: {A: b}", "env: goes with `command`, not with `url`"),
        ("url: 'http://h', cwd: /tmp", "cwd: goes with `command`, not with `url`"),
        ("command: npx server", "command: is the program alone: its arguments go into `args`"),
        ("url: 'ftp://h'", "url: must be an address such as https://host/path"),
        ("url: 'http://h', headers: {'A B': c}", "a header's name is made of letters"),
        ('url: "http://h", headers: {A: "c\\r\\nB: d"}', "must be one line without spaces"),
        ('command: x, env: {A: "b\\0"}', "must not hold a NUL character, found text"),
        ('command: x, args: ["b\\0"]', "must not hold a NUL character"),
        ("command: x, cwd: here", "must be an absolute path"),
    ],
)
def test_a_server_that_cannot_work_says_why(loaded: Load, keys: str, says: str) -> None:
    told = refusal(loaded, servers(one=keys))
    assert "mcp.servers.one" in told
    assert says in told


@pytest.mark.parametrize("name", ["Big", "a.b", "a" * 33])
def test_a_servers_name_fits_into_the_names_of_its_tools(loaded: Load, name: str) -> None:
    says = refusal(loaded, servers(**{name: "command: x"}))
    assert "a server's name is made of lower-case letters, digits, `_` and `-`, at most 32" in says


def test_an_unset_variable_of_a_server_matters_while_it_is_enabled(loaded: Load) -> None:
    wants = "command: x, env: {TOKEN: '${TOKEN}'}"
    assert "mcp.servers.a.env.TOKEN: the environment variable TOKEN" in refusal(
        loaded, servers(a=wants)
    )
    assert loaded(servers(a=f"{wants}, enabled: false")).mcp.servers["a"].env == {}
    assert loaded(servers(a="url: '${WHERE}', enabled: false")).mcp.servers["a"].url is None


# What is shown


def test_secrets_of_runners_and_servers_are_not_shown(loaded: Load) -> None:
    text = servers(
        near="command: x, env: {GITHUB_TOKEN: hunter-22, NODE_ENV: production}",
        far="url: 'https://ann:hunter-33@h/mcp?api_key=hunter-44', "
        "headers: {Authorization: Bearer hunter-55, Accept: text/plain}",
    )
    text += (
        "delegation:\n  profiles:\n    r: {acp_command: x, acp_env: {API_KEY: hunter-66}}\n"
        "    m: {model: small, api_key: hunter-77, proxy: 'http://ann:hunter-88@h:1'}\n"
    )
    settings = loaded(text)
    assert "hunter" not in as_yaml(settings)
    assert "hunter" not in str(as_data(settings))
    assert "hunter" not in repr(settings.mcp.servers["near"])
    assert f"https://{MASK}@h/mcp?{MASK}" in as_yaml(settings)


def test_values_that_are_no_secrets_are_not_taken_out_of_texts(loaded: Load) -> None:
    settings = loaded(
        servers(
            near="command: x, env: {GITHUB_TOKEN: hunter-22, NODE_ENV: production, "
            "ODD: 0a1b2c3d4e5f6a7b8c9d}",
            far="url: 'https://h/mcp', headers: {Authorization: Bearer hunter-55, Accept: a/b}",
        )
    )
    known = {"hunter-22", "0a1b2c3d4e5f6a7b8c9d", "Bearer hunter-55", "hunter-55"}
    assert set(secrets_of(settings)) == known


def test_a_secret_of_a_server_is_in_no_error(loaded: Load) -> None:
    says = refusal(loaded, servers(a="command: x, env: {TOKEN: [hunter-22]}"))
    assert "mcp.servers.a.env.TOKEN: expected text, found a list" in says
    says = refusal(loaded, profiles(a="acp_command: x, acp_env: {TOKEN: 4711471147}"))
    assert "4711" not in says
