"""Who may talk: by id, deny by default, and what each role may do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from core import commands
from core.messages import Address, PlatformName, Principal, Role, Sender
from core.people import Refusal
from core.rights import RIGHTS, Right, least, may
from gateway.access import MOST_KNOCKS, WEB_OWNER, Access, Allowlist, Door
from gateway.clock import SystemClock
from tests.fakes.people import CODE, MemoryPeople

DM = Address(PlatformName.TELEGRAM, "42", "3")
GROUP = Address(PlatformName.TELEGRAM, "42", "-7")


LISTS = Allowlist(owners=frozenset({"1"}), members=frozenset({"2"}), pairing=True)


def access(people: MemoryPeople | None = None, lists: Allowlist = LISTS) -> Access:
    return Access({PlatformName.TELEGRAM: lists}, people)


def refusal(person: str = "3", *, may_pair: bool = True) -> Refusal:
    return Refusal(
        platform=PlatformName.TELEGRAM,
        person=person,
        name="Anna",
        chat="3",
        lane=DM.key,
        what="message",
        may_pair=may_pair,
    )


def test_people_are_known_by_their_id_and_never_by_their_name() -> None:
    door = access()
    assert door.admit(Sender("1", "Anna"), DM) == Principal("1", "Anna", Role.OWNER)
    assert door.admit(Sender("3", "Anna"), DM) is None
    assert door.admit(Sender("Anna", "1"), DM) is None


def test_a_platform_without_lists_admits_nobody() -> None:
    assert access().role(PlatformName.SLACK, "1", "C1") is None
    assert access(lists=Allowlist()).role(PlatformName.TELEGRAM, "1", "1") is None


def test_whoever_sits_at_the_console_owns_the_process() -> None:
    assert access().role(PlatformName.CONSOLE, "anybody", "main") is Role.OWNER


def test_on_the_web_only_the_holder_of_the_token_is_an_owner() -> None:
    assert access().role(PlatformName.WEB, WEB_OWNER, "s1") is Role.OWNER
    assert access().role(PlatformName.WEB, "1", "s1") is None


def test_chats_limit_members_but_neither_admit_strangers_nor_hold_owners() -> None:
    door = access(lists=replace(LISTS, chats=frozenset({"-7"})))
    assert door.role(PlatformName.TELEGRAM, "2", "-7") is Role.MEMBER
    assert door.role(PlatformName.TELEGRAM, "2", "2") is None
    assert door.role(PlatformName.TELEGRAM, "1", "5") is Role.OWNER
    assert door.role(PlatformName.TELEGRAM, "9", "-7") is None


def test_a_paired_person_is_known_at_once_and_on_their_platform_only() -> None:
    people = MemoryPeople()
    door = access(people)
    people.roles[PlatformName.TELEGRAM, "3"] = Role.MEMBER
    assert door.role(PlatformName.TELEGRAM, "3", "3") is Role.MEMBER
    assert door.role(PlatformName.SLACK, "3", "3") is None
    del people.roles[PlatformName.TELEGRAM, "3"]
    assert door.role(PlatformName.TELEGRAM, "3", "3") is None


def test_the_configuration_goes_before_what_was_paired() -> None:
    people = MemoryPeople({(PlatformName.TELEGRAM, "1"): Role.MEMBER})
    assert access(people).role(PlatformName.TELEGRAM, "1", "1") is Role.OWNER


def test_other_lists_hold_from_the_moment_they_are_given() -> None:
    door = access()
    door.relist({PlatformName.TELEGRAM: Allowlist(members=frozenset({"1"}))})
    assert door.role(PlatformName.TELEGRAM, "1", "1") is Role.MEMBER
    assert door.role(PlatformName.TELEGRAM, "2", "2") is None


async def test_a_stranger_who_may_pair_is_told_their_code() -> None:
    [told] = await access(MemoryPeople()).refuse([refusal()], now=0.0)
    assert CODE in told
    assert f"pursuit pair approve {CODE}" in told


@pytest.mark.parametrize(
    ("lists", "asked"),
    [
        (replace(LISTS, pairing=False), refusal()),
        (LISTS, refusal(may_pair=False)),
        (replace(LISTS, chats=frozenset({"-7"})), refusal("2")),
    ],
    ids=["no pairing here", "not in private", "a member where members are not heard"],
)
async def test_others_are_told_nothing_and_written_down(lists: Allowlist, asked: Refusal) -> None:
    people = MemoryPeople()
    assert await access(people, lists).refuse([asked], now=0.0) == ("",)
    assert people.refused == [replace(asked, may_pair=False)]


class SlowPeople(MemoryPeople):
    """Counts writes, each of which takes until `gate` is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.begun = asyncio.Event(), asyncio.Event()
        self.writes = 0

    async def refuse(self, refusals: Sequence[Refusal], *, now: float) -> tuple[str, ...]:
        self.writes += 1
        self.begun.set()
        await self.gate.wait()
        return await MemoryPeople.refuse(self, refusals, now=now)


async def test_a_flood_of_wrong_tokens_is_few_writes() -> None:
    people = SlowPeople()
    door = Door(access(people), SystemClock(), "login")
    async with asyncio.TaskGroup() as group:
        group.create_task(door.refused("10.0.0.1"))
        await people.begun.wait()
        for _ in range(5 * MOST_KNOCKS):
            group.create_task(door.refused("10.0.0.2"))
        await asyncio.sleep(0)
        people.gate.set()
    assert people.writes == 2
    assert len(people.refused) == 1 + MOST_KNOCKS


def test_members_talk_and_set_goals_and_owners_do_all() -> None:
    assert RIGHTS[Role.OWNER] == set(Right)
    assert RIGHTS[Role.MEMBER] == {Right.TALK, Right.SET_GOALS}
    assert all(may(least(right), right) for right in Right)


def test_a_member_is_offered_no_command_of_owners() -> None:
    names = {spec.name for spec in commands.allowed(Role.MEMBER)}
    assert not names & {"pair", "model"}
    assert names >= {"goal", "stop", "usage", "workspace", "sessions"}
    assert "/pair" not in commands.unknown("pare", Role.MEMBER)
    assert "Did you mean /pair?" in commands.unknown("pare", Role.OWNER)
