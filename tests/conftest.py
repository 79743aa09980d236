"""What holds for all tests: no example of Hypothesis is timed, since machines are shared."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "pursuit", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("pursuit")
