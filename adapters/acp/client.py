"""The client's side of the Agent Client Protocol: one process, one session, one prompt.

No file system and no terminal are offered to the runner: it works inside the sandbox with what it
finds there, so everything it does to the workspace meets the borders that commands meet. What
else it may ask of a client is answered with the protocol's "method not found".
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeVar

from acp import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION, RequestError
from acp.connection import Connection
from acp.helpers import text_block
from acp.schema import (
    CancelNotification,
    ClientCapabilities,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    NewSessionRequest,
    NewSessionResponse,
    PermissionOption,
    PromptRequest,
    PromptResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
)
from acp.utils import serialize_params
from pydantic import BaseModel, ValidationError

from adapters.acp import asked, decode
from adapters.acp.asked import CANCELLED, TITLE_CHARS, Outcome, Told, Unaskable
from adapters.acp.decode import Called, Planned, Said
from adapters.acp.kept import Answer, short
from adapters.acp.launch import Job, Launched
from adapters.acp.pipes import LINGER_S, Pipes, opened, within
from adapters.acp.wire import Wire
from adapters.acp.wording import crashed, late
from core.delegation.ports import Permission, Permitted, RunnerEnd
from core.fence import one_line

R = TypeVar("R", bound=BaseModel)

FAREWELL_S = 0.5
"""How long a runner has to end by itself once it was told to."""
CALLS_KEPT = 200
REFUSED_KEPT = 100
AUTH_REQUIRED = -32000
METHOD_NOT_FOUND = -32601

STOPPED = {
    "max_tokens": "reached its model's limit of tokens before it was done",
    "max_turn_requests": "reached its own limit of model calls before it was done",
    "refusal": "refused the task",
    "cancelled": "stopped the task as cancelled",
}
WRONG_VERSION = (
    "The runner {name} speaks version {theirs} of the Agent Client Protocol and Pursuit version"
    " {ours}: install a release of the runner for version {ours}."
)
NOT_ACP = (
    " It printed lines that are no messages of the protocol, the first: {stray!r}. A runner that"
    " only prints its answer needs `acp_mode: text`."
)
NO_ACP = (
    " As it was started it does not speak the Agent Client Protocol: many agents do so with an"
    " argument only, which belongs into `acp_args`, and one that prints its answer needs"
    " `acp_mode: text`."
)


async def converse(launched: Launched, job: Job) -> RunnerEnd:
    """Hold the whole conversation; the program is gone when this returns or is cancelled."""
    async with opened(launched) as pipes:
        wire = Wire(await pipes.reader(), await pipes.writer())
        talk = _Talk(job, pipes, wire)
        try:
            error = await talk.hold()
        finally:
            await talk.part()
    return RunnerEnd(talk.answer.text, error, tuple(talk.refused))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request for permission that waits for its outcome."""

    permission: Permission | Unaskable
    options: list[PermissionOption]
    outcome: asyncio.Future[Outcome]


