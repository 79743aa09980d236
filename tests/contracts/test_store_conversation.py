"""The `Store` contract: a lane's chat is read back as people and the bot made it."""

from __future__ import annotations

from core.messages import Address, Attachment, LaneKey, PlatformName, Say, Sender
from core.messages import Message as Inbound
from core.sessions.arrivals import Arrival, Said
from core.sessions.conversation import Conversation, Line, Posted, Told
from core.sessions.inputs import payload_of
from tests.contracts.store_rig import LANE, OWNER, Rig, answered

WEB = Address(PlatformName.WEB, "web", "first")
OTHER_WEB = Address(PlatformName.WEB, "web", "second")
DAY_S = 24 * 3600.0


def words(line: Line) -> str:
    """What a line reads."""
    match line:
        case Told(text=text):
            return text
        case Posted(what=Say(text=text)):
            return text
        case Posted(what=what):
            return what.name if not isinstance(what, Say) else ""


def read(conversation: Conversation) -> list[str]:
    return [words(line) for line in conversation.lines]


async def talk(rig: Rig, lane: LaneKey, *texts: str) -> None:
    """Messages, each answered and delivered, a second apart."""
    for text in texts:
        await rig.accept(rig.message(text, lane=lane))
        rig.clock.wall += 1
        await rig.end(await rig.turn(lane), answered(f"re: {text}"), lane)
        await rig.heard(lane)
        rig.clock.wall += 1


async def test_a_chat_reads_as_it_was_said(rig: Rig) -> None:
    for lane in (WEB.key, LANE):
        await talk(rig, lane, "one", "two")
        await rig.accept(rig.order("/whoami", lane=lane))
        await rig.heard(lane)
        await rig.reopen()
        found = await rig.store.conversation(lane)
        assert read(found)[:5] == ["one", "re: one", "two", "re: two", "/whoami"]
        assert found.earlier is None
        first, second = found.lines[:2]
        assert isinstance(first, Told)
        assert isinstance(second, Posted)
        assert (first.by, first.command, second.at - first.at) == (OWNER, False, 1)
        assert second.remote
        command = found.lines[4]
        assert isinstance(command, Told)
        assert command.command


async def test_pages_join_without_a_gap_or_a_double(rig: Rig) -> None:
    await talk(rig, WEB.key, *(str(n) for n in range(7)))
    whole = read(await rig.store.conversation(WEB.key))
    assert len(whole) == 14
    for limit in (1, 3, 14):
        joined: list[str] = []
        page = await rig.store.conversation(WEB.key, limit=limit)
        joined[:0] = read(page)
        while page.earlier is not None:
            page = await rig.store.conversation(WEB.key, before=page.earlier, limit=limit)
            joined[:0] = read(page)
        assert joined == whole


async def test_only_what_arrived_counts_as_shown(rig: Rig) -> None:
    await rig.accept(rig.message("hello", lane=WEB.key))
    await rig.end(await rig.turn(WEB.key), answered("soon"), WEB.key)
    assert read(await rig.store.conversation(WEB.key)) == ["hello"]
    out = await rig.store.next_outgoing(WEB.key, now=rig.clock.now())
    assert out is not None
    assert read(await rig.store.conversation(WEB.key)) == ["hello"]
    await rig.store.sent(out, rig.at("m1"))
    assert read(await rig.store.conversation(WEB.key)) == ["hello", "soon"]


async def test_files_that_people_sent_are_told_of(rig: Rig) -> None:
    file = Attachment("abc", "notes.txt", "text/plain", 12)
    said = Inbound(
        address=WEB,
        dedupe="web:first:1",
        sender=Sender("owner"),
        text="read this",
        attachments=(file,),
    )
    payload = payload_of(said, text=said.text, shared=False)
    await rig.accept(Arrival(WEB.key, said.dedupe, OWNER, Said(payload)))
    [line] = (await rig.store.conversation(WEB.key)).lines
    assert isinstance(line, Told)
    assert (line.dedupe, line.attachments) == ("web:first:1", (file,))


async def test_a_goals_status_message_is_told_from_the_rest(rig: Rig) -> None:
    await rig.accept(rig.order("/goal Write a poem", lane=WEB.key))
    await rig.heard(WEB.key)
    said, card = (await rig.store.conversation(WEB.key)).lines
    assert words(said) == "/goal Write a poem"
    assert isinstance(card, Posted)
    assert card.card
    facts = await rig.store.card(WEB.key)
    assert facts is not None
    assert facts.remote == card.remote


async def test_chats_are_listed_by_what_they_began_with_the_latest_first(rig: Rig) -> None:
    await rig.accept(rig.order("/help", lane=WEB.key))
    await talk(rig, WEB.key, "hello")
    await rig.accept(rig.order("/goal Write a poem", lane=OTHER_WEB.key))
    await talk(rig, LANE, "elsewhere")
    await rig.begin(OTHER_WEB.key)
    second, first = await rig.store.chats(PlatformName.WEB)
    assert (second.lane, second.first, second.busy, second.goal) == (
        OTHER_WEB.key,
        "Write a poem",
        True,
        "active",
    )
    assert (first.lane, first.first, first.busy, first.goal) == (WEB.key, "hello", False, "")
    assert first.last < second.last


async def test_a_web_chat_is_kept_however_old_it_is(rig: Rig) -> None:
    await talk(rig, WEB.key, "hello")
    await talk(rig, LANE, "hello")
    rig.clock.wall += 60 * DAY_S
    while await rig.store.prune():
        pass
    assert read(await rig.store.conversation(WEB.key)) == ["hello", "re: hello"]
    assert read(await rig.store.conversation(LANE)) == []
