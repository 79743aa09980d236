"""Arguments, schemas and the registry: what a model is told, and what its mistakes come to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import Field

from core.errors import Fenced, PermanentError, TransientError, UserError
from core.escalations.events import SendFailed, Stopped, TimeCame
from core.escalations.record import Chose, Denied, Kind, OnTimeout, Purpose, State, Wrote
from core.messages import Address, PlatformName, Principal, Role
from core.ports import Caller, Line, ToolContext, Waiting
from core.tools.arguments import Arguments, parameters, parse
from core.tools.ask import ask_tool
from core.tools.definitions import (
    ASK,
    ICONS,
    LIST_FILES,
    PATCH_FILE,
    PROCESSES,
    READ_FILE,
    RUN,
    SEARCH_FILES,
    SEND,
    THINK,
    WRITE_FILE,
    Definition,
    ListFiles,
    ReadFile,
    Run,
)
from core.tools.registry import TOOLSETS, Registry
from core.tools.send import Staged, send_tool
from core.tools.think import think_tool
from core.tools.tool import DefinedTool, Outcome, one_line
from core.transcript import Receipt, ToolCall, ToolResult
from tests.fakes.desk import NOW, MemoryDesk
from tests.fakes.ended import ended

OWNER = Principal("1", "Ann", Role.OWNER)
MEMBER = Principal("2", "Bob", Role.MEMBER)
ALL = (
    *(RUN, PROCESSES, READ_FILE, WRITE_FILE, PATCH_FILE, LIST_FILES, SEARCH_FILES),
    *(THINK, ASK, SEND),
)


def context(principal: Principal = OWNER, told: list[Line] | None = None) -> ToolContext:
    address = Address(PlatformName.CONSOLE, "bot", "chat")
    lines: list[Line] = [] if told is None else told
    return ToolContext(address, principal, 7, Path("/nowhere"), lines.append)


def call(name: str, arguments: object = None) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCall("c1", name, text)


class Echo(Arguments):
    """What the test tool takes."""

    text: str = Field(default="", max_length=50)


ECHO = Definition("echo", "test", "Say it again.", Echo)


async def echo(arguments: Echo, _: ToolContext, call_id: str) -> Outcome:
    return Outcome(arguments.text, Receipt(ok=True, summary=f"{call_id}: {arguments.text}"))


def failing(error: Exception) -> DefinedTool[Echo]:
    async def fail(arguments: Echo, _: ToolContext, call_id: str) -> Outcome:
        raise error

    return DefinedTool(Definition("fail", "test", "Fail.", Echo), fail)


# Schemas


@pytest.mark.parametrize("definition", ALL, ids=lambda d: d.name)
def test_a_schema_is_short_and_free_of_noise(definition: Definition[Arguments]) -> None:
    schema = json.dumps(definition.spec.parameters)
    assert len(schema) < 280
    for noise in ("title", "$defs", "null", "additionalProperties", "Length"):
        assert noise not in schema


def test_the_tools_of_the_local_model_leave_it_most_of_its_800_tokens() -> None:
    specs = [d.spec for d in ALL if d.toolset in {"terminal", "file"}]
    told = [
        {"name": s.name, "description": s.description, "parameters": s.parameters} for s in specs
    ]
    assert len("\n".join(json.dumps(t) for t in told)) < 1_700  # about 3.7 characters a token


def test_a_schema_says_what_is_required_and_of_which_type() -> None:
    assert parameters(Run) == {
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout_s": {"type": "integer"},
            "background": {"type": "boolean", "default": False},
        },
        "required": ["command"],
    }


def test_a_schema_is_the_same_bytes_each_time() -> None:
    assert len({json.dumps(parameters(ReadFile)) for _ in range(5)}) == 1


def test_every_tool_has_an_icon() -> None:
    assert {d.name for d in ALL} <= set(ICONS)


# Arguments


@pytest.mark.parametrize("text", ["", "  ", "{}", '"{}"'])
def test_no_arguments_are_the_defaults(text: str) -> None:
    assert parse(ListFiles, text, "list_files").path == "."


def test_a_raw_newline_in_a_string_is_read() -> None:
    assert parse(Run, '{"command": "a\nb"}', "run").command == "a\nb"


def test_an_object_encoded_twice_is_read() -> None:
    assert parse(Run, json.dumps(json.dumps({"command": "ls"})), "run").command == "ls"


def test_a_number_in_quotes_is_a_number() -> None:
    assert parse(Run, '{"command": "ls", "timeout_s": "5"}', "run").timeout_s == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"command": ', "not a JSON object"),
        ("[1]", "not a JSON object: got list"),
        ("[" * 100_000, "not a JSON object"),
        ("{}", "command is missing"),
        ('{"command": "ls", "cwd": "/"}', "cwd is unknown"),
        ('{"command": ["ls"]}', "command should be a valid string"),
        ('{"command": ""}', "command"),
        ('{"command": "a\\u0000b"}', "command must not contain a NUL character"),
        ('{"command": "\\ud800"}', "command"),
        ('{"command": "ls", "timeout_s": 0}', "timeout_s"),
    ],
)
def test_bad_arguments_are_told_in_a_line(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        parse(Run, text, "run")
    assert said in str(error.value)
    assert "run takes: command, timeout_s?, background?." in str(error.value)
    assert len(str(error.value)) < 300


# The registry


async def test_a_call_runs_its_tool() -> None:
    result = ended(
        await Registry([DefinedTool(ECHO, echo)]).run(call("echo", {"text": "hi"}), context())
    )
    assert result == ToolResult(
        call("echo", {"text": "hi"}), "hi", Receipt(ok=True, summary="c1: hi")
    )


async def test_an_unknown_tool_gets_the_nearest_one_and_the_list() -> None:
    registry = Registry([DefinedTool(ECHO, echo), think_tool()])
    result = ended(await registry.run(call("ecko"), context()))
    assert result.text == "There is no tool 'ecko'. Did you mean echo? Tools: echo, think."
    assert not result.receipt.ok


async def test_a_tool_of_a_toolset_that_was_not_granted_is_unknown() -> None:
    registry = Registry([DefinedTool(ECHO, echo), think_tool()]).granting(["think", "nonsense"])
    result = ended(await registry.run(call("echo"), context()))
    assert "There is no tool 'echo'." in result.text
    assert [spec.name for spec in registry.specs()] == ["think"]
    assert registry.toolsets == ("test", "think")


def test_narrowing_never_widens() -> None:
    registry = Registry([DefinedTool(ECHO, echo), think_tool()]).granting([])
    assert registry.granting(["test", "think"]).specs() == ()


def test_specs_keep_the_order_of_the_tools_whatever_the_order_asked() -> None:
    registry = Registry([DefinedTool(ECHO, echo), think_tool()])
    assert [s.name for s in registry.specs(["think", "test"])] == ["echo", "think"]


async def test_each_call_is_held_to_the_rights_of_its_turn() -> None:
    registry = Registry([DefinedTool(ECHO, echo)], {"test": Role.OWNER}).granting(["test"])
    assert ended(await registry.run(call("echo"), context())).receipt.ok
    refused = ended(await registry.run(call("echo"), context(MEMBER)))
    assert refused.text.startswith("echo is for owners, and this turn has a member's rights.")
    assert not refused.receipt.ok
    lowered = replace(OWNER, role=MEMBER.role)  # an owner's goal, after a member was heard in it
    assert not ended(await registry.run(call("echo"), context(lowered))).receipt.ok
    open_ = Registry([DefinedTool(ECHO, echo)], {"test": Role.MEMBER})
    assert ended(await open_.run(call("echo"), context(MEMBER))).receipt.ok


async def test_a_toolset_that_the_table_does_not_name_is_for_owners() -> None:
    registry = Registry([DefinedTool(ECHO, echo)])
    assert ended(await registry.run(call("echo"), context())).receipt.ok
    assert not ended(await registry.run(call("echo"), context(MEMBER))).receipt.ok


def test_the_table_names_every_toolset_there_is() -> None:
    assert {definition.toolset for definition in ALL} | {"delegation"} == set(TOOLSETS)


@pytest.mark.parametrize(
    "error",
    [
        UserError("no"),
        PermanentError("no"),
        TransientError("no"),
        FileNotFoundError(2, "no"),
    ],
)
async def test_a_fault_of_the_call_is_a_result(error: Exception) -> None:
    result = ended(await Registry([failing(error)]).run(call("fail"), context()))
    assert "no" in result.text
    assert not result.receipt.ok


@pytest.mark.parametrize("error", [Fenced("gone"), ZeroDivisionError("bug")])
async def test_a_lost_lane_and_a_bug_pass_through(error: Exception) -> None:
    with pytest.raises(type(error)):
        await Registry([failing(error)]).run(call("fail"), context())


async def test_a_result_can_always_be_stored() -> None:
    async def odd(arguments: Echo, _: ToolContext, call_id: str) -> Outcome:
        return Outcome("a\udcffb\0", Receipt(ok=True, summary="\udcff", path="\udcff"))

    result = ended(await Registry([DefinedTool(ECHO, odd)]).run(call("echo"), context()))
    assert result.text == "a?b\N{REPLACEMENT CHARACTER}"
    assert (result.receipt.summary, result.receipt.path) == ("?", "?")


async def test_closing_a_turn_reaches_each_tool() -> None:
    closed: list[int] = []

    async def close(turn: int) -> None:
        closed.append(turn)

    registry = Registry([DefinedTool(ECHO, echo, close), think_tool()])
    await registry.close_turn(7)
    assert closed == [7]


def test_only_tools_that_say_so_are_resumable() -> None:
    ask = Definition("ask", "test", "Ask.", Echo)
    registry = Registry([DefinedTool(ECHO, echo), DefinedTool(ask, echo, resumable=True)])
    assert [registry.resumable(n) for n in ("echo", "ask", "none")] == [False, True, False]


class Comings:
    """A source whose one tool may be gone."""

    toolsets = ("mcp:hub",)

    def __init__(self) -> None:
        self.there = True

    def tools(self) -> list[DefinedTool[Echo]]:
        hub = Definition("mcp__hub__echo", "mcp:hub", "Say it again.", Echo)
        return [DefinedTool(hub, echo)] if self.there else []

    def missing(self, name: str) -> str:
        ours = name.startswith("mcp__hub__") and not self.there
        return "The MCP server hub is not connected: it is starting." if ours else ""


def test_a_sources_tools_stand_after_the_fixed_ones_and_come_and_go() -> None:
    source = Comings()
    registry = Registry([DefinedTool(ECHO, echo)], sources=[source])
    assert registry.toolsets == registry.granted == ("test", "mcp:hub")
    assert [spec.name for spec in registry.specs()] == ["echo", "mcp__hub__echo"]
    source.there = False
    assert [spec.name for spec in registry.specs()] == ["echo"]
    assert registry.granted == ("test", "mcp:hub")
    assert not registry.resumable("mcp__hub__echo")


async def test_a_tool_that_is_gone_for_now_is_told_with_the_reason() -> None:
    source = Comings()
    registry = Registry([DefinedTool(ECHO, echo)], sources=[source])
    assert (
        ended(await registry.run(call("mcp__hub__echo", {"text": "hi"}), context()))
    ).text == "hi"
    source.there = False
    gone = ended(await registry.run(call("mcp__hub__echo"), context()))
    assert gone.text == "The MCP server hub is not connected: it is starting."
    assert not gone.receipt.ok
    assert (
        "There is no tool 'mcp__other'"
        in ended(await registry.run(call("mcp__other"), context())).text
    )


async def test_a_source_that_was_not_granted_is_unknown_even_while_it_is_gone() -> None:
    source = Comings()
    registry = Registry([DefinedTool(ECHO, echo)], sources=[source]).granting(["test"])
    assert registry.granted == ("test",)
    assert "There is no tool" in ended(await registry.run(call("mcp__hub__echo"), context())).text
    source.there = False
    assert "There is no tool" in ended(await registry.run(call("mcp__hub__echo"), context())).text


def test_granting_nothing_grants_nothing() -> None:
    none = Registry([DefinedTool(ECHO, echo)], sources=[Comings()]).granting(())
    assert none.granted == ()
    assert none.specs() == ()
    assert none.toolsets == ("test", "mcp:hub")


async def test_a_sources_tools_are_held_to_the_roles_too() -> None:
    said = call("mcp__hub__echo", {"text": "hi"})
    registry = Registry([], TOOLSETS, [Comings()])
    assert "is for owners" in ended(await registry.run(said, context(MEMBER))).text
    opened = Registry([], {**TOOLSETS, "mcp:hub": Role.MEMBER}, [Comings()])
    assert ended(await opened.run(said, context(MEMBER))).text == "hi"


def test_a_fixed_tool_keeps_its_name_against_a_source() -> None:
    fixed = DefinedTool(Definition("mcp__hub__echo", "test", "Mine.", Echo), echo)
    (spec,) = Registry([fixed], sources=[Comings()]).specs()
    assert spec.description == "Mine."


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\n  b", "a b"), ("x" * 200, "x" * 119 + "…"), ("", "")],
)
def test_a_summary_is_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


# think and send_file


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        (None, "Noted."),
        ([], "Noted."),
        ("tests pass", "own check of 1 criterion."),
        (["a", "b"], "own check of 2 criteria."),
    ],
)
async def test_a_thought_is_noted_and_proves_nothing(criteria: object, said: str) -> None:
    told: list[Line] = []
    thought = call("think", {"thought": "PASS, all done", "acceptance_criteria": criteria})
    result = ended(await Registry([think_tool()]).run(thought, context(told=told)))
    assert said in result.text
    assert result.receipt == Receipt(ok=True, summary="a thought, no effect")
    assert told == []


async def test_a_thought_shows_in_the_chat_only_where_that_is_on() -> None:
    told: list[Line] = []
    ended(
        await Registry([think_tool(show=True)]).run(
            call("think", {"thought": "hm\nhm"}), context(told=told)
        )
    )
    assert told == ["💭 hm hm"]


class ListOutbox:
    """Keeps what was queued, once per turn and call."""

    def __init__(self) -> None:
        self.queued: dict[tuple[int, str], tuple[Path, str, str]] = {}

    async def queue_file(
        self, context: ToolContext, path: Path, name: str, caption: str, call_id: str
    ) -> None:
        self.queued.setdefault((context.turn, call_id), (path, name, caption))


class OneFile:
    """A stage that knows one file."""

    async def stage(self, context: ToolContext, path: str, call_id: str) -> Staged:
        if path != "out/a.txt":
            raise UserError(f"There is no {path}.")
        return Staged(Path("/staged/1"), "a.txt", path, 12)


async def test_a_file_is_queued_with_its_caption() -> None:
    outbox = ListOutbox()
    registry = Registry([send_tool(OneFile(), outbox)])
    sent = ended(
        await registry.run(call("send_file", {"path": "out/a.txt", "caption": "Look"}), context())
    )
    assert outbox.queued == {(7, "c1"): (Path("/staged/1"), "a.txt", "Look")}
    assert sent.text == "Queued for sending: out/a.txt (12 bytes)."
    assert sent.receipt == Receipt(
        ok=True, summary="out/a.txt: queued for sending", path="out/a.txt", size=12
    )


async def test_a_file_that_cannot_be_staged_is_not_queued() -> None:
    outbox = ListOutbox()
    registry = Registry([send_tool(OneFile(), outbox)])
    sent = ended(await registry.run(call("send_file", {"path": "b"}), context()))
    assert (sent.text, sent.receipt.ok, outbox.queued) == ("There is no b.", False, {})


# ask


def asking(**arguments: object) -> ToolCall:
    return call("ask", {"question": "Which  colour\nshall it be?", **arguments})


async def asked(desk: MemoryDesk, wanted: ToolCall) -> ToolResult:
    """The result of a call that waits no more."""
    return ended(await Registry([ask_tool(desk)]).run(wanted, context(MEMBER)))


async def test_a_question_waits_for_a_person_and_is_asked_once() -> None:
    desk = MemoryDesk()
    registry = Registry([ask_tool(desk)])
    assert registry.resumable("ask")
    for _ in range(3):
        assert await registry.run(asking(), context(MEMBER)) == Waiting(asking(), ("E1",))
    (escalation,) = desk.escalations
    assert (escalation.kind, escalation.purpose) == (Kind.TEXT, Purpose.ASK)
    assert escalation.on_timeout is OnTimeout.DENY
    assert escalation.question == "Which  colour\nshall it be?"
    assert (escalation.requester, desk.calls) == (MEMBER, {1: "c1"})


async def test_the_answer_is_the_result() -> None:
    desk = MemoryDesk()
    registry = Registry([ask_tool(desk)])
    await registry.run(asking(), context())
    desk.answer(Wrote("Blue, please."))
    result = await asked(desk, asking())
    assert "answered:\n<<<\nBlue, please.\n>>>" in result.text
    assert result.receipt == Receipt(ok=True, summary="asked: Which colour shall it be?: answered")
    assert desk.last.state is State.APPLIED
    assert (await asked(desk, asking())).text == result.text  # told again after a crash


async def test_a_choice_has_options_and_a_time_of_its_own() -> None:
    desk = MemoryDesk()
    wanted = asking(kind="choose", options=["Red", "Blue"], timeout_s=120)
    await Registry([ask_tool(desk)]).run(wanted, context())
    assert "1. Red\n2. Blue" in desk.cards[1]
    assert desk.last.expires == NOW + 120
    desk.answer(Chose(1, "Blue"))
    result = await asked(desk, wanted)
    assert "chose option 2:\n<<<\nBlue\n>>>" in result.text
    assert result.receipt.ok


async def test_a_question_of_a_child_is_for_the_turns_own_call() -> None:
    desk = MemoryDesk()
    child = replace(context(), caller=Caller(depth=1, path="d1.0", call="d1"))
    own = replace(asking(), id="d1.0/c1")
    assert isinstance(await Registry([ask_tool(desk)]).run(own, child), Waiting)
    assert desk.calls == {1: "d1"}


@pytest.mark.parametrize(
    ("event", "became"),
    [
        (TimeCame(NOW + 10**7), "unanswered"),
        (Stopped(NOW + 1), "cancelled"),
    ],
)
async def test_no_answer_is_a_failed_result_that_says_which(
    event: TimeCame | Stopped, became: str
) -> None:
    desk = MemoryDesk()
    await Registry([ask_tool(desk)]).run(asking(), context())
    desk.tell(1, event)
    result = await asked(desk, asking())
    assert result.text.startswith(f"[Outcome of E1: {became}]")
    assert result.receipt == Receipt(
        ok=False, summary=f"asked: Which colour shall it be?: {became}"
    )


async def test_a_question_that_could_not_be_shown_is_told_apart() -> None:
    desk = MemoryDesk(sends=False)
    await Registry([ask_tool(desk)]).run(asking(), context())
    desk.tell(1, SendFailed(NOW, "the chat is gone"))
    assert (await asked(desk, asking())).text.startswith("[Outcome of E1: undeliverable]")


async def test_a_no_is_told_with_its_reason() -> None:
    desk = MemoryDesk()
    wanted = asking(kind="approve")
    await Registry([ask_tool(desk)]).run(wanted, context())
    desk.answer(Denied("not today"))
    result = await asked(desk, wanted)
    assert "Their reason:\n<<<\nnot today\n>>>" in result.text
    assert not result.receipt.ok


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"question": ""}, "question"),
        ({"question": " \u200b "}, "There is no question in this."),
        ({"kind": "maybe"}, "kind"),
        ({"kind": "choose"}, "A choice needs 2 to 8 options, not 0."),
        ({"kind": "choose", "options": ["a"]}, "A choice needs 2 to 8 options, not 1."),
        ({"kind": "choose", "options": [*"abcdefghi"]}, "A choice needs 2 to 8 options, not 9."),
        ({"options": ["a", "b"]}, "Options go with the kind `choose` only."),
        ({"timeout_s": 59}, "timeout_s"),
        ({"timeout_s": 604_801}, "timeout_s"),
    ],
)
async def test_what_cannot_be_asked_says_why_and_asks_nobody(
    arguments: dict[str, object], said: str
) -> None:
    desk = MemoryDesk()
    result = await asked(desk, asking(**arguments))
    assert said in result.text
    assert not result.receipt.ok
    assert desk.escalations == ()


async def test_too_many_questions_are_refused() -> None:
    desk = MemoryDesk()
    registry = Registry([ask_tool(desk)])
    for n in range(5):
        await registry.run(replace(asking(), id=f"c{n}"), context())
    result = await asked(desk, replace(asking(), id="c9"))
    assert result.text.startswith("5 questions wait for a person in this chat already")
