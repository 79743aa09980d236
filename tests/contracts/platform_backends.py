"""The rigs that the platforms' contract suite runs on.

Each platform is one line here. A rig whose module is not in the tree is not listed; one that is
there and cannot be imported is an error.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.contracts.platform_rig import Backend, Can

MODULES = (
    "console_rig",
    "discord_rig",
    "slack_rig",
    "telegram_rig",
    "web_rig",
)


def _found() -> Iterator[tuple[str, Backend]]:
    for name in MODULES:
        if Path(__file__).with_name(f"{name}.py").exists():
            rigs: Mapping[str, Backend] = importlib.import_module(f"tests.contracts.{name}").RIGS
            yield from rigs.items()


PLATFORMS: Mapping[str, Backend] = dict(_found())


def able(needed: frozenset[Can]) -> list[str]:
    """The names of the rigs that can do all of that."""
    return [name for name, backend in PLATFORMS.items() if needed <= backend.traits.can]
