"""An escalation: one question to a person, as it is stored. Values only.

It is a record and never a waiting future: the work that asked is parked, and what becomes of the
question is told to it later, once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from core.messages import Address, Principal, RemoteId, Role, SessionId, TurnId

NO_MESSAGE = RemoteId("")
MAX_OPEN = 5
"""How many may wait for an answer in one lane."""
LEAST_OPTIONS, MOST_OPTIONS = 2, 8
"""How many options a choice has."""
SHORTEST_S, LONGEST_S = 60, 7 * 86_400
"""How long a question may wait, by the settings and by the tool that asks."""
GRACE_S = 900.0
"""A card never expires sooner after it was sent or after start-up."""
REMINDERS_S = (900.0, 7200.0)
"""When reminders are sent, counted from the card, where nothing else is said."""


class Kind(StrEnum):
    """What is asked for."""

    APPROVE = "approve"
    CHOOSE = "choose"
    TEXT = "text"


class Purpose(StrEnum):
    """Who asks: the `ask` tool, a branch table, a dangerous command, an ACP permission."""

    ASK = "ask"
    BRANCH = "branch"
    COMMAND = "command"
    PERMISSION = "permission"


class State(StrEnum):
    """Where it stands; the value is what people and the store see."""

    PENDING_SEND = "pending_send"
    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNDELIVERABLE = "undeliverable"
    APPLIED = "applied"


LIVE = frozenset({State.PENDING_SEND, State.OPEN})
"""It may still be answered, or will be asked yet."""
SETTLED = frozenset({State.ANSWERED, State.EXPIRED, State.CANCELLED, State.UNDELIVERABLE})
"""It is decided, and the work that asked has not been told yet."""


class OnTimeout(StrEnum):
    """What no answer means: there is no third, and never a yes."""

    DENY = "deny"
    """The work goes on as if it was refused."""
    ABORT = "abort"
    """The work ends."""


class Label(StrEnum):
    """What a fact of a card is; there are no others."""

    COMMAND = "command"
    DIRECTORY = "directory"
    TOOL = "tool"
    ARGUMENTS = "arguments"
    PATH = "path"
    AGENT = "agent"
    REASON = "why it is asked"
    TASK = "task"
    BRANCH = "branch"
    CONDITION = "condition"
    EXPECTED = "expected"
    OBSERVED = "observed"
    TRIED = "tried"


EXACT = frozenset({Label.COMMAND, Label.DIRECTORY, Label.TOOL, Label.ARGUMENTS, Label.PATH})
"""What is approved: shown whole and covered by the digest."""
CLAIMS = frozenset({Label.TASK, Label.CONDITION, Label.EXPECTED, Label.OBSERVED, Label.TRIED})
"""What models wrote: a card shows it with their words, as unchecked as those."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a card. The host chose it; who wrote the text goes by the label."""

    label: Label
    text: str


# What a person may answer.


@dataclass(frozen=True, slots=True)
class Approved:
    """Yes, to exactly what the card showed."""


