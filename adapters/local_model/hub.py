"""Downloads a model file from its official hub, resuming by byte range.

It may not decide whether the bytes are right: the caller hashes the whole.
"""

from __future__ import annotations

from pathlib import Path

import httpx2

from adapters.local_model.catalogue import ModelFile
from adapters.local_model.source import Report, SourceUnavailable, size_of

_FRUITLESS_TRIES = 3
_TIMEOUT = httpx2.Timeout(30.0, connect=3.0)
_UNREACHABLE = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)


def download_from_hub(model: ModelFile, partial: Path, report: Report) -> None:
    """Complete `partial`, continuing where an earlier run was cut.

    Raises SourceUnavailable at once when the hub cannot be connected, and after three tries in a
    row that brought nothing when the connection keeps breaking.
    """
    if model.hub_url is None:
        raise SourceUnavailable("the hub has no file with this hash")
    fruitless = 0
    with httpx2.Client(timeout=_TIMEOUT, follow_redirects=True) as client:
        while (before := size_of(partial)) != model.size:
            try:
                _request_rest(client, model, partial, report)
            except _UNREACHABLE as error:
                raise SourceUnavailable(f"unreachable ({error})") from error
            except httpx2.HTTPError as error:
                fruitless = 0 if size_of(partial) > before else fruitless + 1
                if fruitless == _FRUITLESS_TRIES:
                    raise SourceUnavailable(f"the connection keeps breaking ({error})") from error


def _request_rest(client: httpx2.Client, model: ModelFile, partial: Path, report: Report) -> None:
    offset = size_of(partial)
    headers = {"Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    with client.stream("GET", str(model.hub_url), headers=headers) as response:
        if response.status_code == httpx2.codes.OK:
            offset = 0
        elif response.status_code != httpx2.codes.PARTIAL_CONTENT:
            partial.unlink(missing_ok=True)
            raise SourceUnavailable(f"it answered {response.status_code}")
        # A login page or a replaced file must not cost a gigabyte before the hash tells.
        if offset + int(response.headers.get("Content-Length", "-1")) != model.size:
            partial.unlink(missing_ok=True)
            raise SourceUnavailable("it offers a file of another size")
        with partial.open("ab" if offset else "wb") as out:
            # No chunk size: that would hold bytes back, which a broken connection then loses.
            for chunk in response.iter_bytes():
                out.write(chunk)
                offset += len(chunk)
                report(offset)
