"""Loading settings: sources, precedence, variables, and what depends on what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.settings import Layer, Settings, chosen, data_dir, load, secrets_of

Load = Callable[..., Settings]


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PURSUIT_HOME", raising=False)


@pytest.fixture
def loaded(tmp_path: Path) -> Load:
    def load_text(text: str, flags: Layer | None = None, **environ: str) -> Settings:
        file = tmp_path / "c.yaml"
        file.write_text(text, encoding="utf-8")
        return load(file, flags=flags, environ=environ)

    return load_text


def refusal(load_text: Load, text: str, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_text(text, **environ)
    return str(caught.value)


REMOTE = """
providers:
  here: {base_url: "http://127.0.0.1:9/v1"}
models:
  big: {provider: here, model: big-1, tier: 1}
  small: {provider: here, model: small-1, tier: 3}
"""


def test_without_any_file_the_embedded_model_is_configured() -> None:
    settings = load(environ={})
    choice = chosen(settings, "agent")
    assert (choice.name, choice.local) == ("local", True)
    assert settings.agent.toolsets == ("terminal", "file")
    assert settings.auxiliary.goal_judge.timeout_s == 180


def test_what_a_person_sets_for_the_embedded_model_stands(loaded: Load) -> None:
    settings = loaded("agent: {toolsets: [file, send]}\nauxiliary: {goal_judge: {timeout_s: 7}}\n")
    assert settings.agent.toolsets == ("file", "send")
    assert settings.auxiliary.goal_judge.timeout_s == 7
    assert settings.auxiliary.compaction.timeout_s == 180


def test_questions_wait_a_day_and_nobody_else_may_answer_unless_set(loaded: Load) -> None:
    unset = loaded("").escalations
    assert (unset.timeout_s, unset.reminders_s) == (86_400, (900, 7_200))
    assert unset.approvers.command == ()
    text = "escalations: {timeout_s: 60, reminders_s: [], approvers: {command: [member]}}\n"
    own = loaded(text).escalations
    assert (own.timeout_s, own.reminders_s) == (60, ())
    assert own.approvers.command == ("member",)
    assert loaded("escalations: {approvers: {}}\n").escalations == unset


def test_dangerous_commands_are_asked_about_unless_set(loaded: Load) -> None:
    assert loaded("").workspace.dangerous == "ask"
    assert loaded("workspace: {dangerous: refuse}\n").workspace.dangerous == "refuse"


def test_only_the_embedded_model_asks_nothing_unless_set(loaded: Load) -> None:
    assert "ask" not in loaded("").agent.toolsets
    assert "ask" in loaded(REMOTE).agent.toolsets
    assert loaded("agent: {toolsets: [ask]}\n").agent.toolsets == ("ask",)


def test_a_key_of_openai_in_the_environment_is_enough() -> None:
    choice = chosen(load(environ={"OPENAI_API_KEY": "sk-abc"}), "agent")
    assert choice.local is False
    assert choice.provider.base_url is None
    assert list(secrets_of(choice.provider)) == ["sk-abc"]


def test_a_setting_is_placed_where_it_came_from(tmp_path: Path) -> None:
    implied = load(environ={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    places = [
        implied.place(("providers", "openai", "base_url")),
        implied.place(("models", "openai", "model")),
    ]
    assert places == [
        "the environment variable OPENAI_BASE_URL",
        "the environment variable OPENAI_MODEL",
    ]
    file = tmp_path / "c.yaml"
    file.write_text(REMOTE, encoding="utf-8")
    mixed = load(file, environ={"PURSUIT_PROVIDERS__HERE__API_KEY": "k"})
    assert mixed.place(("providers", "here", "base_url")) == "providers.here.base_url"
    assert mixed.place(("providers", "here", "api_key")) == (
        "the environment variable PURSUIT_PROVIDERS__HERE__API_KEY"
    )


def test_a_base_url_in_the_environment_is_enough() -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1", "OPENAI_MODEL": "llama"}
    choice = chosen(load(environ=environ), "agent")
    assert choice.provider.base_url == "http://127.0.0.1:11434/v1"
    assert choice.model.model == "llama"


def test_the_environment_of_openai_does_not_touch_a_configured_catalogue(loaded: Load) -> None:
    settings = loaded(REMOTE, OPENAI_API_KEY="sk-abc")
    assert set(settings.models) == {"big", "small"}
    assert set(settings.providers) == {"here"}


def test_the_agent_takes_the_first_model_and_compaction_the_lowest_tier(loaded: Load) -> None:
    settings = loaded(REMOTE)
    assert settings.agent.model == "big"
    assert chosen(settings, "goal_judge").name == "big"
    assert chosen(settings, "compaction").name == "small"


def test_an_auxiliary_task_takes_a_catalogue_name_or_a_raw_id(loaded: Load) -> None:
    settings = loaded(
        REMOTE + "auxiliary:\n  goal_judge: {model: small}\n"
        "  compaction: {provider: here, model: org/raw:free}\n"
    )
    assert chosen(settings, "goal_judge").model.model == "small-1"
    raw = chosen(settings, "compaction")
    assert (raw.name, raw.model.model) == ("here/org/raw:free", "org/raw:free")


def test_flags_go_over_variables_over_credentials_over_the_file(
    loaded: Load, tmp_path: Path
) -> None:
    (tmp_path / "PURSUIT_GOALS__MAX_TURNS").write_text("2\n", encoding="utf-8")
    text, folder = "goals: {max_turns: 1}\n", {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    variable = {"PURSUIT_GOALS__MAX_TURNS": "3"}
    flag = Layer({"goals": {"max_turns": 4}}, {("goals", "max_turns"): "--turns"})
    assert loaded("").goals.max_turns == 20
    assert loaded(text).goals.max_turns == 1
    assert loaded(text, **folder).goals.max_turns == 2
    assert loaded(text, **folder, **variable).goals.max_turns == 3
    assert loaded(text, flag, **folder, **variable).goals.max_turns == 4


def test_a_credential_in_lower_case_is_a_setting_and_others_are_not(
    loaded: Load, tmp_path: Path
) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "pursuit_platforms__telegram__token").write_text("123:abc\n", encoding="utf-8")
    (folder / "other").write_bytes(b"\xff\xfe")
    settings = loaded("", CREDENTIALS_DIRECTORY=str(folder))
    assert list(secrets_of(settings)) == ["123:abc"]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("PURSUIT_GOALS__MAX_COST", "2.5", 2.5),
        ("PURSUIT_GOALS__MAX_COST", "null", None),
        ("PURSUIT_GOALS", "{max_cost: 3}", 3),
    ],
)
def test_a_variables_text_becomes_what_the_setting_takes(
    loaded: Load, name: str, text: str, value: float | None
) -> None:
    assert loaded("", **{name: text}).goals.max_cost == value


def test_a_list_comes_from_a_variable_too(loaded: Load) -> None:
    settings = loaded("", PURSUIT_ACCESS__TELEGRAM__OWNERS="[1, 2]")
    assert settings.access.telegram.owners == (1, 2)


def test_a_token_of_digits_only_stays_text(loaded: Load) -> None:
    settings = loaded(REMOTE, PURSUIT_PROVIDERS__HERE__API_KEY="12345678")
    assert list(secrets_of(settings)) == ["12345678"]


def test_variables_of_a_kubernetes_service_are_none_of_ours(loaded: Load) -> None:
    environ = {"PURSUIT_PORT": "tcp://10.0.0.1:80", "PURSUIT_SERVICE_HOST": "10.0.0.1"}
    assert loaded("", **environ).goals.max_turns == 20


def test_a_group_whose_keys_are_all_commented_out_has_its_defaults(loaded: Load) -> None:
    assert loaded("goals:\nmodels:\nagent:\n  # model: x\n").goals.max_turns == 20


def test_references_are_replaced_and_become_what_the_setting_takes(loaded: Load) -> None:
    text = 'goals: {max_turns: "${TURNS:-5}", max_cost: "${COST}"}\nworkspace: {root: "${R}/w"}\n'
    settings = loaded(text, COST="1.5", R="/tmp")
    assert (settings.goals.max_turns, settings.goals.max_cost) == (5, 1.5)
    assert settings.workspace.root == Path("/tmp/w")


def test_an_empty_variable_takes_the_default_of_its_reference(loaded: Load) -> None:
    assert loaded('goals: {max_turns: "${TURNS:-5}"}\n', TURNS="").goals.max_turns == 5


def test_a_doubled_dollar_is_a_plain_one(loaded: Load) -> None:
    text = REMOTE.replace("big-1", '"$${NOT}-${YES}"')
    assert loaded(text, YES="y").models["big"].model == "${NOT}-y"


def test_a_value_from_a_variable_is_not_searched_for_references(loaded: Load) -> None:
    settings = loaded(REMOTE, PURSUIT_PROVIDERS__HERE__API_KEY="a${b")
    assert list(secrets_of(settings)) == ["a${b"]


def test_an_unset_variable_of_an_unused_part_is_no_fault(loaded: Load) -> None:
    text = REMOTE + ('platforms: {telegram: {enabled: false, token: "${TELEGRAM_BOT_TOKEN}"}}\n')
    text = text.replace("models:", '  spare: {api_key: "${SPARE_KEY}"}\nmodels:')
    assert loaded(text).platforms.telegram.token is None


def test_an_unset_variable_of_a_used_provider_is_named(loaded: Load) -> None:
    text = REMOTE.replace('v1"}', 'v1", api_key: "${KEY}"}')
    says = refusal(loaded, text)
    assert "c.yaml:3:45: providers.here.api_key: the environment variable KEY is not set" in says


def test_an_unset_variable_that_another_source_makes_up_for_is_no_fault(loaded: Load) -> None:
    text = REMOTE.replace('v1"}', 'v1", api_key: "${KEY}"}')
    assert list(secrets_of(loaded(text, PURSUIT_PROVIDERS__HERE__API_KEY="k"))) == ["k"]


def test_the_file_is_found_by_pursuit_home_then_by_xdg(
    tmp_path: Path,
) -> None:
    home, xdg = tmp_path / "home", tmp_path / "config" / "pursuit"
    for folder, turns in ((home, 1), (xdg, 2)):
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(f"goals: {{max_turns: {turns}}}", encoding="utf-8")
    assert load(environ={"PURSUIT_HOME": str(home)}).goals.max_turns == 1
    assert load(environ={}).goals.max_turns == 2


def test_the_data_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    folder = data_dir(None)
    assert folder == tmp_path / "state" / "pursuit"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_bytes(b"\xef\xbb\xbfgoals: {max_turns: 3}\n")
    assert load(file, environ={}).goals.max_turns == 3


def test_settings_cannot_be_changed(loaded: Load) -> None:
    settings = loaded("")
    with pytest.raises(ValueError, match="frozen"):
        settings.goals.max_turns = 3


def test_no_secret_is_in_a_repr(loaded: Load) -> None:
    environ: Mapping[str, str] = {"PURSUIT_PLATFORMS__TELEGRAM__TOKEN": "123:secret-token"}
    assert "secret-token" not in repr(loaded("", **environ))
