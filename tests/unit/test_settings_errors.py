"""What a person reads when the configuration cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.settings import data_dir, load
from gateway.settings.keys import LATER, fields

TELEGRAM = "platforms: {telegram: {enabled: true, token: '1:x'}}\n"
REMOTE = 'providers: {p: {base_url: "http://h/v1"}}\nmodels: {m: {provider: p, model: x}}\n'


def refusal(tmp_path: Path, text: str, **environ: str) -> str:
    file = tmp_path / "c.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, environ=environ)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "goals:\n  max_turn: 5\n",
            "c.yaml:2:3: goals.max_turn: unknown key; did you mean `goals.max_turns`?",
        ),
        ("max_cost: 5\n", "c.yaml:1:1: max_cost: unknown key; did you mean `goals.max_cost`?"),
        ("zzz: 5\n", "c.yaml:1:1: zzz: unknown key"),
        ("goals: {max_turns: 10001}", "must be at most 10000, found the number 10001"),
        ("agent: {toolsets: [file, file]}", "agent.toolsets: a word must not be there twice"),
        ("agent: {model: foo}", "the configuration names no models"),
        (
            "goals: {max_turns: '5'}",
            "c.yaml:1:9: goals.max_turns: expected a whole number, found the text '5'",
        ),
        ("goals: {max_turns: true}", "expected a whole number, found true"),
        ("goals: {max_turns: 1.5}", "expected a whole number, found the number 1.5"),
        ("goals: {max_turns: 0}", "must be at least 1, found the number 0"),
        ("goals: {max_seconds: -1}", "must be more than 0, found the number -1"),
        ("goals: {max_cost: 12:30:45}", "expected a number, found the text '12:30:45'"),
        ("goals: {max_turns: 012}", "expected a whole number, found the text '012'"),
        ("lanes: {collect: on}", "expected true or false, found the text 'on'"),
        ("lanes: {busy: wait}", "expected 'queue', 'steer' or 'interrupt', found the text 'wait'"),
        ("lanes: queue", "lanes: expected a mapping of keys, found the text 'queue'"),
        ("models: [a]", "models: expected a mapping of names, found a list"),
        ("agent: {toolsets: file}", "expected a list such as [a, b], found the text 'file'"),
        ("access: {telegram: {owners: ['@ann']}}", "access.telegram.owners[0]: expected a whole"),
        ("access: {telegram: {members: [-100]}}", "the ids of groups go into `chats`"),
        ("workspace: {root: here}", "must be an absolute path"),
        (
            "workspace: {dangerous: maybe}",
            "expected 'ask', 'refuse' or 'allow', found the text 'maybe'",
        ),
        ("escalations: {timeout_s: 59}", "must be at least 60, found the number 59"),
        ("escalations: {timeout_s: 604801}", "must be at most 604800, found the number 604801"),
        ("escalations: {reminders_s: [900, 900]}", "must ascend: each reminder comes after"),
        ("escalations: {reminders_s: [1, 2, 3, 4, 5, 6]}", "must be at most 5 reminders"),
        ("escalations: {reminders_s: [0]}", "must be more than 0, found the number 0"),
        (
            "escalations: {approvers: {comand: [member]}}",
            "unknown key; did you mean `escalations.approvers.command`?",
        ),
        (
            "escalations: {approvers: {command: [everybody]}}",
            "escalations.approvers.command[0]: expected 'owner' or 'member', found the text",
        ),
        ("agent: {toolsets: [asks]}", "expected 'terminal', 'file', 'delegation', 'think', 'ask'"),
        ('workspace: {root: "/a\\0b"}', "must be an absolute path"),
        ("workspace: {extra: [~no-such-user-here/x]}", "there is no such user"),
        ('models: {"\\ud800": {}}', "is not valid Unicode text"),
        ('workspace: {root: "/\\ud800"}', "workspace.root: is not valid Unicode text"),
        ("goals: {max_turns: '${N}'}", "the environment variable N is not set"),
        ("access: {telegram: {owners: ['${ME}']}}", "the environment variable ME is not set"),
        ("workspace: {root: '/a/${1}'}", "a reference to a variable is `${NAME}`"),
        (REMOTE + "agent: {model: mm}", "c.yaml:3:9: agent.model: there is no model 'mm'"),
        (REMOTE + "auxiliary: {goal_judge: {model: q}}", "there is no model 'q' under `models`"),
        (REMOTE + "auxiliary: {goal_judge: {provider: p}}", "goal_judge.model: is needed when"),
        (REMOTE + "auxiliary: {compaction: {provider: q, model: x}}", "there is no provider 'q'"),
        (REMOTE.replace("{provider: p", "{provider: pp"), "did you mean `p`?"),
        (REMOTE.replace("provider: p, ", ""), "models.m.provider: is needed and has no default"),
        (REMOTE.replace("model: x", "model: ''"), "models.m.model: must not be empty"),
        (REMOTE.replace("http:", "ftp:"), "must be an address such as https://host/path"),
        (REMOTE.replace("{m:", "{Big:"), "a name is made of lower-case letters"),
        ("providers: {p: {base_url: 'http://h/v1'}}", "models: no model uses the providers"),
        (
            "providers: {p: {}}\nmodels: {m: {provider: p, model: x}}",
            "providers.p.api_key: is needed for OpenAI's own endpoint",
        ),
        (
            "providers: {p: {kind: local, api_key: k}}\nmodels: {m: {provider: p, model: x}}",
            "providers.p.api_key: the embedded model (`kind: local`) takes no such key",
        ),
    ],
)
def test_a_fault_is_told_with_its_place_and_what_was_expected(
    tmp_path: Path, text: str, says: str
) -> None:
    assert says in refusal(tmp_path, text)


def test_all_faults_are_told_at_once_in_the_files_order(tmp_path: Path) -> None:
    text = "goals:\n" + "  # \n" * 8 + "  max_turns: x\nlanes:\n  bsy: queue\nagent: 5\n"
    lines = refusal(tmp_path, text).splitlines()
    assert [line.split(":")[1] for line in lines] == ["10", "12", "13"]


def test_a_wrong_value_does_not_hide_a_broken_rule_elsewhere(tmp_path: Path) -> None:
    says = refusal(tmp_path, TELEGRAM.replace("1:x", "none") + "\ngoals: {max_turns: x}\n")
    assert "platforms.telegram.token: is not a token" in says
    assert "goals.max_turns: expected a whole number" in says


def test_a_wrong_value_gives_rise_to_no_other_fault(tmp_path: Path) -> None:
    says = refusal(tmp_path, REMOTE + "agent: {model: m}\n".replace("m}", "5}"))
    assert len(says.splitlines()) == 1


@pytest.mark.parametrize("key", sorted(LATER))
def test_a_key_of_a_part_that_is_not_there_yet_says_so(tmp_path: Path, key: str) -> None:
    *groups, last = key.split(".")
    text = "".join("  " * n + f"{group}:\n" for n, group in enumerate(groups))
    says = refusal(tmp_path, text + "  " * len(groups) + f"{last}: {{}}\n")
    assert f"{key}: this version of Pursuit does not have it yet" in says


def test_no_key_is_both_there_and_not_there_yet() -> None:
    assert not {".".join(map(str, path)) for path, _ in fields()} & set(LATER)


def test_telegram_without_a_token_names_the_key(tmp_path: Path) -> None:
    says = refusal(tmp_path, "platforms:\n  telegram: {enabled: true}\n")
    assert "c.yaml:2:3: platforms.telegram.token: is needed" in says


def test_telegram_with_an_unset_token_variable_names_the_variable(tmp_path: Path) -> None:
    text = TELEGRAM.replace("'1:x'", "'${TOKEN}'")
    assert "platforms.telegram.token: the environment variable TOKEN" in refusal(tmp_path, text)


def test_telegram_with_nobody_allowed_refuses_and_names_the_key(tmp_path: Path) -> None:
    text = TELEGRAM + "access: {telegram: {chats: [-5]}}\n"
    assert "c.yaml:2:10: access.telegram: nobody may talk" in refusal(tmp_path, text)


def test_a_token_that_is_none_is_refused_without_being_shown(tmp_path: Path) -> None:
    says = refusal(tmp_path, TELEGRAM.replace("1:x", "hunter22"))
    assert "platforms.telegram.token: is not a token" in says
    assert "hunter22" not in says


@pytest.mark.parametrize("value", ["{a: hunter22}", "[hunter22]", "4711471147"])
def test_no_error_shows_a_secret(tmp_path: Path, value: str) -> None:
    says = refusal(tmp_path, TELEGRAM.replace("'1:x'", value))
    assert "platforms.telegram.token: expected text" in says
    assert "hunter22" not in says
    assert "4711" not in says


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    says = refusal(tmp_path, "", PURSUIT_GOALS__MAX_TURNS="many", PURSUIT_GOALS__TURNS="5")
    assert (
        "environment variable PURSUIT_GOALS__MAX_TURNS: goals.max_turns: "
        "expected a whole number, found the text 'many'" in says
    )
    assert "environment variable PURSUIT_GOALS__TURNS: goals.turns: unknown key" in says


def test_a_variable_of_ours_that_is_no_setting_is_an_error(tmp_path: Path) -> None:
    says = refusal(tmp_path, "", PURSUIT_MAX_TURNS="5", PURSUIT_HOME="/", PURSUIT_LOGS="{}")
    assert says == (
        "environment variable PURSUIT_MAX_TURNS: max_turns: unknown key; "
        "did you mean `goals.max_turns`?"
    )


def test_a_variable_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    says = refusal(tmp_path, "", PURSUIT_LOGS__LEVEL="\udcff")
    assert says == (
        "environment variable PURSUIT_LOGS__LEVEL: logs.level: is not valid Unicode text"
    )


def test_a_wrong_credential_is_named(tmp_path: Path) -> None:
    (tmp_path / "PURSUIT_LOGS__LEVEL").write_text("loud", encoding="utf-8")
    says = refusal(tmp_path, "", CREDENTIALS_DIRECTORY=str(tmp_path))
    assert "credential PURSUIT_LOGS__LEVEL: logs.level: expected 'debug'" in says


def test_a_credential_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "PURSUIT_LOGS__LEVEL").write_bytes(b"\xff")
    says = refusal(tmp_path, "", CREDENTIALS_DIRECTORY=str(tmp_path))
    assert says == "PURSUIT_LOGS__LEVEL: the credential is not UTF-8 text"


def test_a_credentials_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    says = refusal(tmp_path, "", CREDENTIALS_DIRECTORY=str(tmp_path / "none"))
    assert "none: the credentials cannot be read: No such file or directory" in says


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the file cannot be read: No such file or directory"):
        load(tmp_path / "none.yaml", environ={})


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the file cannot be read: Is a directory"):
        load(tmp_path, environ={})


def test_a_file_that_is_not_utf8_says_in_which_line(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_bytes(b"goals:\n  # \xe9\n")
    with pytest.raises(ConfigError, match=r"c\.yaml:2: the file is not UTF-8 text"):
        load(file, environ={})


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_bytes(b"#" * (2 << 20))
    with pytest.raises(ConfigError, match="larger than 1 MB"):
        load(file, environ={})


def test_a_data_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Exception, match=r"cannot be used: .*--data DIR"):
        data_dir(tmp_path / "file" / "data")
