"""Telegram updates, as the Bot API's JSON, into the core's values."""

from __future__ import annotations

from typing import Any

import pytest
from telegram import Update

from adapters.telegram.decode import Me, decode
from core.messages import Address, Inbound, Message, Moved, PlatformName, Press

ME = Me(4242, "pursuit_bot")
ANNA = {"id": 1001, "is_bot": False, "first_name": "Anna", "last_name": "K", "username": "anna"}
BOT = {"id": 4242, "is_bot": True, "first_name": "Pursuit", "username": "pursuit_bot"}
PRIVATE = {"id": 1001, "type": "private", "first_name": "Anna"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Team"}


def read(**update: Any) -> Inbound | None:
    return decode(Update.de_json({"update_id": 77} | update, None), ME)


def body(text: str | None = "hello", /, *, chat: Any = PRIVATE, **more: Any) -> dict[str, Any]:
    made = {"message_id": 5, "date": 1_700_000_000, "chat": chat, "from": ANNA} | more
    return made if text is None else made | {"text": text}


def message(text: str | None = "hello", /, **more: Any) -> Message:
    made = read(message=body(text, **more))
    assert isinstance(made, Message)
    return made


def mention(at: int, length: int = 12) -> dict[str, Any]:
    return {"type": "mention", "offset": at, "length": length}


def test_a_private_text_is_a_message_with_all_its_fields() -> None:
    made = message()
    assert made.address == Address(PlatformName.TELEGRAM, "4242", "1001")
    assert (made.dedupe, made.remote, made.text) == ("tg:4242:77", "5", "hello")
    assert (made.sender.id, made.sender.name) == ("1001", "Anna K")
    assert made.sent_at == 1_700_000_000.0
    assert made.private
    assert made.addressed
    assert not made.may_continue


def test_only_real_topics_make_a_thread() -> None:
    assert message(chat=GROUP, message_thread_id=9, is_topic_message=True).address.thread == "9"
    assert not message(chat=GROUP, message_thread_id=9).address.thread
    assert not message(chat=GROUP).address.thread


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/goal write tests", "/goal write tests"),
        ("/goal@pursuit_bot write tests", "/goal write tests"),
        ("/GOAL@Pursuit_Bot\nwrite", "/GOAL\nwrite"),
        ("/start", "/help"),
        ("/start status", "/status"),
        ("/start stop", "/help"),
        ("/start goal_clear", "/help"),
        ("/usr/bin/env is a path", "/usr/bin/env is a path"),
    ],
)
def test_commands_lose_the_bots_name_and_links_run_only_harmless_ones(
    text: str, expected: str
) -> None:
    assert message(text).text == expected
    assert message(text, chat=GROUP).text == expected


def test_a_command_to_another_bot_is_not_ours() -> None:
    assert read(message=body("/goal@other_bot x", chat=GROUP)) is None


@pytest.mark.parametrize(
    ("more", "addressed", "text"),
    [
        ({"text": "hello all"}, False, "hello all"),
        ({"text": "@pursuit_bot, do it", "entities": [mention(0)]}, True, "do it"),
        ({"text": "do it @Pursuit_bot", "entities": [mention(6)]}, True, "do it"),
        ({"text": "hey @pursuit_bot do it", "entities": [mention(4)]}, True, "hey do it"),
        ({"text": "@pursuit_bot /stop", "entities": [mention(0)]}, True, "/stop"),
        ({"text": "🎉 @pursuit_bot go", "entities": [mention(3)]}, True, "🎉 go"),
        ({"text": "@bob look", "entities": [mention(0, 4)]}, False, "@bob look"),
        ({"text": "/status"}, True, "/status"),
        (
            {"text": "yes", "reply_to_message": body("which?", chat=GROUP) | {"from": BOT}},
            True,
            "yes",
        ),
        ({"text": "yes", "reply_to_message": body("which?", chat=GROUP)}, False, "yes"),
        (
            {
                "text": "Pursuit go",
                "entities": [{"type": "text_mention", "offset": 0, "length": 7, "user": BOT}],
            },
            True,
            "go",
        ),
    ],
)
def test_a_group_message_is_for_us_by_mention_reply_or_command(
    more: dict[str, Any], addressed: bool, text: str
) -> None:
    made = message(None, chat=GROUP, **more)
    assert (made.addressed, made.text, made.private) == (addressed, text, False)


