"""A platform whose texts pass a redactor: what goes out is clean, and is measured as it goes."""

from __future__ import annotations

from core.messages import Address, Outbound, PlatformName, RemoteId, Say, SendFile
from core.ports import Sent
from gateway.platforms import Redacted
from gateway.redact import MASK, Redactor
from tests.fakes.patient import Patient

HERE = Address(PlatformName.TELEGRAM, "1", "2")
REDACTOR = Redactor(["hunter2"])


class Posting(Patient):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(PlatformName.TELEGRAM)
        self.posted: list[Outbound] = []

    async def send(self, address: Address, what: Outbound, *, key: str = "") -> Sent:
        """Always."""
        self.posted.append(what)
        return Sent(RemoteId("7"), 1_700_000_000.0)


async def test_what_is_sent_is_clean_and_the_platforms_answer_comes_back() -> None:
    posting = Posting()
    platform = Redacted(posting, REDACTOR)
    sent = await platform.send(HERE, Say("it is hunter2"))
    await platform.send(HERE, SendFile("a", "hunter2", content="hunter2"))
    assert sent == Sent(RemoteId("7"), 1_700_000_000.0)
    assert posting.posted == [Say(f"it is {MASK}"), SendFile("a", MASK, content=MASK)]


def test_a_text_has_the_room_that_it_takes_when_it_goes_out() -> None:
    posting = Posting()
    room = Redacted(posting, REDACTOR).room
    assert room.limit == posting.room.limit
    assert room.size("it is hunter2") == len(f"it is {MASK}")
    longest = "x" * (room.limit - len(MASK))
    assert room.holds(f"{longest}hunter2")
    assert not room.holds(f"x{longest}hunter2")
