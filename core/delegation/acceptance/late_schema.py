"""The checks of `json_schema` without its library, which takes a tenth of a second and some MB to
load: that waits for the first schema that a call brings, as few do.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.delegation.ports import Finding
from core.transcript import Json


def complaint(schema: Mapping[str, Json]) -> str:
    """See `json_schema.complaint`."""
    from core.delegation.acceptance import json_schema  # noqa: PLC0415 - see the module

    return json_schema.complaint(schema)


def fits(schema: Mapping[str, Json], output: str) -> Finding:
    """See `json_schema.fits`."""
    from core.delegation.acceptance import json_schema  # noqa: PLC0415 - see the module

    return json_schema.fits(schema, output)
