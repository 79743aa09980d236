"""The people's side of the fake Slack: everything a test lets somebody do in a channel.

A part of `FakeSlack`, kept apart for its size; it only writes to the world and queues envelopes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from core.messages import Address, PlatformName
from tests.fakes.slack_delivery import COMMANDS, EVENTS, PRESSES, Delivery, Envelope
from tests.fakes.slack_world import ANNA, APP, BOT, TEAM, Channel, Obj, Person, Seen, World, escape

NATIVE = frozenset({"goal", "subgoal", "stop", "new", "resume"})
MENTION = f"<@{BOT.id}>"


class Populace(ABC):
    """What people do. `channel` defaults to the person's direct messages with the app."""

    world: World
    delivery: Delivery
    last: Envelope
    """What was brought last."""
    _events = 0
    _mentions = 0

    @abstractmethod
    def changed(self) -> None:
        """Ask every waiting predicate again."""

    @abstractmethod
    def response_url(self, name: str) -> str:
        """Where answers to a command or a press go."""

    def say(
        self,
        text: str,
        *,
        user: Person = ANNA,
        channel: Channel | None = None,
        thread: str = "",
        raw: str | None = None,
        extra: Obj | None = None,
    ) -> Seen:
        """Write a message. `raw` is its text in Slack's markup (mentions), `extra` goes into the
        event as it is."""
        place = channel or self.world.direct(user)
        source = escape(text) if raw is None else raw
        seen = self.world.post(place, user, text, raw=source, thread=thread)
        self.tell(seen, extra or {})
        return seen

    def mention(self, text: str, **more: Any) -> Seen:
        """Write a message that begins with a mention of the app."""
        return self.say(f"@pursuit {text}", raw=f"{MENTION} {escape(text)}", **more)

    def tell(self, seen: Seen, extra: Obj) -> None:
        """The events of a message: one, or two in alternating order when it has a mention."""
        place = self.world.channels[seen.channel]
        event = self.event_of(seen) | extra
        mention = place.kind != "im" and MENTION in seen.raw
        kinds = ["message"]
        if mention:
            self._mentions += 1
            kinds = (
                ["app_mention", "message"] if self._mentions % 2 else ["message", "app_mention"]
            )
        for kind in kinds:
            body = dict(event)
            if kind == "app_mention":
                body = {k: v for k, v in event.items() if k not in {"channel_type", "subtype"}}
            self.bring_event(body | {"type": kind})

    def event_of(self, seen: Seen) -> Obj:
        """A message as its event."""
        place = self.world.channels[seen.channel]
        event = seen.json() | {"channel": place.id, "channel_type": place.kind, "team": TEAM}
        if seen.thread:
            event["parent_user_id"] = place.messages[seen.thread].author.id
        return event

    def bring_event(self, event: Obj) -> Envelope:
        """Bring any event, malformed ones too."""
        self._events += 1
        body = {
            "type": "event_callback",
            "team_id": TEAM,
            "api_app_id": APP,
            "event_id": f"Ev{self._events:08d}",
            "event_time": 1_760_000_000,
            "event": event,
        }
        self.last = self.delivery.bring(EVENTS, body)
        return self.last

    def edit(self, seen: Seen, text: str) -> None:
        """Change an earlier message."""
        before = self.event_of(seen)
        seen.text, seen.raw = text, escape(text)
        seen.edits += 1
        self.bring_event(
            {
                "type": "message",
                "subtype": "message_changed",
                "hidden": True,
                "channel": seen.channel,
                "channel_type": self.world.channels[seen.channel].kind,
                "ts": f"{seen.ts}1",
                "message": self.event_of(seen) | {"edited": {"user": seen.author.id}},
                "previous_message": before,
            }
        )

    def upload(
        self,
        name: str,
        content: bytes,
        *,
        caption: str = "",
        user: Person = ANNA,
        channel: Channel | None = None,
        mime: str = "application/octet-stream",
    ) -> Seen:
        """Send a file."""
        file = self.world.keep(name, content, mime=mime)
        told = {
            "id": file.id,
            "name": name,
            "mimetype": mime,
            "mode": "hosted",
            "size": len(content),
        }
        return self.say(
            caption, user=user, channel=channel, extra={"subtype": "file_share", "files": [told]}
        )

    def command(
        self, line: str, *, user: Person = ANNA, channel: Channel | None = None
    ) -> Envelope:
        """Give a slash command: `/goal …` where it has one of its own, else `/pursuit …`."""
        place = channel or self.world.direct(user)
        name, _, rest = line.removeprefix("/").partition(" ")
        number = self.world.number()
        self.last = self.delivery.bring(
            COMMANDS,
            {
                "command": f"/{name}" if name in NATIVE else "/pursuit",
                "text": rest if name in NATIVE else line.removeprefix("/"),
                "team_id": TEAM,
                "api_app_id": APP,
                "channel_id": place.id,
                "channel_name": "directmessage" if place.kind == "im" else place.name,
                "user_id": user.id,
                "user_name": user.name.lower(),
                "trigger_id": f"{number}.trigger",
                "response_url": self.response_url(f"command-{number}"),
            },
        )
        return self.last

    def press(self, seen: Seen, label: str, *, user: Person = ANNA) -> Envelope:
        """Press a button by its label."""
        value = dict(seen.buttons)[label]
        place = self.world.channels[seen.channel]
        number = self.world.number()
        self.last = self.delivery.bring(
            PRESSES,
            {
                "type": "block_actions",
                "team": {"id": TEAM, "domain": "fake"},
                "user": {"id": user.id, "name": user.name.lower(), "team_id": TEAM},
                "api_app_id": APP,
                "trigger_id": f"{number}.trigger",
                "container": {
                    "type": "message",
                    "message_ts": seen.ts,
                    "channel_id": place.id,
                    "is_ephemeral": False,
                },
                "channel": {"id": place.id, "name": place.name},
                "message": seen.json(),
                "response_url": self.response_url(f"press-{number}"),
                "actions": [
                    {
                        "type": "button",
                        "action_id": "command-0",
                        "value": value,
                        "action_ts": self.world.stamp(),
                    }
                ],
            },
        )
        return self.last


def at(place: Channel, thread: str = "") -> Address:
    """The address of a channel or of a thread in it."""
    return Address(PlatformName.SLACK, BOT.id, place.id, thread)
