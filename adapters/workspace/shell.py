"""Reads a bash text into the plain commands it would run, as far as that can be told.

Pure, and never an error: what cannot be parsed is read as far as it goes. Words that depend on
something unknown hold `UNKNOWN` in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

UNKNOWN = "\0"
"""Stands in a word for what is known only when it runs."""

MAX_VALUES = 16
"""How many values of one variable, or words of one brace expansion, are followed."""

MAX_CHARS = 8_000
"""How long a word may grow by expansion."""
MAX_DEPTH = 40
MAX_FEEDS = 50

BASH = Language(tree_sitter_bash.language())


@dataclass(frozen=True, slots=True)
class Word:
    """A word after expansion. `quoted`: its first character stood in quotes, so "~" is plain."""

    text: str
    quoted: bool = False
    fetched: tuple[Command, ...] = ()
    """The commands whose output is part of it."""

    @property
    def known(self) -> bool:
        """Whether the whole text is known."""
        return UNKNOWN not in self.text


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words from the program on, and what is joined to it.

    `feeds` are the commands before it in its pipeline, nearest last; `stdin` a here-document or
    here-string; `targets` the files it is redirected to.
    """

    words: tuple[Word, ...]
    feeds: tuple[Command, ...] = ()
    stdin: str | None = None
    targets: tuple[Word, ...] = ()
    sources: tuple[Word, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The words' texts."""
        return tuple(word.text for word in self.words)


@dataclass(slots=True)
class Redirects:
    """What the redirections of one statement come to."""

    stdin: str | None = None
    targets: list[Word] = field(default_factory=list)
    sources: list[Word] = field(default_factory=list)
    piped: list[Node] = field(default_factory=list)
    later: list[Command] = field(default_factory=list)

    def applied(self, command: Command) -> Command:
        """The command with them."""
        return replace(
            command,
            stdin=self.stdin if self.stdin is not None else command.stdin,
            targets=(*command.targets, *self.targets),
            sources=(*command.sources, *self.sources),
        )


@dataclass(slots=True)
class Reader:
    """One pass over one text. `values` are the variables set so far, with all they may hold."""

    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bombs: list[str] = field(default_factory=list)
    """Functions that start themselves more than once."""
    too_deep: bool = False
    """A part was nested too deeply and was left unread."""
    _depth: int = 0
    _known: dict[tuple[int, int], tuple[Command, ...]] = field(default_factory=dict)

    def read(self, text: str) -> tuple[Command, ...]:
        """All commands in the order of the text, those in substitutions before their users."""
        tree = Parser(BASH).parse(text.encode("utf-8", "replace"))
        return tuple(self._commands(tree.root_node))

    def _commands(self, node: Node) -> Iterator[Command]:
        if self._depth >= MAX_DEPTH:
            self.too_deep = True
            return
        self._depth += 1
        stack = [node]
        while stack:  # chains of && are as deep as they are long
            node = stack.pop()
            if node.type in READABLE:
                yield from self._statement(node)
            else:
                stack += reversed(node.named_children)
        self._depth -= 1

    def _statement(self, node: Node) -> Iterator[Command]:
        match node.type:
            case "pipeline":
                yield from self._pipeline(node)
            case "redirected_statement":
                yield from self._redirected(node)
            case "command":
                yield from self._command(node)
            case "for_statement":
                self._loop(node)
                yield from self._inside(node)
            case "function_definition":
                self._function(node)
                yield from self._inside(node)
            case _:
                yield from self._inside(node)
                self._assign(node)

    def _inside(self, node: Node) -> Iterator[Command]:
        for child in node.named_children:
            yield from self._commands(child)

    def _substituted(self, node: Node) -> tuple[Command, ...]:
        """The commands of a substitution, read once however often they are asked for."""
        place = (node.start_byte, node.end_byte)
        if place not in self._known:
            self._known[place] = tuple(self._inside(node))
        return self._known[place]

    def _pipeline(self, node: Node, before: tuple[Command, ...] = ()) -> Iterator[Command]:
        for part in node.named_children:
            commands = tuple(self._commands(part))
            for command in commands:
                yield replace(command, feeds=(before + command.feeds)[-MAX_FEEDS:])
            before += commands

    def _redirected(self, node: Node) -> Iterator[Command]:
        found = Redirects()
        for redirect in node.children_by_field_name("redirect"):
            self._redirect(redirect, found)
        body = node.child_by_field_name("body")
        commands = tuple(self._commands(body)) if body is not None else ()
        commands = tuple(found.applied(command) for command in commands or (Command(()),))
        yield from commands
        for pipeline in found.piped:
            yield from self._pipeline(pipeline, commands)
        yield from found.later

    def _redirect(self, node: Node, found: Redirects) -> None:
        match node.type:
            case "heredoc_redirect":
                found.stdin = _heredoc(node)
                for child in node.named_children:
                    if child.type == "pipeline":  # what follows the marker on its line
                        found.piped.append(child)
                    elif child.type == "file_redirect":
                        self._redirect(child, found)
                    else:
                        found.later += self._commands(child)
            case "herestring_redirect":
                found.stdin = "".join(w.text for w in self._words(node.named_children))
                found.later += self._inside(node)
            case _:
                reads = any(child.type == "<" for child in node.children)
                words = self._words(node.children_by_field_name("destination"))
                (found.sources if reads else found.targets).extend(words)
                found.later += self._inside(node)

    def _command(self, node: Node) -> Iterator[Command]:
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assign(child)
            for substitution in _substitutions(child):
                yield from self._substituted(substitution)
        parts = [child for child in node.named_children if child.type != "variable_assignment"]
        found = Redirects()
        for part in parts:
            if part.type in REDIRECTS:
                self._redirect(part, found)
        words = self._words(part for part in parts if part.type not in REDIRECTS)
        yield found.applied(Command(tuple(words)))

    def _words(self, nodes: Iterator[Node] | list[Node]) -> Iterator[Word]:
        for node in nodes:
            target = node.named_children[0] if _wraps(node) else node
            fetched = tuple(c for n in _substitutions(target) for c in self._substituted(n))
            quoted = target.type in {"string", "raw_string", "ansi_c_string"}
            for text in _braced(target, self._texts(target)):
                yield Word(text, quoted, fetched)

    def _texts(self, node: Node) -> tuple[str, ...]:
        """What a node may expand to."""
        text = _source(node)
        match node.type:
            case "word" | "number" | "string_content" | "test_operator":
                inside = node.type == "string_content"
                return (re.sub(r"\\([$`\"\\\n])" if inside else r"\\(.)", r"\1", text),)
            case "raw_string":
                return (text[1:-1],)
            case "ansi_c_string":
                return (ansi(text[2:-1]),)
            case "string" | "concatenation" | "translated_string":
                return self._joined(node)
            case "simple_expansion" | "expansion":
                return self._variable(text)
            case "command_substitution":
                return self._output(node)
            case _:
                return (UNKNOWN,) if node.type in UNREADABLE else (text,)

    def _joined(self, node: Node) -> tuple[str, ...]:
        """The pieces side by side; quotes and what lies between pieces belong to the text."""
        made: tuple[str, ...] = ("",)
        source = node.text or b""
        at = node.start_byte + (1 if node.type == "string" else 0)
        for child in node.named_children:
            gap = source[at - node.start_byte : child.start_byte - node.start_byte].decode()
            texts = self._texts(child)
            made = tuple((m + gap + t)[:MAX_CHARS] for m in made for t in texts)[:MAX_VALUES]
            at = child.end_byte
        end = len(source) - (1 if node.type == "string" else 0)
        rest = source[at - node.start_byte : end].decode("utf-8", "replace")
        return tuple(m + rest for m in made)

    def _variable(self, text: str) -> tuple[str, ...]:
        plain = re.fullmatch(r"\$\{?(\w+)\}?", text)
        if plain:
            return self.values.get(plain[1], (UNKNOWN,))
        default = re.fullmatch(r"\$\{(\w+):?[-=]([^${}`]*)\}", text)
        if default:
            return self.values.get(default[1], (default[2],))
        return (UNKNOWN,)

    def _output(self, node: Node) -> tuple[str, ...]:
        """What a substitution prints, for the few programs of which that is plain."""
        commands = self._substituted(node)
        if len(commands) == 1:
            texts = commands[0].texts
            match texts:
                case ("pwd",):
                    return self.values.get("PWD", (UNKNOWN,))
                case ("mktemp", *_):
                    return ("/tmp/mktemp",)  # noqa: S108 (a name, never opened)
                case ("echo" | "printf" as name, *rest) if not any(
                    t.startswith("-") for t in rest
                ):
                    printed = " ".join(rest)
                    return (ansi(printed) if name == "printf" else printed,)
        return (UNKNOWN,)

    def _assign(self, node: Node) -> None:
        if node.type == "declaration_command":
            for child in node.named_children:
                self._assign(child)
            return
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if node.type == "variable_assignment" and name is not None:
            texts = self._texts(value) if value is not None else ("",)
            self.values[_source(name)] = texts[:MAX_VALUES]

    def _loop(self, node: Node) -> None:
        name = node.child_by_field_name("variable")
        words = self._words(node.children_by_field_name("value"))
        if name is not None:
            texts = tuple(word.text for word in words)[:MAX_VALUES]
            self.values[_source(name)] = texts or (UNKNOWN,)

    def _function(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        own = re.escape(_source(name))
        text = _source(body)
        calls = re.findall(rf"(?:^|[\s;|&{{(]){own}(?=$|[\s;|&}})])", text)
        if len(calls) > 1 and re.search(r"(?<![&>])&(?![&>])|\|", text):
            self.bombs.append(_source(name))


READABLE = frozenset(
    {
        *("pipeline", "redirected_statement", "command", "for_statement"),
        *("function_definition", "declaration_command", "variable_assignment"),
    }
)
REDIRECTS = frozenset({"herestring_redirect", "file_redirect", "heredoc_redirect"})
UNREADABLE = frozenset({"process_substitution", "arithmetic_expansion", "ERROR"})


def _wraps(node: Node) -> bool:
    return node.type == "command_name" and len(node.named_children) == 1


def _source(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _substitutions(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        node = stack.pop()
        if node.type in {"command_substitution", "process_substitution"}:
            yield node
        else:
            stack += reversed(node.named_children)


def _heredoc(redirect: Node) -> str:
    bodies = [c for c in redirect.named_children if c.type == "heredoc_body"]
    return "".join(_source(body) for body in bodies)


def _braced(node: Node, texts: tuple[str, ...]) -> Iterator[str]:
    """Brace expansion of unquoted words: {a,b}."""
    for text in texts:
        found = re.fullmatch(r"([^{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)", text)
        if found and node.type in {"word", "concatenation"}:
            for part in found[2].split(",")[:MAX_VALUES]:
                yield found[1] + part + found[3]
        else:
            yield text


def ansi(text: str) -> str:
    """A text with the escapes of $'…' and of printf in it."""

    def char(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] in "xuU":
            return chr(min(int(code[1:], 16), 0x10FFFF))
        if code[0].isdigit():
            return chr(int(code, 8) & 0xFF)
        return {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a"}.get(code, code)

    pattern = r"\\(x[0-9a-fA-F]{1,2}|[uU][0-9a-fA-F]{1,8}|[0-7]{1,3}|.)"
    return re.sub(pattern, char, text)
