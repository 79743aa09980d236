"""From decoded values to arrivals: who is let in, where to, and as what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from core.commands import Invocation
from core.errors import TransientError
from core.escalations import token
from core.escalations.routing import Push, Words
from core.escalations.token import Act
from core.messages import (
    Ack,
    Address,
    Duplicate,
    Handled,
    Inbound,
    LaneKey,
    Message,
    PlatformName,
    Press,
    Principal,
    Queued,
    Refused,
    RemoteId,
    Role,
    Sender,
)
from core.sessions.arrivals import Arrival, Commanded, Pushed, Relocation, Said
from core.sessions.lane import Busy
from core.sessions.ports import Signals
from gateway.access import Access, Allowlist
from gateway.router import MAX_MESSAGE, LaneRules, Router
from tests.fakes.people import MemoryPeople

GROUP = Address(PlatformName.TELEGRAM, "42", "-7")
ANNA, BEN, EVE = Sender("1", "Anna"), Sender("2", "Ben"), Sender("3", "Anna")


@dataclass(slots=True)
class HeldClock:
    at: float = 1000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass(slots=True)
class RecordingStore:
    """Keeps what it was given; each accept takes `takes_s` and may fail. A batch with the key
    `poison` cannot be taken at all."""

    clock: HeldClock
    takes_s: float = 0.0
    full: bool = False
    poison: str = ""
    cursors: list[tuple[str, str]] = field(default_factory=list)
    arrivals: list[Arrival | Relocation] = field(default_factory=list)

    async def accept(
        self,
        arrivals: Sequence[Arrival | Relocation],
        *,
        cursor: tuple[str, str] | None,
        now: float,
        early: Callable[[Signals], None] | None = None,
    ) -> tuple[tuple[Ack, ...], Signals]:
        self.clock.at += self.takes_s
        if self.full:
            raise TransientError("the disk is full")
        if self.poison in {a.dedupe for a in arrivals}:
            raise ZeroDivisionError
        self.arrivals.extend(arrivals)
        self.cursors.extend([cursor] if cursor else [])
        acks: list[Ack] = [
            Handled("done")
            if isinstance(a, Arrival) and isinstance(a.what, Commanded)
            else Queued(0)
            for a in arrivals
        ]
        return tuple(acks), Signals()

    async def cursor(self, source: str) -> str | None:
        return None


@dataclass(slots=True)
class Deaf:
    """Acts on nothing, and keeps what was to be cut."""

    cuts: list[LaneKey] = field(default_factory=list)

    def follow(self, signals: Signals) -> None:
        """Nobody acts."""

    def cut(self, lane: LaneKey) -> None:
        self.cuts.append(lane)


@dataclass(slots=True)
class Rig:
    clock: HeldClock
    store: RecordingStore
    lanes: Deaf
    router: Router

    async def send(self, *batch: Inbound) -> tuple[Ack, ...]:
        return await self.router.accept(batch)


def rig(people: MemoryPeople | None = None, rules: LaneRules | None = None) -> Rig:
    clock = HeldClock()
    store = RecordingStore(clock)
    allowed = Allowlist(owners=frozenset({"1"}), members=frozenset({"2"}), pairing=True)
    access = Access({PlatformName.TELEGRAM: allowed}, people)
    lanes = Deaf()
    return Rig(clock, store, lanes, Router(store, access, lanes, clock, rules or LaneRules()))


def said(text: str, *, by: Sender = ANNA, key: str = "k1", private: bool = False) -> Message:
    return Message(address=GROUP, dedupe=key, sender=by, text=text, private=private)


def pressed(command: str, *, by: Sender = ANNA, key: str = "p1") -> Press:
    return Press(
        address=GROUP, dedupe=key, sender=by, command=command, remote=RemoteId("9"), private=False
    )


async def test_a_stranger_gets_nothing_even_under_a_known_name() -> None:
    at = rig()
    assert await at.send(said("hi", by=EVE), pressed("/stop", by=EVE)) == (
        Refused(""),
        Refused(""),
    )
    assert at.store.arrivals == []


async def test_strangers_are_written_down_and_only_who_writes_in_private_may_pair() -> None:
    at = rig(people := MemoryPeople())
    acks = await at.send(
        said("hi", by=EVE, key="1", private=True),
        said("/stop", key="2"),
        said("hi", by=EVE, key="3"),
        pressed("/stop", by=EVE, key="4"),
    )
    assert [bool(ack.text) for ack in acks if isinstance(ack, Refused)] == [True, False, False]
    assert acks[1] == Handled("done")
    assert [(r.what, r.person, r.may_pair) for r in people.refused] == [
        ("message", "3", True),
        ("message", "3", False),
        ("press", "3", False),
    ]


async def test_a_stranger_who_does_not_mean_the_bot_is_nobodys_business() -> None:
    at = rig(people := MemoryPeople())
    aside = Message(address=GROUP, dedupe="1", sender=EVE, text="hi", addressed=False)
    assert await at.send(aside) == (Refused(""),)
    assert people.refused == []


async def test_a_refusal_that_cannot_be_written_holds_nobody_up() -> None:
    at = rig(MemoryPeople(full=True))
    acks = await at.send(said("hi", by=EVE, key="1", private=True), said("/stop", key="2"))
    assert acks == (Refused(""), Handled("done"))


async def test_acks_keep_the_order_of_the_batch() -> None:
    at = rig()
    acks = await at.send(said("a", key="1"), said("x", by=EVE, key="2"), said("/stop", key="3"))
    assert acks == (Queued(0), Refused(""), Handled("done"))


async def test_a_person_is_named_to_the_model_only_where_others_write_too() -> None:
    at = rig()
    await at.send(said("hi", key="1"), said("ho", key="2", private=True))
    names = [
        a.what.payload["name"]
        for a in at.store.arrivals
        if isinstance(a, Arrival) and isinstance(a.what, Said)
    ]
    assert names == ["Anna", ""]


async def test_each_person_has_a_lane_where_the_config_says_so() -> None:
    at = rig(rules=LaneRules(per_user=True))
    await at.send(said("hi", key="1"), said("ho", by=BEN, key="2"))
    lanes = [a.lane for a in at.store.arrivals if isinstance(a, Arrival)]
    assert lanes == [LaneKey("telegram|42|-7||1"), LaneKey("telegram|42|-7||2")]


async def test_steer_and_queue_are_messages_with_their_own_manners() -> None:
    at = rig()
    await at.send(said("/steer look here", key="1"), said("/queue later", key="2"))
    found = [a.what for a in at.store.arrivals if isinstance(a, Arrival)]
    assert [(w.busy, w.payload["text"]) for w in found if isinstance(w, Said)] == [
        (Busy.STEER, "look here"),
        (Busy.QUEUE, "later"),
    ]


async def test_a_path_is_no_command() -> None:
    at = rig()
    await at.send(said("/etc/hosts is broken"))
    [arrival] = at.store.arrivals
    assert isinstance(arrival, Arrival)
    assert isinstance(arrival.what, Said)


async def test_a_huge_message_is_refused_in_words() -> None:
    at = rig()
    [ack] = await at.send(said("x" * (MAX_MESSAGE + 1)))
    assert isinstance(ack, Refused)
    assert "100,001 characters" in ack.text
    assert "file" in ack.text


async def test_a_second_press_after_a_late_confirmation_is_the_same_press() -> None:
    at = rig()
    at.store.takes_s = 2.5
    await at.send(pressed("/goal pause"))
    at.store.takes_s = 0.0
    assert await at.send(pressed("/goal pause", key="p2")) == (Duplicate(),)
    assert len(at.store.arrivals) == 1


async def test_a_press_that_could_not_be_saved_counts_once_when_it_comes_again() -> None:
    at = rig()
    at.store.full = True
    with pytest.raises(TransientError):
        await at.send(pressed("/goal pause"))
    at.store.full = False
    assert await at.send(pressed("/goal pause", key="p2")) == (Duplicate(),)
    assert await at.send(pressed("/goal pause")) == (Handled("done"),)  # the batch, again


async def test_another_person_or_a_later_press_acts() -> None:
    at = rig()
    at.store.takes_s = 2.5
    await at.send(pressed("/goal pause"))
    at.store.takes_s = 0.0
    assert await at.send(pressed("/goal pause", by=BEN, key="p2")) == (Handled("done"),)
    at.clock.at += 31.0
    assert await at.send(pressed("/goal pause", key="p3")) == (Handled("done"),)


async def test_a_confirmed_command_may_be_given_twice() -> None:
    at = rig()
    assert await at.send(pressed("/goal"), pressed("/goal", key="p2")) == (
        Handled("done"),
        Handled("done"),
    )
    commands = [a.what for a in at.store.arrivals if isinstance(a, Arrival)]
    assert commands == [Commanded(Invocation("goal", ""))] * 2


async def test_a_press_on_a_card_carries_what_the_button_says_and_from_which_message() -> None:
    at = rig()
    data = token.encode(b"0123456789abcdef", Act.APPROVE)
    await at.send(pressed(data))
    (arrival,) = at.store.arrivals
    assert isinstance(arrival, Arrival)
    anna = Principal("1", "Anna", Role.OWNER)
    push = Push(by=anna, address=GROUP, data=data, remote=RemoteId("9"))
    assert arrival.what == Pushed(push)
    assert await at.send(pressed(data, by=EVE, key="p2")) == (Refused(""),)
    assert len(at.store.arrivals) == 1


async def test_a_broken_press_on_a_card_is_for_the_store_to_refuse() -> None:
    at = rig()
    await at.send(pressed("esc:what"))
    (arrival,) = at.store.arrivals
    assert isinstance(arrival, Arrival)
    assert isinstance(arrival.what, Pushed)


async def test_a_message_is_handed_on_as_a_possible_answer() -> None:
    at = rig()
    message = said("yes", by=BEN, private=True)
    await at.send(replace(message, sent_at=990.0, replies_to=RemoteId("7")))
    assert words(at) == Words(
        by=Principal("2", "Ben", Role.MEMBER),
        address=GROUP,
        text="yes",
        sent_at=990.0,
        private=True,
        replies_to=RemoteId("7"),
    )


async def test_a_message_with_a_file_or_a_part_of_a_longer_one_is_not_bare() -> None:
    at = rig()
    await at.send(replace(said("yes"), may_continue=True))
    found = words(at)
    assert found is not None
    assert not found.bare


async def test_what_is_said_by_command_answers_nothing() -> None:
    at = rig()
    await at.send(said("/queue yes"))
    assert words(at) is None


async def test_an_answering_command_carries_the_platforms_time() -> None:
    at = rig()
    await at.send(replace(said("/approve E1"), sent_at=990.0))
    (arrival,) = at.store.arrivals
    assert isinstance(arrival, Arrival)
    assert arrival.what == Commanded(Invocation("approve", "E1"), 990.0)


def words(at: Rig) -> Words | None:
    """The one message that came, as a possible answer."""
    (arrival,) = at.store.arrivals
    assert isinstance(arrival, Arrival)
    assert isinstance(arrival.what, Said)
    return arrival.what.words


async def test_one_message_that_nobody_can_take_does_not_hold_up_the_rest() -> None:
    bench = rig()
    bench.store.poison = "k2"
    batch = [said("one", key="k1"), said("two", key="k2"), said("three", key="k3")]
    acks = await bench.router.accept(batch, cursor=("telegram:42", "7"))
    refusal = "⚠ This could not be taken: an internal error; the log has the details."
    assert acks == (Queued(0), Refused(refusal), Queued(0))
    assert [arrival.dedupe for arrival in bench.store.arrivals] == ["k1", "k3"]
    assert bench.store.cursors == [("telegram:42", "7")]


async def test_a_stop_that_cannot_be_stored_ends_the_turn_all_the_same() -> None:
    at = rig()
    at.store.full = True
    with pytest.raises(TransientError):
        await at.send(said("hi", key="1"), said("/stop", key="2"))
    assert at.lanes.cuts == [GROUP.key]
