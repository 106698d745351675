"""The tables and frames of the comparison with other switches: each frame goes where it is said to go."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from brimful.lab.switch import find_switch
from brimful.switch import ask
from support import ROOT, wire_lab

FRAMES = 100
SHARED = Path(os.environ.get("BRIMFUL_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    maker = SHARED / "bench" / "dataplane" / "make_traces.py"
    if not maker.exists():
        pytest.skip(f"{maker} is not there: set BRIMFUL_SHARED")
    directory = tmp_path_factory.mktemp("traces")
    subprocess.run([sys.executable, maker, directory, f"--packets={FRAMES}"], check=True, capture_output=True)
    return directory


NAMES = ("exact1", "exact100", "exact10k", "l2_1k", "lpm_10k", "acl_1k")


def frames_of(path):
    content, at = path.read_bytes(), 24
    while at < len(content):
        (length,) = struct.unpack("<I", content[at + 8 : at + 12])
        yield content[at + 16 : at + 16 + length]
        at += 16 + length


@pytest.fixture
def control(tmp_path):
    path = tmp_path / "s.sock"
    with wire_lab() as lab:
        command = [find_switch(), "--port=1=ta", "--port=2=tb", f"--control={path}"]
        process = subprocess.Popen(lab.command(command), stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "ready: switch\n"
            yield path
        finally:
            process.terminate()
            process.wait(timeout=20)
            process.stdout.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_frame_goes_where_it_should(traces, control, name):
    rules = traces / f"{name}.flows"
    answer = ask(control, "load", file=str(rules), text=rules.read_text())
    assert answer["changes"] == len(rules.read_text().splitlines())
    expected = (traces / f"{name}.expect").read_text().split()
    for frame, port in zip(frames_of(traces / f"{name}.pcap"), expected, strict=True):
        said = ask(control, "trace", matching="in_port=1", frame=frame.hex())["text"].splitlines()
        leaves = "nothing leaves" if port == "drop" else f"out of port {port},"
        assert sum(line.startswith(("nothing leaves", "out of port")) for line in said) == 1, said
        assert any(line.startswith(leaves) for line in said), said


@pytest.mark.parametrize("name", NAMES)
def test_open_vswitch_reads_what_is_dumped(traces, control, tmp_path, name):
    if shutil.which("ovs-ofctl") is None:
        pytest.skip("ovs-ofctl is not installed: it is in the Debian package openvswitch-switch")
    rules = traces / f"{name}.flows"
    ask(control, "load", file=str(rules), text=rules.read_text())
    dumped = tmp_path / "dumped.flows"
    dumped.write_text(ask(control, "dump")["text"])
    assert parse(rules) == parse(dumped)


def parse(path):
    """Give the flow-mods that `ovs-ofctl` makes of a file, in any order."""
    command = ["ovs-ofctl", "-O", "OpenFlow13", "parse-flows", path]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = sorted(line.partition(" ADD ")[2] for line in done.stdout.splitlines() if " ADD " in line)
    assert len(found) == len(path.read_text().splitlines())
    return found
