"""Finds what a command really runs: under wrappers (`env`, `timeout`, `xargs`), in texts handed
to a shell or an interpreter, and in what is piped into one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from adapters.workspace.rules import Ask, program
from adapters.workspace.shell import UNKNOWN, Command, Word, ansi

MAX_LAYERS = 50
MAX_GIVEN = 1_000


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper's own words are told from the command in it: options that take the next
    word, and how many operands come first."""

    valued: frozenset[str] = frozenset()
    operands: int = 0


WRAPPERS = {
    "sudo": Wrapper(frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U"})),
    "doas": Wrapper(frozenset({"-u", "-C"})),
    "env": Wrapper(frozenset({"-u", "-C", "--unset", "--chdir"})),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "stdbuf": Wrapper(frozenset({"-i", "-o", "-e"})),
    "nice": Wrapper(frozenset({"-n"})),
    "ionice": Wrapper(frozenset({"-c", "-n"})),
    "chrt": Wrapper(operands=1),
    "timeout": Wrapper(frozenset({"-s", "-k", "--signal", "--kill-after"}), 1),
    "time": Wrapper(frozenset({"-f", "-o"})),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "exec": Wrapper(frozenset({"-a"})),
    "coproc": Wrapper(),
    "{": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "watch": Wrapper(frozenset({"-n", "--interval"})),
    "flock": Wrapper(frozenset({"-w", "-E"}), 1),
    "strace": Wrapper(frozenset({"-o", "-e", "-s", "-p"})),
    "unshare": Wrapper(),
    "chroot": Wrapper(operands=1),
    "parallel": Wrapper(frozenset({"-j"})),
    "xargs": Wrapper(
        frozenset({"-n", "-P", "-I", "-L", "-d", "-s", "-a", "-E", "--max-args", "--max-procs"})
    ),
}

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|nodejs|php)[\d.]*")
CODE_OPTION = re.compile(r"-\w*[ceEr]|--eval|--command")
SHELL_CODE_OPTION = re.compile(r"-\w*c\w*|--command")

FETCHES = frozenset({"curl", "wget", "fetch", "aria2c", "nc", "ncat", "netcat", "socat", "ssh"})
DECODES = frozenset(
    {
        *("base64", "base32", "basenc", "xxd", "openssl", "gpg", "rev", "uudecode"),
        *("gunzip", "zcat", "gzip", "bunzip2", "bzcat", "bzip2", "unxz", "xzcat", "xz"),
        *("zstdcat", "unzstd", "zstd"),
    }
)
UNSEEN = FETCHES | DECODES
PIPED_UNSEEN = UNSEEN | {"tr"}

LITERAL = re.compile(r"(?<!\\)(\"\"\"|'''|\"|'|`)((?:\\.|(?!\1).)*)\1", re.DOTALL)
STARTS = re.compile(r"system|subprocess|popen|exec|spawn|\bsh\b|%x|`", re.IGNORECASE)
REMOVES = re.compile(r"rmtree|remove_tree|rmSync|rmdirSync|rm_rf?\b|remove_dir_all")
OPENS = re.compile(r"open|read|Path|File")
DECODED = re.compile(r"(exec|eval)\b.*(b64decode|base64|fromhex|urlopen|requests\.get)", re.DOTALL)


def peeled(command: Command) -> Iterator[Command]:
    """The command and, layer by layer, those that it wraps; at most so many."""
    for _ in range(MAX_LAYERS):
        yield command
        name = program(command)
        if name == "find":
            yield from _executed(command)
        wrapper = WRAPPERS.get(name)
        if wrapper is None or (name == "command" and command.texts[1:2] in {("-v",), ("-V",)}):
            return
        inner = _after(wrapper, command.words[1:])
        if not inner:
            return
        if name == "xargs":
            inner = _filled(inner, command)
        command = replace(command, words=inner)


