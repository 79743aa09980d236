"""Finds what a command really runs: under wrappers (`env`, `timeout`, `xargs`), in texts handed
to a shell or an interpreter, and in what is piped into one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from adapters.workspace.rules import Ask, program
from adapters.workspace.shell import UNKNOWN, Command, Word


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
DECODES = frozenset({"base64", "base32", "xxd", "openssl", "rev", "uudecode"})
UNSEEN = FETCHES | DECODES

LITERAL = re.compile(r"(?<!\\)(\"\"\"|'''|\"|'|`)((?:\\.|(?!\1).)*)\1", re.DOTALL)
STARTS = re.compile(r"system|subprocess|popen|exec|spawn|\bsh\b|%x|`", re.IGNORECASE)
REMOVES = re.compile(r"rmtree|remove_tree|rmSync|rmdirSync|rm_rf?\b|remove_dir_all")
OPENS = re.compile(r"open|read|Path|File")
DECODED = re.compile(r"(exec|eval)\b.*(b64decode|base64|fromhex|urlopen|requests\.get)", re.DOTALL)


def peeled(command: Command) -> Iterator[Command]:
    """The command and, layer by layer, those that it wraps."""
    for _ in range(8):
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
            inner = (*inner, *_handed(command))
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


def _handed(command: Command) -> tuple[Word, ...]:
    """What xargs appends: below the folders that a `find` before it looks through, or unknown."""
    if not command.feeds or program(command.feeds[0]) != "find":
        return (Word(UNKNOWN),)
    return tuple(Word(f"{root.text}/*", root.quoted) for root in roots(command.feeds[0]))


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
    given: list[Command] = []
    if runs_words:
        given += [c for word in (*command.words, *command.sources) for c in word.fetched]
    if reads and _reads_input(command):
        given += command.feeds
    unseen = next((p for c in given for p in _programs(c) if p in UNSEEN), None)
    if unseen is not None:
        yield Ask(f"it runs what `{unseen}` brings, unread (save it to a file and read it first)")


def _programs(command: Command) -> Iterator[str]:
    for layer in peeled(command):
        yield program(layer)
        yield from (p for word in layer.words for c in word.fetched for p in _programs(c))


def nested(command: Command) -> Iterator[str]:
    """The shell texts a command runs."""
    name = program(command)
    if name == "eval":
        yield " ".join(command.texts[1:])
    elif name == "env" and "-S" in command.texts:
        yield " ".join(command.texts[command.texts.index("-S") + 1 :])
    elif name in {"watch", "parallel"} or (name == "su" and "-c" in command.texts):
        yield from (text for text in command.texts[1:] if " " in text)
    elif name in SHELLS:
        yield from [_code(command)] if _code(command) else _input(command)
    elif INTERPRETER.fullmatch(name):
        for code in [_code(command)] if _code(command) else _input(command):
            yield from in_code(code)


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
    if command.stdin is not None:
        yield command.stdin
    for fed in command.feeds[-1:]:
        if program(fed) in {"echo", "printf"}:
            yield " ".join(t for t in fed.texts[1:] if not re.fullmatch(r"-[neE]+", t))
        elif program(fed) == "cat" and fed.stdin is not None:
            yield fed.stdin


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
