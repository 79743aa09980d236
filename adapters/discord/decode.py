"""A Discord message or interaction as a value of the core. Pure: no I/O, no clock, no state.

What starts nothing decodes to None: bots, webhooks, our own messages, joins and other notices.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import discord

from adapters.discord.media import attachments, described
from core.commands import BY_NAME, read
from core.messages import Address, Message, PlatformName, Press, RemoteId, Sender

FULL_LENGTHS = frozenset({2000, 4000})
"""What Discord's client lets a person write, without and with Nitro."""
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff\ufffe\uffff]")
SAID = frozenset({discord.MessageType.default, discord.MessageType.reply})
NAMED = re.compile(r"<(@!?|@&|#)(\d{1,20})>")


@dataclass(frozen=True, slots=True)
class Me:
    """The bot itself: its user id and, per server, the role that Discord made for it."""

    id: int

    def is_my_role(self, role: discord.Role) -> bool:
        """Whether people may take the role for the bot: the two bear one name."""
        return role.tags is not None and role.tags.bot_id == self.id


def decode(message: discord.Message, me: Me) -> Message | None:
    """The message's value, None for one that starts nothing."""
    author = message.author
    if author.bot or author.id == me.id or message.webhook_id is not None:
        return None
    if message.type not in SAID:
        return None
    private = is_private(message.channel)
    files = attachments(message)
    text, addressed = _told(message, me, private=private)
    if not (text or files):
        return None
    return Message(
        address=address_of(message.channel, me),
        dedupe=f"dc:{message.id}",
        sender=_sender(author),
        text=text,
        remote=RemoteId(str(message.id)),
        sent_at=message.created_at.timestamp(),
        private=private,
        addressed=addressed,
        may_continue=len(message.content) in FULL_LENGTHS,
        attachments=files,
        quoted=_quoted(message),
        replies_to=_target(message),
    )


def decode_command(interaction: discord.Interaction, line: str, me: Me) -> Message | None:
    """A command of the native menu as the message that a person could have typed."""
    if interaction.channel is None or interaction.user.bot:
        return None
    return Message(
        address=address_of(interaction.channel, me),
        dedupe=f"dc:i:{interaction.id}",
        sender=_sender(interaction.user),
        text=cleaned(line).strip(),
        sent_at=interaction.created_at.timestamp(),
        private=is_private(interaction.channel),
    )


def decode_press(interaction: discord.Interaction, command: str, me: Me) -> Press | None:
    """A press on a button with what the button stands for."""
    if interaction.channel is None or interaction.message is None or interaction.user.bot:
        return None
    return Press(
        address=address_of(interaction.channel, me),
        dedupe=f"dc:i:{interaction.id}",
        sender=_sender(interaction.user),
        command=cleaned(command),
        remote=RemoteId(str(interaction.message.id)),
        sent_at=interaction.created_at.timestamp(),
        private=is_private(interaction.channel),
    )


def is_private(channel: discord.abc.Snowflake) -> bool:
    """A chat of two. A channel of a server that we know nothing of yet is none."""
    if isinstance(channel, discord.PartialMessageable):
        return channel.guild_id is None
    return isinstance(channel, discord.DMChannel)


def address_of(channel: discord.abc.Snowflake, me: Me) -> Address:
    """The place's address: a thread has its channel as the chat."""
    number = str(channel.id)
    if isinstance(channel, discord.Thread):
        return Address(PlatformName.DISCORD, str(me.id), str(channel.parent_id), number)
    return Address(PlatformName.DISCORD, str(me.id), number)


def cleaned(text: str) -> str:
    """The text with Unix line ends and without control characters and lone surrogates."""
    return UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _told(message: discord.Message, me: Me, *, private: bool) -> tuple[str, bool]:
    """What the person says, and whether to us."""
    if message.message_snapshots:
        # Somebody else's words: whatever they begin with, they command nothing.
        words = "\n".join(shot.content for shot in message.message_snapshots)
        return f"Forwarded message:\n{cleaned(words)}".rstrip(), private
    mentioned = _mentioned(message, me)
    text = cleaned(_named(message, message.content or described(message), me))
    text = text.strip(" ,:\n\t") if mentioned else text.strip()
    line = read(text)
    command = line is not None and line.name in BY_NAME
    ours = private or mentioned or command or _replies_to(message, me)
    return text, ours or _takes_part(message.channel, me)


def _mentioned(message: discord.Message, me: Me) -> bool:
    # Only what stands in the text: a reply counts its author as mentioned too.
    if re.search(rf"<@!?{me.id}>", message.content):
        return True
    return any(
        me.is_my_role(role) and f"<@&{role.id}>" in message.content
        for role in message.role_mentions
    )


def _named(message: discord.Message, text: str, me: Me) -> str:
    """The text with names for ids, and without our own."""
    people = {user.id: user.display_name for user in message.mentions}
    roles = {role.id: role for role in message.role_mentions}
    channels = {channel.id: channel.name for channel in message.channel_mentions}

    def name(found: re.Match[str]) -> str:
        number = int(found[2])
        match found[1]:
            case "#":
                return f"#{channels[number]}" if number in channels else found[0]
            case "@&":
                role = roles.get(number)
                if role is None:
                    return found[0]
                return "" if me.is_my_role(role) else f"@{role.name}"
            case _:
                if number == me.id:
                    return ""
                return f"@{people[number]}" if number in people else found[0]

    return NAMED.sub(name, text)


def _replies_to(message: discord.Message, me: Me) -> bool:
    target = message.reference.resolved if message.reference is not None else None
    if isinstance(target, discord.Message):
        return target.author.id == me.id
    # Where Discord does not show the message, a ping that is not in the text is a reply's.
    return bool(_target(message)) and any(user.id == me.id for user in message.mentions)


def _takes_part(channel: discord.abc.Snowflake, me: Me) -> bool:
    """A thread that the bot is in, or has opened."""
    return isinstance(channel, discord.Thread) and (
        channel.me is not None or channel.owner_id == me.id
    )


def _target(message: discord.Message) -> RemoteId:
    """The message that the person replies to; a forward refers to one too."""
    reference = message.reference
    if reference is None or reference.type is not discord.MessageReferenceType.reply:
        return RemoteId("")
    return RemoteId(str(reference.message_id or ""))


def _quoted(message: discord.Message) -> str:
    if message.reference is None or message.message_snapshots:
        return ""
    target = message.reference.resolved
    return cleaned(target.clean_content) if isinstance(target, discord.Message) else ""


def _sender(user: discord.User | discord.Member) -> Sender:
    return Sender(str(user.id), " ".join(cleaned(user.display_name).split()))
