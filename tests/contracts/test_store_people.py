"""The `People` port: codes for strangers, who was let in, and an audit that stays small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.messages import Address, LaneKey, PlatformName, Role
from core.pairing import ALPHABET, LIVES_S, LOCK_S, Approve, ListPeople, Remove
from core.people import People, Refusal
from tests.contracts.backends import people_of
from tests.contracts.store_rig import HERE, MEMBER, OWNER, Rig


@pytest.fixture
def people(rig: Rig) -> People:
    return people_of(rig.store)


def dm(person: str, platform: PlatformName = PlatformName.TELEGRAM) -> LaneKey:
    return Address(platform, "bot", person).key


def stranger(person: str = "66", *, may_pair: bool = True, **changes: object) -> Refusal:
    asked = Refusal(
        platform=PlatformName.TELEGRAM,
        person=person,
        name=f"Eve\n{person}",
        chat=person,
        lane=dm(person),
        what="message",
        may_pair=may_pair,
    )
    return replace(asked, **changes)  # type: ignore[arg-type]


async def knocked(rig: Rig, person: str = "66", **changes: object) -> str:
    """A stranger writes; the code they are told, or ""."""
    asked = stranger(person, **changes)  # type: ignore[arg-type]
    [code] = await people_of(rig.store).refuse([asked], now=rig.clock.now())
    return code


async def approved(rig: Rig, code: str, role: Role = Role.MEMBER) -> bool:
    """The owner's shell approves a code."""
    decision, signals = await people_of(rig.store).pair(
        Approve(code, role), "the command line", now=rig.clock.now()
    )
    assert decision.done is bool(signals.deliver)
    return decision.done


def audited(people: People) -> list[tuple[str, str, int]]:
    """What, who and how often, oldest first."""
    return [(row.what, row.person, row.times) for row in reversed(people.audit(100))]


async def test_a_stranger_gets_one_code_and_then_nothing_new(rig: Rig, people: People) -> None:
    code = await knocked(rig)
    assert len(code) == 8
    assert set(code) <= set(ALPHABET)
    assert await knocked(rig) == ""
    await rig.reopen()
    assert await knocked(rig) == ""
    rig.clock.wall += LIVES_S
    assert await knocked(rig) not in {"", code}


async def test_who_may_not_pair_gets_no_code(rig: Rig, people: People) -> None:
    assert await knocked(rig, may_pair=False) == ""
    assert people.book().pending == ()


async def test_three_codes_are_open_at_once_on_a_platform(rig: Rig, people: People) -> None:
    codes = [await knocked(rig, str(person)) for person in range(1, 5)]
    assert [bool(code) for code in codes] == [True, True, True, False]
    slack = {"platform": PlatformName.SLACK, "lane": dm("U1", PlatformName.SLACK)}
    assert await knocked(rig, "U1", **slack)
    assert await approved(rig, codes[0])
    assert await knocked(rig, "4")


async def test_the_code_lets_the_person_in_at_once_and_for_good(rig: Rig, people: People) -> None:
    code = await knocked(rig)
    assert people.role(PlatformName.TELEGRAM, "66") is None
    assert await approved(rig, code)
    assert people.role(PlatformName.TELEGRAM, "66") is Role.MEMBER
    assert people.role(PlatformName.SLACK, "66") is None
    assert await rig.heard(dm("66")) == [
        "✓ You were let in as member. Write what you want done; /help lists commands."
    ]
    await rig.reopen()
    people = people_of(rig.store)
    assert people.role(PlatformName.TELEGRAM, "66") is Role.MEMBER
    [one] = people.book().paired
    assert (one.name, one.by, one.at) == ("Eve 66", "the command line", rig.clock.now())


async def test_a_code_is_good_once(rig: Rig, people: People) -> None:
    code = await knocked(rig)
    assert await approved(rig, code, Role.OWNER)
    assert people.role(PlatformName.TELEGRAM, "66") is Role.OWNER
    assert not await approved(rig, code)


async def test_who_is_let_out_is_a_stranger_again(rig: Rig, people: People) -> None:
    assert await approved(rig, await knocked(rig))
    decision, _ = await people.pair(Remove("66"), "x", now=rig.clock.now())
    assert decision.done
    assert people.role(PlatformName.TELEGRAM, "66") is None
    assert await knocked(rig)