def test_a_reply_brings_the_quoted_text_but_a_topics_first_message_does_not() -> None:
    assert message(reply_to_message=body("the plan")).quoted == "the plan"
    partial = {"text": "plan", "position": 4}
    assert message(reply_to_message=body("the plan"), quote=partial).quoted == "plan"
    opened = body(None, chat=GROUP) | {"forum_topic_created": {"name": "T", "icon_color": 1}}
    assert not message(chat=GROUP, reply_to_message=opened).quoted


def test_a_reply_names_the_message_it_answers_but_a_topics_first_message_is_none() -> None:
    earlier = body("May I?", chat=GROUP) | {"message_id": 3, "from": BOT}
    partial = {"text": "May", "position": 0}
    assert message("yes", chat=GROUP, reply_to_message=earlier).replies_to == "3"
    assert message("yes", chat=GROUP, reply_to_message=earlier, quote=partial).replies_to == "3"
    topic = {"message_thread_id": 9, "is_topic_message": True}
    inside = message("yes", chat=GROUP, reply_to_message=earlier | topic, **topic)
    assert (inside.replies_to, inside.address.thread) == ("3", "9")
    opened = body(None, chat=GROUP) | {"message_id": 9}
    created = opened | {"forum_topic_created": {"name": "T", "icon_color": 1}}
    for first in (opened, created):
        implied = message("yes", chat=GROUP, reply_to_message=first | topic, **topic)
        assert (implied.replies_to, implied.quoted) == ("", "")
    thread = message("yes", chat=GROUP, reply_to_message=earlier, message_thread_id=3)
    assert (thread.replies_to, thread.address.thread) == ("3", "")


def test_a_reply_into_another_chat_answers_nothing_here() -> None:
    external = {"origin": {"type": "chat", "date": 1, "sender_chat": GROUP}, "message_id": 3}
    assert not message("yes", external_reply=external).replies_to


def test_a_press_brings_what_its_button_carries() -> None:
    data = "esc:MDEyMzQ1Njc4OWFiY2RlZg.y"
    query = {"id": "1", "from": ANNA, "chat_instance": "1", "data": data}
    press = read(callback_query=query | {"message": body("May I?", chat=GROUP)})
    assert isinstance(press, Press)
    assert (press.command, press.remote, press.private) == (data, "5", False)
    untold = {"message_id": 5, "date": 0, "chat": GROUP}
    press = read(callback_query=query | {"message": untold})
    assert isinstance(press, Press)
    assert (press.command, press.remote) == (data, "5")


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": {"id": 8, "is_bot": False, "first_name": "Eve"}}, "Eve"),
        ({"type": "hidden_user", "sender_user_name": "Mal\nlory"}, "Mal lory"),
        ({"type": "chat", "sender_chat": GROUP}, "Team"),
        (
            {
                "type": "channel",
                "chat": {"id": -5, "type": "channel", "title": "News"},
                "message_id": 1,
            },
            "News",
        ),
    ],
)
@pytest.mark.parametrize("text", ["/stop", "/goal@pursuit_bot clear", "\n/approve 1"])
def test_forwarded_words_command_nothing(origin: dict[str, Any], name: str, text: str) -> None:
    made = message(text, forward_origin={"date": 1} | origin)
    assert made.text == f"Forwarded from {name}:\n{text}"
    in_group = message(text, chat=GROUP, forward_origin={"date": 1} | origin)
    assert not in_group.addressed


@pytest.mark.parametrize(
    "update",
    [
        {"edited_message": body()},
        {"channel_post": body()},
        {"message": body() | {"from": BOT}},
        {"message": body() | {"from": ANNA | {"is_bot": True}}},
        {"message": body(chat=GROUP, sender_chat=GROUP)},
        {"message": body(None, new_chat_title="New")},
        {"message": body(None, chat=GROUP, left_chat_member=ANNA)},
        {"message": body("\x00\x01")},
        {"callback_query": {"id": "1", "from": ANNA, "chat_instance": "1", "data": "x"}},
        {"poll": {"id": "1", "question": "?", "options": []}},
    ],
    ids=str,
)
def test_what_starts_nothing(update: dict[str, Any]) -> None:
    update.setdefault("poll", None)
    assert read(**{k: v for k, v in update.items() if k != "poll"}) is None


