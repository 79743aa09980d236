"""How many tokens a request is likely to have, before anybody has counted them.

Pure; an estimate that errs on the large side, for budgets and never for what is sent.
"""

from __future__ import annotations

import json

from core.agent.compaction import ESTIMATE_CHARS_PER_TOKEN, estimate
from core.ports import Request
from core.transcript import Assistant, Entry, User

IMAGE_TOKENS = 1_500


def request_size(request: Request, counted: int = 0) -> int:
    """The larger of an estimate of all of it and of the provider's count with what came since.

    `counted` is the provider's count up to the last reply in the request, 0 when unknown.
    """
    messages = request.messages
    tools = [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools]
    fixed = len(request.system) + len(json.dumps([tools, dict(request.schema or {})]))
    whole = _size(messages) + fixed // ESTIMATE_CHARS_PER_TOKEN
    if not counted:
        return whole
    replies = [at for at, entry in enumerate(messages) if isinstance(entry, Assistant)]
    return max(whole, counted + _size(messages[replies[-1] + 1 :] if replies else messages))


def _size(entries: tuple[Entry, ...]) -> int:
    images = sum(len(entry.images) for entry in entries if isinstance(entry, User))
    return estimate(entries) + images * IMAGE_TOKENS
