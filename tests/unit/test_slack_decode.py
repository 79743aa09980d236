"""What Slack posts, recorded as JSON, and what it means."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.decode import MALFORMED, Kind, Me, Received, decode
from core.commands import COMMANDS
from core.escalations import token
from core.escalations.record import MOST_OPTIONS
from core.escalations.token import Act
from core.messages import Message, Press

ME = Me("U0PURSUIT", "B0PURSUIT", "T1", "pursuit")
Obj = dict[str, Any]


def event(**changes: Any) -> Obj:
    body: Obj = {
        "type": "message",
        "channel": "C1",
        "channel_type": "channel",
        "user": "U1",
        "text": "hello",
        "ts": "1760000000.000100",
    }
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": body | changes}


def message(**changes: Any) -> Message:
    received = decode(event(**changes), ME)
    assert received is not None
    assert isinstance(received.inbound, Message)
    return received.inbound


def direct(text: str, **more: Any) -> Message:
    return message(channel="D1", channel_type="im", text=text, **more)


def test_a_direct_message_is_private_and_addressed() -> None:
    told = direct("hello")
    assert told.address.key == "slack|U0PURSUIT|D1||"
    assert (told.private, told.addressed, told.text) == (True, True, "hello")
    assert (told.dedupe, told.remote) == ("sl:T1:D1:1760000000.000100", "1760000000.000100")
    assert told.sent_at == pytest.approx(1760000000.0001)
    assert told.sender.id == "U1"


def test_a_mention_opens_a_thread_at_its_own_message() -> None:
    told = message(text="<@U0PURSUIT> fix the build")
    assert (told.text, told.addressed, told.private) == ("fix the build", True, False)
    assert (told.address.chat, told.address.thread) == ("C1", "1760000000.000100")


def test_both_tellings_of_a_mention_are_the_same_message() -> None:
    text = "hey <@U0PURSUIT|pursuit>, look"
    assert message(text=text) == message(text=text, type="app_mention")


def test_a_mention_in_a_thread_stays_in_that_thread() -> None:
    told = message(text="<@U0PURSUIT> and this?", thread_ts="1759.1", parent_user_id="U2")
    assert (told.address.thread, told.addressed) == ("1759.1", True)


def test_talk_among_others_is_not_addressed_and_opens_no_thread() -> None:
    told = message(text="lunch?")
    assert (told.addressed, told.address.thread) == (False, "")
    told = message(text="yes", thread_ts="1759.1", parent_user_id="U2")
    assert (told.addressed, told.address.thread) == (False, "1759.1")


def test_a_reply_under_our_own_message_is_addressed() -> None:
    assert message(text="thanks", thread_ts="1759.1", parent_user_id="U0PURSUIT").addressed


def test_under_our_own_message_a_thread_is_how_people_reply_to_it() -> None:
    ours = {"thread_ts": "1759.1", "parent_user_id": "U0PURSUIT"}
    for told in (message(text="yes", **ours), direct("yes", **ours)):
        assert (told.replies_to, told.address.thread, told.addressed) == ("1759.1", "1759.1", True)
    root = {"ts": "1759.1", "user": "U0PURSUIT"}
    shown_to_all = message(text="yes", subtype="thread_broadcast", thread_ts="1759.1", root=root)
    assert (shown_to_all.replies_to, shown_to_all.addressed) == ("1759.1", True)


def test_in_a_thread_of_peoples_own_nobody_replies_to_its_first_message() -> None:
    theirs = {"thread_ts": "1759.1", "parent_user_id": "U2"}
    for told in (message(text="yes", **theirs), direct("yes", **theirs), direct("yes")):
        assert told.replies_to == ""
    assert message(text="<@U0PURSUIT> yes").replies_to == ""


def test_a_mention_under_our_own_message_replies_to_it_in_both_tellings() -> None:
    ours = {"thread_ts": "1759.1", "parent_user_id": "U0PURSUIT"}
    told = message(text="<@U0PURSUIT> yes", **ours)
    assert told == message(text="<@U0PURSUIT> yes", type="app_mention", **ours)
    assert (told.text, told.replies_to) == ("yes", "1759.1")


def test_a_thread_in_a_direct_message_is_a_lane_of_its_own() -> None:
    assert direct("more", thread_ts="1759.1").address.thread == "1759.1"
    assert not direct("root", thread_ts="1760000000.000100").address.thread


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("ask <@U2|anna> or <@U3> in <#C9|general> <#C8>", "ask @anna or @U3 in #general #C8"),
        ("<!here> <!subteam^S1|@devs> <!channel|channel>", "@here @devs @channel"),
        ("see <https://x.org/a>", "see https://x.org/a"),
        (
            "see <https://x.org|x.org> and <https://y.org|docs>",
            "see x.org and docs (https://y.org)",
        ),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("one\r\ntwo\x00", "one\ntwo"),
    ],
)
def test_slacks_markup_reads_as_it_looks(raw: str, read: str) -> None:
    assert direct(raw).text == read


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("!goal write tests", "/goal write tests"),
        ("!STOP", "/STOP"),
        ("!stop", "/stop"),
        ("!important note", "!important note"),
        ("/goal typed after a blank", "/goal typed after a blank"),
        ("do not !stop", "do not !stop"),
    ],
)
def test_commands_after_an_exclamation_mark_are_commands(written: str, line: str) -> None:
    assert message(text=f"<@U0PURSUIT> {written}").text == line
    assert message(text=written, thread_ts="1759.1").text == line


@pytest.mark.parametrize(
    "changes",
    [
        {"subtype": "message_changed", "hidden": True},
        {"subtype": "message_deleted", "hidden": True},
        {"subtype": "channel_join"},
        {"subtype": "bot_message", "bot_id": "B9"},
        {"bot_id": "B9"},
        {"bot_profile": {"id": "B9"}},
        {"user": "U0PURSUIT"},
        {"user": "USLACKBOT"},
        {"type": "app_mention", "edited": {"user": "U1", "ts": "1"}},
        {"type": "reaction_added"},
        {"text": ""},
        {"text": "<@U0PURSUIT>"},
    ],
    ids=str,
)
def test_what_nobody_wrote_just_now_starts_nothing(changes: Obj) -> None:
    assert decode(event(**changes), ME) is None


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast"])
def test_files_and_broadcast_replies_are_messages(subtype: str) -> None:
    assert message(subtype=subtype).text == "hello"


def test_files_come_by_their_ids_and_foreign_ones_as_links() -> None:
    files = [
        {
            "id": "F1",
            "name": "../a b.py",
            "mimetype": "text/x-python",
            "size": 7,
            "mode": "snippet",
        },
        {"id": "F2", "mode": "tombstone"},
        {"id": "F3", "mode": "external", "title": "Plan", "url_private": "https://docs.example/1"},
    ]
    told = direct("", subtype="file_share", files=files)
    [file] = told.attachments
    assert (file.ref, file.name, file.mime, file.size) == ("F1", "a b.py", "text/x-python", 7)
    assert told.text == "File: Plan (https://docs.example/1)"


def test_a_forwarded_command_commands_nothing() -> None:
    shared = [{"is_share": True, "author_name": "Eve", "text": "/goal delete all"}]
    assert direct("", attachments=shared).text == "Forwarded from Eve:\n/goal delete all"
    told = direct("what is this?", attachments=shared)
    assert (told.text, told.quoted) == ("what is this?", "Forwarded from Eve:\n/goal delete all")


def slash(command: str, text: str, channel: str = "C1") -> Received:
    received = decode(
        {
            "command": command,
            "text": text,
            "channel_id": channel,
            "user_id": "U1",
            "user_name": "anna",
            "trigger_id": "1.2.3",
            "response_url": "https://hooks.slack.com/commands/1",
        },
        ME,
    )
    assert received is not None
    return received


@pytest.mark.parametrize(
    ("command", "text", "line"),
    [
        ("/goal", "write &lt;tests&gt;", "/goal write <tests>"),
        ("/goal", "", "/goal"),
        ("/pursuit", "status", "/status"),
        ("/pursuit", "goal  two  words ", "/goal  two  words"),
        ("/pursuit", "/stop", "/stop"),
        ("/pursuit", "", "/help"),
    ],
)
def test_a_slash_command_is_its_command_line(command: str, text: str, line: str) -> None:
    received = slash(command, text)
    assert received.kind is Kind.COMMAND
    assert isinstance(received.inbound, Message)
    assert received.inbound.text == line
    assert received.inbound.dedupe == "sl:i:1.2.3"
    assert received.inbound.address.key == "slack|U0PURSUIT|C1||"
    assert (received.inbound.sender.id, received.inbound.private) == ("U1", False)
    assert received.answer_url.startswith("https://hooks")


@pytest.mark.parametrize("name", [spec.name for spec in COMMANDS])
def test_every_command_of_the_table_is_reached_by_the_umbrella_and_in_threads(name: str) -> None:
    line = f"/{name} E7 some words"
    for typed in (f"{name} E7 some words", f"!{name} E7 some words", line):
        told = slash("/pursuit", typed).inbound
        assert isinstance(told, Message)
        assert told.text == line
    for typed in (f"!{name} E7 some words", f"<@U0PURSUIT> !{name} E7 some words"):
        assert message(text=typed, thread_ts="1759.1", parent_user_id="U2").text == line
    assert direct(f"!{name}").text == f"/{name}"


def test_a_slash_command_in_direct_messages_is_private() -> None:
    assert slash("/goal", "x", "D1").inbound.private


def press(value: str = "/goal pause", **message: Any) -> Press:
    received = decode(
        {
            "type": "block_actions",
            "user": {"id": "U1", "name": "anna"},
            "trigger_id": "9.9",
            "container": {"type": "message", "message_ts": "5.5", "channel_id": "C1"},
            "channel": {"id": "C1", "name": "team"},
            "message": {"ts": "5.5"} | message,
            "actions": [
                {
                    "type": "button",
                    "action_id": "command-0",
                    "value": value,
                    "action_ts": "1760000000.5",
                }
            ],
        },
        ME,
    )
    assert received is not None
    assert isinstance(received.inbound, Press)
    return received.inbound


def test_a_press_is_the_buttons_command_in_its_thread() -> None:
    told = press(thread_ts="4.4")
    assert (told.command, told.remote, told.dedupe) == ("/goal pause", "5.5", "sl:i:9.9")
    assert told.address.thread == "4.4"


@pytest.mark.parametrize("what", [*Act, *range(MOST_OPTIONS)])
def test_a_press_on_a_card_carries_its_token_and_tells_when(what: Act | int) -> None:
    data = token.encode(bytes(range(16)), what)
    told = press(data, thread_ts="4.4")
    assert (told.command, told.remote, told.address.thread) == (data, "5.5", "4.4")
    assert told.sent_at == 1760000000.5


def test_a_press_on_a_threads_first_message_is_the_channels() -> None:
    assert not press(thread_ts="5.5").address.thread


@pytest.mark.parametrize(
    "body",
    [
        event(user=None),
        event(ts="soon"),
        event(channel=7),
        event(channel="C1|x"),
        event(files="none"),
        {"type": "event_callback", "event": None},
        {"type": "block_actions", "actions": []},
        {"command": "/goal"},
    ],
    ids=json.dumps,
)
def test_what_cannot_be_read_raises_what_is_caught(body: Obj) -> None:
    with pytest.raises(MALFORMED):
        decode(body, ME)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(sorted(event()["event"])), inner)
        ),
        max_leaves=8,
    )
)
def test_no_event_raises_anything_else(value: Any) -> None:
    body = event()
    body["event"] = value if isinstance(value, dict) else body["event"] | {"text": value}
    with contextlib.suppress(*MALFORMED):
        decode(body, ME)
