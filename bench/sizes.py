"""How much is measured. Values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured. `FULL` is the benchmark, `QUICK` shows that it runs through."""

    starts: int = 4
    blocks: int = 5
    block_turns: int = 30
    gap_s: float = 0.03
    rush_blocks: int = 3
    rush_turns: int = 400
    at_once: int = 64
    crowd: int = 1_000
    wait_s: float = 8.0
    idle_lanes: int = 2_000
    helps: int = 12
    accept_rounds: int = 3
    handed_over: int = 20
    judged: int = 12


FULL = Size()
QUICK = Size(
    starts=1,
    blocks=1,
    block_turns=5,
    rush_blocks=1,
    rush_turns=30,
    at_once=8,
    crowd=20,
    wait_s=0.5,
    idle_lanes=40,
    helps=2,
    accept_rounds=1,
    handed_over=2,
    judged=2,
)
