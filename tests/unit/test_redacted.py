"""A platform whose texts pass a redactor: what goes out is clean, but for what is approved."""

from __future__ import annotations

from core.escalations import token
from core.messages import Address, Button, Outbound, PlatformName, RemoteId, Say, SendFile
from core.ports import Sent
from gateway.platforms import Redacted
from gateway.redact import MASK, Redactor
from tests.fakes.patient import Patient

HERE = Address(PlatformName.TELEGRAM, "1", "2")
BUTTON = token.encode(bytes(16), token.Act.APPROVE)
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


async def test_a_card_goes_out_as_its_desk_has_made_it() -> None:
    posting = Posting()
    platform = Redacted(posting, REDACTOR)
    card = Say("rm '-----BEGIN PRIVATE KEY-----'\nrm -rf ~", buttons=(Button("Yes", BUTTON),))
    await platform.send(HERE, card)
    assert posting.posted == [card]
    assert platform.room == posting.room
