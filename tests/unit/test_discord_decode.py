"""Discord's messages as values of the core, from JSON as Discord sends it."""

from __future__ import annotations

from typing import Any, TypeAlias

import discord
import pytest

from adapters.discord.decode import Me, decode
from adapters.discord.media import place_of, safe_name
from core.messages import Message

Obj: TypeAlias = dict[str, Any]

ME = Me(42)
ANNA: Obj = {
    "id": "1001",
    "username": "anna",
    "global_name": "Anna\nSmith",
    "discriminator": "0",
    "avatar": None,
}
GUILD: Obj = {
    "id": "500",
    "name": "Team",
    "roles": [
        {"id": "501", "name": "Pursuit", "tags": {"bot_id": "42"}},
        {"id": "502", "name": "ops"},
    ],
    "channels": [{"id": "510000000000000000", "type": 0, "name": "general", "position": 0}],
    "threads": [],
    "members": [],
}
ROLE: Obj = {"permissions": "0", "position": 0, "color": 0, "colors": {}, "hoist": False}


@pytest.fixture
async def state() -> Any:
    """discord.py's own state, with a server in it, as the gateway fills it."""
    client = discord.Client(intents=discord.Intents(guilds=True), max_messages=None)
    made: Any = client._connection
    roles = [{**ROLE, "managed": False, "mentionable": True, **r} for r in GUILD["roles"]]
    channels = [{**c, "permission_overwrites": []} for c in GUILD["channels"]]
    made._add_guild_from_data({**GUILD, "roles": roles, "channels": channels})
    return made


def said(state: Any, content: str, **more: Any) -> Message | None:
    """The value of a message; `guild_id` puts it into the server's channel."""
    channel = "510000000000000000" if "guild_id" in more else "9"
    data: Any = {
        "id": "7000",
        "channel_id": channel,
        "author": ANNA,
        "content": content,
        "timestamp": "2026-01-01T00:00:00+00:00",
        "edited_timestamp": None,
        "type": 0,
        "tts": False,
        "pinned": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        **more,
    }
    place, _ = state._get_guild_channel(data)
    return decode(discord.Message(state=state, channel=place, data=data), ME)


async def test_a_private_text_is_decoded_with_clean_words_and_names(state: Any) -> None:
    message = said(state, "  a\r\nb\x00\x1b[31m  ")
    assert message is not None
    assert (message.text, message.sender.name) == ("a\nb[31m", "Anna Smith")
    assert (message.private, message.addressed, message.remote) == (True, True, "7000")
    assert message.address.key == "discord|42|9||"


async def test_the_bots_role_is_taken_for_the_bot(state: Any) -> None:
    for content, mentioned, addressed, text in (
        ("<@&501> hello", ["501"], True, "hello"),
        ("<@&502> hello", ["502"], False, "@ops hello"),
        ("<@!42>, hello <#510000000000000000>", [], True, "hello #general"),
        ("@everyone hello", [], False, "@everyone hello"),
    ):
        more: Obj = {"guild_id": "500", "mention_roles": mentioned}
        more["mention_channels"] = []
        message = said(state, content, **more)
        assert message is not None
        assert (message.addressed, message.text) == (addressed, text)


async def test_people_are_called_by_their_names(state: Any) -> None:
    bob = {**ANNA, "id": "1002", "username": "bob", "global_name": "Bob"}
    message = said(state, "ask <@1002>, not <@1003>", mentions=[bob])
    assert message is not None
    assert message.text == "ask @Bob, not <@1003>"


async def test_a_channel_that_is_not_known_yet_is_no_private_chat(state: Any) -> None:
    message = said(state, "hello", guild_id="999")
    assert message is not None
    assert (message.private, message.addressed) == (False, False)


@pytest.mark.parametrize(
    "more",
    [
        {"author": {**ANNA, "bot": True}},
        {"author": {**ANNA, "id": "42"}},
        {"webhook_id": "77"},
        {"type": 7},
        {"type": 18},
    ],
)
async def test_bots_webhooks_ourselves_and_notices_start_nothing(state: Any, more: Obj) -> None:
    assert said(state, "hello", **more) is None


