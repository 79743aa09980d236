"""The command line that holds a command: bubblewrap round it, limits inside.

The sandbox is the border: the workspace and the extra folders are writable, the system is
read-only, nothing else of the machine exists, the environment is made anew. It is believed only
after a probe has run it here.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from adapters.workspace.listing import OWN_FOLDER
from adapters.workspace.mounts import Shown, empty, mounts, system
from adapters.workspace.options import Sandboxing, WorkspaceOptions
from adapters.workspace.orphans import OWNER
from adapters.workspace.process import Launch, Process
from core.errors import UserError

PROBE_S = 10.0
MB = 1024 * 1024

MISSING = (
    "Commands are refused: there is no working sandbox on this machine ({fault}). Install"
    " bubblewrap: `apt install bubblewrap` on Debian and Ubuntu, `dnf install bubblewrap` on"
    " Fedora. Ubuntu 23.10 and later also need an AppArmor profile that lets bwrap create user"
    " namespaces; Docker's default profile forbids them. To run commands without any sandbox,"
    " set `workspace.sandbox: none` in the config."
)

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _runtime() -> Path | None:
    """The folder of the Python that runs this program, where /usr does not hold it: on such a
    machine it may be the only one."""
    prefix = Path(os.path.realpath(sys.base_prefix))
    return None if prefix.is_relative_to("/usr") or prefix == Path("/") else prefix


PYTHON = _runtime()


class Sandbox:
    """Builds the launches of one configuration; `runtime` is shown read-only and ends the PATH.

    `owner` marks every command, see `orphans`.
    """

    def __init__(
        self,
        options: WorkspaceOptions,
        hidden: tuple[Path, ...],
        runtime: Path | None = PYTHON,
        owner: str = "",
    ) -> None:
        self._owner = owner
        self._options = options
        self._runtime = runtime
        self._hidden = hidden
        self._probing = asyncio.Lock()
        self._works = options.sandbox is Sandboxing.NONE
        self._modern = True
        """bubblewrap is 0.8 or later."""

    async def check(self) -> None:
        """Run the sandbox once; raises UserError that says how to get one. A success is kept."""
        async with self._probing:
            if self._works:
                return
            fault = await self._probe()
            if fault and "nknown option" in fault:
                self._modern = False
                fault = await self._probe()
            if fault:
                raise UserError(MISSING.format(fault=fault))
            self._works = True

    async def _probe(self) -> str:
        """Why it does not work, "" when it does."""
        argv = (*self._bwrap(None), *self._limited("/bin/true && /bin/true"))
        try:
            process = Process.start(
                Launch(argv, {"PATH": PATH, OWNER: self._owner}, Path("/"), sandboxed=True)
            )
        except OSError as error:
            return f"{self._options.bwrap}: {error.strerror or error}"
        try:
            async with asyncio.timeout(PROBE_S):
                await process.wait()
        except TimeoutError:
            return f"{self._options.bwrap} did not end within {PROBE_S:.0f} s"
        finally:
            await process.end()
        if process.exit_code == 0:
            return ""
        said = " ".join(process.output.split())
        return said[:200] or f"{self._options.bwrap}: exit {process.exit_code}"

    def launch(self, command: str, workspace: Path) -> Launch:
        """The command in the sandbox, or bare where the config says so."""
        folder = Path(os.path.realpath(workspace))
        env = self._env(folder)
        if self._options.sandbox is Sandboxing.NONE:
            return Launch(self._limited(command), env, folder, mark=secrets.token_hex(8))
        argv = (*self._bwrap(folder), *self._limited(command))
        return Launch(argv, env, Path("/"), sandboxed=True)

    def launch_runner(
        self,
        argv: Sequence[str],
        workspace: Path,
        env: Mapping[str, str],
        home: Path,
        *,
        network: bool | None,
        listens: bool,
    ) -> Launch:
        """A program that works for long and is spoken to, held as a command is but for the CPU
        time. `env` goes on top of a command's, and may hold secrets: `home` must be a folder that
        no command can write, since programs run what they find there. `network` None is as
        commands have it."""
        folder = Path(os.path.realpath(workspace))
        given = {**self._env(folder), "HOME": str(home), **env, OWNER: self._owner}
        limits = _within(self._limits(), argv)
        bare = Launch(limits, given, folder, spoken_to=True, listens=listens)
        if self._options.sandbox is Sandboxing.NONE:
            return replace(bare, mark=secrets.token_hex(8))
        inside = (*self._bwrap(folder, home=home, network=network), *limits)
        return replace(bare, argv=inside, cwd=Path("/"), sandboxed=True)

    def _env(self, workspace: Path) -> dict[str, str]:
        """All that a command finds in its environment. bubblewrap itself gets no more than
        this either: its own can be read inside as /proc/1/environ."""
        runtime = self._runtime
        return {
            "PATH": f"{PATH}:{runtime / 'bin'}" if runtime else PATH,
            "HOME": str(workspace / OWN_FOLDER / "home"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "PAGER": "cat",
            "GIT_TERMINAL_PROMPT": "0",
            "PYTHONUNBUFFERED": "1",
            OWNER: self._owner,
        }

    def _limited(self, command: str) -> tuple[str, ...]:
        """bash under limits."""
        limits = (*self._limits(), f"--cpu={self._options.cpu_s}")
        return _within(limits, ("bash", "--noprofile", "--norc", "-c", command))

    def _limits(self) -> tuple[str, ...]:
        """Memory is RLIMIT_DATA: an address space limit would stop runtimes that reserve far more
        than they use."""
        options = self._options
        limits = [
            f"--data={options.memory_mb * MB}",
            f"--fsize={options.file_mb * MB}",
            "--core=0",
        ]
        if options.sandbox is Sandboxing.BWRAP and _counts_processes_per_namespace():
            limits.append(f"--nproc={options.processes}")
        return tuple(limits)

    def _bwrap(
        self, workspace: Path | None, *, home: Path | None = None, network: bool | None = None
    ) -> tuple[str, ...]:
        options = self._options
        shared = options.network if network is None else network
        program = shutil.which(options.bwrap, path=PATH) or options.bwrap
        size = options.tmp_mb * MB if self._modern else None
        shown = Shown(
            writable=(*options.extra, *((workspace,) if workspace else ())),
            runtime=self._runtime,
            hidden=self._hidden,
            size=size,
            home=home,
        )
        return (
            program,
            *("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"),
            *("--cap-drop", "ALL", "--hostname", "workspace"),
            *(("--disable-userns",) if self._modern else ()),
            *(("--share-net",) if shared else ()),
            *system(),
            *("--proc", "/proc", "--dev", "/dev", "--dir", "/run"),
            *empty(Path("/tmp"), size),  # noqa: S108 (a new one of its own)
            *("--symlink", "../tmp", "/var/tmp"),  # noqa: S108
            *mounts(shown),
            *("--remount-ro", "/"),
            *("--chdir", str(workspace or "/")),
            "--",
        )


def _within(limits: Sequence[str], argv: Sequence[str]) -> tuple[str, ...]:
    program = shutil.which("prlimit", path=PATH) or "prlimit"
    return (program, *limits, "--", *argv)


def _counts_processes_per_namespace() -> bool:
    """Older kernels count all processes of the user against the limit of the sandbox."""
    major, minor = os.uname().release.split(".")[:2]
    digits = "".join(c for c in minor if c.isdigit()) or "0"
    return (int(major), int(digits)) >= (5, 14)
