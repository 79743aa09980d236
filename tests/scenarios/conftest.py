"""What holds for every scenario: it stays in its folder, and nothing crashes unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest

END = "-----END CERTIFICATE-----"
CRASHES = ("turn_crashed", "judge_crashed", "delivery_crashed", "platform_crashed")


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with one certificate authority: reading all of them takes most of a start, and
    nothing here speaks TLS."""
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition(END)
    file = tmp_path_factory.mktemp("tls") / "one.pem"
    file.write_text(first + end + "\n", encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, one_authority: Path) -> None:
    """Token locks go into the test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SSL_CERT_FILE", str(one_authority))


@pytest.fixture(autouse=True)
def no_crash(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    """Borders catch the program's own faults and log them; a scenario fails for them."""
    yield
    log = capsys.readouterr().out
    assert not [name for name in CRASHES if name in log], log
    unseen = [record for record in caplog.records if record.name == "asyncio"]
    assert not [record.getMessage() for record in unseen if record.levelname == "ERROR"]
