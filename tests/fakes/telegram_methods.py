"""The Bot API's methods on a `World`: each takes decoded parameters and returns the result.

Raises `Refusal` with Telegram's own words. getUpdates and the webhook are the server's.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.fakes.telegram_world import (
    MAX_CAPTION,
    MAX_TEXT,
    ChatState,
    Obj,
    Refusal,
    Seen,
    World,
    check_text,
)

MAX_UPLOAD = 50 * 1024 * 1024
MAX_DOWNLOAD = 20 * 1024 * 1024
NAME = re.compile(r"[a-z0-9_]{1,32}")
REACTIONS = frozenset(
    "👍👎🔥🎉🤩🙏👌🤡🥱🥴😍🐳🌚💯🤣⚡🍌🏆💔🤨😐🍓🍾💋🖕😈😴😭🤓👻👀🎃🙈😇😨🤝✍🤗🫡🎅🎄☃💅🤪🗿🆒💘🙉🦄😘💊🙊😎👾😡"
)
QUERY_GONE = "Bad Request: query is too old and response timeout expired or query ID is invalid"
SAME = (
    "Bad Request: message is not modified: specified new message content and reply markup are "
    "exactly the same as a current content and reply markup of the message"
)


def get_me(world: World, _: Obj) -> Obj:
    """The bot itself."""
    more = {"can_join_groups": True, "can_read_all_group_messages": False}
    return world.bot.json() | more | {"supports_inline_queries": False}


def set_my_commands(world: World, params: Obj) -> bool:
    """Keep the menu, within Telegram's limits."""
    commands = params.get("commands") or []
    if len(commands) > 100:
        raise Refusal("Bad Request: BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not NAME.fullmatch(command["command"]):
            raise Refusal("Bad Request: BOT_COMMAND_INVALID")
        if not 1 <= len(command["description"]) <= 256:
            raise Refusal("Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
    world.commands = commands
    return True


def get_my_commands(world: World, _: Obj) -> list[Obj]:
    """The menu as it is."""
    return world.commands


def send_message(world: World, params: Obj) -> Obj:
    """Post a text."""
    chat = world.writable(params["chat_id"])
    text, entities = _text(params)
    seen = world.post(
        chat,
        world.bot,
        text,
        thread=_thread(chat, params),
        entities=entities,
        buttons=_buttons(params),
        rows=_rows(params),
        reply_to=_reply(chat, params),
    )
    return world.message_json(seen)


def send_message_draft(world: World, params: Obj) -> bool:
    """Show a draft in a private chat."""
    chat = world.writable(params["chat_id"])
    if chat.kind != "private":
        raise Refusal("Bad Request: drafts are for private chats")
    if not params.get("draft_id"):
        raise Refusal("Bad Request: DRAFT_ID_INVALID")
    text = str(params.get("text") or "")
    check_text(text, params.get("entities") or [], MAX_TEXT, empty=True)
    world.drafts.append((chat.id, params["draft_id"], text))
    return True


def edit_message_text(world: World, params: Obj) -> Obj:
    """Replace a text and its buttons."""
    seen = _own(world, params, "edit")
    text, entities = _text(params)
    buttons = _buttons(params)
    if (seen.text, seen.entities, seen.buttons) == (text, entities, buttons):
        raise Refusal(SAME)
    seen.text, seen.entities, seen.buttons = text, entities, buttons
    seen.rows = _rows(params)
    seen.edits += 1
    return world.message_json(seen)


def edit_message_reply_markup(world: World, params: Obj) -> Obj:
    """Replace the buttons."""
    seen = _own(world, params, "edit")
    buttons = _buttons(params)
    if seen.buttons == buttons:
        raise Refusal(SAME)
    seen.buttons, seen.rows = buttons, _rows(params)
    seen.edits += 1
    return world.message_json(seen)


def delete_message(world: World, params: Obj) -> bool:
    """Take a message away."""
    seen = _own(world, params, "delete")
    del world.chats[seen.chat].messages[seen.id]
    return True


def send_document(world: World, params: Obj) -> Obj:
    """Post a file; `document` is (name, content) when uploaded, a file_id otherwise."""
    chat = world.writable(params["chat_id"])
    given = params.get("document")
    if isinstance(given, tuple):
        name, content = given
    elif given in world.files:
        name, content = world.files[str(given)]
    else:
        raise Refusal("Bad Request: there is no document in the request")
    if not content:
        raise Refusal("Bad Request: file must be non-empty")
    if len(content) > MAX_UPLOAD:
        raise Refusal("Request Entity Too Large", 413)
    caption = str(params.get("caption") or "")
    check_text(caption, params.get("caption_entities") or [], MAX_CAPTION, empty=True)
    file_id = world.store_file(name, content)
    document = _document(file_id, name, len(content))
    seen = world.post(
        chat,
        world.bot,
        caption,
        thread=_thread(chat, params),
        reply_to=_reply(chat, params),
        document=name,
        content=content,
        extra={"document": document},
    )
    return world.message_json(seen)


def get_file(world: World, params: Obj) -> Obj:
    """Where a file lies."""
    file_id = str(params.get("file_id"))
    if file_id not in world.files:
        raise Refusal("Bad Request: invalid file_id")
    path, content = world.files[file_id]
    if len(content) > MAX_DOWNLOAD:
        raise Refusal("Bad Request: file is too big")
    return {
        "file_id": file_id,
        "file_unique_id": f"U{file_id}",
        "file_size": len(content),
        "file_path": path,
    }


def send_chat_action(world: World, params: Obj) -> bool:
    """Typing and the like."""
    chat = world.writable(params["chat_id"])
    _thread(chat, params)
    return True


def set_message_reaction(world: World, params: Obj) -> bool:
    """React to a message."""
    chat = world.writable(params["chat_id"])
    seen = chat.messages.get(params["message_id"])
    if seen is None:
        raise Refusal("Bad Request: message to react not found")
    emoji = [r["emoji"] for r in params.get("reaction") or [] if r["type"] == "emoji"]
    if any(e not in REACTIONS for e in emoji):
        raise Refusal("Bad Request: REACTION_INVALID")
    seen.reaction = emoji[0] if emoji else ""
    return True


def answer_callback_query(world: World, params: Obj) -> bool:
    """Answer a press, once."""
    query = str(params.get("callback_query_id"))
    text = str(params.get("text") or "")
    if query not in world.queries or world.queries[query] is not None:
        raise Refusal(QUERY_GONE)
    if len(text) > 200:
        raise Refusal("Bad Request: MESSAGE_TOO_LONG")
    world.queries[query] = text
    if str(params.get("show_alert")).lower() == "true":
        world.alerts.add(query)
    return True


METHODS: dict[str, Callable[[World, Obj], object]] = {
    "getme": get_me,
    "setmycommands": set_my_commands,
    "getmycommands": get_my_commands,
    "sendmessage": send_message,
    "sendmessagedraft": send_message_draft,
    "editmessagetext": edit_message_text,
    "editmessagereplymarkup": edit_message_reply_markup,
    "deletemessage": delete_message,
    "senddocument": send_document,
    "getfile": get_file,
    "sendchataction": send_chat_action,
    "setmessagereaction": set_message_reaction,
    "answercallbackquery": answer_callback_query,
}


def _text(params: Obj) -> tuple[str, list[Obj]]:
    text = str(params.get("text") or "")
    entities = params.get("entities") or []
    check_text(text, entities, MAX_TEXT)
    return (text if entities else text.strip()), entities


def _own(world: World, params: Obj, verb: str) -> Seen:
    chat = world.writable(params["chat_id"])
    seen = chat.messages.get(params["message_id"])
    if seen is None:
        raise Refusal(f"Bad Request: message to {verb} not found")
    if not seen.by_bot:
        raise Refusal(f"Bad Request: message can't be {verb.rstrip('e')}ed")
    return seen


def _thread(chat: ChatState, params: Obj) -> int:
    thread = int(params.get("message_thread_id") or 0)
    if thread and thread not in chat.topics:
        raise Refusal("Bad Request: message thread not found")
    return thread


def _reply(chat: ChatState, params: Obj) -> int:
    wanted = params.get("reply_parameters") or {}
    number = int(wanted.get("message_id") or 0)
    if number and number not in chat.messages:
        if not wanted.get("allow_sending_without_reply"):
            raise Refusal("Bad Request: message to be replied not found")
        return 0
    return number


def _buttons(params: Obj) -> list[tuple[str, str]]:
    markup = params.get("reply_markup") or {}
    buttons = [
        (str(key["text"]), str(key.get("callback_data", "")))
        for row in markup.get("inline_keyboard", [])
        for key in row
    ]
    if any(not 1 <= len(data.encode()) <= 64 for _, data in buttons):
        raise Refusal("Bad Request: BUTTON_DATA_INVALID")
    return buttons


def _rows(params: Obj) -> list[int]:
    markup = params.get("reply_markup") or {}
    return [len(row) for row in markup.get("inline_keyboard", [])]


def _document(file_id: str, name: str, size: int) -> Obj:
    return {
        "file_id": file_id,
        "file_unique_id": f"U{file_id}",
        "file_name": name,
        "file_size": size,
        "mime_type": "application/octet-stream",
    }
