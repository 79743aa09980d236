"""The sentences in which a runner's failures are told. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.fence import one_line

NOT_THERE = (
    "The runner {name} cannot be started (exit code {code}): `acp_command` must name a program"
    " that is visible inside the sandbox, so install it and what it needs in /usr: the workspace"
    " and the folders of `workspace.extra` are visible too, but commands can change what is there."
)
NO_SDK = (
    "The runner {name} speaks the Agent Client Protocol, which is not installed: install it with"
    " `pip install '.[acp]'` in the clone of Pursuit, or set `acp_mode: text` for one that only"
    " prints its answer."
)
NOT_SHOWN = "what it asks for holds a secret of its `acp_env`, which is shown in no chat"
_SECRET_NAMES = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_SECRET_CHARS = 6


def crashed(name: str, code: int | None, doing: str, errors: str, *, begun: bool) -> str:
    """It ended by itself; `doing` says when, `errors` is the end of its error output. One that
    had `begun` to speak was there, whatever its exit code says."""
    if code in {126, 127} and not begun:
        said = NOT_THERE.format(name=name, code=code)
    elif code is None:
        said = f"The runner {name} closed its output {doing}."
    else:
        said = f"The runner {name} ended with exit code {code} {doing}."
    return f"{said} The end of its error output:\n{errors}" if errors else said


def late(name: str, seconds: float) -> str:
    """Its time ran out."""
    return (
        f"The runner {name} was ended: it took longer than {seconds:g} s. Give it a smaller task,"
        " or look whether it waits for something that nobody can give it."
    )


def unstartable(name: str, error: OSError | ValueError) -> str:
    """The launcher could not execute it at all."""
    fault = error.strerror if isinstance(error, OSError) else None
    return f"The runner {name} cannot be started: {one_line(fault or str(error), 200)}."


def hidden(text: str, env: Mapping[str, str]) -> str:
    """The text without the secrets that the settings gave the runner."""
    for key, value in env.items():
        if len(value) >= _SECRET_CHARS and _SECRET_NAMES.search(key):
            text = text.replace(value, f"[{key}]")
    return text
