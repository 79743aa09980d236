"""Folding: when it happens, what stays word for word, and that a failure drops nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agent import compaction
from core.agent.compaction import Material, NotFolded, Summary
from core.agent.events import ContextFolded, FoldFailed, TurnEvent
from core.agent.loop import Agent, Answered, Failed, LoopOptions, Prefix, TurnResult, run_turn
from core.agent.steps import Folded, Injected, Started, TurnInput
from core.ports import Completion, FailureKind, ModelFailure, Reply, Request, Usage
from core.transcript import Assistant, Entry, Receipt, Result, ToolCall, ToolResult, User
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.fakes.turn_log import Killed, MemoryTurnLog

LONG = "word " * 300
START = TurnInput(
    turn=1,
    history=(User("hello " + LONG), Assistant("hello")),
    inputs=(User("make  it\nblue"),),
    pinned="Goal: all houses blue",
)
OVERFLOW = ModelFailure(FailureKind.OVERFLOW, "too long")


class LongTools:
    async def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(call, f"{call.arguments}: {LONG}", Receipt(ok=True, summary="ran"))


async def turn(
    model: ScriptedModel,
    compactor: ScriptedModel,
    log: MemoryTurnLog,
    start: TurnInput = START,
    *,
    seen: list[TurnEvent] | None = None,
    counted: int = 0,
) -> TurnResult:
    agent = Agent(prefix=Prefix("s"), model=model, compactor=compactor, options=LoopOptions())
    events: list[TurnEvent] = [] if seen is None else seen
    return await run_turn(
        start, agent=agent, tools=LongTools(), log=log, emit=events.append, counted=counted
    )


def counting(reply: Reply, tokens: int) -> Reply:
    return replace(reply, usage=Usage(input_tokens=tokens - 1, output_tokens=1))


async def test_nothing_is_folded_below_the_share_of_the_window() -> None:
    model = ScriptedModel(
        [counting(calls(("run", "1")), 5_999), says("done")], context_tokens=10_000
    )
    log = MemoryTurnLog()
    await turn(model, ScriptedModel(), log)
    assert not any(isinstance(write, Folded) for write in log.writes)


async def test_above_the_share_by_the_providers_count_the_next_step_reads_a_summary() -> None:
    model = ScriptedModel(
        [counting(calls(("run", "1")), 6_001), says("done")], context_tokens=10_000
    )
    compactor, log = ScriptedModel([says("the walls were painted")]), MemoryTurnLog()
    seen: list[TurnEvent] = []
    assert isinstance(await turn(model, compactor, log, seen=seen), Answered)
    [(folded,)] = [commit for commit in log.commits if isinstance(commit[0], Folded)]
    assert isinstance(folded, Folded)
    assert folded.n == 1
    assert model.requests[1].messages == (User(folded.summary),)
    assert "Goal: all houses blue" in folded.summary
    assert "make  it\nblue" in folded.summary
    assert "the walls were painted" in folded.summary
    assert ContextFolded(1) in seen


async def test_the_count_of_the_previous_turn_folds_at_begin() -> None:
    model = ScriptedModel([says("done")], context_tokens=10_000)
    log = MemoryTurnLog()
    await turn(model, ScriptedModel([says("short")]), log, counted=6_001)
    assert isinstance(log.writes[0], Folded)
    assert log.writes[0].n == 0


async def test_an_overflow_folds_and_asks_again() -> None:
    model, log = ScriptedModel([OVERFLOW, says("done")]), MemoryTurnLog()
    assert isinstance(await turn(model, ScriptedModel([says("short")]), log), Answered)
    assert len(model.requests[1].messages) == 1


async def test_a_second_overflow_of_a_step_fails_with_a_way_out() -> None:
    model, log = ScriptedModel([OVERFLOW, OVERFLOW]), MemoryTurnLog()
    outcome = await turn(model, ScriptedModel([says("short")]), log)
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert "/new" in outcome.error


async def test_a_failed_summary_on_overflow_fails_the_turn_and_drops_nothing() -> None:
    model, log = ScriptedModel([OVERFLOW]), MemoryTurnLog()
    broken = ScriptedModel([ModelFailure(FailureKind.PERMANENT, "The key was refused.")])
    seen: list[TurnEvent] = []
    outcome = await turn(model, broken, log, seen=seen)
    assert isinstance(outcome, Failed)
    assert "The key was refused. Start a new session" in outcome.error
    assert log.commits == []
    assert FoldFailed(0, "The key was refused.") in seen


async def test_a_failed_summary_at_the_share_goes_on_unfolded_and_is_not_asked_each_step() -> None:
    steps = [counting(calls(("run", f"{n}")), 7_000) for n in range(3)]
    model = ScriptedModel([*steps, says("done")], context_tokens=10_000)
    broken, log = ScriptedModel([says(" ")]), MemoryTurnLog()
    assert isinstance(await turn(model, broken, log), Answered)
    assert len(broken.requests) == 1
    assert model.requests[-1].messages[:3] == (*START.history, *START.inputs)


async def test_a_message_too_long_by_itself_is_not_folded_away() -> None:
    model, log = ScriptedModel([OVERFLOW]), MemoryTurnLog()
    start = TurnInput(turn=1, history=(), inputs=(User(LONG),))
    outcome = await turn(model, ScriptedModel(), log, start)
    assert isinstance(outcome, Failed)
    assert log.commits == []


async def test_what_people_steered_in_earlier_stays_word_for_word() -> None:
    log = MemoryTurnLog()
    log.steer("and  leave the door")
    model = ScriptedModel(
        [counting(calls(("run", "1")), 9_000), says("done")], context_tokens=10_000
    )
    await turn(model, ScriptedModel([says("short")]), log)
    [message] = model.requests[1].messages
    assert isinstance(message, User)
    assert "and  leave the door" in message.text


async def test_what_entered_before_the_folded_step_follows_the_summary_after_a_restart_too() -> (
    None
):
    log = MemoryTurnLog()
    log.steer("hurry")
    first = ScriptedModel([OVERFLOW, calls(("run", "1")), says("done")])
    await turn(first, ScriptedModel([says("short")]), log)
    assert isinstance(log.writes[0], Injected)
    assert isinstance(log.writes[1], Folded)
    again = ScriptedModel([says("done")])
    await turn(again, ScriptedModel(), MemoryTurnLog(log.steps), log.resumed(START))
    assert again.requests[0].messages == first.requests[2].messages
    assert again.requests[0].messages[1] == User("hurry")


async def test_every_call_is_allowed_and_settled_under_its_own_models_name() -> None:
    over = ModelFailure(FailureKind.OVERFLOW, "too long", usage=Usage(7, 0, 0))
    model = ScriptedModel([over, says(""), Reply("done", usage=Usage(10, 0, 1))], name="main")
    compactor = ScriptedModel([Reply("short", usage=Usage(100, 0, 5, 0.5))], name="small")
    log = MemoryTurnLog()
    await turn(model, compactor, log)
    assert log.allowances == 4
    assert [name for name, _ in log.settled] == ["main", "small", "main", "main"]
    assert log.settled[0][1] == Usage(7, 0, 0)
    assert log.settled[1][1] == Usage(100, 0, 5, 0.5)
    assert log.settled[3][1] == Usage(10, 0, 1)


async def test_a_spent_budget_stops_the_summary_too() -> None:
    outcome = await turn(
        ScriptedModel([OVERFLOW]), ScriptedModel(), MemoryTurnLog(allowed_calls=1)
    )
    assert isinstance(outcome, Failed)
    assert "/goal budget" in outcome.error


def spread(entries: list[Entry]) -> Material:
    return Material(entries=tuple(entries), verbatim=(), pinned="")


@pytest.mark.parametrize("window", [300, 2_000, 100_000])
async def test_a_compactor_with_a_small_window_reads_all_of_it_in_pieces(window: int) -> None:
    entries: list[Entry] = [User(f"fact-{n} {LONG[:200]}") for n in range(30)]
    compactor = ScriptedModel([says("so far")], context_tokens=window, loop_last=True)
    made = await compaction.fold(spread(entries), compactor=compactor, ask=compactor.complete)
    assert isinstance(made, Summary)
    read = "".join(e.text for request in compactor.requests for e in request.messages)
    assert all(f"fact-{n} " in read for n in range(30))
    for request in compactor.requests[1:]:
        assert "so far" in request.messages[0].text


async def test_a_compactor_that_overflows_is_tried_with_smaller_pieces() -> None:
    def picky(request: Request) -> Completion:
        return OVERFLOW if len(request.messages[0].text) > 2_000 else says("so far")

    compactor = ScriptedModel([picky], context_tokens=4_000, loop_last=True)
    entries: list[Entry] = [User(LONG[:300]) for _ in range(20)]
    made = await compaction.fold(spread(entries), compactor=compactor, ask=compactor.complete)
    assert isinstance(made, Summary)


async def test_a_cut_summary_says_so() -> None:
    compactor = ScriptedModel([says("half", cut=True)])
    made = await compaction.fold(
        spread([User(LONG)] * 3), compactor=compactor, ask=compactor.complete
    )
    assert isinstance(made, Summary)
    assert "half …(this summary was cut)" in made.text


async def test_a_summary_longer_than_the_conversation_is_not_taken() -> None:
    compactor = ScriptedModel([says(LONG)])
    made = await compaction.fold(
        spread([User("a"), Assistant("b")]), compactor=compactor, ask=compactor.complete
    )
    assert isinstance(made, NotFolded)


texts = st.text(max_size=40)
entry = st.one_of(
    st.builds(User, texts),
    st.builds(Assistant, texts, st.just((ToolCall("c", "run", "{}"),))),
    st.builds(Result, st.just("c"), texts),
)


@given(
    st.lists(entry, min_size=1, max_size=8), st.lists(st.builds(User, texts), max_size=3), texts
)
async def test_pinned_text_and_this_turns_messages_survive_any_fold(
    entries: list[Entry], inputs: list[User], pinned: str
) -> None:
    material = Material(
        entries=(User(LONG * 10), *entries, *inputs), verbatim=tuple(inputs), pinned=pinned
    )
    compactor = ScriptedModel([says("short")], loop_last=True)
    made = await compaction.fold(material, compactor=compactor, ask=compactor.complete)
    assert isinstance(made, Summary)
    assert pinned.strip() in made.text
    assert all(user.text in made.text for user in inputs)
    assert len(made.text) < sum(len(e.text) for e in material.entries) + 200


async def run_with_folds(log: MemoryTurnLog, start: TurnInput) -> tuple[Entry, ...]:
    """A turn of six steps whose counts make the loop fold at every chance it has."""

    def line(_: Request) -> Completion:
        done = sum(step.reply is not None for step in log.steps)
        asked = calls(("run", f'{{"n": {done}}}'), text=f"step {done}")
        return says("done") if done == 6 else counting(asked, 9_000)

    model = ScriptedModel([line], context_tokens=10_000, loop_last=True)
    compactor = ScriptedModel([says("short")], loop_last=True)
    assert isinstance(await turn(model, compactor, log, start), Answered)
    return model.requests[-1].messages


async def test_a_turn_that_folds_ends_the_same_wherever_it_is_cut() -> None:
    whole = MemoryTurnLog()
    expected = await run_with_folds(whole, START)
    assert sum(isinstance(write, Folded) for write in whole.writes) == 2
    # A cut between a call's start and its end loses the result, which changes the text on purpose.
    ends = [n for n, commit in enumerate(whole.commits) if not isinstance(commit[-1], Started)]
    for at in ends:
        log = MemoryTurnLog(dies_at=at, dies_after=True)
        with pytest.raises(Killed):
            await run_with_folds(log, START)
        again = MemoryTurnLog(log.steps)
        assert await run_with_folds(again, log.resumed(START)) == expected
