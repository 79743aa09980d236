"""`pursuit doctor` in a process of its own: each seeded fault is found, and its fix told."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import re
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from core.findings import Level
from gateway.doctor.jobs import without
from gateway.doctor.processes import holder
from gateway.settings.choice import JOBS, Job
from tests.fakes.front_desks import FrontDesks
from tests.fakes.openai_api import FakeOpenAI
from tests.fakes.openai_replies import text

FAKES = Path(__file__).parents[1] / "fakes"
FINDS_NO = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "{package}" else PathFinder.find_spec(name, path, target)

sys.meta_path = [Without if one is PathFinder else one for one in sys.meta_path]
"""
"""A machine on which a package is not installed."""
PURSUIT = str(Path(sys.executable).with_name("pursuit"))


@dataclass(slots=True)
class Clinic:
    """A sound installation, in which a test breaks one thing."""

    home: Path
    desks: FrontDesks
    models: FakeOpenAI
    settings: dict[str, object]
    before: tuple[str, ...] = ()
    """What the doctor is started by."""
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        """The configuration's file."""
        return self.home / "config.yaml"

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.home / "data"

    def write(self, **changes: object) -> None:
        """Write the configuration, for this user alone."""
        self.config.write_text(yaml.safe_dump({**self.settings, **changes}), encoding="utf-8")
        self.config.chmod(0o600)

    async def examine(self, *flags: str) -> tuple[int, str]:
        """Run the doctor: its exit code and what it says."""
        line = [*self.before, PURSUIT, "doctor", "--config", str(self.config)]
        done = await asyncio.create_subprocess_exec(
            *(*line, "--data", str(self.data), *flags),
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), **self.environ},
            stdout=PIPE,
            stderr=PIPE,
        )
        out, err = await done.communicate()
        assert not err, err.decode()
        return done.returncode or 0, out.decode()

    async def faults(self) -> dict[str, Mapping[str, str]]:
        """What the doctor finds wrong, by check."""
        code, out = await self.examine("--json")
        report = json.loads(out)
        found = {f["check"]: f for f in report["findings"] if f["level"] == Level.FAULT}
        assert code == (1 if found else 0)
        assert report["ok"] is not bool(found)
        assert all(f["why"] and f["fix"] for f in found.values())
        return found

    async def finds(self, check: str, what: str, fix: str) -> None:
        """The one fault is this, and its fix has these words."""
        found = await self.faults()
        assert list(found) == [check], found
        assert what in found[check]["what"]
        assert fix in found[check]["fix"]


@asynccontextmanager
async def clinic(home: Path) -> AsyncIterator[Clinic]:
    async with FrontDesks() as desks, FakeOpenAI(api_key="the-key") as models:
        models.default("main", text("OK."))
        models.default("judge", text("OK."))
        settings: dict[str, object] = {
            "providers": {"fake": {"base_url": models.base_url, "api_key": "the-key"}},
            "models": {"main": {"provider": "fake", "model": "main"}},
            "access": {p: {"pairing": True} for p in ("telegram", "discord", "slack")},
            "platforms": desks.platforms,
        }
        made = Clinic(home, desks, models, settings)
        made.write()
        made.data.mkdir(mode=0o700)
        yield made