@dataclass(frozen=True, slots=True)
class Denied:
    """No; to a choice or a question it means that the person will not answer."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Chose:
    """One of the options; `index` counts from 0."""

    index: int
    option: str


@dataclass(frozen=True, slots=True)
class Wrote:
    """An answer in words."""

    text: str


Answer: TypeAlias = Approved | Denied | Chose | Wrote


@dataclass(frozen=True, slots=True)
class Approvers:
    """Who may answer: everybody with one of the roles, and the person who is worked for if
    `requester`."""

    roles: frozenset[Role] = frozenset({Role.OWNER})
    requester: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A message that shows the card: the platform's id of it, and when it was sent (the
    platform's time where known)."""

    remote: RemoteId
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """One question. `number` counts within its lane, times are wall time.

    `options` are those of a choice. `digest` is the SHA-256 of the exact facts, as hex. `tokens`
    are hashes of the callback tokens of its buttons.
    """

    number: int
    kind: Kind
    purpose: Purpose
    question: str
    """The model's words, as they came; only cards and prompts make them safe to show."""
    requester: Principal
    approvers: Approvers
    address: Address
    """The one place where it is asked and may be answered."""
    session: SessionId
    turn: TurnId
    tool_call_id: str
    created: float
    expires: float
    on_timeout: OnTimeout = OnTimeout.ABORT
    facts: tuple[Fact, ...] = ()
    options: tuple[str, ...] = ()
    digest: str = ""
    tokens: tuple[bytes, ...] = ()
    state: State = State.PENDING_SEND
    copies: tuple[Copy, ...] = ()
    reminders: tuple[RemoteId, ...] = ()
    """The messages that reminded of it; a reply to one is a reply to the card."""
    remind_after: tuple[float, ...] = REMINDERS_S
    """When reminders are sent, in seconds counted from the card, earliest first."""
    reminded: int = 0
    quiet: bool = False
    """Somebody pressed Later: no more reminders."""
    hold_until: float = 0.0
    """It does not expire before, whatever `expires` says."""
    drift_s: float = 0.0
    """The clocks' difference that has been waited for already."""
    answer: Answer | None = None
    decider: Principal | None = None
    decided: float | None = None
    """When it left OPEN, for whatever reason."""
    ending: State | None = None
    """The settled state that it was or is in; APPLIED does not lose it."""
    why: str = ""
    """Why it was cancelled or could not be delivered."""

    @property
    def id(self) -> str:
        """What people call it: `E7`."""
        return f"E{self.number}"

    @property
    def live(self) -> bool:
        """Whether it may still be answered."""
        return self.state in LIVE

    @property
    def sent(self) -> float | None:
        """When its first card was confirmed, None before."""
        return min((copy.at for copy in self.copies), default=None)

    @property
    def until(self) -> float:
        """When it really expires, as things stand."""
        graces = (copy.at + GRACE_S for copy in self.copies)
        return max(self.expires, self.hold_until, *graces)

    @property
    def exact(self) -> tuple[Fact, ...]:
        """The facts that are approved."""
        return tuple(fact for fact in self.facts if fact.label in EXACT)

    def admits(self, person: Principal) -> bool:
        """Whether this person may answer it."""
        own = self.approvers.requester and person.id == self.requester.id
        return own or person.role in self.approvers.roles

    @property
    def messages(self) -> tuple[RemoteId, ...]:
        """Its cards, then its reminders."""
        return (*(copy.remote for copy in self.copies), *self.reminders)

    def shown_in(self, remote: RemoteId) -> bool:
        """Whether a message is one of its cards or reminders."""
        return remote in self.messages

    def fits(self, answer: Answer) -> bool:
        """Whether an answer is of the kind that was asked for."""
        match answer:
            case Approved():
                return self.kind is Kind.APPROVE
            case Denied():
                return True
            case Chose(index, option):
                known = 0 <= index < len(self.options) and self.options[index] == option
                return self.kind is Kind.CHOOSE and known
            case Wrote(text):
                return self.kind is Kind.TEXT and bool(text.strip())


def approvers_of(purpose: Purpose, also: Iterable[Role] = ()) -> Approvers:
    """Who may answer by default: owners, and whose work it is where nothing dangerous is asked.
    `also` are the roles that the configuration adds."""
    asks = purpose in {Purpose.ASK, Purpose.BRANCH}
    return Approvers(frozenset({Role.OWNER, *also}), requester=asks)


def digest_of(facts: Sequence[Fact]) -> str:
    """The SHA-256 of what is approved, "" when there is nothing exact about it. It tells apart
    whatever differs in a byte or in which fact it stands in."""
    exact = [[fact.label.value, fact.text] for fact in facts if fact.label in EXACT]
    if not exact:
        return ""
    return hashlib.sha256(json.dumps(exact).encode()).hexdigest()


def place(address: Address) -> Address:
    """The chat and thread of an address, whoever of a group it is of."""
    return replace(address, user="")


def relocated(escalation: Escalation, new: Address) -> Escalation:
    """The same in a chat that got another id. Its old cards are out of reach there, and their ids
    may be those of other messages; who may still answer is to be shown a new one."""
    state = State.PENDING_SEND if escalation.state is State.OPEN else escalation.state
    return replace(escalation, address=new, state=state, copies=(), reminders=())
