"""The real discord.py sends to a fake Discord: what a channel shows, what an error means."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from simcord.backend.models import Overwrite
from simcord.enums import OverwriteType

from adapters.discord.adapter import DiscordPlatform
from core.errors import PermanentError, TransientError, UserError
from core.messages import Attachment, Button, Message, RemoteId, Say, SendFile
from core.ports import Mark
from tests.fakes.discord_api import FakeDiscord
from tests.fakes.discord_rig import at, platform_for, running
from tests.fakes.intake import FakeIntake
from tests.fakes.telegram_faults import Html, Lost, Reset, Stall, Status, TooMany

SUPPRESS_EMBEDS, SILENT = 1 << 2, 1 << 12
SEND_MESSAGES = 1 << 11


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as server:
        yield server


@pytest.fixture
async def platform(fake: FakeDiscord, tmp_path: Path) -> AsyncIterator[DiscordPlatform]:
    made = platform_for(fake, tmp_path)
    yield made
    await made._link.close()


@pytest.fixture
def home(fake: FakeDiscord) -> int:
    return fake.direct(fake.anna)


async def test_a_post_goes_out_without_pings_and_previews(
    fake: FakeDiscord, platform: DiscordPlatform
) -> None:
    channel = fake.channel()
    said = fake.say("who?", channel=channel)
    text = f"@everyone <@{fake.anna.id}> see https://example.org"
    await platform.send(
        at(fake, channel), Say(text, markdown=True, reply_to=RemoteId(str(said.id)))
    )
    [shown] = fake.shown(channel)
    assert shown.pings == ()
    assert shown.flags == SUPPRESS_EMBEDS
    assert shown.reply_to == said.id
    body = fake.called("send")[0].asked.body
    assert body["allowed_mentions"] == {"parse": []}
    assert body["enforce_nonce"] is True


async def test_a_reply_to_a_vanished_message_is_sent_all_the_same(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    await platform.send(at(fake, home), Say("here", reply_to=RemoteId("999")))
    assert fake.shown(home)[0].text == "here"


async def test_verbatim_text_is_escaped_and_addresses_are_not(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    text = "# not a *title* <@1> `x` ||y|| 1. one\n- item\n2. two\nhttps://example.org/a_b_c"
    await platform.send(at(fake, home), Say(text))
    [shown] = fake.shown(home)
    assert shown.text == text
    assert "https://example.org/a_b_c" in shown.raw
    assert r"\# not a \*title\*" in shown.raw


async def test_a_lost_response_gives_one_copy_in_all_tries_under_one_key(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    what = Say("once", buttons=(Button("Stop", "/stop"),))
    fake.fault("send", Lost(), times=2)
    for _ in range(2):
        with pytest.raises(TransientError) as caught:
            await platform.send(at(fake, home), what, key="7:1795")
        assert caught.value.doubtful
    remote = (await platform.send(at(fake, home), what, key="7:1795")).remote
    [shown] = fake.shown(home)
    assert (shown.text, str(shown.id)) == ("once", remote)
    await platform.send(at(fake, home), what, key="8:1795")
    assert len(fake.shown(home)) == 2


async def test_a_lost_response_to_a_file_gives_one_copy(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    fake.fault("send", Lost())
    with pytest.raises(TransientError):
        await platform.send(at(fake, home), SendFile("a.txt", "see", content="a"), key="7:1")
    await platform.send(at(fake, home), SendFile("a.txt", "see", content="a"), key="7:1")
    [shown] = fake.shown(home)
    assert (shown.text, shown.files) == ("see", (("a.txt", b"a"),))


async def test_messages_without_a_key_are_never_taken_for_each_other(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    for _ in range(2):
        await platform.send(at(fake, home), Say("the same"))
    assert [shown.text for shown in fake.shown(home)] == ["the same", "the same"]


@pytest.mark.parametrize("fault", [Reset(), Status(500), Status(502), Html()])
async def test_a_send_without_an_answer_is_in_doubt_and_not_repeated_here(
    fake: FakeDiscord, platform: DiscordPlatform, home: int, fault: Reset | Status | Html
) -> None:
    fake.fault("send", fault)
    with pytest.raises(TransientError) as caught:
        await platform.send(at(fake, home), Say("x"))
    assert caught.value.doubtful
    assert len(fake.called("send")) == 1


async def test_a_send_that_is_never_answered_is_given_up_in_doubt(
    fake: FakeDiscord, tmp_path: Path, home: int
) -> None:
    platform = platform_for(fake, tmp_path, call_s=0.3)
    stall = Stall()
    fake.fault("send", stall)
    with pytest.raises(TransientError) as caught:
        await platform.send(at(fake, home), Say("x"))
    stall.until.set()
    assert caught.value.doubtful
    await platform._link.close()


async def test_a_server_that_cannot_be_reached_leaves_no_doubt(
    fake: FakeDiscord, tmp_path: Path, home: int
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/api/v10"
    platform = platform_for(fake, tmp_path, api_base=nobody)
    with pytest.raises(TransientError) as caught:
        await platform.send(at(fake, home), Say("x"))
    assert not caught.value.doubtful


async def test_a_limit_cools_that_channel_and_no_other(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    fake.fault("send", TooMany(60), chat=home)
    with pytest.raises(TransientError) as caught:
        await platform.send(at(fake, home), Say("x"))
    assert caught.value.retry_after == 60.0
    assert not caught.value.doubtful
    with pytest.raises(TransientError) as again:
        await platform.send(at(fake, home), Say("x"))
    assert 59 < (again.value.retry_after or 0) <= 60
    assert len(fake.called("send")) == 1
    await platform.send(at(fake, fake.direct(fake.bob)), Say("y"))


async def test_missing_permissions_and_unknown_channels_are_permanent(
    fake: FakeDiscord, platform: DiscordPlatform
) -> None:
    guild = fake.guild()
    channel = fake.channel(guild)
    everyone = Overwrite(guild.id, OverwriteType.ROLE, deny=SEND_MESSAGES)
    mine = Overwrite(fake.backend.bot_user.id, OverwriteType.MEMBER, deny=SEND_MESSAGES)
    for rule in (everyone, mine):
        fake.backend.set_overwrite(channel, rule)
    with pytest.raises(PermanentError, match="Missing Permissions"):
        await platform.send(at(fake, channel), Say("x"))
    place = at(fake, channel)
    fake.forbid(channel)
    with pytest.raises(PermanentError, match="Unknown Channel"):
        await platform.send(place, Say("x"))


async def test_a_refused_token_is_for_a_person_to_mend(
    fake: FakeDiscord, tmp_path: Path, home: int
) -> None:
    platform = platform_for(fake, tmp_path, token=fake.token + "x")
    with pytest.raises(UserError, match=r"platforms\.discord\.token") as caught:
        await platform.send(at(fake, home), Say("x"))
    assert fake.token not in str(caught.value)


async def test_an_archived_thread_is_opened_for_an_answer(
    fake: FakeDiscord, platform: DiscordPlatform
) -> None:
    thread = fake.thread(fake.channel(), archived=True)
    await platform.send(at(fake, thread), Say("still here"))
    assert [shown.text for shown in fake.shown(thread)] == ["still here"]
    metadata = fake.backend.get_channel(thread).thread_metadata
    assert metadata is not None
    assert not metadata.archived


async def test_buttons_outlive_an_edit_and_go_with_it(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    buttons = (Button("Pause", "/goal pause"), Button("Clear", "/goal clear"))
    remote = (await platform.send(at(fake, home), Say("Goal", buttons=buttons))).remote
    assert fake.shown(home)[0].buttons == ("Pause", "Clear")
    await platform.edit(at(fake, home), remote, Say("Paused"))
    [shown] = fake.shown(home)
    assert (shown.text, shown.buttons) == ("Paused", ())


async def test_a_command_too_long_for_a_button_is_refused_here(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    with pytest.raises(PermanentError, match="button command"):
        await platform.send(at(fake, home), Say("x", buttons=(Button("b", "/x" * 60),)))
    assert not fake.calls


async def test_an_edit_of_a_vanished_message_is_permanent(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    with pytest.raises(PermanentError, match="Unknown Message"):
        await platform.edit(at(fake, home), RemoteId("12345"), Say("x"))


async def test_progress_is_one_silent_message_that_changes(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    remote = await platform.show_progress(at(fake, home), 1, None, "reading *files*")
    same = await platform.show_progress(at(fake, home), 1, remote, "writing")
    [shown] = fake.shown(home)
    assert (shown.text, shown.edited) == ("writing", 1)
    assert shown.flags & SUPPRESS_EMBEDS
    assert remote == same == str(shown.id)
    assert fake.called("send")[0].asked.body["flags"] == SUPPRESS_EMBEDS | SILENT


async def test_progress_keeps_its_pace_and_tells_of_an_edit_in_doubt(
    fake: FakeDiscord, tmp_path: Path, home: int
) -> None:
    platform = platform_for(fake, tmp_path, progress_gap_s=60.0)
    remote = await platform.show_progress(at(fake, home), 1, None, "one")
    with pytest.raises(TransientError) as caught:
        await platform.show_progress(at(fake, home), 1, remote, "two")
    assert not caught.value.doubtful
    other = at(fake, fake.direct(fake.bob))
    fake.fault("send", Lost())
    with pytest.raises(TransientError) as lost:
        await platform.show_progress(other, 2, None, "one")
    assert lost.value.doubtful
    await platform.send(at(fake, home), Say("the answer is not held up"))
    await platform._link.close()


async def test_a_mark_takes_the_place_of_the_one_before(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    said = fake.say("work")
    remote = RemoteId(str(said.id))
    seen = []
    for state in (Mark.SEEN, Mark.WORKING, Mark.DONE):
        await platform.acknowledge(at(fake, home), remote, state)
        seen.append(fake.reactions(home, said.id))
    assert seen == [["👀"], ["👀"], ["✅"]]
    assert len(fake.called("react")) == 2
    assert len(fake.called("typing")) == 1


async def test_a_limit_on_reactions_holds_up_no_answer(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    said = fake.say("work")
    fake.fault("react", TooMany(60))
    await platform.acknowledge(at(fake, home), RemoteId(str(said.id)), Mark.DONE)
    await platform.send(at(fake, home), Say("done"))
    assert [shown.text for shown in fake.shown(home)] == ["done"]


async def test_a_file_over_ten_megabytes_is_refused_before_anything_is_sent(
    fake: FakeDiscord, platform: DiscordPlatform, home: int, tmp_path: Path
) -> None:
    big = tmp_path / "big.bin"
    with big.open("wb") as file:
        file.truncate(10 * 1024 * 1024 + 1)
    with pytest.raises(PermanentError, match="at most 10 MB"):
        await platform.send(at(fake, home), SendFile("big.bin", path=str(big)))
    assert not fake.calls


async def test_a_file_whose_address_has_expired_is_found_through_its_message(
    fake: FakeDiscord, platform: DiscordPlatform, tmp_path: Path
) -> None:
    intake = FakeIntake()
    async with running(platform, intake):
        fake.say("look", files=(("plan.txt", b"step 1"),))
        [message] = await intake.got(1)
        assert isinstance(message, Message)
        fake.fault("file", Status(404))
        await platform.download(message.attachments[0], tmp_path / "plan")
    assert (tmp_path / "plan").read_bytes() == b"step 1"


async def test_a_file_that_is_gone_or_too_large_is_told(
    fake: FakeDiscord, platform: DiscordPlatform, home: int, tmp_path: Path
) -> None:
    ref = f"{home}/1/2 http://127.0.0.1:{fake.port}/cdn/none"
    with pytest.raises(PermanentError):
        await platform.download(Attachment(ref, "a"), tmp_path / "a")
    with pytest.raises(PermanentError, match="no file of Discord"):
        await platform.download(Attachment("BQAC", "a"), tmp_path / "a")
    with pytest.raises(UserError, match="at most 25 MB"):
        await platform.download(Attachment(ref, "a", size=1 << 30), tmp_path / "a")


async def test_sending_goes_on_while_the_gateway_is_down(
    fake: FakeDiscord, platform: DiscordPlatform, home: int
) -> None:
    intake = FakeIntake()
    async with running(platform, intake):
        fake.gateway.refuses = True
        fake.gateway.cut()
        await fake.wait_for(lambda: not platform.health().ok)
        async with asyncio.timeout(2):
            await platform.send(at(fake, home), Say("the answer"))
    assert [shown.text for shown in fake.shown(home)] == ["the answer"]
