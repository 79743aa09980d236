"""The real slack_sdk sends to a fake Slack: what a channel shows, what an error means."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.slack.adapter import SlackPlatform
from core.errors import PermanentError, PursuitError, TransientError, UserError
from core.messages import Attachment, Button, RemoteId, Say, SendFile
from core.ports import Mark
from tests.fakes.slack_api import FakeSlack
from tests.fakes.slack_faults import Fault, Html, Lost, No, Reset, Stall, Status, TooMany
from tests.fakes.slack_people import at
from tests.fakes.slack_rig import platform_for, quick
from tests.fakes.slack_world import ANNA, BOB

BUTTONS = (Button("Pause", "/goal pause"), Button("Clear", "/goal clear"))


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as server:
        yield server


@pytest.fixture
def platform(fake: FakeSlack) -> SlackPlatform:
    return platform_for(fake)


async def test_markdown_goes_out_as_markdown_without_previews(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    text = "# Report\n\n**Done**: `a<b>` & https://example.org"
    await platform.send(at(fake.home), Say(text, markdown=True))
    [call] = fake.called("chat.postMessage")
    assert call.params["markdown_text"] == text
    assert (call.params["unfurl_links"], call.params["unfurl_media"]) == (False, False)
    [shown] = fake.by_bot(fake.home)
    assert (shown.text, shown.formatted, shown.unfurled) == (text, True, False)


async def test_an_answer_goes_into_its_thread(fake: FakeSlack, platform: SlackPlatform) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "?")
    await platform.send(at(team, root.ts), Say("here"))
    await platform.send(at(team), Say("there"))
    assert [(seen.text, seen.thread) for seen in fake.by_bot(team)] == [
        ("here", root.ts),
        ("there", ""),
    ]


async def test_a_card_is_one_message_that_changes_with_its_buttons(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    here = at(fake.home)
    remote = (await platform.send(here, Say("⊙ 1/20", buttons=BUTTONS))).remote
    await platform.edit(here, remote, Say("⊙ 2/20", buttons=BUTTONS[:1]))
    [shown] = fake.by_bot(fake.home)
    assert (shown.text, shown.buttons) == ("⊙ 2/20", [("Pause", "/goal pause")])
    await platform.edit(here, remote, Say("**done**", markdown=True))
    assert (shown.text, shown.buttons, shown.edits) == ("**done**", [], 2)


@pytest.mark.parametrize(
    "code", ["invalid_blocks", "msg_too_long", "invalid_arguments", "markdown_text_conflict"]
)
async def test_refused_markup_goes_out_as_plain_text(
    fake: FakeSlack, platform: SlackPlatform, code: str
) -> None:
    fake.fault("chat.postMessage", No(code))
    fake.fault("chat.update", No(code))
    remote = (
        await platform.send(at(fake.home), Say("**b** <c>", markdown=True, buttons=BUTTONS))
    ).remote
    [shown] = fake.by_bot(fake.home)
    assert (shown.text, shown.formatted, len(shown.buttons)) == ("**b** <c>", False, 2)
    await platform.edit(at(fake.home), remote, Say("**d**", markdown=True))
    assert (shown.text, shown.formatted) == ("**d**", False)


async def test_a_thread_that_is_gone_is_answered_in_the_channel(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    team = fake.world.channel()
    gone = at(team, "1700000000.000001")
    await platform.send(gone, Say("**still**", markdown=True))
    await platform.send(gone, SendFile("a.txt", content="a"))
    first, second = fake.by_bot(team)
    assert (first.thread, first.formatted) == ("", True)
    assert (second.thread, second.file) == ("", "a.txt")


@pytest.mark.parametrize(
    "fault",
    [Reset(), Lost(), Status(500), Html(), Html("text/plain"), No("fatal_error")],
    ids=lambda fault: type(fault).__name__ + getattr(fault, "kind", ""),
)
@pytest.mark.parametrize("markdown", [True, False])
async def test_a_send_whose_answer_is_missing_is_doubtful_and_not_repeated(
    fake: FakeSlack, platform: SlackPlatform, fault: Fault, markdown: bool
) -> None:
    fake.fault("chat.postMessage", fault)
    with pytest.raises(TransientError) as caught:
        await platform.send(at(fake.home), Say("once", markdown=markdown))
    assert caught.value.doubtful
    assert len(fake.called("chat.postMessage")) == 1
    assert len(fake.by_bot(fake.home)) == (1 if isinstance(fault, Lost) else 0)


async def test_a_hung_send_is_doubtful(fake: FakeSlack) -> None:
    never = asyncio.Event()
    fake.fault("chat.postMessage", Stall(never))
    with pytest.raises(TransientError) as caught:
        await platform_for(fake, call_s=0.2).send(at(fake.home), Say("x"))
    never.set()
    assert caught.value.doubtful


async def test_a_send_that_never_connected_is_not_doubtful(fake: FakeSlack) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/api/"
        with pytest.raises(TransientError) as caught:
            await platform_for(fake, base_url=url).send(at(fake.home), Say("x"))
    assert not caught.value.doubtful


async def test_a_cool_down_holds_its_own_channel_only(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    away = fake.world.direct(BOB)
    fake.fault("chat.postMessage", TooMany(30), channel=fake.home)
    for _ in range(2):
        with pytest.raises(TransientError) as caught:
            await platform.send(at(fake.home), Say("later"))
        assert caught.value.retry_after is not None
        assert 29 < caught.value.retry_after <= 30
        assert not caught.value.doubtful
        assert len(fake.called("chat.postMessage")) == 1
    await platform.send(at(away), Say("now"))
    assert [seen.text for seen in fake.by_bot(away)] == ["now"]


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        ("invalid_auth", UserError, r"platforms\.slack\.bot_token"),
        ("account_inactive", UserError, r"platforms\.slack\.bot_token"),
        ("missing_scope", UserError, r"files:read.*platforms\.slack\.bot_token"),
        ("channel_not_found", PermanentError, "does not exist"),
        ("not_in_channel", PermanentError, "/invite"),
        ("is_archived", PermanentError, "archived"),
        ("restricted_action", PermanentError, "restricted_action"),
    ],
)
async def test_a_refusal_says_who_must_act(
    fake: FakeSlack, platform: SlackPlatform, code: str, kind: type[PursuitError], told: str
) -> None:
    fake.fault("chat.postMessage", No(code))
    with pytest.raises(kind, match=told):
        await platform.send(at(fake.home), Say("**x**", markdown=True))
    assert len(fake.called("chat.postMessage")) == 1


async def test_a_message_that_was_deleted_cannot_be_edited(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    with pytest.raises(PermanentError, match="does not exist any more"):
        await platform.edit(at(fake.home), RemoteId("1.1"), Say("x"))


# Files


async def test_a_file_is_uploaded_into_its_thread(
    fake: FakeSlack, platform: SlackPlatform, tmp_path: Path
) -> None:
    team = fake.world.channel()
    root = fake.world.post(team, ANNA, "?")
    (tmp_path / "out.bin").write_bytes(bytes(range(256)))
    file = SendFile("out.bin", "see <!here> & <b>", path=str(tmp_path / "out.bin"))
    remote = (await platform.send(at(team, root.ts), file)).remote
    [shown] = fake.by_bot(team)
    assert (shown.file, shown.content, shown.thread) == ("out.bin", bytes(range(256)), root.ts)
    assert (shown.text, shown.pings) == ("see <\u2060!here> & <b>", [])
    assert remote in fake.world.files


@pytest.mark.parametrize(
    ("method", "fault", "copies"),
    [
        ("files.getUploadURLExternal", Lost(), 0),
        ("upload", Reset(), 0),
        ("upload", Status(500), 0),
        ("files.completeUploadExternal", Lost(), 1),
    ],
    ids=str,
)
async def test_an_upload_that_breaks_is_doubtful_and_makes_one_copy_at_most(
    fake: FakeSlack, platform: SlackPlatform, method: str, fault: Fault, copies: int
) -> None:
    fake.fault(method, fault)
    with pytest.raises(TransientError) as caught:
        await platform.send(at(fake.home), SendFile("a.txt", content="a"))
    assert caught.value.doubtful
    assert len(fake.by_bot(fake.home)) == copies


async def test_files_that_cannot_be_sent_are_permanent_errors(
    fake: FakeSlack, platform: SlackPlatform, tmp_path: Path
) -> None:
    with (tmp_path / "big").open("wb") as big:
        big.truncate(101 * 1024 * 1024)
    for name in ("big", "missing"):
        with pytest.raises(PermanentError, match=name):
            await platform.send(at(fake.home), SendFile(name, path=str(tmp_path / name)))
    assert not fake.calls


# Progress, reactions, status


async def test_progress_is_one_message_that_changes(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    here = at(fake.home)
    remote = await platform.show_progress(here, 1, None, "reading <b>")
    assert await platform.show_progress(here, 1, remote, "writing @here") == remote
    [shown] = fake.by_bot(fake.home)
    assert (shown.text, shown.edits) == ("writing @\u2060here", 1)
    assert await platform.show_progress(here, 1, remote, " ") == remote


async def test_progress_gives_way_where_slack_wants_a_rest_and_answers_go_on(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    here = at(fake.home)
    remote = await platform.show_progress(here, 1, None, "one")
    fake.fault("chat.update", TooMany(30))
    for _ in range(2):
        with pytest.raises(TransientError) as caught:
            await platform.show_progress(here, 1, remote, "two")
        assert not caught.value.doubtful
    assert len(fake.called("chat.update")) == 1
    await platform.send(here, Say("the answer"))
    assert [seen.text for seen in fake.by_bot(fake.home)] == ["one", "the answer"]


async def test_progress_whose_fate_is_unknown_is_doubtful(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    fake.fault("chat.postMessage", Lost())
    with pytest.raises(TransientError) as caught:
        await platform.show_progress(at(fake.home), 1, None, "one")
    assert caught.value.doubtful


async def test_progress_that_is_refused_is_left_out(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    fake.fault("chat.postMessage", No("restricted_action"))
    assert await platform.show_progress(at(fake.home), 1, None, "one") is None


async def test_a_reaction_follows_what_becomes_of_a_message(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    said = fake.world.post(fake.home, ANNA, "work")
    remote = RemoteId(said.ts)
    for state in (Mark.SEEN, Mark.WORKING, Mark.WORKING):
        await platform.acknowledge(at(fake.home), remote, state)
        assert said.reactions == ["eyes"]
    assert len(fake.called("reactions.add")) == 1
    restarted = platform_for(fake)
    await restarted.acknowledge(at(fake.home), remote, Mark.WORKING)
    await restarted.acknowledge(at(fake.home), remote, Mark.DONE)
    assert said.reactions == ["white_check_mark"]


async def test_a_workspace_without_reactions_is_asked_once(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    fake.fault("reactions.add", No("missing_scope"), times=99)
    for _ in range(3):
        said = fake.world.post(fake.home, ANNA, "work")
        await platform.acknowledge(at(fake.home), RemoteId(said.ts), Mark.SEEN)
    assert len(fake.called("reactions.add")) == 1


async def test_a_thread_shows_that_work_goes_on_where_slack_lets_it(
    fake: FakeSlack, platform: SlackPlatform
) -> None:
    team, other = fake.world.channel(), fake.world.channel()
    fake.fault("assistant.threads.setStatus", No("not_allowed"), channel=other)
    for place in (at(team, "1.1"), at(other, "2.2"), at(other, "2.2"), at(fake.home)):
        await platform.acknowledge(place, RemoteId(""), Mark.WORKING)
    for place in (at(team, "1.1"), at(other, "2.2"), at(team, "3.3")):
        await platform.acknowledge(place, RemoteId(""), Mark.DONE)
    assert fake.world.statuses == [(team.id, "1.1", "is working…"), (team.id, "1.1", "")]
    assert len(fake.called("assistant.threads.setStatus")) == 3


async def test_what_may_be_missed_is_left_out_over_the_limit(fake: FakeSlack) -> None:
    platform = platform_for(fake, extras_per_minute=2)
    for number in range(5):
        said = fake.world.post(fake.home, ANNA, str(number))
        await platform.acknowledge(at(fake.home), RemoteId(said.ts), Mark.SEEN)
    assert len(fake.called("reactions.add")) == 2


# Files that people sent


def kept(fake: FakeSlack, content: bytes, **more: str) -> Attachment:
    file = fake.world.keep("plan.bin", content, **more)
    return Attachment(file.id, file.name, file.mime, len(content))


async def test_a_file_is_fetched_with_the_bots_token(
    fake: FakeSlack, platform: SlackPlatform, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 4096
    await platform.download(kept(fake, content), tmp_path / "plan")
    assert (tmp_path / "plan").read_bytes() == content


async def test_a_login_page_is_no_file(
    fake: FakeSlack, platform: SlackPlatform, tmp_path: Path
) -> None:
    stranger = platform_for(fake)
    fake.fault("file", Html())
    with pytest.raises(UserError, match="files:read"):
        await stranger.download(kept(fake, b"secret"), tmp_path / "a")
    fake.fault("file", Status(302))
    with pytest.raises(UserError, match="files:read"):
        await platform.download(kept(fake, b"secret"), tmp_path / "b")
    fake.fault("file", Html())
    with pytest.raises(UserError, match="files:read"):
        await platform.download(kept(fake, b"<p>x</p>", mime="text/html"), tmp_path / "c")
    assert not (tmp_path / "a").exists()


async def test_a_web_page_that_was_sent_is_a_file(
    fake: FakeSlack, platform: SlackPlatform, tmp_path: Path
) -> None:
    await platform.download(kept(fake, b"<p>x</p>", mime="text/html"), tmp_path / "page")
    assert (tmp_path / "page").read_bytes() == b"<p>x</p>"


async def test_the_token_goes_to_slack_only(
    fake: FakeSlack, platform: SlackPlatform, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="not kept by Slack"):
        await platform.download(kept(fake, b"x", mode="external"), tmp_path / "x")


async def test_files_that_cannot_be_had_say_why(
    fake: FakeSlack, platform: SlackPlatform, tmp_path: Path
) -> None:
    huge = Attachment("F1", "huge.iso", size=101 * 1024 * 1024)
    with pytest.raises(UserError, match="100 MB"):
        await platform.download(huge, tmp_path / "x")
    with pytest.raises(UserError, match="cannot be had"):
        await platform.download(Attachment("F404", "gone.txt"), tmp_path / "x")
    fake.fault("files.info", No("missing_scope"))
    with pytest.raises(UserError, match="files:read"):
        await platform.download(kept(fake, b"x"), tmp_path / "x")
    fake.fault("file", Status(404))
    with pytest.raises(UserError, match="any more"):
        await platform.download(kept(fake, b"x"), tmp_path / "x")
    fake.fault("file", Status(500))
    with pytest.raises(TransientError):
        await platform.download(kept(fake, b"x"), tmp_path / "x")
    with pytest.raises(UserError, match="cannot be saved"):
        await platform.download(kept(fake, b"x"), tmp_path / "no" / "folder")


async def test_calls_work_before_and_after_a_run_and_close_what_they_opened(
    fake: FakeSlack,
) -> None:
    platform = platform_for(fake)
    await platform.send(at(fake.home), Say("one"))
    await platform.send(at(fake.home), Say("two"))
    assert [seen.text for seen in fake.by_bot(fake.home)] == ["one", "two"]
    assert quick(fake).secrets == (fake.bot_token, fake.app_token)
