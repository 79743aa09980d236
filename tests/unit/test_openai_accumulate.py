"""Chunks put together: the shapes that servers send, and any cutting of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.openai.accumulate import ChatStream, Counted, Heard, StreamError
from core.transcript import ToolCall


def chunk(delta: dict[str, object], finish: str | None = None) -> dict[str, object]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def part(
    *,
    index: int | None = None,
    id: str | None = None,  # noqa: A002 - the wire's word
    name: str | None = None,
    arguments: object = None,
) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    fragment: dict[str, object] = {
        "function": {key: value for key, value in function.items() if value is not None}
    }
    fragment |= {} if index is None else {"index": index}
    return fragment | ({} if id is None else {"id": id, "type": "function"})


def asked(*parts: dict[str, object]) -> dict[str, object]:
    return chunk({"tool_calls": list(parts)})


def hear(*chunks: object, tools: Sequence[str] = ("run", "read")) -> Heard:
    stream = ChatStream("7", tools)
    for each in chunks:
        stream.feed(each)
    return stream.end()


STOP = chunk({}, "stop")
CALLED = chunk({}, "tool_calls")


def test_text_arrives_in_pieces_and_each_is_handed_on() -> None:
    stream = ChatStream("7", ())
    assert [stream.feed(chunk({"content": word})) for word in ("Hel", "lo")] == ["Hel", "lo"]
    stream.feed(STOP)
    assert stream.end() == Heard("Hello", (), "stop", None, 5)


@pytest.mark.parametrize(
    "empty",
    [
        {"choices": None},
        {"choices": []},
        {"choices": [None]},
        {},
        "text",
        None,
        chunk({"content": None}),
        chunk({"content": "", "tool_calls": None}),
        chunk({"role": "assistant", "reasoning_content": "let me think", "reasoning": "hm"}),
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
    ],
)
def test_an_empty_chunk_of_any_shape_changes_nothing(empty: object) -> None:
    assert hear(empty, chunk({"content": "a"}), empty, STOP, empty).text == "a"


def test_a_stream_without_a_finish_reason_has_none() -> None:
    assert not hear(chunk({"content": "a"})).finish


def test_calls_grow_by_index_when_they_are_interleaved() -> None:
    heard = hear(
        asked(part(index=0, id="a", name="run", arguments="")),
        asked(part(index=1, id="b", name="read", arguments='{"p')),
        asked(part(index=0, arguments='{"c":'), part(index=1, arguments='":2}')),
        asked(part(index=0, arguments="1}")),
        CALLED,
    )
    assert heard.calls == (ToolCall("a", "run", '{"c":1}'), ToolCall("b", "read", '{"p":2}'))


def test_calls_without_an_index_grow_by_their_id() -> None:
    heard = hear(
        asked(part(id="a", name="run", arguments='{"c"')),
        asked(part(id="b", name="read", arguments="{")),
        asked(part(id="a", arguments=":1}")),
        asked(part(id="b", arguments="}")),
        STOP,
    )
    assert heard.calls == (ToolCall("a", "run", '{"c":1}'), ToolCall("b", "read", "{}"))
    assert heard.finish == "stop"


def test_without_index_and_id_a_name_begins_the_next_call() -> None:
    heard = hear(
        asked(part(name="run", arguments='{"c"')),
        asked(part(arguments=":1}")),
        asked(part(name="run", arguments='{"c":2}')),
        STOP,
    )
    assert [call.arguments for call in heard.calls] == ['{"c":1}', '{"c":2}']


def test_parallel_calls_that_all_have_index_zero_stay_apart() -> None:
    heard = hear(
        asked(part(index=0, id="a", name="run", arguments='{"c":1}')),
        asked(part(index=0, id="b", name="run", arguments='{"c":2}')),
        CALLED,
    )
    assert [call.id for call in heard.calls] == ["a", "b"]
    unnamed = hear(
        asked(part(index=0, name="run", arguments='{"c":1}')),
        asked(part(index=0, name="run", arguments='{"c":2}')),
        CALLED,
    )
    assert [call.arguments for call in unnamed.calls] == ['{"c":1}', '{"c":2}']


def test_a_fresh_id_on_every_fragment_does_not_split_a_call() -> None:
    heard = hear(
        asked(part(index=0, id="a", name="run", arguments='{"c"')),
        asked(part(index=0, id="b", arguments=":1}")),
        CALLED,
    )
    assert heard.calls == (ToolCall("a", "run", '{"c":1}'),)


def test_a_name_repeated_on_every_fragment_is_one_name() -> None:
    heard = hear(
        asked(part(index=0, id="a", name="run", arguments="{")),
        asked(part(index=0, id="a", name="run", arguments="}")),
        CALLED,
    )
    assert heard.calls == (ToolCall("a", "run", "{}"),)


def test_empty_and_repeated_ids_become_ids_of_their_own_always_the_same() -> None:
    chunks = (
        asked(part(index=0, id="", name="run", arguments="{}")),
        asked(part(index=1, id="x", name="run", arguments="{}")),
        asked(part(index=2, id="x", name="run", arguments="{}")),
        CALLED,
    )
    ids = [call.id for call in hear(*chunks).calls]
    assert len(set(ids)) == 3
    assert all(ids)
    assert ids[1] == "x"
    assert [call.id for call in hear(*chunks).calls] == ids
    later = ChatStream("8", ("run",))
    for each in chunks:
        later.feed(each)
    assert later.end().calls[0].id != ids[0], "the next reply of the session has other ids"


def test_arguments_may_come_as_an_object_or_not_at_all() -> None:
    heard = hear(
        asked(part(index=0, id="a", name="run", arguments={"c": "ü"})),
        asked(part(index=1, id="b", name="read")),
        asked(part(index=2)),
        CALLED,
    )
    assert [call.arguments for call in heard.calls] == ['{"c": "ü"}', "{}"]


def test_broken_arguments_are_handed_on_as_they_came() -> None:
    heard = hear(asked(part(index=0, id="a", name="run", arguments='{"c": "l')), CALLED)
    assert heard.calls[0].arguments == '{"c": "l'


def test_a_whole_message_in_place_of_deltas_is_taken() -> None:
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [part(id="a", name="run", arguments="{}")],
    }
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    assert hear(whole).calls == (ToolCall("a", "run", "{}"),)


def test_content_in_parts_gives_its_text_only() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "yes"}]
    assert hear(chunk({"content": parts}), STOP).text == "yes"


def test_an_emoji_cut_in_two_is_whole_again_and_half_a_one_does_no_harm() -> None:
    stream = ChatStream("7", ())
    halves = json.loads('["a\\ud83d", "\\ude00b"]')
    assert [stream.feed(chunk({"content": half})) for half in halves] == ["a\ufffd", "\ufffdb"]
    assert stream.end().text == "a\N{GRINNING FACE}b"
    heard = hear(asked(part(index=0, id="a", name="run", arguments='{"c": "\ud83d"}')), CALLED)
    assert heard.calls[0].arguments == '{"c": "\ufffd"}'


def test_a_refusal_is_the_answers_text() -> None:
    assert hear(chunk({"content": None, "refusal": "I will not"}), STOP).text == "I will not"


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
            Counted(9, 4, 2),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 2, "cost": 0.5}, Counted(9, 0, 2, 0.5)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 3},
            Counted(9, 3, 2),
        ),
        ({"prompt_tokens": 9, "completion_tokens": None}, Counted(9, 0, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        (None, None),
        ("many", None),
    ],
)
def test_usage_is_read_wherever_it_stands(usage: object, counted: Counted | None) -> None:
    assert hear(STOP, {"choices": [], "usage": usage}).counted == counted


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "overloaded"}},
        {"error": "overloaded"},
        {"object": "error", "message": "overloaded", "code": 500},
        {"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "overloaded"}}]},
    ],
)
def test_an_error_among_the_chunks_is_raised(error: dict[str, object]) -> None:
    with pytest.raises(StreamError, match="overloaded"):
        hear(chunk({"content": "a"}), error)


def cuts(words: str) -> st.SearchStrategy[list[str]]:
    """All ways to cut a text in pieces, empty ones included."""

    def pieces(at: list[int]) -> list[str]:
        ends = [*sorted(at), len(words)]
        return [words[a:b] for a, b in zip([0, *ends], ends, strict=False)]

    return st.lists(st.integers(0, len(words)), max_size=5).map(pieces)


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["run", "read"]),
        st.dictionaries(st.text(max_size=3), st.text(max_size=8), max_size=2).map(json.dumps),
    ),
    max_size=4,
)


def whole(text: str, made: list[tuple[str, str]]) -> Heard:
    """What any way of sending an answer must come to."""
    parts = [
        part(index=n, id=f"id{n}", name=name, arguments=given)
        for n, (name, given) in enumerate(made)
    ]
    return hear(chunk({"content": text, "tool_calls": parts}), CALLED)


@given(st.data(), st.text(max_size=20), CALLS, st.sampled_from(["index", "id", "order", "zero"]))
def test_any_cutting_of_a_stream_gives_the_same_answer(
    data: st.DataObject, text: str, made: list[tuple[str, str]], grouping: str
) -> None:
    lines = [
        [chunk({"content": piece}) for piece in data.draw(cuts(text))],
        *(
            fragments(n, name, data.draw(cuts(given)), grouping)
            for n, (name, given) in enumerate(made)
        ),
    ]
    chunks: list[object] = []
    mixed = grouping in {"index", "id"}
    # A call begins only after those before it have begun: that is the order of the answer.
    begun = 1 if mixed else len(lines)
    while any(lines):
        waiting = [n for n, line in enumerate(lines[: begun + 1]) if line]
        at = data.draw(st.sampled_from(waiting)) if mixed else waiting[0]
        begun = max(begun, at + 1)
        chunks.append(lines[at].pop(0))
    expected = whole(text, made)
    assert hear(*chunks, CALLED) == expected


def fragments(n: int, name: str, pieces: list[str], grouping: str) -> list[dict[str, object]]:
    """One call's chunks as a server writes them that goes by index, by id or by order."""
    index = {"index": n, "zero": 0}.get(grouping)
    sent = []
    for at, piece in enumerate(pieces):
        first = at == 0
        call_id = f"id{n}" if first or grouping == "id" else None
        sent.append(
            asked(part(index=index, id=call_id, name=name if first else None, arguments=piece))
        )
    return sent
