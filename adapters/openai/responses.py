"""The events of the responses API put together. Pure.

Items arrive whole when they are done, so nothing needs growing; the last event repeats them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from adapters.openai.accumulate import Counted, Draft, Heard, StreamError, counted, with_ids
from adapters.openai.jsontext import sound
from adapters.openai.recover import written_call

_ENDS = {
    "response.completed": "stop",
    "response.incomplete": "length",
}


class ResponseStream:
    """Takes one response event by event; see ChatStream for `salt` and `tools`."""

    def __init__(self, salt: str, tools: Iterable[str]) -> None:
        self._salt = salt
        self._tools = frozenset(tools)
        self._text: list[str] = []
        self._drafts: list[Draft] = []
        self._finish = ""
        self._counted: Counted | None = None

    def feed(self, event: object) -> str:
        """Take an event and return the text in it. Raises StreamError when it is an error."""
        if not isinstance(event, dict):
            return ""
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                piece = event.get("delta")
                if isinstance(piece, str):
                    self._text.append(piece)
                    return sound(piece)
            case "response.output_item.done":
                self._take_item(event.get("item"))
            case "response.completed" | "response.incomplete" as kind:
                self._take_end(_ENDS[kind], event.get("response"))
            case "response.failed":
                raise StreamError(_failure(event.get("response")))
            case "error":
                raise StreamError(event)
            case None if event.get("object") == "response":
                return self._take_whole(event)
            case _:
                pass
        return ""

    def end(self) -> Heard:
        """What has been heard once the stream is over."""
        text = sound("".join(self._text))
        drafts = self._drafts
        if not drafts and (found := written_call(text, self._tools)):
            drafts = [Draft("", found[0], [found[1]])]
            text = ""
        calls = with_ids(drafts, self._salt)
        chars = len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
        return Heard(text, calls, self._finish, self._counted, chars)

    def _take_item(self, item: object) -> None:
        if isinstance(item, dict) and item.get("type") == "function_call":
            arguments = str(item.get("arguments") or "")
            name = str(item.get("name") or "")
            self._drafts.append(Draft(str(item.get("call_id") or ""), name, [arguments]))

    def _take_end(self, finish: str, response: object) -> None:
        self._finish = finish
        if not isinstance(response, dict):
            return
        self._counted = counted(response.get("usage"))
        why = response.get("incomplete_details")
        if isinstance(why, dict) and why.get("reason") == "content_filter":
            self._finish = "content_filter"

    def _take_whole(self, response: dict[str, object]) -> str:
        """A server that does not stream answers with the finished response."""
        if response.get("status") == "failed" or response.get("error"):
            raise StreamError(_failure(response))
        output = response.get("output")
        for item in output if isinstance(output, list) else []:
            self._take_item(item)
            if isinstance(item, dict) and item.get("type") == "message":
                self._text.append(_message_text(item.get("content")))
        self._take_end("length" if response.get("status") == "incomplete" else "stop", response)
        return sound("".join(self._text))


def _message_text(content: object) -> str:
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") or part.get("refusal") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _failure(response: object) -> Mapping[str, object]:
    error = response.get("error") if isinstance(response, dict) else None
    return error if isinstance(error, dict) else {"message": "the response failed"}