def _after(wrapper: Wrapper, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """What is left behind a wrapper's options, assignments and operands."""
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if not text.startswith("-") and not re.match(r"\w+=", text):
            break
        at += 2 if text in wrapper.valued else 1
    return words[at + wrapper.operands :]


def _filled(inner: tuple[Word, ...], xargs: Command) -> tuple[Word, ...]:
    """The command of xargs with what it appends, or puts in place of what -I names."""
    options = xargs.texts[1 : len(xargs.words) - len(inner)]
    mark = _mark(options)
    given = _handed(xargs, whole=bool(mark or {"-0", "--null", "-d"} & {*options}))
    if not mark:
        return (*inner, *given)
    return tuple(
        Word(word.text.replace(mark, one.text), word.quoted, word.fetched)
        for word in inner
        for one in (given if mark in word.text else given[:1])
    )


def _mark(options: tuple[str, ...]) -> str:
    """What -I names, "" without it."""
    at = next((n for n, text in enumerate(options) if text.startswith("-I")), len(options))
    return "".join(options[at : at + 1])[2:] or "".join(options[at + 1 : at + 2])


def _handed(xargs: Command, *, whole: bool) -> tuple[Word, ...]:
    """What xargs is given: below the folders that a `find` before it looks through, what is
    printed before it, or unknown. `whole` says that blanks separate nothing."""
    if xargs.feeds and program(xargs.feeds[0]) == "find":
        return tuple(Word(f"{root.text}/*", root.quoted) for root in roots(xargs.feeds[0]))
    text = next(_plain_input(xargs), UNKNOWN)
    given = [text] if whole else text.split()
    return tuple(map(Word, given[:MAX_GIVEN] + [UNKNOWN] * (len(given) > MAX_GIVEN)))


def roots(find: Command) -> tuple[Word, ...]:
    """The folders a `find` looks through."""
    found: list[Word] = []
    for word in find.words[1:]:
        if re.match(r"[-(!]", word.text):
            if found or word.text not in {"-L", "-P", "-H"}:
                break
            continue
        found.append(word)
    return tuple(found) or (Word("."),)


def _executed(find: Command) -> Iterator[Command]:
    """The commands of `find -exec`, each root's content in place of {}."""
    texts = find.texts
    for at, text in enumerate(texts):
        if text not in {"-exec", "-execdir", "-ok", "-okdir"}:
            continue
        end = next((n for n in range(at, len(texts)) if texts[n] in {";", "+"}), len(texts))
        for root in roots(find):
            words = tuple(
                Word(word.text.replace("{}", f"{root.text}/*"), root.quoted, word.fetched)
                for word in find.words[at + 1 : end]
            )
            yield Command(words)


def feeds_code(command: Command) -> Iterator[Ask]:
    """What a shell or an interpreter is given to run from the network or out of a decoder."""
    name = program(command)
    runs_words = name in SHELLS or name in {"eval", "source", "."}
    reads = name in SHELLS or INTERPRETER.fullmatch(name) is not None
    found: list[str] = []
    if runs_words:
        words = (*command.words, *command.sources)
        found += (p for w in words for c in w.fetched for p in _programs(c) if p in UNSEEN)
    if reads and _reads_input(command):
        found += (p for c in command.feeds for p in _programs(c) if p in PIPED_UNSEEN)
    for unseen in found[:1]:
        yield Ask(f"it runs what `{unseen}` brings, unread (save it to a file and read it first)")


def _programs(command: Command) -> Iterator[str]:
    for layer in peeled(command):
        yield program(layer)
        yield from (p for word in layer.words for c in word.fetched for p in _programs(c))


def nested(command: Command) -> Iterator[str]:
    """The shell texts a command runs."""
    name, texts = program(command), command.texts
    match name:
        case "eval":
            yield " ".join(texts[1:])
        case "trap":
            yield from texts[1:2]
        case "source" | ".":
            yield from _fetched(command)
        case "env" if "-S" in texts:
            yield " ".join(texts[texts.index("-S") + 1 :])
        case "watch" | "parallel" | "script":
            yield from (text for text in texts[1:] if " " in text)
        case "su" if "-c" in texts:
            yield from (text for text in texts[1:] if " " in text)
    if name in SHELLS:
        yield from [_code(command)] if _code(command) else (*_input(command), *_fetched(command))
    elif INTERPRETER.fullmatch(name):
        for code in [_code(command)] if _code(command) else _input(command):
            yield from in_code(code)


def _fetched(command: Command) -> Iterator[str]:
    """What is printed into a program in place of a file, as in `bash <(echo …)`."""
    for word in (*command.words[1:2], *command.sources):
        for fetched in word.fetched if UNKNOWN in word.text else ():
            yield from _printed(fetched)


def _code(command: Command) -> str:
    """The text after -c or -e, "" for none."""
    option = SHELL_CODE_OPTION if program(command) in SHELLS else CODE_OPTION
    texts = command.texts
    for at, text in enumerate(texts[1:-1], 1):
        if not text.startswith("-"):
            return ""
        if option.fullmatch(text):
            return next((t for t in texts[at + 1 :] if not t.startswith("-")), "")
    return ""


def _script(command: Command) -> bool:
    """Whether it runs a file or a module, so that its input is only data."""
    texts = command.texts[1:]
    operand = next((t for t in texts if not t.startswith("-")), "")
    return operand not in {"", "/dev/stdin"} or "-m" in texts


def _reads_input(command: Command) -> bool:
    return not _code(command) and ("-s" in command.texts or not _script(command))


def _input(command: Command) -> Iterator[str]:
    """The program text on standard input, where it is plain."""
    if not _reads_input(command):
        return
    yield from _plain_input(command)


def _plain_input(command: Command) -> Iterator[str]:
    if command.stdin is not None:
        yield command.stdin
    for fed in command.feeds[-1:]:
        yield from _printed(fed)


def _printed(command: Command) -> Iterator[str]:
    """What a command prints, where that is plain."""
    words = [t for t in command.texts[1:] if not re.fullmatch(r"-[neE]+", t)]
    match program(command):
        case "echo":
            yield " ".join(words)
        case "printf":
            words = words[1:] if words and re.fullmatch(r"(%[sbq]|\\n)+", words[0]) else words
            yield ansi(" ".join(words))
        case "cat" if command.stdin is not None:
            yield command.stdin


def in_code(code: str) -> Iterator[str]:
    """Shell texts in a program of another language, by its string literals."""
    literals = [found[2] for found in LITERAL.finditer(code)]
    if STARTS.search(code):
        yield from literals
        yield " ".join(literals)
    if REMOVES.search(code):
        yield from (f"rm -rf {text}" for text in literals if re.match(r"/|~|\.\.", text))
    if OPENS.search(code):
        yield from (f"cat {text}" for text in literals if re.match(r"[/~][^\s;&|]*$", text))
    if DECODED.search(code):
        yield "base64 | sh"
