"""What Slack posts, as a value of the core. Pure: no I/O, no clock, no state.

What starts nothing decodes to None: edits, other subtypes, bots and our own messages. What
cannot be read raises one of `MALFORMED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias

from adapters.slack.media import attachments, linked
from adapters.slack.reading import cleaned, command_line, one_line, readable, without_mention
from core.messages import Address, Message, PlatformName, Press, RemoteId, Sender

Obj: TypeAlias = Mapping[str, Any]

MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError)
SLACKBOT = "USLACKBOT"
PEOPLE_WRITE = frozenset({None, "file_share", "thread_broadcast"})
"""Subtypes of messages that a person wrote just now."""
UMBRELLA = "/pursuit"


@dataclass(frozen=True, slots=True)
class Me:
    """The app's bot user, from auth.test."""

    user: str
    bot: str
    team: str
    name: str = ""


class Kind(Enum):
    """How it came, which says how it is answered."""

    EVENT = auto()
    COMMAND = auto()
    PRESS = auto()


@dataclass(frozen=True, slots=True)
class Received:
    """A decoded request. `answer_url` takes answers to a command or a press for 30 minutes."""

    kind: Kind
    inbound: Message | Press
    answer_url: str = ""
    moved: bool = False
    """A command that is answered elsewhere than where it was given."""


def decode(body: Obj, me: Me) -> Received | None:
    """The request's value, None for one that starts nothing."""
    kind = body.get("type")
    if kind == "event_callback":
        message = _event(body["event"], me)
        return None if message is None else Received(Kind.EVENT, message)
    if kind == "block_actions":
        return _press(body, me)
    if "command" in body:
        return _command(body, me)
    return None


def is_private(channel: str) -> bool:
    """Whether it is a chat of two: only their ids begin with a D."""
    return channel.startswith("D")


def _event(event: Obj, me: Me) -> Message | None:
    if event["type"] not in {"message", "app_mention"} or _is_no_persons(event, me):
        return None
    channel, user, ts = _id(event["channel"]), _id(event["user"]), _id(event["ts"])
    if user in {me.user, SLACKBOT}:
        return None
    private = is_private(channel)
    source = event.get("text") or ""
    text, mentioned = without_mention(source, me.user)
    in_thread = _thread(event, ts)
    ours = bool(in_thread) and _begun_by(event) == me.user
    addressed = private or mentioned or event["type"] == "app_mention" or ours
    told = command_line(_with_links(readable(text), event))
    files = attachments(event)
    shared = _shared(event)
    if not (told or files or shared):
        return None
    return Message(
        address=Address(
            PlatformName.SLACK,
            me.user,
            channel,
            # A mention outside of threads opens one: its own id is the thread's.
            in_thread or (ts if addressed and not private else ""),
        ),
        dedupe=f"sl:{me.team}:{channel}:{ts}",
        sender=Sender(user),
        text=told or shared,
        remote=RemoteId(ts),
        sent_at=float(ts),
        private=private,
        addressed=addressed,
        attachments=files,
        quoted=shared if told else "",
        # Under a message of ours a thread is how people reply to it; any other thread is just
        # the place where they talk.
        replies_to=RemoteId(in_thread if ours else ""),
    )


def _is_no_persons(event: Obj, me: Me) -> bool:
    return (
        event.get("subtype") not in PEOPLE_WRITE
        or bool(event.get("bot_id") or event.get("bot_profile"))
        or bool(event.get("hidden"))
        # An edit that adds a mention is told as an app_mention of the old message.
        or bool(event.get("edited"))
        or event.get("user") == me.user
    )


def _begun_by(event: Obj) -> str:
    """Who wrote the first message of an event's thread, "" where Slack does not say. A reply
    that is shown in the channel too brings that message along."""
    root = event.get("root") or {}
    return str(event.get("parent_user_id") or root.get("user") or "")


def _with_links(text: str, event: Obj) -> str:
    return "\n".join(filter(None, (text, *linked(event))))


def _shared(event: Obj) -> str:
    """Somebody else's words that were passed on: whatever they begin with, they command
    nothing."""
    told = [
        f"Forwarded from {one_line(str(part.get('author_name') or 'somebody'))}:\n"
        + readable(str(part.get("text") or part.get("fallback") or ""))
        for part in event.get("attachments") or ()
        if part.get("is_share")
    ]
    return "\n\n".join(told)


def _command(body: Obj, me: Me) -> Received:
    name, text = str(body["command"]), readable(str(body.get("text") or ""))
    if name == UMBRELLA:
        line = f"/{text.lstrip('/!').strip() or 'help'}"
    else:
        line = f"{name} {text}".strip()
    channel = _id(body["channel_id"])
    message = Message(
        address=Address(PlatformName.SLACK, me.user, channel),
        dedupe=f"sl:i:{_id(body['trigger_id'])}",
        sender=Sender(_id(body["user_id"]), one_line(str(body.get("user_name") or ""))),
        text=line,
        private=is_private(channel),
    )
    return Received(Kind.COMMAND, message, str(body.get("response_url") or ""))


def _press(body: Obj, me: Me) -> Received | None:
    action = body["actions"][0]
    value = action.get("value")
    box = body.get("container") or {}
    message = body.get("message") or {}
    if not value or box.get("is_ephemeral"):
        return None
    channel = _id((body.get("channel") or {}).get("id") or box["channel_id"])
    ts = _id(message.get("ts") or box["message_ts"])
    person = body["user"]
    name = person.get("name") or person.get("username") or ""
    press = Press(
        address=Address(PlatformName.SLACK, me.user, channel, _thread({**box, **message}, ts)),
        dedupe=f"sl:i:{_id(body['trigger_id'])}",
        sender=Sender(_id(person["id"]), one_line(str(name))),
        command=cleaned(str(value)),
        remote=RemoteId(ts),
        sent_at=float(action.get("action_ts") or 0.0),
        private=is_private(channel),
    )
    return Received(Kind.PRESS, press, str(body.get("response_url") or ""))


def _thread(message: Obj, ts: str) -> str:
    """The thread that a message is a reply in; a thread's first message names itself."""
    thread = str(message.get("thread_ts") or "")
    return "" if thread == ts else thread


def _id(value: object) -> str:
    """An id or timestamp. Raises ValueError for what cannot be part of an address."""
    if not isinstance(value, str) or not value or "|" in value:
        raise ValueError(f"not an id: {value!r}")
    return value
