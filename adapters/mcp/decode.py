"""What servers send, as our own values: their lists of tools and the results of calls. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice

import mcp.types as sdk
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from adapters.mcp.offers import Offer, Offers, Said
from core.tools.arguments import MAX_FAULTS
from core.tools.tool import one_line
from core.transcript import Json

MAX_TOOLS = 100
MAX_SCHEMA_CHARS = 20_000
MAX_DESCRIPTION_CHARS = 1_000
FAULT_CHARS = 160

CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Without colours and control characters, but for line ends and tabs."""
    return CONTROLS.sub("", text.replace("\r\n", "\n"))


def offers(tools: Sequence[sdk.Tool]) -> Offers:
    """The tools by name, and those that are left out with the reason. The first keeps a name."""
    taken: dict[str, Offer] = {}
    left_out: dict[str, str] = {}
    for tool in sorted(tools, key=lambda tool: tool.name):
        if tool.name in taken:
            left_out[tool.name] = "another tool of this server has that name"
        elif len(taken) >= MAX_TOOLS:
            left_out[tool.name] = f"a server may have {MAX_TOOLS} tools here"
        else:
            found = _offer(tool)
            if isinstance(found, Offer):
                taken[tool.name] = found
            else:
                left_out[tool.name] = found
    return Offers(tuple(taken.values()), left_out)


def _offer(tool: sdk.Tool) -> Offer | str:
    """The tool, or why it cannot be offered: one bad schema would fail every model call."""
    try:
        schema: dict[str, Json] = json.loads(json.dumps(tool.input_schema, allow_nan=False))
        size = len(json.dumps(schema))
    except (ValueError, TypeError, RecursionError):
        return "its schema is no plain JSON"
    if size > MAX_SCHEMA_CHARS:
        return f"its schema has {size} characters, more than {MAX_SCHEMA_CHARS}"
    if schema.setdefault("type", "object") != "object":
        return "its schema is not an object's"
    schema.setdefault("properties", {})
    try:
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
    except (SchemaError, RecursionError):
        return "its schema is no valid JSON schema"
    validator = kind(schema, registry=Registry())  # fetches nothing that a $ref names
    text = clean(tool.description or tool.title or "").strip()
    if len(text) > MAX_DESCRIPTION_CHARS:
        text = text[: MAX_DESCRIPTION_CHARS - 1] + "…"
    return Offer(tool.name, text, schema, lambda arguments: _faults(validator, arguments))


def _faults(validator: Validator, arguments: Mapping[str, Json]) -> list[str]:
    try:
        return [_fault(e) for e in islice(validator.iter_errors(dict(arguments)), MAX_FAULTS)]
    except (Unresolvable, RecursionError):
        return []  # the server checks them too


def _fault(error: ValidationError) -> str:
    place = ".".join(str(part) for part in error.absolute_path)[:80]
    said = one_line(error.message, FAULT_CHARS)
    return f"{place}: {said}" if place else said


def said(result: sdk.CallToolResult) -> Said:
    """The texts of a result; what is no text is named. Structured content stands in for text."""
    parts = [clean(_part(block)) for block in result.content]
    if not any(isinstance(block, sdk.TextContent) for block in result.content):
        structured: object = result.structured_content
        if structured is not None:
            parts.append(clean(json.dumps(structured, ensure_ascii=False)))
    text = "\n".join(part for part in parts if part)
    return Said(text or "(it returned nothing)", ok=not result.is_error)


def _part(block: sdk.ContentBlock) -> str:
    match block:
        case sdk.TextContent(text=text):
            return text
        case sdk.ImageContent(mime_type=kind, data=data):
            return f"[an image, {one_line(kind)}, {_size(data)}; it is not shown]"
        case sdk.AudioContent(mime_type=kind, data=data):
            return f"[a sound, {one_line(kind)}, {_size(data)}; it is not played]"
        case sdk.ResourceLink(uri=uri, name=name):
            return f"[a link to {one_line(name)}: {one_line(str(uri), 500)}]"
        case sdk.EmbeddedResource(resource=sdk.TextResourceContents(uri=uri, text=text)):
            return f"[{one_line(str(uri), 500)}]\n{text}"
        case sdk.EmbeddedResource(resource=sdk.BlobResourceContents(uri=uri, blob=data)):
            return f"[a file, {one_line(str(uri), 500)}, {_size(data)}; it is not shown]"
        case _:
            return "[something that Pursuit does not know]"


def _size(data: str) -> str:
    return f"{len(data) * 3 // 4:,} bytes"  # of base64
