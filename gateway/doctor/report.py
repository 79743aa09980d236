"""Findings for people and for programs. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from core.findings import Finding, Level

_MARKS = {Level.OK: "✓", Level.WARNING: "!", Level.FAULT: "✗"}


def faulty(findings: Sequence[Finding]) -> bool:
    """Whether anything does not work."""
    return any(finding.level is Level.FAULT for finding in findings)


def as_text(findings: Sequence[Finding]) -> str:
    """A line for each, with why and the fix below what is not well."""
    lines: list[str] = []
    for finding in findings:
        lines.append(f"{_MARKS[finding.level]} {finding.check}: {finding.what}")
        if finding.level is not Level.OK:
            lines += [f"    why: {finding.why}", f"    fix: {finding.fix}"]
    faults = sum(finding.level is Level.FAULT for finding in findings)
    lines.append(f"{faults} fault{'s' * (faults != 1)} found." if faults else "No fault found.")
    return "\n".join(lines)


def as_json(findings: Sequence[Finding]) -> str:
    """An object with `ok` and the findings in order."""
    data = {"ok": not faulty(findings), "findings": [asdict(finding) for finding in findings]}
    return json.dumps(data, ensure_ascii=False, indent=2)