class _Talk:
    """One conversation. `hold` has it, `part` ends it whatever state it is in."""

    def __init__(self, job: Job, pipes: Pipes, wire: Wire) -> None:
        self.answer = Answer()
        self.refused: dict[str, None] = {}
        """What it was not let do, each line once."""
        self._job = job
        self._pipes = pipes
        self._wire = wire
        self._session = ""
        self._calls: dict[str, Told] = {}
        """What it told of its latest calls, by their ids."""
        self._asked: asyncio.Queue[_Asked] = asyncio.Queue()
        self._open: set[asyncio.Future[Outcome]] = set()
        self._limit = asyncio.timeout(job.timeout_s)
        self._connection = Connection(self._handle, wire)

    async def hold(self) -> str:
        """Returns what went wrong, "" for nothing."""
        try:
            async with self._limit, asyncio.TaskGroup() as group:
                beside = (
                    group.create_task(self._watch(), name="runner-exit"),
                    group.create_task(self._decide(), name="runner-permissions"),
                )
                error = await self._exchange()
                for task in beside:
                    task.cancel()
        except TimeoutError:
            return late(self._job.name, self._job.timeout_s)
        except BaseExceptionGroup as failed:  # the permission could not be asked for
            raise failed.exceptions[0] from None
        return error

    async def part(self) -> None:
        """Tell the runner that it is over and give it a moment, then stop listening."""
        for waiting in self._open:
            if not waiting.done():
                waiting.set_result(CANCELLED)
        try:
            if self._session and not self._wire.answered.is_set():
                cancel = CancelNotification(session_id=self._session)
                with suppress(ConnectionError):
                    await self._connection.send_notification(
                        AGENT_METHODS["session_cancel"], serialize_params(cancel)
                    )
                    await within(FAREWELL_S, self._wire.answered)
            else:
                await self._pipes.closing(FAREWELL_S)
        finally:
            await self._connection.close()

    # What is sent

    async def _exchange(self) -> str:
        doing = "before it was ready"
        try:
            ready = await self._request("initialize", _hello(), InitializeResponse)
            if ready.protocol_version != PROTOCOL_VERSION:
                return WRONG_VERSION.format(
                    name=self._job.name, theirs=ready.protocol_version, ours=PROTOCOL_VERSION
                )
            new = NewSessionRequest(cwd=str(self._job.workspace), mcp_servers=[])
            began = await self._request("session_new", new, NewSessionResponse)
            self._session = began.session_id
            doing = "in the middle of the task"
            prompt = PromptRequest(session_id=self._session, prompt=[text_block(self._job.task)])
            done = await self._request("session_prompt", prompt, PromptResponse)
        except RequestError as refused:
            return self._refused(refused)
        except ValidationError as unreadable:
            fault = one_line(str(unreadable), 200)
            return f"The runner {self._job.name} gave an answer that cannot be read: {fault}"
        except ConnectionError:
            return await self._gone(doing)
        stopped = STOPPED.get(done.stop_reason)
        return f"The runner {self._job.name} {stopped}." if stopped else ""

    async def _request(self, method: str, params: BaseModel, answer: type[R]) -> R:
        sent = serialize_params(params)
        return answer.model_validate(
            await self._connection.send_request(AGENT_METHODS[method], sent)
        )

    def _refused(self, refused: RequestError) -> str:
        said = one_line(f"{refused} {refused.data or ''}", 500)
        error = f"The runner {self._job.name} reported an error: {said} (code {refused.code})."
        if refused.code == AUTH_REQUIRED:
            error += " It wants to be logged in: give it its key in the profile's `acp_env`."
        elif refused.code == METHOD_NOT_FOUND and not self._session:
            error += NO_ACP
        return error

    async def _gone(self, doing: str) -> str:
        """Why there is nobody to talk to any more."""
        if self._wire.fault:
            error = f"The runner {self._job.name} {self._wire.fault}, so it was ended."
        else:
            await self._pipes.closing(LINGER_S)
            code = self._pipes.launched.exit_code
            errors = self._pipes.errors.text
            error = crashed(self._job.name, code, doing, errors, begun=bool(self._session))
        return error + (NOT_ACP.format(stray=self._wire.stray) if self._wire.stray else "")

    async def _watch(self) -> None:
        """A program that has ended says no more, though what it started holds its output."""
        await self._pipes.launched.exited()
        await asyncio.sleep(LINGER_S)
        self._pipes.hang_up()

    # What comes

    async def _handle(
        self,
        method: str,
        params: object,
        is_notification: bool,  # noqa: FBT001 (the SDK calls it so)
    ) -> RequestPermissionResponse | None:
        if is_notification:
            if method == CLIENT_METHODS["session_update"]:
                self._updated(params)
            return None
        if method != CLIENT_METHODS["session_request_permission"]:
            raise RequestError.method_not_found(method)
        try:
            request = RequestPermissionRequest.model_validate(params)
        except ValidationError as error:
            raise RequestError.invalid_params({"details": one_line(str(error), 300)}) from None
        return RequestPermissionResponse(outcome=await self._outcome(request))

    def _updated(self, params: object) -> None:
        match decode.update(params, self._session):
            case Said(text):
                self.answer.say(text)
            case Called() as call:
                self._called(call)
            case Planned(line):
                self._job.progress(line)
            case None:
                pass

    def _called(self, call: Called) -> None:
        if call.begun:
            self.answer.call()
        known = self._calls.pop(call.id, Told()).then(call.told)
        self._calls[call.id] = known
        if len(self._calls) > CALLS_KEPT:
            del self._calls[next(iter(self._calls))]
        title = short(known.title or "", TITLE_CHARS)
        if title and (call.begun or call.title):
            self._job.progress(title)
        if title and call.status in {"completed", "failed"}:
            self._job.progress(f"{'done' if call.status == 'completed' else 'failed'}: {title}")

    async def _outcome(self, request: RequestPermissionRequest) -> Outcome:
        known = self._calls.get(request.tool_call.tool_call_id, Told())
        waiting: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._open.add(waiting)
        self._asked.put_nowait(_Asked(asked.permission(request, known), request.options, waiting))
        try:
            return await waiting
        finally:
            self._open.discard(waiting)

    async def _decide(self) -> None:
        """Ask for one permission after the other; the runner's time stands still meanwhile."""
        while True:
            request = await self._asked.get()
            permitted = await self._permitted(request.permission)
            self._tell(request.permission.title, permitted)
            if not request.outcome.done():
                request.outcome.set_result(
                    asked.outcome(request.options, allowed=permitted.allowed)
                )

    async def _permitted(self, permission: Permission | Unaskable) -> Permitted:
        if isinstance(permission, Unaskable):
            return Permitted(allowed=False, reason=permission.why)
        loop = asyncio.get_running_loop()
        left = (self._limit.when() or loop.time()) - loop.time()
        self._limit.reschedule(None)
        permitted = await self._job.permit(permission)
        self._limit.reschedule(loop.time() + max(left, 0.0))
        return permitted

    def _tell(self, title: str, permitted: Permitted) -> None:
        """Note what became of a request."""
        line = one_line(f"{title} ({permitted.reason})", 2 * TITLE_CHARS)
        if not permitted.allowed and len(self.refused) < REFUSED_KEPT:
            self.refused[line] = None
        self._job.progress(f"{'allowed' if permitted.allowed else 'refused'}: {line}")


def _hello() -> InitializeRequest:
    return InitializeRequest(
        protocol_version=PROTOCOL_VERSION,
        client_capabilities=ClientCapabilities(),
        client_info=Implementation(name="pursuit", title="Pursuit", version=version("pursuit")),
    )