async def test_a_sound_installation_has_no_fault_and_nothing_is_changed(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sound:
        assert await sound.faults() == {}
        code, out = await sound.examine()
        assert code == 0
        assert "✓ telegram token: it is the one of @pursuit_bot" in out
        assert "✓ model main: it answers" in out
        assert out.endswith("No fault found.\n")
        assert list(sound.data.iterdir()) == []


async def test_a_mistyped_key(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.write(goals={"max_turn": 5})
        await sick.finds("configuration", "did you mean `goals.max_turns`?", "config check")


async def test_a_token_that_telegram_refuses(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.desks.telegram_token = "4242:" + "n" * 35
        await sick.finds("telegram token", "refuses the token (401)", "/token to @BotFather")


async def test_a_discord_intent_that_is_off(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.desks.flags = 0
        await sick.finds("discord intents", "Message Content", "Privileged Gateway Intents")


async def test_a_slack_scope_that_is_missing(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.desks.scopes = tuple(s for s in sick.desks.scopes if s != "files:write")
        await sick.finds("slack scopes", "lacks files:write", "reinstall")


async def test_a_slack_app_without_socket_mode(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.desks.socket_mode = False
        await sick.finds("slack app token", "gives no socket", "connections:write")


async def test_a_model_whose_key_is_refused(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        wrong = {"base_url": sick.models.base_url, "api_key": "another-key"}
        sick.write(providers={"fake": wrong})
        await sick.finds("model main", "key", "providers.fake.base_url and .api_key")


async def test_a_model_that_nobody_serves(tmp_path: Path, unused_tcp_port: int) -> None:
    async with clinic(tmp_path) as sick:
        sick.write(providers={"fake": {"base_url": f"http://127.0.0.1:{unused_tcp_port}/v1"}})
        await sick.finds("model main", str(unused_tcp_port), "providers.fake.base_url")


async def test_a_model_that_only_the_critic_uses(tmp_path: Path, unused_tcp_port: int) -> None:
    async with clinic(tmp_path) as sick:
        sick.write(
            providers={
                "fake": {"base_url": sick.models.base_url, "api_key": "the-key"},
                "gone": {"base_url": f"http://127.0.0.1:{unused_tcp_port}/v1"},
            },
            models={
                "main": {"provider": "fake", "model": "main", "tier": 2},
                "other": {"provider": "gone", "model": "other", "tier": 1},
            },
            agent={"model": "main"},
            gates={"critic": {"enabled": True, "model": "other"}},
        )
        found = await sick.faults()
        assert list(found) == ["model other"]
        assert found["model other"]["why"] == (
            "without it answers that the critic is to read stay unverified"
        )


@pytest.mark.parametrize(
    ("jobs", "lost"),
    [
        (JOBS, "no turn can be worked"),
        (("goal_judge",), "no goal is judged, so goals pause"),
        (
            ("compaction", "acceptance_judge", "critic"),
            "long chats cannot be summed up, what children deliver stays unverified and answers "
            "that the critic is to read stay unverified",
        ),
    ],
)
def test_each_job_has_its_own_loss(jobs: tuple[Job, ...], lost: str) -> None:
    assert without(jobs) == f"without it {lost}"


async def test_a_sandbox_that_does_not_work(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.before = ("bwrap", "--dev-bind", "/", "/")
        sick.before += ("--ro-bind", "/dev/null", "/usr/bin/bwrap", "--")
        await sick.finds("sandbox", "no working sandbox", "apt install bubblewrap")


async def test_a_clock_that_is_wrong(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.desks.ahead_s = 3600
        sick.write(models={"main": {"provider": "fake", "model": "main"}})
        found = await sick.faults()
        assert list(found) == ["clock"]
        assert "s behind" in found["clock"]["what"]
        assert "timedatectl set-ntp true" in found["clock"]["fix"]


async def test_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        small = ("--size", str(8 << 20), "--tmpfs", str(sick.data), "--chmod", "0700")
        sick.before = ("bwrap", "--dev-bind", "/", "/", *small, str(sick.data), "--")
        await sick.finds("disk space", "MB are free", "--data DIR")


async def test_a_data_folder_that_others_can_read(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.data.chmod(0o755)
        await sick.finds("data folder", "open to others (mode 755)", f"chmod 700 {sick.data}")


async def test_a_configuration_with_tokens_that_others_can_read(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.config.chmod(0o644)
        await sick.finds("configuration file", "others can read it", f"chmod 600 {sick.config}")


async def test_too_few_open_files(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.before = ("prlimit", "--nofile=256:256", "--")
        await sick.finds("open files", "only 256 files", "LimitNOFILE=")


async def test_a_second_process_with_the_same_token(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        locks = tmp_path / ".local" / "state" / "pursuit" / "locks"
        locks.mkdir(parents=True)
        digest = hashlib.sha256(sick.desks.telegram_token.encode()).hexdigest()[:24]
        with (locks / f"telegram-{digest}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            await sick.finds(
                "second process", f"process {os.getpid()} runs the telegram bot", "Stop it"
            )


async def test_a_port_that_another_program_has(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            sick.write(health={"enabled": True, "port": port})
            await sick.finds(f"port {port}", "Address already in use", "health.port")


async def test_mcp_servers_are_connected_to_and_runners_looked_for(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sound:
        server = {"command": sys.executable, "args": [str(FAKES / "mcp_server.py")]}
        profiles = {
            "speaks": {"acp_command": "sh"},
            "prints": {"acp_command": "/bin/sh", "acp_mode": "text"},
            "own": {"acp_command": "./agent.sh"},
            "plain": {"toolsets": []},
        }
        sound.write(mcp={"servers": {"hub": server}}, delegation={"profiles": profiles})
        assert await sound.faults() == {}
        out = (await sound.examine())[1]
        assert (
            "✓ runner own: ./agent.sh is looked for in each workspace\n"
            "✓ runner prints: /bin/sh is there\n"
            "✓ runner speaks: sh is there\n"
            "✓ MCP server hub: "
        ) in out
        assert re.search(r"✓ MCP server hub: it has \d\d tools\n", out)
        assert list(sound.data.iterdir()) == []


async def test_mcp_servers_and_runners_that_cannot_be_started(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        crash = {"command": sys.executable, "args": [str(FAKES / "mcp_misfit.py"), "crash"]}
        servers = {
            "crash": crash,
            "mute": {**crash, "args": [str(FAKES / "mcp_misfit.py"), "mute"], "start_s": 0.5},
            "gone": {"command": "no-such-server"},
            "off": {"command": "no-such-server", "enabled": False},
        }
        (own := tmp_path / "runner").write_text("#!/bin/sh\n")
        own.chmod(0o755)
        profiles = {
            "gone": {"acp_command": "no-such-runner", "acp_mode": "text"},
            "home": {"acp_command": str(own)},
            "keyless": {"acp_command": "sh", "acp_env": {"KEY": "${NO_SUCH_KEY}"}},
        }
        sick.write(mcp={"servers": servers}, delegation={"profiles": profiles})
        found = await sick.faults()
        told = {check: finding["what"] for check, finding in found.items()}
        assert "it ended with exit code 1; Fatal: no database" in told.pop("MCP server crash")
        assert "0.5 s" in told.pop("MCP server mute")
        assert "no-such-server" in told.pop("MCP server gone")
        assert told == {
            "runner gone": "no-such-runner is not a program that can be seen in the sandbox",
            "runner home": f"{own} is not a program that can be seen in the sandbox",
            "runner keyless": "delegation.profiles.keyless.acp_env.KEY takes the environment "
            "variable NO_SUCH_KEY, which is not set",
        }


@pytest.mark.parametrize("package", ["mcp", "acp"])
async def test_the_package_of_an_extra_that_is_not_installed(tmp_path: Path, package: str) -> None:
    async with clinic(tmp_path) as sick:
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "sitecustomize.py").write_text(FINDS_NO.format(package=package))
        sick.environ["PYTHONPATH"] = str(tmp_path / "site")
        sick.write(
            mcp={"servers": {"hub": {"command": "sh"}}} if package == "mcp" else {},
            delegation={"profiles": {"own": {"acp_command": "sh"}}} if package == "acp" else {},
        )
        check = "MCP servers" if package == "mcp" else "runner own"
        await sick.finds(check, "is not installed", f"pip install '.[{package}]'")


async def test_privacy_mode_and_a_foreign_webhook_are_warnings(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        sick.desks.reads_groups = False
        sick.desks.webhook = {"url": "https://other.example/hook"}
        code, out = await sick.examine()
        assert code == 0
        assert "! telegram privacy mode: privacy mode is on" in out
        assert "fix: If you use it in groups: /setprivacy at @BotFather" in out
        assert "! telegram webhook: another program has set a webhook" in out


async def test_many_faults_are_told_at_once_and_no_token_with_them(tmp_path: Path) -> None:
    async with clinic(tmp_path) as sick:
        configured = sick.desks.telegram_token
        sick.desks.telegram_token = sick.desks.slack_bot_token = "another"
        sick.desks.discord_token = "another"
        sick.data.chmod(0o755)
        code, out = await sick.examine()
        assert code == 1
        assert out.endswith("4 faults found.\n")
        assert configured not in out


def test_a_lock_of_this_process_is_found_and_a_free_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    assert holder(file) is None
    with file.open("a") as lock:
        assert holder(file) is None
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert holder(file) == os.getpid()


@pytest.mark.parametrize("flags", [(), ("--json",)])
async def test_the_embedded_model_that_is_not_fetched_is_a_warning(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    async with clinic(tmp_path) as bare:
        bare.config.write_text("{}\n", encoding="utf-8")
        code, out = await bare.examine(*flags)
        assert code == 0
        assert "pursuit local pull" in out
