"""Traffic profiles through real devices of the kernel: every frame comes back, and nonsense is refused before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.tester import LabMeasurer
from brimful.records import read_run
from support import ROOT, brimful

EXAMPLES = ROOT / "examples" / "profiles"


@contextmanager
def measurer(device: str, profile: Path) -> Iterator[LabMeasurer]:
    opened = LabMeasurer(device, [f"--profile={profile}"], ip=4, timeout_s=30.0)
    try:
        yield opened
    finally:
        opened.close()


def directions(opened: LabMeasurer) -> list[dict[str, Any]]:
    """Send for a moment. A busy machine may spoil the trial, but not the frames that were sent."""
    try:
        return opened.measure(2000.0, 0.2).directions
    except InvalidTrialError as error:
        return error.reply["directions"]


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("wire", "genome"),
        ("wire", "mpls"),
        ("wire", "raw"),
        ("wire", "replay"),
        ("bridge", "qinq"),
        ("bridge", "many-flows"),
        ("bridge", "icmp6"),
        ("bridge", "bursts"),
        ("router", "tcp"),
    ],
)
def test_frames_of_a_profile_come_through(own_interfaces, device, name):
    with measurer(device, EXAMPLES / f"{name}.toml") as opened:
        description = opened.describe()
        found = directions(opened)
    assert len(found) == description.conversion_factor
    for direction in found:
        assert direction["sent"] > 0
        assert (direction["lost"], direction["damaged"], direction["misrouted"]) == (0, 0, 0), direction
    assert description.traffic["profile"]["name"] == description.traffic["profile_name"]


def test_a_search_keeps_its_profile_and_notices_a_change(own_interfaces, tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text('sizes = "3ad"\ndirection = "uni"\n[[vlan]]\nid = [5, 6]\n')
    search = ("search", "-m", "lab:wire", "--profile", profile, "--preset", "quick", "--quiet", "--no-calibrate")
    search = (*search, "--max-load", "2kpps", "--on-invalid", "loss", "--out", "run")
    brimful(*search, cwd=tmp_path, check=2)
    profile.write_text(profile.read_text().replace('"3ad"', '"3bd"'))
    finished = brimful(*search, cwd=tmp_path)
    assert finished.returncode in (0, 1), finished.stderr
    run = read_run(tmp_path / "run").run
    assert run.traffic["profile_name"] == "mine"
    assert run.traffic["frame_sizes"] == [128, 128, 128, 512]
    text = brimful("report", "run", cwd=tmp_path, check=0).stdout
    assert "profile: mine" in " ".join(text.split())
    profile.write_text("sizes = 128\n")
    finished = brimful(*search, "--resume", cwd=tmp_path, check=2)
    assert "run" in finished.stderr


def test_what_the_tester_refuses_is_wrong_usage(own_interfaces, tmp_path):
    profile = tmp_path / "wrong.toml"
    profile.write_text("sizes = 64\n[icmp]\nsource_port = 7\n")
    search = ("search", "-m", "lab:wire", "--profile", profile, "--preset", "quick", "--max-load", "1kpps")
    finished = brimful(*search, cwd=tmp_path, check=2)
    (line,) = finished.stderr.splitlines()
    assert "line 3, column 1: unknown field `source_port`" in line