async def test_an_empty_message_starts_nothing(state: Any) -> None:
    assert said(state, " ") is None


async def test_a_file_is_found_by_its_address_and_its_message(state: Any) -> None:
    file = {
        "id": "8000",
        "filename": "../etc/pass wd.txt",
        "content_type": "text/plain; charset=utf-8",
        "size": 12,
        "url": "https://cdn.discordapp.com/attachments/9/8000/x?ex=1",
        "proxy_url": "https://media.discordapp.net/x",
    }
    message = said(state, "", attachments=[file])
    assert message is not None
    [attachment] = message.attachments
    assert (attachment.name, attachment.mime, attachment.size) == (
        "pass wd.txt",
        "text/plain",
        12,
    )
    place = place_of(attachment.ref)
    assert place is not None
    assert (place.channel, place.message, place.file) == (9, 7000, 8000)
    assert place.url == file["url"]


async def test_a_forwarded_command_commands_nothing(state: Any) -> None:
    shot = {
        "type": 0,
        "content": "/goal clear",
        "embeds": [],
        "attachments": [],
        "timestamp": "2026-01-01T00:00:00+00:00",
        "edited_timestamp": None,
    }
    reference = {"type": 1, "channel_id": "9", "message_id": "6"}
    message = said(
        state,
        "",
        message_reference=reference,
        message_snapshots=[{"message": shot}],
        flags=1 << 14,
    )
    assert message is not None
    assert message.text == "Forwarded message:\n/goal clear"
    assert not message.replies_to


def pointing(at: str, **more: Any) -> Obj:
    """What makes a message in the server a reply to another one."""
    reference = {"type": 0, "channel_id": "510000000000000000", "message_id": at}
    return {"guild_id": "500", "type": 19, "message_reference": reference, **more}


def original(author: Obj, content: str) -> Obj:
    """The message replied to, as Discord shows it beside the reply."""
    return {
        "id": "6000",
        "channel_id": "510000000000000000",
        "author": author,
        "content": content,
        "timestamp": "2026-01-01T00:00:00+00:00",
        "edited_timestamp": None,
        "type": 0,
        "attachments": [],
        "embeds": [],
        "mentions": [],
        "mention_roles": [],
        "mention_everyone": False,
        "tts": False,
        "pinned": False,
    }


async def test_a_reply_to_the_bot_is_meant_for_it_and_brings_what_it_answers(state: Any) -> None:
    us = {**ANNA, "id": "42", "username": "pursuit", "bot": True}
    for author, addressed in ((us, True), (ANNA, False)):
        shown = original(author, "**May** I?")
        message = said(state, "yes", **pointing("6000", referenced_message=shown))
        assert message is not None
        assert (message.addressed, message.replies_to) == (addressed, "6000")
        assert message.quoted == "**May** I?"


@pytest.mark.parametrize("gone", [{}, {"referenced_message": None}], ids=["untold", "deleted"])
async def test_a_reply_to_what_discord_does_not_show_names_it_all_the_same(
    state: Any, gone: Obj
) -> None:
    us = {**ANNA, "id": "42", "username": "pursuit", "bot": True}
    for pinged, addressed in (([us], True), ([ANNA], False), ([], False)):
        message = said(state, "yes", **pointing("6000", mentions=pinged, **gone))
        assert message is not None
        assert (message.addressed, message.replies_to) == (addressed, "6000")
        assert (message.text, message.quoted) == ("yes", "")


async def test_a_sticker_is_told_in_words(state: Any) -> None:
    message = said(state, "", sticker_items=[{"id": "3", "name": "Wave", "format_type": 1}])
    assert message is not None
    assert message.text == "[sticker: Wave]"


async def test_only_a_text_of_full_length_may_continue(state: Any) -> None:
    lengths = {
        n: message.may_continue for n in (1999, 2000, 4000) if (message := said(state, "x" * n))
    }
    assert lengths == {1999: False, 2000: True, 4000: True}


def test_a_name_is_made_safe() -> None:
    assert safe_name("..", "file-1") == "file-1"
    assert safe_name("a:b?.txt", "x") == "a_b_.txt"
    assert len(safe_name("x" * 300 + ".txt", "x")) == 120
