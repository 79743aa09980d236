"""What a set-up cannot do without a model. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from gateway.settings.choice import Job


def without(jobs: Sequence[Job]) -> str:
    """Why it matters that the model of these jobs does not answer; at least one job."""
    most = ("agent",) if "agent" in jobs else tuple(jobs)
    *others, last = [_loss(job) for job in most]
    lost = f"{', '.join(others)} and {last}" if others else last
    return f"without it {lost}"


def _loss(job: Job) -> str:
    match job:
        case "agent":
            return "no turn can be worked"
        case "goal_judge":
            return "no goal is judged, so goals pause"
        case "compaction":
            return "long chats cannot be summed up"
        case "acceptance_judge":
            return "what children deliver stays unverified"
        case "critic":
            return "answers that the critic is to read stay unverified"
        case _:
            assert_never(job)
