"""Places in people's home folders that a workspace may hold and the agent must not use: keys and
passwords, which it never sees, and what runs at a login, which it may read and not write.

Whoever can read the first is that person elsewhere; whoever can write the second is that person
at their next login, outside of every sandbox. An owner opens such a place, and nothing else of
its kind, by naming it in `workspace.extra`. Blocking; call it off the loop.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECRET: Mapping[str, tuple[str, ...]] = {
    "keys to other machines": (".ssh",),
    "keys that sign and decrypt": (".gnupg", ".local/share/keyrings", ".password-store"),
    "cloud credentials": (
        *(".aws", ".azure", ".boto", ".s3cfg", ".oci", ".config/gcloud", ".config/doctl"),
        *(".config/rclone", ".terraform.d", ".vault-token"),
    ),
    "cluster and registry credentials": (
        *(".kube", ".docker/config.json", ".config/containers/auth.json"),
    ),
    "code hosts' tokens": (
        *(".config/gh", ".config/glab-cli", ".config/hub", ".config/github-copilot"),
        *(".git-credentials", ".config/git/credentials"),
    ),
    "package registries' tokens": (
        *(".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials*", ".gem/credentials"),
        *(".m2/settings.xml", ".cache/huggingface/token"),
    ),
    "passwords": (
        *(".netrc", ".authinfo*", ".pgpass", ".my.cnf", ".mylogin.cnf"),
        *(".env", ".env.*", ".envrc"),
    ),
    "a browser's or mail program's passwords and sessions": (
        *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium"),
        *(".config/BraveSoftware", ".config/microsoft-edge"),
    ),
    "what was typed into a shell, passwords among it": (".*_history", ".histfile"),
    "other agents' tokens": (".claude", ".claude.json", ".codex", ".gemini"),
}
"""What a place holds, and where it is below a home folder; a last part may be a pattern."""

START_UP: Mapping[str, tuple[str, ...]] = {
    "a shell runs it when it starts or ends": (
        *(".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc"),
        *(".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".config/fish"),
    ),
    "it runs at a login": (
        *(".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".pam_environment"),
        *(".config/autostart", ".config/systemd", ".config/environment.d"),
        *(".config/plasma-workspace",),
    ),
    "it lets others log in, or runs for each mail": (".rhosts", ".shosts", ".forward"),
    "git runs what it names": (".gitconfig", ".config/git"),
}
"""Why a place may not be written, and where it is."""

HIDDEN = (
    "{shown} is closed to you: it holds {reason}. Look for no other way to it. Go on without it:"
    " ask the person to do the step that needs it themselves and to tell you how it went."
    " An owner who wants you to use it lists its folder under `workspace.extra` in the config."
)
READ_ONLY = (
    "{shown} is read-only for you: {reason}. Write what you propose to another file in the"
    " workspace, and tell the person what to take over from it. An owner who wants you to write"
    " it lists its folder under `workspace.extra` in the config."
)
CLOSED_FOLDER = (
    "The home folder itself takes no new entries from commands, so that nothing is slipped into"
    " a login: make new files there with write_file, or work in a folder below it."
)
REFUSED_BY_SYSTEM = "Read-only file system"


@dataclass(frozen=True, slots=True)
class Guarded:
    """A guarded place of this machine: its path after all links, there or not, and how people
    write it."""

    path: Path
    shown: str
    reason: str
    secret: bool

    @property
    def refusal(self) -> str:
        """What the model is told."""
        text = HIDDEN if self.secret else READ_ONLY
        return text.format(shown=self.shown, reason=self.reason)


def homes() -> tuple[Path, ...]:
    """The home folders of this machine, resolved."""
    found = [Path("/root")]
    with suppress(RuntimeError):  # this user has none
        found.append(Path.home())
    with suppress(OSError):
        found += Path("/home").iterdir()
    return tuple({Path(os.path.realpath(home)): None for home in found})


def guarded(roots: Iterable[Path]) -> tuple[Guarded, ...]:
    """The guarded places in and round these folders, secrets first; () for a project's folder."""
    folders = [Path(os.path.realpath(root)) for root in roots]
    return tuple(
        place
        for secret in (True, False)
        for home in homes()
        if any(_touches(home, folder) for folder in folders)
        for place in _in(home, secret=secret)
        if any(_touches(place.path, folder) for folder in folders)
    )


def guard_of(
    path: Path, guards: Sequence[Guarded], extra: Iterable[Path], *, writing: bool
) -> Guarded | None:
    """What guards a resolved path, unless one of the extra folders opens it."""
    if not guards:
        return None
    opened = [e for e in (Path(os.path.realpath(e)) for e in extra) if path.is_relative_to(e)]
    for place in guards:
        if not (place.secret or writing) or not path.is_relative_to(place.path):
            continue
        if not any(folder.is_relative_to(place.path) for folder in opened):
            return place
    return None


def notes(guards: Iterable[Guarded], command: str, output: str) -> str:
    """What explains a failed command to the model: the system says only that it failed."""
    refused = REFUSED_BY_SYSTEM in output
    named = [g.refusal for g in guards if (g.secret or refused) and _named(g, command)]
    if refused and guards and not named:
        named = [CLOSED_FOLDER]
    return "".join(f"\n[{note}]" for note in named[:2])


def _named(place: Guarded, command: str) -> bool:
    name = re.escape(place.shown.removeprefix("~/"))
    return re.search(rf"(?<![\w.]){name}(?![\w-])", command) is not None


def _touches(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _in(home: Path, *, secret: bool) -> Iterator[Guarded]:
    for reason, names in (SECRET if secret else START_UP).items():
        for name in names:
            for path in _spelt_out(home / name):
                shown = f"~/{path.relative_to(home)}"
                yield Guarded(Path(os.path.realpath(path)), shown, reason, secret)


def _spelt_out(path: Path) -> Iterator[Path]:
    """The path itself, or what there is of its pattern."""
    if "*" not in path.name:
        yield path
        return
    with suppress(OSError):
        yield from sorted(p for p in path.parent.iterdir() if fnmatch.fnmatch(p.name, path.name))