async def test_five_wrong_codes_lock_approving_over_a_restart(rig: Rig) -> None:
    code = await knocked(rig)
    for _ in range(5):
        assert not await approved(rig, "WRONG222")
    await rig.reopen()
    assert not await approved(rig, code)
    rig.clock.wall += LOCK_S
    assert await approved(rig, await knocked(rig))


async def test_refusals_of_a_minute_are_one_row_with_a_count(rig: Rig, people: People) -> None:
    for _ in range(50):
        await knocked(rig, may_pair=False)
    await knocked(rig, "67", may_pair=False)
    await knocked(rig, may_pair=False, what="press")
    rig.clock.wall += 61
    await knocked(rig, may_pair=False)
    assert audited(people) == [
        ("refused message", "66", 50),
        ("refused message", "67", 1),
        ("refused press", "66", 1),
        ("refused message", "66", 1),
    ]


async def test_strangers_cannot_fill_the_disk(rig: Rig, people: People) -> None:
    assert await approved(rig, await knocked(rig))
    for start in range(0, 10_500, 500):
        crowd = [stranger(f"s{start + n}", may_pair=False) for n in range(500)]
        await people.refuse(crowd, now=rig.clock.now())
    rows = people.audit(20_000)
    assert 10_000 <= len(rows) <= 10_200
    assert rows[0].person == "s10499"
    assert "let in as member" in {row.what for row in rows}


async def test_every_grant_and_every_wrong_code_is_written_down(rig: Rig, people: People) -> None:
    code = await knocked(rig)
    await approved(rig, "WRONG222")
    await approved(rig, code)
    await people.pair(Remove("66"), "telegram:1", now=rig.clock.now())
    await people.pair(ListPeople(), "telegram:1", now=rig.clock.now())
    assert audited(people) == [
        ("was given a pairing code", "66", 1),
        ("refused message", "66", 1),
        ("wrong pairing code", "", 1),
        ("let in as member", "66", 1),
        ("let out", "66", 1),
    ]
    assert people.audit(1)[0].detail == "by telegram:1"
    assert people.audit(2)[1].chat == "66"


async def test_an_owner_accepts_in_the_chat_and_only_members(rig: Rig, people: People) -> None:
    code = await knocked(rig)
    await rig.tell(f"/pair approve {code}")
    assert people.role(PlatformName.TELEGRAM, "66") is Role.MEMBER
    await rig.tell("/pair list")
    await rig.tell("/pair remove 66")
    assert people.role(PlatformName.TELEGRAM, "66") is None
    assert await rig.heard() == [
        "✓ Eve 66 (telegram:66) is let in as member.",
        "Nobody waits to be let in.\nLet in by pairing:\n· Eve 66 (telegram:66), member",
        "✓ Eve 66 (telegram:66) is let out.",
    ]
    assert [row.detail for row in people.audit(2)] == [f"by {HERE.platform}:{OWNER.id}"] * 2
    [welcome] = await rig.heard(dm("66"))
    assert welcome.startswith("✓ You were let in")


async def test_a_redelivered_approval_counts_once(rig: Rig) -> None:
    wrong = rig.order("/pair approve WRONG222")
    for _ in range(7):
        await rig.accept(wrong)
    assert await approved(rig, await knocked(rig))


async def test_members_let_nobody_in(rig: Rig, people: People) -> None:
    code = await knocked(rig)
    await rig.tell(f"/pair approve {code}", MEMBER)
    assert await rig.heard() == ["Only owners may use /pair."]
    assert people.book().paired == ()


async def test_a_member_who_asks_for_what_owners_may_is_written_down(
    rig: Rig, people: People
) -> None:
    for line in ("/pair list", "/model", "/sessions all", "/resume #7", "/workspace 1"):
        await rig.tell(line, MEMBER)
    await rig.tell("/workspace", MEMBER)
    assert audited(people) == [("refused command", MEMBER.id, 5)]
    [row] = people.audit(9)
    assert (row.platform, row.chat, row.detail) == ("telegram", "100", "Cora")


async def test_a_strangers_name_gives_a_terminal_no_orders(rig: Rig, people: People) -> None:
    await knocked(rig, name="\x1b]0;owned\x07 Eve\n\u202e" + "x" * 500)
    [knock] = people.book().pending
    assert knock.name.isprintable()
    assert len(knock.name) <= 64


async def test_a_code_is_nowhere_in_the_folder(rig: Rig) -> None:
    code = await knocked(rig)
    await rig.store.close()
    assert not [
        file.name
        for file in rig.folder.rglob("*")
        if file.is_file() and code.encode() in file.read_bytes()
    ]
