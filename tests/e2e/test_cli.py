"""The real command in a process of its own."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.settings.schema import LOCAL_MODEL

PURSUIT = Path(sys.executable).with_name("pursuit")
HEAVY = {"aiohttp", "asyncio", "openai", "prompt_toolkit", "pydantic", "rich", "structlog"}
HEAVY |= {"telegram", "tree_sitter", "yaml"}
NO_WEB = {"PURSUIT_PLATFORMS__WEB__ENABLED": "false"}


def pursuit(*line: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return pursuit_in(home, *line, home=home, words="", **environ)


def pursuit_in(
    cwd: Path, *line: str, home: Path, words: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    bare = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    return subprocess.run(
        [str(PURSUIT), *line],
        env={**bare, **environ},
        cwd=cwd,
        input=words,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("line", ["", "--help"])
def test_help_loads_no_sdk(line: str) -> None:
    script = (
        "import sys; from gateway.cli import main; main(sys.argv[1:]);"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *line.split()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "Usage: pursuit" in done.stdout
    assert not HEAVY & {name.partition(".")[0] for name in done.stderr.splitlines()}


def test_the_program_starts_without_what_few_turns_use() -> None:
    script = "import sys, gateway.compose.run; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stdout.split())
    assert "core.delegation.acceptance.verify" in loaded
    assert not {"acp", "jsonschema", "mcp", "openai", "referencing"} & loaded


def test_help_answers_within_150_ms_of_work(tmp_path: Path) -> None:
    def work() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert pursuit("--help", home=tmp_path).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(work() for _ in range(5)) < 0.15


def test_a_bad_configuration_is_told_before_any_sdk_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("platforms: {telegram: {enabled: true}}\n", encoding="utf-8")
    done = pursuit("up", "--config", str(file), "--data", str(tmp_path / "d"), home=tmp_path)
    assert done.returncode == 78
    assert f"{file}:1:13: platforms.telegram.token: is needed" in done.stderr
    assert (done.stdout, (tmp_path / "d").exists()) == ("", False)


@pytest.mark.parametrize(
    ("words", "at", "offered"),
    [
        ("pursuit se", "1", {"plain,service", "plain,sessions", "plain,setup"}),
        ("pursuit pair ", "2", {"plain,approve", "plain,list", "plain,remove"}),
    ],
)
def test_the_shell_completes_commands(
    tmp_path: Path, words: str, at: str, offered: set[str]
) -> None:
    asked = {"_PURSUIT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": at}
    assert set(pursuit(home=tmp_path, **asked).stdout.split()) == offered


def test_a_bare_home_needs_no_configuration(tmp_path: Path) -> None:
    done = pursuit("config", "show", home=tmp_path)
    assert done.returncode == 0
    assert "model: qwen2.5-coder-1.5b-instruct-q4_k_m" in done.stdout


def test_standard_output_may_be_closed_early(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{PURSUIT} config schema | head -n 1",
        shell=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_a_locale_without_unicode_does_no_harm(tmp_path: Path) -> None:
    done = pursuit("config", "check", home=tmp_path, LANG="C", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "defaults" in done.stdout


def test_a_gateway_with_nothing_to_run_says_what_to_do(tmp_path: Path) -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", **NO_WEB}
    done = pursuit("up", "--data", str(tmp_path / "d"), home=tmp_path, **environ)
    assert (done.returncode, done.stdout) == (69, "")
    assert "platforms.web.enabled" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_data_folder_of_a_run_is_for_its_user_alone(tmp_path: Path) -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", **NO_WEB}
    pursuit("up", home=tmp_path, **environ)
    folder = tmp_path / ".local" / "state" / "pursuit"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_data_folder_that_was_there_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir(mode=0o755)
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    pursuit("chat", "--data", str(folder), home=tmp_path, **environ)
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.glob("*.*")}
    assert modes.pop("pursuit.db") == 0o600
    assert set(modes.values()) <= {0o600}


def test_each_folder_has_a_conversation_and_a_goal_of_its_own(tmp_path: Path) -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

    def told(folder: str, words: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / folder).mkdir(exist_ok=True)
        line = ("chat", "--data", str(tmp_path / "data"))
        return pursuit_in(tmp_path / folder, *line, home=tmp_path, words=words, **environ)

    first = told("a|b", "/goal count the stars\n/goal pause\n")
    assert "count the stars" in first.stderr
    assert str(tmp_path / "a|b") in first.stderr
    assert "count the stars" not in told("c", "/goal status\n").stdout
    assert "count the stars" in told("a|b", "/goal status\n").stdout


def test_nothing_is_fetched_or_made_for_a_gateway_with_nothing_to_run(tmp_path: Path) -> None:
    done = pursuit("up", "--data", str(tmp_path / "d"), home=tmp_path, **NO_WEB)
    assert (done.returncode, done.stdout) == (69, "")
    assert "platforms.web.enabled" in done.stderr
    assert "Local model" not in done.stderr
    assert not (tmp_path / "d" / "pursuit.db").exists()


def test_a_start_that_waits_for_the_local_model_can_be_interrupted(tmp_path: Path) -> None:
    models = tmp_path / ".cache" / "pursuit" / "models"
    models.mkdir(parents=True)
    with (models / f"{LOCAL_MODEL}.gguf.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as if another process were fetching it
        chat = subprocess.Popen(
            [str(PURSUIT), "chat", "--data", str(tmp_path / "d")],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert chat.stderr is not None
        assert "another download" in chat.stderr.readline()
        chat.send_signal(signal.SIGINT)
        _, err = chat.communicate(timeout=30)
    assert (chat.returncode, err.splitlines()[-1]) == (130, "Interrupted.")
