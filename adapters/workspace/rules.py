"""What makes a command dangerous, program by program. Pure; told apart by words alone."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from adapters.workspace.ground import HOME, Ground, Spot
from adapters.workspace.shell import UNKNOWN, Command, Word


@dataclass(frozen=True, slots=True)
class Ask:
    """An owner may approve it; `reason` goes on from "because"."""

    reason: str


@dataclass(frozen=True, slots=True)
class Never:
    """Nobody may approve it."""

    reason: str


Found: TypeAlias = "Ask | Never | None"
Rule: TypeAlias = Callable[[str, tuple[Word, ...], Ground], Found]
"""A program's name, its words behind the name, and where it stands."""


def program(command: Command) -> str:
    """The program's name without its folder, "" when there is none."""
    return posixpath.basename(command.texts[0]) if command.words else ""


def shown(word: Word) -> str:
    """A path as people write it."""
    return re.sub(rf"^{HOME}(?=/|$)", "~", word.text).replace(UNKNOWN, "$…")[:80]


def on_places(command: Command, ground: Ground) -> Iterator[Ask]:
    """What a command reads and writes, whatever its program."""
    for target in command.targets:
        if ground.is_device(target):
            yield Ask(f"it writes to the device {shown(target)}")
        elif ground.is_settings(target):
            yield Ask(f"it changes a settings file of the home folder ({shown(target)})")
    words = () if program(command) in {"echo", "printf"} else command.words[1:]
    for word in (*words, *command.targets, *command.sources):
        if ground.is_secret(word):
            yield Ask(f"{shown(word)} may hold passwords, keys or a history")


def by_program(command: Command, ground: Ground) -> Iterator[Ask | Never]:
    """What a command's program and operands make of it."""
    name = program(command)
    words = command.words[1:]
    rule = RULES.get(name)
    if name.startswith(("mkfs", "mke2fs")):
        rule = formats
    if UNKNOWN in name and _has(words, "rR"):
        rule = removes
    found = rule(name, words, ground) if rule is not None else None
    if found is not None:
        yield found


def _operands(words: tuple[Word, ...]) -> list[Word]:
    """The words that are no options; all of them behind "--"."""
    texts = [word.text for word in words]
    end = texts.index("--") if "--" in texts else len(words)
    return [w for w in words[:end] if not w.text.startswith("-")] + list(words[end + 1 :])


def _has(words: tuple[Word, ...], letters: str, *names: str) -> bool:
    """Whether one of the option letters or long names is given."""
    return any(
        re.match(rf"-[a-zA-Z]*[{letters}]", word.text) or word.text in names for word in words
    )


