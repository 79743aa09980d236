"""The Web API's methods over a `World`, with the rules that Slack holds calls to. No HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.fakes.slack_world import APP, BOT, TEAM, Channel, Obj, Seen, Whisper, World, unescape

MAX_TEXT, MAX_EDIT, MAX_MARKDOWN, MAX_SECTION = 40_000, 4_000, 12_000, 3_000
MAX_BLOCKS, MAX_ELEMENTS = 50, 25
PING = re.compile(r"<[!@#][^<>\n]*>")
SHOUT = re.compile(r"(?<!\w)@(?:channel|here|everyone)\b")


class Refusal(Exception):
    """`ok: false` with an error code."""

    def __init__(self, code: str, **more: object) -> None:
        super().__init__(code)
        self.code = code
        self.more = more


def _place(world: World, call: Obj, key: str = "channel", *, writes: bool = True) -> Channel:
    channel = world.channels.get(str(call.get(key)))
    if channel is None or (not channel.member and channel.kind != "channel"):
        raise Refusal("channel_not_found")
    if not channel.member and writes:
        raise Refusal("not_in_channel")
    if channel.archived:
        raise Refusal("is_archived")
    return channel


def _message(world: World, call: Obj, key: str) -> Seen:
    seen = _place(world, call).messages.get(str(call.get(key)))
    if seen is None:
        raise Refusal("message_not_found")
    return seen


def _content(call: Obj, longest: int) -> Obj:
    """What a message is to show: `Seen`'s own fields."""
    text, markdown, blocks = call.get("text"), call.get("markdown_text"), call.get("blocks")
    if markdown and (text or blocks):
        raise Refusal("markdown_text_conflict")
    if markdown:
        if len(markdown) > MAX_MARKDOWN:
            raise Refusal("msg_too_long")
        return {"text": markdown, "raw": markdown, "formatted": True, "pings": _pings(markdown)}
    if text and len(text) > longest:
        raise Refusal("msg_too_long")
    if blocks:
        return _shown(blocks, str(text or ""))
    if not text or not text.strip():
        raise Refusal("no_text")
    return {
        "text": unescape(text),
        "raw": text,
        "formatted": call.get("mrkdwn") is not False,
        "pings": PING.findall(text),
    }


def _pings(markdown: str) -> list[str]:
    return PING.findall(markdown) + SHOUT.findall(markdown)


def _shown(blocks: list[Obj], fallback: str) -> Obj:
    texts: list[str] = []
    buttons: list[tuple[str, str]] = []
    pings = PING.findall(fallback)
    ids: list[str] = []
    formatted = False
    _check(len(blocks) <= MAX_BLOCKS)
    for block in blocks:
        match block:
            case {"type": "section", "text": {"type": "plain_text", "text": str(text)}}:
                _check(0 < _units(text) <= MAX_SECTION)
                texts.append(text)
            case {"type": "markdown", "text": str(text)}:
                _check(0 < len(text) <= MAX_MARKDOWN)
                texts.append(text)
                pings += _pings(text)
                formatted = True
            case {"type": "actions", "elements": elements}:
                _check(0 < len(elements) <= MAX_ELEMENTS)
                ids += [element["action_id"] for element in elements]
                buttons += [_button(element) for element in elements]
            case _:
                _check(False)
    _check(len(set(ids)) == len(ids))
    return {
        "text": "\n".join(texts),
        "raw": fallback,
        "buttons": buttons,
        "blocks": blocks,
        "formatted": formatted,
        "pings": pings,
    }


def _button(element: Obj) -> tuple[str, str]:
    label, value = element["text"]["text"], element["value"]
    _check(0 < _units(label) <= 75 and 0 < len(value) <= 2000)
    return label, value


