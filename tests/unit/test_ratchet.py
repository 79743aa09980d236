"""The limits of size and style that no linter holds. They may be tightened, never loosened."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "adapters", "gateway")
FILE_LINES, FUNCTION_LINES = 500, 60

BROAD = {
    # A border: what fails behind it must not end what goes on beside it.
    "adapters/mcp/wire.py connect": "a receive loop: its server is connected anew",
    "adapters/telegram/handover.py Handover.read": "a receive loop: the next update comes",
    "gateway/control/server.py ControlServer._reply": "a receive loop: the next request comes",
    "gateway/delivery.py Delivery._attempt": "a delivery: the lane's next message comes",
    "gateway/judging.py Court._sit": "a turn's border: a judge that fails is unavailable",
    "gateway/platforms.py supervise": "a receive loop: the other platforms go on",
    "gateway/router.py Router._store_all": "a receive loop: a batch goes on one by one",
    "gateway/router.py Router._one_by_one": "a receive loop: the next arrival comes",
    "gateway/worker.py AgentWorker.work": "a turn: its lane and all others go on",
    # Nothing is kept from the caller.
    "adapters/local_model/serve.py LocalServer._spawn": "ends the child, raises again",
    "adapters/sqlite/writer.py _run_one": "hands a job's fault to its caller",
    "adapters/workspace/files.py _replace": "removes the half-written file, raises again",
    "adapters/workspace/process.py Process.start": "closes the pipe, raises again",
}
"""Every place that catches whatever comes, with the reason."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def inside(node: ast.AST, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ast.AST]]:
    """Every node with the dotted name of the function or class that it stands in."""
    for child in ast.iter_child_nodes(node):
        yield ".".join(names), child
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from inside(child, (*names, child.name))
        else:
            yield from inside(child, names)


def catches_all(node: ast.AST) -> bool:
    if not isinstance(node, ast.ExceptHandler):
        return False
    if node.type is None:
        return True
    caught = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)}
    return bool(caught & {"Exception", "BaseException"})


def test_no_file_is_too_long() -> None:
    lengths = {short(p): len(p.read_text("utf-8").splitlines()) for p in sources(*PACKAGES)}
    assert {path: n for path, n in lengths.items() if n > FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    found = [
        f"{short(path)}:{node.lineno} {node.name}"
        for path in sources(*PACKAGES)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES
    ]
    assert found == []


def test_whatever_comes_is_caught_in_the_listed_places_only() -> None:
    found = Counter(
        f"{short(path)} {name}"
        for path in sources(*PACKAGES)
        for name, node in inside(tree(path))
        if catches_all(node)
    )
    assert found == Counter(list(BROAD))


LATE = {
    "core/delegation/acceptance/late_schema.py",
    "gateway/compose/models.py",
    "gateway/compose/others.py",
}
"""Beside the lazy commands: the openai SDK, half of the start, loads on a thread of its own, and
so do those of MCP and ACP, where a set-up uses them at all. The library of JSON schemas, a tenth
of a second and some MB, waits for the first schema that a model writes."""


def test_functions_import_nothing_outside_of_the_command_line() -> None:
    found = [
        f"{short(path)}:{node.lineno}"
        for path in sources(*PACKAGES, "tests")
        if not short(path).startswith("gateway/cli/") and short(path) not in LATE
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert found == []


def mocks(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any("mock" in alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names):
            return "mock" in (module or "") or any(alias.name == "mock" for alias in names)
        case ast.arg(arg=name):
            return name == "mocker"
        case ast.Attribute(value=ast.Name(id="monkeypatch"), attr=attribute):
            return attribute not in {"setenv", "delenv", "chdir"}
        case _:
            return False


def test_no_test_replaces_a_part_of_the_program() -> None:
    found = [
        f"{short(path)}: {ast.unparse(node)}"
        for path in sources("tests")
        for node in ast.walk(tree(path))
        if mocks(node)
    ]
    assert found == []
