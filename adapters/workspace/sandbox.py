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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from adapters.workspace.guarded import guarded
from adapters.workspace.listing import OWN_FOLDER
from adapters.workspace.options import Sandboxing, WorkspaceOptions
from adapters.workspace.orphans import OWNER
from adapters.workspace.process import Launch, Process
from core.errors import UserError

Mount: TypeAlias = tuple[str, ...]

PROBE_S = 10.0
MB = 1024 * 1024
MOST_OPEN = 300
"""How many entries of a closed folder stay open; each costs every command some time."""

MISSING = (
    "Commands are refused: there is no working sandbox on this machine ({fault}). Install"
    " bubblewrap: `apt install bubblewrap` on Debian and Ubuntu, `dnf install bubblewrap` on"
    " Fedora. Ubuntu 23.10 and later also need an AppArmor profile that lets bwrap create user"
    " namespaces; Docker's default profile forbids them. To run commands without any sandbox,"
    " set `workspace.sandbox: none` in the config."
)

SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Links into /usr on merged systems, folders on others."""

ETC = (
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
)
"""What programs need of /etc; keys (/etc/ssl/private, /etc/shadow) stay outside even for root."""

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
        *,
        network: bool | None,
        listens: bool,
    ) -> Launch:
        """A program that works for long and is spoken to, held as a command is but for the CPU
        time. `env` goes on top of a command's; `network` None is as commands have it."""
        folder = Path(os.path.realpath(workspace))
        given = {**self._env(folder), **env, OWNER: self._owner}
        limits = _within(self._limits(), argv)
        bare = Launch(limits, given, folder, spoken_to=True, listens=listens)
        if self._options.sandbox is Sandboxing.NONE:
            return replace(bare, mark=secrets.token_hex(8))
        inside = (*self._bwrap(folder, network=network), *limits)
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

    def _bwrap(self, workspace: Path | None, *, network: bool | None = None) -> tuple[str, ...]:
        options = self._options
        shared = options.network if network is None else network
        program = shutil.which(options.bwrap, path=PATH) or options.bwrap
        return (
            program,
            *("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"),
            *("--cap-drop", "ALL", "--hostname", "workspace"),
            *(("--disable-userns",) if self._modern else ()),
            *(("--share-net",) if shared else ()),
            *_system(),
            *("--proc", "/proc", "--dev", "/dev", "--dir", "/run"),
            *self._empty(Path("/tmp")),  # noqa: S108 (a new one of its own)
            *("--symlink", "../tmp", "/var/tmp"),  # noqa: S108
            *self._mounts(workspace),
            *("--remount-ro", "/"),
            *("--chdir", str(workspace or "/")),
            "--",
        )

    def _cover(self, path: Path) -> Mapping[Path, Mount]:
        """What hides a file or a folder, where there is one."""
        try:
            if path.is_dir():
                return {path: self._empty(path)}
            return {path: ("--ro-bind", "/dev/null", str(path))} if path.exists() else {}
        except OSError:  # this user cannot look there, and no more can the command
            return {}

    def _empty(self, path: Path) -> tuple[str, ...]:
        size = ("--size", str(self._options.tmp_mb * MB)) if self._modern else ()
        return (*size, "--tmpfs", str(path))

    def _mounts(self, workspace: Path | None) -> Iterator[str]:
        """The lane's own folders and the covers over what is hidden, the outer before the inner:
        a workspace in the data directory shows, the rest of that directory does not."""
        open_folders = [Path(os.path.realpath(p)) for p in self._options.extra]
        open_folders += [workspace] if workspace else []
        mounts: dict[Path, Mount] = {
            p: _bound(p, writable=True) for p in open_folders if p.exists()
        }
        if (runtime := self._runtime) is not None:
            mounts.setdefault(runtime, _bound(runtime, writable=False))
        visible = [*mounts, Path("/usr")]
        guards = guarded(open_folders)
        covered = [Path(os.path.realpath(p)) for p in self._hidden]
        covered += [guard.path for guard in guards if guard.secret]
        for path in covered:
            if path not in mounts and any(path.is_relative_to(v) for v in visible):
                mounts.update(self._cover(path))
        start_ups = [
            guard.path
            for guard in guards
            if not guard.secret
            and guard.path not in mounts
            and any(guard.path.is_relative_to(folder) for folder in open_folders)
        ]
        if guards:
            _fix(mounts, start_ups, open_folders)
        for path in sorted(mounts, key=lambda p: len(p.parts)):
            yield from mounts[path]


def _within(limits: Sequence[str], argv: Sequence[str]) -> tuple[str, ...]:
    program = shutil.which("prlimit", path=PATH) or "prlimit"
    return (program, *limits, "--", *argv)


def _fix(mounts: dict[Path, Mount], start_ups: list[Path], open_folders: list[Path]) -> None:
    """Let nobody change what is at these paths, nor put something there. Where there is nothing
    yet, the folder that would hold it takes no new entries; those that it has stay open, each
    as a mount of its own."""
    there = [path for path in start_ups if os.path.lexists(path)]
    closed = {_nearest(path) for path in start_ups if path not in there}.difference(there)
    for path in (*there, *closed):
        mounts[path] = _bound(path, writable=False)
    for folder in closed:
        for child in _entries(folder):
            mounts.setdefault(child, _bound(child, writable=True))
    for path in list(mounts):  # a folder that is a mount cannot be moved away with what it holds
        for above in path.parents:
            kept = any(above.is_relative_to(start_up) for start_up in there)
            if not kept and any(above.is_relative_to(folder) for folder in open_folders):
                mounts.setdefault(above, _bound(above, writable=True))


def _nearest(path: Path) -> Path:
    """The nearest folder above the path that there is."""
    return next(p for p in path.parents if os.path.lexists(p))


def _entries(folder: Path) -> list[Path]:
    """The files and folders in a folder, folders first, at most `MOST_OPEN`; a link stays what
    it is, and leads where it led."""
    try:
        found = [child for child in folder.iterdir() if not child.is_symlink()]
        folders = sorted(child for child in found if child.is_dir())
        files = sorted(child for child in found if child.is_file())
    except OSError:  # somebody else's
        return []
    return [*folders, *files][:MOST_OPEN]


def _bound(path: Path, *, writable: bool) -> Mount:
    return ("--bind" if writable else "--ro-bind", str(path), str(path))


def _system() -> Iterator[str]:
    """The read-only system."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in SYSTEM_LINKS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--ro-bind-try", "/nix", "/nix")
    for name in ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _counts_processes_per_namespace() -> bool:
    """Older kernels count all processes of the user against the limit of the sandbox."""
    major, minor = os.uname().release.split(".")[:2]
    digits = "".join(c for c in minor if c.isdigit()) or "0"
    return (int(major), int(digits)) >= (5, 14)