def _units(text: str) -> int:
    """UTF-16 units: the strictest way in which Slack may count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _check(fine: bool) -> None:
    if not fine:
        raise Refusal("invalid_blocks")


def auth_test(_: World, __: Obj) -> Obj:
    return {
        "url": "https://fake.slack.com/",
        "team": "Fake",
        "user": BOT.name,
        "team_id": TEAM,
        "user_id": BOT.id,
        "bot_id": BOT.bot,
        "app_id": APP,
    }


def chat_post(world: World, call: Obj) -> Obj:
    channel = _place(world, call)
    thread = str(call.get("thread_ts") or "")
    if thread and thread not in channel.messages:
        raise Refusal("thread_not_found")
    content = _content(call, MAX_TEXT)
    unfurled = call.get("unfurl_links") is not False or call.get("unfurl_media") is not False
    seen = world.post(channel, BOT, thread=thread, unfurled=unfurled, **content)
    return {"channel": channel.id, "ts": seen.ts, "message": seen.json()}


def chat_update(world: World, call: Obj) -> Obj:
    seen = _message(world, call, "ts")
    if not seen.by_bot:
        raise Refusal("cant_update_message")
    content = _content(call, MAX_EDIT)
    before = (seen.text, list(seen.buttons))
    # Without blocks an edit leaves those that are there.
    for name, value in content.items():
        setattr(seen, name, value)
    if (seen.text, seen.buttons) != before:
        seen.edits += 1
    return {"channel": seen.channel, "ts": seen.ts, "text": seen.raw}


def chat_whisper(world: World, call: Obj) -> Obj:
    channel = _place(world, call)
    user, thread = str(call.get("user")), str(call.get("thread_ts") or "")
    if user not in world.people:
        raise Refusal("user_not_in_channel")
    content = _content(call, MAX_TEXT)
    # In a thread that nobody has replied in yet, nobody is shown anything.
    if not thread or len(channel.thread(thread)) > 1:
        told = Whisper(channel.id, user, content["text"], thread, tuple(content["pings"]))
        world.whispers.append(told)
    return {"message_ts": world.stamp()}


def replies(world: World, call: Obj) -> Obj:
    thread = _place(world, call).thread(str(call.get("ts")))
    if not thread:
        raise Refusal("thread_not_found")
    start = int(call.get("cursor") or 0)
    end = start + int(call.get("limit") or 100)
    more = str(end) if end < len(thread) else ""
    return {
        "messages": [seen.json() for seen in thread[start:end]],
        "has_more": bool(more),
        "response_metadata": {"next_cursor": more},
    }


def channel_info(world: World, call: Obj) -> Obj:
    channel = _place(world, call, writes=False)
    info: Obj = {"id": channel.id, "name": channel.name}
    if channel.kind == "im":
        return {"channel": info | {"is_im": True}}
    return {"channel": info | {"is_channel": True, "is_member": channel.member}}


def open_direct(world: World, call: Obj) -> Obj:
    return {"channel": {"id": world.direct(world.people[str(call["users"])]).id}}


def users_info(world: World, call: Obj) -> Obj:
    person = world.people.get(str(call.get("user")))
    if person is None:
        raise Refusal("user_not_found")
    return {"user": person.json()}


def react(world: World, call: Obj) -> Obj:
    seen = _message(world, call, "timestamp")
    if call["name"] in seen.reactions:
        raise Refusal("already_reacted")
    seen.reactions.append(call["name"])
    return {}


def unreact(world: World, call: Obj) -> Obj:
    seen = _message(world, call, "timestamp")
    if call["name"] not in seen.reactions:
        raise Refusal("no_reaction")
    seen.reactions.remove(call["name"])
    return {}


def set_status(world: World, call: Obj) -> Obj:
    channel = _place(world, call, "channel_id")
    world.statuses.append((channel.id, str(call["thread_ts"]), str(call["status"])))
    return {}


def complete_upload(world: World, call: Obj) -> Obj:
    files = [world.files[each["id"]] for each in call["files"]]
    comment = str(call.get("initial_comment") or "")
    channel = _place(world, call, "channel_id")
    thread = str(call.get("thread_ts") or "")
    if thread and thread not in channel.messages:
        raise Refusal("thread_not_found")
    for file in files:
        if file.shared:
            raise Refusal("file_already_shared")
        file.shared = True
        world.post(
            channel,
            BOT,
            unescape(comment),
            raw=comment,
            thread=thread,
            pings=PING.findall(comment),
            file=file.name,
            content=file.content,
        )
    return {"files": [{"id": file.id, "title": file.name} for file in files]}


METHODS: Mapping[str, Callable[[World, Obj], Obj]] = {
    "auth.test": auth_test,
    "chat.postMessage": chat_post,
    "chat.postEphemeral": chat_whisper,
    "chat.update": chat_update,
    "conversations.replies": replies,
    "conversations.info": channel_info,
    "conversations.open": open_direct,
    "users.info": users_info,
    "reactions.add": react,
    "reactions.remove": unreact,
    "assistant.threads.setStatus": set_status,
    "files.completeUploadExternal": complete_upload,
}
