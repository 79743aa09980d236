"""The lock that keeps a bot's token to one process of a machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import UserError
from gateway.token_lock import lock_file, locks_folder, token_lock

WORDS = {"runs": "the bot of platforms.telegram.token", "instead": "another token"}
HOLD = """
import sys
from pathlib import Path
from gateway.token_lock import token_lock
with token_lock(Path(sys.argv[1]), runs="it", instead="another"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return lock_file(tmp_path / "state" / "locks", "telegram", "4242:secret")


def test_a_process_that_is_killed_leaves_the_token_to_the_next_one(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(UserError) as caught, token_lock(path, **WORDS):
            pass
        other.kill()
    assert str(caught.value) == (
        "Another process on this machine already runs the bot of platforms.telegram.token "
        f"(lock file {path}). Stop it, or use another token."
    )
    with token_lock(path, **WORDS):
        pass


def test_who_leaves_with_an_error_leaves_the_token_to_the_next_one(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), token_lock(path, **WORDS):
        raise ZeroDivisionError
    with token_lock(path, **WORDS), pytest.raises(UserError), token_lock(path, **WORDS):
        pass


def test_bots_of_other_tokens_and_other_platforms_run_beside_it(path: Path) -> None:
    beside = lock_file(path.parent, "telegram", "4242:other")
    elsewhere = lock_file(path.parent, "slack", "4242:secret")
    with token_lock(path, **WORDS), token_lock(beside, **WORDS), token_lock(elsewhere, **WORDS):
        names = {file.name for file in path.parent.iterdir()}
    assert len(names) == 3
    assert not any("4242" in name or "secret" in name for name in names)


def test_a_lock_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = lock_file(tmp_path / "file", "telegram", "4242:secret")
    with pytest.raises(UserError) as caught, token_lock(path, **WORDS):
        pass
    assert str(caught.value) == f"The lock file {path} cannot be made: File exists."


def test_the_locks_are_where_the_user_keeps_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert locks_folder() == tmp_path / "pursuit" / "locks"
