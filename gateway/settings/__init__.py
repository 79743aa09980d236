"""The settings: their schema, where they come from, and what is wrong with them.

Nothing else in the program reads a configuration file or the environment.
"""

from __future__ import annotations

from gateway.errors import ConfigError, NoPermission, Problem
from gateway.settings.choice import (
    Choice,
    Job,
    Purpose,
    catalogue,
    chosen,
    uses_local_model,
)
from gateway.settings.layers import Layer
from gateway.settings.load import (
    config_file,
    config_home,
    config_place,
    data_dir,
    data_place,
    load,
    secret_places,
    service_manager,
)
from gateway.settings.manager import ServiceManager
from gateway.settings.schema import Settings
from gateway.settings.show import secrets_of

__all__ = [
    "Choice",
    "ConfigError",
    "Job",
    "Layer",
    "NoPermission",
    "Problem",
    "Purpose",
    "ServiceManager",
    "Settings",
    "catalogue",
    "chosen",
    "config_file",
    "config_home",
    "config_place",
    "data_dir",
    "data_place",
    "load",
    "secret_places",
    "secrets_of",
    "service_manager",
    "uses_local_model",
]