def removes(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """rm and its kin."""
    recursive = _has(words, "rR", "--recursive")
    for word in _operands(words):
        match ground.spot(word):
            case Spot.ROOT if recursive:
                return Never("it deletes the whole file system")
            case Spot.OUTSIDE | Spot.ROOT:
                return Ask(f"it deletes {shown(word)}, which is outside the workspace")
            case Spot.WORKSPACE if recursive:
                return Ask("it deletes the whole workspace")
            case Spot.UNKNOWN if recursive:
                return Ask(f"it deletes {shown(word)}, and where that leads cannot be told")
            case _:
                continue
    return None


def finds(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """find -delete; what -exec runs is judged by itself."""
    if not any(word.text == "-delete" for word in words):
        return None
    first = next((n for n, w in enumerate(words) if re.match(r"[-(!]", w.text)), len(words))
    for word in words[:first]:
        match ground.spot(word):
            case Spot.ROOT if len(words) == first + 1:  # no test narrows it down
                return Never("it deletes the whole file system")
            case Spot.OUTSIDE | Spot.UNKNOWN | Spot.ROOT:
                return Ask(f"it deletes files below {shown(word)}, outside the workspace")
            case _:
                continue
    return None


def changes_modes(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """chmod, chown and chgrp; the first operand is the mode or the owner."""
    recursive = _has(words, "R", "--recursive")
    for word in _operands(words)[1:]:
        spot = ground.spot(word)
        if spot in {Spot.OUTSIDE, Spot.ROOT} or (spot is Spot.UNKNOWN and recursive):
            return Ask(f"it changes who may use {shown(word)}, which is outside the workspace")
    return None


def formats(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """mkfs and its kin; a file system in a workspace file is fine."""
    if any(ground.is_device(word) for word in words):
        return Never("it formats a device")
    return None


def writes_devices(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """Programs whose operands are written to."""
    for word in words:
        text = word.text.removeprefix("of=")
        reads = name == "dd" and not word.text.startswith("of=")
        if not reads and ground.is_device(Word(text, word.quoted)):
            return Ask(f"it writes to the device {shown(Word(text))}")
    return None


def pushes(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """git; only what rewrites or deletes on another machine."""
    texts = [word.text for word in words]
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        at += 2 if texts[at] in {"-C", "-c", "--git-dir", "--work-tree"} else 1
    if texts[at : at + 1] != ["push"]:
        return None
    for text in texts[at + 1 :]:
        long = text.startswith("--") and re.match(r"--(force|mirror|delete|prune)", text)
        if long or re.match(r"-[a-zA-Z]*[fd]|\+|:\w", text):
            return Ask("it overwrites or deletes branches on the remote")
    return None


def kills(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """kill -1 and patterns that match everything."""
    texts = [word.text for word in words]
    everything = Ask("it ends processes that it did not start")
    if name == "killall5":
        return everything
    if name == "kill":
        targets = texts[1:] if texts[:1] and texts[0] not in {"--", "-s", "-n"} else texts
        return everything if "-1" in targets or texts == ["-1"] else None
    wide = any(t in {".", ".*", "", "*"} for t in texts)
    return (
        everything if wide or any(re.match(r"-[uU]|--u?euid|--user", t) for t in texts) else None
    )


def stops_services(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """systemctl and service, where they change something."""
    quiet = {"status", "show", "list-units", "list-unit-files", "is-active", "is-enabled", "cat"}
    verbs = [word.text for word in _operands(words)]
    asked = verbs[0:1] if name == "systemctl" else verbs[1:2]
    return Ask("it changes the machine's services") if asked and asked[0] not in quiet else None


def schedules(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """crontab, except to look."""
    return None if any(w.text == "-l" for w in words) else Ask("it changes the machine's schedule")


def contains(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """Containers that get the machine itself."""
    text = " ".join(word.text for word in words)
    wide = re.search(r"--privileged|--(pid|net|network)[= ]host|(-v|--volume)[= ]?/:", text)
    return Ask("it gives a container the whole machine") if wide else None


def publishes(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
    """Package registries: what is out cannot be called back."""
    verbs = {word.text for word in _operands(words)[:2]}
    sends = verbs & {"publish", "upload", "push"} if name != "gh" else verbs >= {"repo", "delete"}
    return Ask("it publishes or deletes for everyone to see") if sends else None


def always(reason: str) -> Rule:
    """The rule of programs that are dangerous whatever their operands."""

    def rule(name: str, words: tuple[Word, ...], ground: Ground) -> Found:
        return Ask(f"`{name}` {reason}")

    return rule


def _table() -> dict[str, Rule]:
    groups: tuple[tuple[str, Rule], ...] = (
        ("rm unlink shred srm", removes),
        ("find", finds),
        ("chmod chown chgrp setfacl", changes_modes),
        ("mkswap", formats),
        ("dd tee cp mv install truncate", writes_devices),
        ("wipefs fdisk sfdisk sgdisk parted cfdisk blkdiscard hdparm", writes_devices),
        ("git", pushes),
        ("kill killall killall5 pkill", kills),
        ("systemctl service", stops_services),
        ("crontab", schedules),
        ("docker podman nerdctl", contains),
        ("npm yarn pnpm cargo twine poetry gem gh", publishes),
        ("shutdown reboot halt poweroff init telinit", always("stops the machine")),
        ("sudo doas su pkexec runuser", always("works with another user's rights")),
        ("at batch", always("changes the machine's schedule")),
        ("mount umount swapoff insmod rmmod modprobe", always("changes the machine itself")),
        ("iptables ip6tables nft ufw", always("changes the machine's firewall")),
        ("useradd userdel usermod passwd chpasswd visudo", always("changes who may log in")),
    )
    return {name: rule for names, rule in groups for name in names.split()}


RULES = _table()
