"""Staff by a configuration whose models are served by a fake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from core.delegation.ports import Staff
from core.delegation.worker import Agent, Profile, Ranked
from core.ports import Completion, Model, Request
from core.transcript import User
from gateway.compose.models import Models
from gateway.compose.setup import Endpoint
from gateway.compose.staff import ConfiguredStaff
from gateway.settings import Purpose, load
from tests.fakes.openai_api import FakeOpenAI

ASK = Request(system="Be brief.", messages=(User("hi"),))

SETTINGS = """
providers:
  here: {{base_url: "{here}", api_key: main-key}}
  twin: {{base_url: "{here}/", api_key: other-key}}
  far: {{base_url: "{here}", api_key: "${{FAR_KEY}}"}}
  openai: {{}}
  near: {{kind: local}}
models:
  big: {{provider: here, model: main-big, tier: 1}}
  twin: {{provider: twin, model: main-big, tier: 2}}
  small: {{provider: here, model: child-small, tier: 3}}
  keyless: {{provider: openai, model: gpt, tier: 3}}
agent: {{model: big, max_model_calls: {slots}}}
{auxiliary}
delegation:
  profiles:
    heir: {{nickname: Heir, summary: Inherits, toolsets: [], constraints: Be kind.}}
"""
JUDGE = "auxiliary: {acceptance_judge: {model: small, timeout_s: 7}}"


class StaffRig:
    """The staff, and whose calls were to be counted as what."""

    def __init__(self, staff: Staff, counted: list[tuple[str, Purpose]]) -> None:
        self.staff = staff
        self.counted = counted

    def profile(self, name: str) -> Profile:
        """A profile."""
        return next(profile for profile in self.staff.profiles if profile.name == name)

    def own(self, profile: str) -> Ranked:
        """A profile's own model."""
        model = self.profile(profile).model
        assert model is not None
        return model

    def listed(self, name: str) -> Ranked:
        """A model of the catalogue."""
        return next(model for model in self.staff.catalogue if model.name == name)

    async def ask(self, model: Ranked, profile: str = "", effort: str = "") -> Completion:
        """One call of a child."""
        return await self.staff.model(agent(model, effort), profile).complete(ASK)

    async def child(self, profile: str) -> Completion:
        """One call of a child on its profile's own model."""
        return await self.ask(self.own(profile), profile)


def agent(model: Ranked, effort: str = "") -> Agent:
    """A child on a model."""
    return Agent(model=model, toolsets=(), max_iterations=5, effort=effort)


@asynccontextmanager
async def staffed(
    folder: Path,
    fake: FakeOpenAI,
    *profiles: str,
    local: Endpoint | None = None,
    environ: Mapping[str, str] | None = None,
    slots: int = 2,
    auxiliary: str = JUDGE,
) -> AsyncIterator[StaffRig]:
    """Staff by the settings above with more profiles; the SDK loads beside the first call."""
    file = folder / "c.yaml"
    more = "".join(f"    {profile}\n" for profile in profiles)
    file.write_text(
        SETTINGS.format(here=fake.base_url, slots=slots, auxiliary=auxiliary) + more,
        encoding="utf-8",
    )
    settings = load(file, environ=environ or {})
    counted: list[tuple[str, Purpose]] = []

    def count(model: Model, purpose: Purpose) -> Model:
        counted.append((model.name, purpose))
        return model

    models = Models(settings, local)
    staff = ConfiguredStaff(settings, models, local=local is not None, counted=count)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(models.load(), name="load")
            yield StaffRig(staff, counted)
    finally:
        await models.close()
