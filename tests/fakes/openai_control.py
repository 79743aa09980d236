"""The control API of the fake OpenAI server, for a test that runs it as a process of its own.

`openai_api` lists the paths. Scripts come as JSON, each answer as `{"kind": "text", …}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from aiohttp import web

from tests.fakes.openai_replies import (
    Scripted,
    calls,
    html,
    null_choices,
    overflow,
    rate_limited,
    refusal,
    server_error,
    text,
    verdict,
)

if TYPE_CHECKING:
    from tests.fakes.openai_api import FakeOpenAI

_PLAIN: dict[str, Callable[..., Scripted]] = {
    "html": html,
    "null_choices": null_choices,
    "overflow": overflow,
    "rate_limited": rate_limited,
    "refusal": refusal,
    "server_error": server_error,
    "text": text,
    "verdict": verdict,
}


def from_json(told: Mapping[str, object]) -> Scripted:
    """The answer that `{"kind": "text", "words": "hello", "delay_s": 1}` and the like describe.

    `kind` is a function of `openai_replies`, the rest are its arguments by name. For "calls",
    `asked` is a list of [name, arguments].
    """
    rest = {key: value for key, value in told.items() if key != "kind"}
    kind = str(told.get("kind"))
    if kind == "calls":
        asked = rest.pop("asked")
        if not isinstance(asked, list):
            raise TypeError("asked must be a list of [name, arguments]")
        return calls(*((str(name), given) for name, given in asked), **rest)
    return _PLAIN[kind](**rest)


def routes(fake: FakeOpenAI) -> list[web.RouteDef]:
    """The control API of one server."""

    async def control(http: web.Request) -> web.Response:
        told = await http.json()
        role = told.get("role", "main")
        try:
            match http.match_info["what"]:
                case "script":
                    fake.script(role, *(from_json(answer) for answer in told["answers"]))
                case "default":
                    fake.default(role, from_json(told["answer"]))
                case "open":
                    fake.open(told["gate"])
                case "reset":
                    fake.reset()
                case what:
                    return web.json_response({"error": f"no control {what!r}"}, status=404)
        except (KeyError, TypeError, ValueError) as error:
            return web.json_response({"error": repr(error)}, status=400)
        return web.json_response({"ok": True})

    async def requests(http: web.Request) -> web.Response:
        since = int(http.query.get("since", "0"))
        found = fake.of(http.query.get("role"))[since:]
        return web.json_response(
            [
                {
                    "role": seen.role,
                    "path": seen.path,
                    "body": seen.body,
                    "gone": seen.gone.is_set(),
                }
                for seen in found
            ]
        )

    async def state(_: web.Request) -> web.Response:
        counts = {"requests": fake.count, "running": fake.running, "gone": fake.gone}
        return web.json_response(counts)

    return [
        web.post("/control/{what}", control),
        web.get("/control/requests", requests),
        web.get("/control/state", state),
    ]
