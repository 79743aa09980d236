"""Where the paths of a command line would lead, told by their text alone. Pure.

The home folder is written "/~", so that it is an absolute path like any other; in a sandbox it
holds nothing of the person's, but what reaches for it is judged all the same.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from adapters.workspace.shell import UNKNOWN, Word

HOME = "/~"
SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 (names, never opened)
HARMLESS_DEVICES = re.compile(
    r"/dev/(null|zero|full|tty|random|urandom|std(in|out|err)|fd(/.*)?|shm(/.*)?|(tcp|udp)/.*)"
)
KERNEL = re.compile(r"/proc/(sys|sysrq-trigger)(/.*)?|/sys(/.*)?")

SECRETS = (
    *(
        ("~", name)
        for name in (
            *(".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", ".pgpass"),
            *(".git-credentials", ".password-store", ".bash_history", ".zsh_history"),
            *(".python_history", ".mysql_history", ".psql_history", ".npmrc", ".pypirc"),
        )
    ),
    ("~", ".config", "gh"),
    ("~", ".config", "gcloud"),
    ("~", ".config", "pursuit"),
    ("~", ".local", "state", "pursuit"),
    ("~", ".local", "share", "keyrings"),
    ("etc", "shadow"),
    ("etc", "gshadow"),
    ("etc", "sudoers"),
    ("etc", "ssl", "private"),
)
"""Where passwords, keys and histories lie."""


class Spot(StrEnum):
    """What kind of place a path names."""

    INSIDE = "inside"
    WORKSPACE = "workspace"
    SCRATCH = "scratch"
    OUTSIDE = "outside"
    ROOT = "root"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders a command may change, and the one it is in (None: not known)."""

    workspace: str
    extra: tuple[str, ...] = ()
    cwd: str | None = None

    def absolute(self, word: Word) -> str | None:
        """The path a word names, normalised; None when that depends on something unknown."""
        text = word.text
        if text.startswith("~") and not word.quoted:
            text = HOME + text.lstrip("~")
        known, _, rest = text.partition(UNKNOWN)
        if rest or known != text:
            known = known[: known.rfind("/") + 1]
            if not known:
                return None
            text = known
        if not text.startswith("/"):
            if self.cwd is None:
                return None
            text = f"{self.cwd}/{text}"
        return re.sub(r"^/(root|home/[^/*?]+)(?=/|$)", HOME, posixpath.normpath("/" + text[1:]))

    def spot(self, word: Word) -> Spot:
        """The kind of place a word names."""
        path = self.absolute(word)
        if path is None:
            loose = UNKNOWN in word.text or ".." in word.text or word.text.startswith(("*", "."))
            return Spot.UNKNOWN if loose else Spot.INSIDE
        if re.fullmatch(r"/[*?.]*", path):
            return Spot.ROOT
        own = self._plain(self.workspace)
        if path == own:
            return Spot.WORKSPACE
        if _below(path, own) or any(_below(path, self._plain(e)) for e in self.extra):
            return Spot.INSIDE
        return Spot.SCRATCH if any(_below(path, s) for s in SCRATCH) else Spot.OUTSIDE

    def moved(self, words: tuple[Word, ...]) -> Ground:
        """After `cd` with these operands."""
        operands = [word for word in words if not re.fullmatch(r"-[LPe@]+|--", word.text)]
        to = self.absolute(operands[0]) if operands else HOME
        if operands and operands[0].text == "-":
            to = None
        return Ground(self.workspace, self.extra, to)

    @staticmethod
    def _plain(folder: str) -> str:
        return re.sub(r"^/(root|home/[^/]+)(?=/|$)", HOME, posixpath.normpath(folder))

    def is_device(self, word: Word) -> bool:
        """Whether a word names hardware or the kernel's own switches."""
        path = self.absolute(word) or ""
        device = path.startswith("/dev/") and not HARMLESS_DEVICES.fullmatch(path)
        return device or bool(KERNEL.fullmatch(path))

    def is_secret(self, word: Word) -> bool:
        """Whether a word names, or may match, a place of passwords and keys."""
        if " " in word.text:
            return False
        text = re.split(r"=@?|^@|(?<=\w):(?=[/~])", word.text)[-1]
        path = self.absolute(Word(text, word.quoted))
        if path is None:
            return False
        if re.fullmatch(r"/proc/[^/]+/(environ|mem)", path):
            return True
        parts = path.strip("/").split("/")
        own = (
            self._plain(self.workspace).strip("/").split("/")
        )  # it may lie in such a place itself
        return any(_matches(parts, s) and not _matches(own, s) for s in SECRETS)

    def is_settings(self, word: Word) -> bool:
        """Whether a word names a dot file of the home folder that is not the workspace's own."""
        path = self.absolute(word) or ""
        own = self._plain(self.workspace)
        return path.startswith(f"{HOME}/.") and (own == HOME or not _below(path, own))


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _matches(parts: list[str], secret: tuple[str, ...]) -> bool:
    """Whether a path, maybe with wildcards, leads to the secret or below it."""
    if len(parts) < len(secret):
        return False
    return all(
        fnmatchcase(name, part) and (part[:1] == "." or name[:1] != ".")
        for name, part in zip(secret, parts, strict=False)
    )
