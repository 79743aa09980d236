"""The chunks of a chat completion put together, whatever its server makes of the format. Pure.

Servers leave out indexes, repeat or omit ids, give every parallel call index 0, say "stop" after
tool calls, send whole messages for deltas, and end a stream in the middle. Nothing here knows
the SDK: chunks are parsed JSON of any shape.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adapters.openai.jsontext import json_object, sound
from adapters.openai.recover import written_call
from core.transcript import ToolCall


@dataclass(frozen=True, slots=True)
class Counted:
    """Usage as the server reported it; `cost` in US dollars where it names one (OpenRouter)."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """All of one answer. `finish` is the server's reason, "" for a stream cut before it."""

    text: str
    calls: tuple[ToolCall, ...]
    finish: str
    counted: Counted | None
    chars: int
    """Characters of text, names and arguments, to estimate tokens from."""


class StreamError(Exception):
    """The server reported an error inside its stream; `body` is what it sent."""

    def __init__(self, body: Mapping[str, object]) -> None:
        super().__init__(str(body.get("message") or "error in the stream"))
        self.body = body


@dataclass(slots=True)
class Draft:
    """A call that is still growing."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ChatStream:
    """Takes one completion chunk by chunk.

    `salt` makes generated call ids differ from those of the session's other replies; the same
    salt and the same stream give the same ids. `tools` are the names that may be called.
    """

    def __init__(self, salt: str, tools: Iterable[str]) -> None:
        self._salt = salt
        self._tools = frozenset(tools)
        self._text: list[str] = []
        self._drafts: list[Draft] = []
        self._by_index: dict[int, Draft] = {}
        self._finish = ""
        self._counted: Counted | None = None

    def feed(self, chunk: object) -> str:
        """Take a chunk and return the text in it. Raises StreamError when it is an error."""
        if not isinstance(chunk, dict):
            return ""
        if chunk.get("object") == "error" or chunk.get("error"):
            raise StreamError(_error_of(chunk))
        if usage := chunk.get("usage"):
            self._counted = counted(usage) or self._counted
        choices = chunk.get("choices")
        if not choices or not isinstance(choices, list) or not isinstance(choices[0], dict):
            return ""
        return self._take(choices[0])

    def end(self) -> Heard:
        """What has been heard once the stream is over."""
        text = sound("".join(self._text))
        drafts = [draft for draft in self._drafts if draft.name or any(draft.arguments)]
        if not drafts and (found := written_call(text, self._tools)):
            drafts = [Draft("", found[0], [found[1]])]
            text = ""
        calls = with_ids(drafts, self._salt)
        chars = len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
        return Heard(text, calls, self._finish, self._counted, chars)

    def _take(self, choice: dict[str, object]) -> str:
        if finish := choice.get("finish_reason"):
            self._finish = str(finish)
            if choice.get("error"):
                raise StreamError(_error_of(choice))
        # Servers that do not stream send one whole message.
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            return ""
        if fragments := delta.get("tool_calls"):
            self._take_calls(fragments)
        content = delta.get("content") or delta.get("refusal")
        if not content:
            return ""
        piece = content if isinstance(content, str) else _text_parts(content)
        if piece:
            self._text.append(piece)
        return sound(piece)

    def _take_calls(self, fragments: object) -> None:
        for fragment in fragments if isinstance(fragments, list) else [fragments]:
            if not isinstance(fragment, dict):
                continue
            function = fragment.get("function")
            said = function if isinstance(function, dict) else {}
            name = said.get("name")
            self._grow(
                fragment.get("index"),
                Draft(
                    str(fragment.get("id") or ""),
                    name if isinstance(name, str) else "",
                    [_as_text(said.get("arguments"))],
                ),
            )

    def _grow(self, index: object, piece: Draft) -> None:
        """Add a piece to the call that it belongs to, or begin a new one."""
        draft = self._find(index, piece)
        if draft is None:
            self._drafts.append(piece)
            draft = piece
        else:
            draft.id = draft.id or piece.id
            if piece.name != draft.name and not any(draft.arguments):
                draft.name += piece.name
            draft.arguments += piece.arguments
        if isinstance(index, int):
            self._by_index[index] = draft

    def _find(self, index: object, piece: Draft) -> Draft | None:
        if isinstance(index, int):
            draft = self._by_index.get(index)
            return None if draft is None or _begins_another(draft, piece) else draft
        if piece.id:
            return next((draft for draft in self._drafts if draft.id == piece.id), None)
        # Neither index nor id: a name begins a call, anything else belongs to the last.
        return self._drafts[-1] if self._drafts and not piece.name else None


def counted(usage: object) -> Counted | None:
    """A `usage` object of either API, None when it is none or holds only zeros."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    cost = usage.get("cost")
    taken = _whole(usage.get("prompt_tokens", usage.get("input_tokens")))
    given = _whole(usage.get("completion_tokens", usage.get("output_tokens")))
    if not taken and not given:
        return None
    return Counted(
        taken,
        _whole(cached if cached is not None else usage.get("prompt_cache_hit_tokens")),
        given,
        float(cost) if isinstance(cost, int | float) else None,
    )


def with_ids(drafts: Iterable[Draft], salt: str) -> tuple[ToolCall, ...]:
    """The drafts as calls, each with an id of its own: the server's where it is one."""
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for position, draft in enumerate(drafts):
        arguments = sound("".join(draft.arguments)) or "{}"
        call_id = sound(draft.id)
        if not call_id or call_id in taken:
            seed = f"{salt}\0{position}\0{draft.name}\0{arguments}"
            digest = hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()
            call_id = f"call_{digest[:24]}"
        taken.add(call_id)
        calls.append(ToolCall(call_id, sound(draft.name), arguments))
    return tuple(calls)


def _begins_another(draft: Draft, piece: Draft) -> bool:
    """Whether a piece that has a draft's index is the start of a further call after all."""
    if not piece.name:
        return False
    if draft.id and piece.id:
        # Some servers invent an id for every fragment, but only a call's first has a name.
        return draft.id != piece.id
    return any(piece.arguments) and json_object("".join(draft.arguments)) is not None


def _error_of(chunk: Mapping[str, object]) -> Mapping[str, object]:
    error = chunk.get("error")
    if isinstance(error, dict):
        return error
    return {**chunk, "message": error} if isinstance(error, str) else chunk


def _text_parts(content: object) -> str:
    """The text of content given as parts; thoughts and the like are no part of the answer."""
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _as_text(arguments: object) -> str:
    """Arguments as JSON text; some servers send the object itself."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _whole(number: object) -> int:
    return int(number) if isinstance(number, int | float) else 0
