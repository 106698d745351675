"""Real labs need the kernel's consent; without it the tests say why they are skipped."""

import sys
import time
from collections.abc import Callable, Iterator
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


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within 20 s: {what}")
        time.sleep(0.01)


PYTHON = [sys.executable, "-I", "-S"]