def test_a_press_is_the_buttons_command_line() -> None:
    card = body("Goal", chat=GROUP, message_thread_id=9, is_topic_message=True) | {"from": BOT}
    query = {"id": "1", "from": ANNA, "chat_instance": "1", "data": "/goal pause", "message": card}
    made = read(callback_query=query)
    assert isinstance(made, Press)
    assert (made.command, made.remote, made.dedupe) == ("/goal pause", "5", "tg:4242:77")
    assert (made.address.thread, made.sender.id, made.private) == ("9", "1001", False)


def test_a_press_on_a_message_too_old_to_show_still_counts() -> None:
    gone = {"chat": PRIVATE, "message_id": 5, "date": 0}
    query = {"id": "1", "from": ANNA, "chat_instance": "1", "data": "/stop", "message": gone}
    made = read(callback_query=query)
    assert isinstance(made, Press)
    assert made.remote == "5"


def test_both_sides_of_a_groups_upgrade_are_one_move() -> None:
    old = {"id": -50, "type": "group", "title": "Team"}
    left = read(message=body(None, chat=old, migrate_to_chat_id=-1001))
    right = read(message=body(None, chat=GROUP, migrate_from_chat_id=-50))
    assert isinstance(left, Moved)
    assert left == right
    assert (left.old.chat, left.new.chat) == ("-50", "-1001")


@pytest.mark.parametrize(
    ("text", "waits"), [("x" * 4096, True), ("x" * 4095, False), ("🎉" * 2048, True)]
)
def test_a_text_of_full_length_may_continue(text: str, waits: bool) -> None:
    assert message(text).may_continue is waits


def test_control_characters_and_lone_surrogates_are_taken_out() -> None:
    assert message("a\x00b\x1b[31m\r\nc\td\ud800\x85").text == "ab[31m\nc\td"


def test_a_hidden_link_is_spelled_out() -> None:
    link = {"type": "text_link", "offset": 7, "length": 4, "url": "https://example.org/x"}
    assert message("🎉 see this now", entities=[link]).text.startswith("🎉 see ")
    assert "this (https://example.org/x) now" in message("see it this now", entities=[link]).text


FILE = {"file_id": "F1", "file_unique_id": "U", "file_size": 10}


@pytest.mark.parametrize(
    ("content", "name", "mime"),
    [
        ({"document": FILE | {"file_name": "a.pdf", "mime_type": "x/y"}}, "a.pdf", "x/y"),
        ({"document": FILE}, "file-5", "application/octet-stream"),
        ({"document": FILE | {"file_name": "../../etc/pass\nwd"}}, "pass_wd", None),
        ({"document": FILE | {"file_name": "C:\\x\\y.txt"}}, "y.txt", None),
        ({"document": FILE | {"file_name": ".."}}, "file-5", None),
        ({"document": FILE | {"file_name": "n" * 400 + ".txt"}}, "n" * 116 + ".txt", None),
        ({"photo": [FILE | {"file_id": "S", "width": 1, "height": 1},
                    FILE | {"width": 9, "height": 9}]}, "photo-5.jpg", "image/jpeg"),
        ({"voice": FILE | {"duration": 1}}, "voice-5.ogg", "audio/ogg"),
        ({"audio": FILE | {"duration": 1, "file_name": "s.mp3"}}, "s.mp3", "audio/mpeg"),
        ({"video": FILE | {"duration": 1, "width": 1, "height": 1}}, "video-5.mp4", "video/mp4"),
        ({"video_note": FILE | {"duration": 1, "length": 1}}, "video-5.mp4", "video/mp4"),
        ({"animation": FILE | {"duration": 1, "width": 1, "height": 1}, "document": FILE},
         "animation-5.mp4", "video/mp4"),
    ],
)  # fmt: skip
def test_files_become_attachments_with_safe_names(
    content: dict[str, Any], name: str, mime: str | None
) -> None:
    made = message(None, caption="look", **content)
    [file] = made.attachments
    assert (file.ref, file.name, file.size, made.text) == ("F1", name, 10, "look")
    assert mime is None or file.mime == mime


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"location": {"latitude": 1.5, "longitude": 2.5}}, "Location: 1.5, 2.5"),
        ({"contact": {"phone_number": "+1", "first_name": "Eve"}}, "Contact: Eve, +1"),
    ],
)
def test_other_content_is_told_in_words(content: dict[str, Any], text: str) -> None:
    assert message(None, **content).text == text


def test_a_command_in_a_caption_acts_like_one_in_a_text() -> None:
    made = message(None, caption="/goal@pursuit_bot read it", document=FILE, chat=GROUP)
    assert (made.text, made.addressed) == ("/goal read it", True)
