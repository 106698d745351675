"""Real labs need the kernel's consent; without it the tests say why they are skipped."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from brimful.lab import permitted


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "brimful"


@pytest.fixture
def labs_permitted() -> None:
    reason = permitted()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def own_interfaces(labs_permitted: None) -> Iterator[set[str]]:
    """Those of this machine, which no test may change."""

    def interfaces() -> set[str]:
        return {line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]}

    before = interfaces()
    yield before
    assert interfaces() == before
