"""What an administrator installs: the unit of systemd, the example of settings, and what a supervisor is told."""

import re
import shutil
import socket
import subprocess

import pytest
from brimful.lab.switch import find_switch
from support import ROOT, wire_lab

EXAMPLES = ROOT / "examples" / "switch"
UNIT = EXAMPLES / "brimful-switchd.service"
PATIENCE_S = 20


@pytest.fixture(scope="module")
def lab():
    with wire_lab() as lab:
        yield lab


def check(path):
    return subprocess.run([find_switch(), "check", path], capture_output=True, text=True, timeout=PATIENCE_S)


def test_the_example_of_settings_has_no_error():
    done = check(EXAMPLES / "switch.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{EXAMPLES / 'switch.toml'}: no error: edge\n"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("number = 2", "number = 1"), "port 1 is there twice"),
        (("metrics", "metric"), "unknown field `metric`"),
        (('state = "/var/lib/brimful/edge.flows"', 'tables = ["absent.flows"]'), "absent.flows: No such file"),
        (("tcp:192.0.2.1:6653", "tls:192.0.2.1:6653"), "TLS needs a private key"),
    ],
)
def test_what_is_wrong_with_settings_is_found_before_anything_starts(change, expected, tmp_path):
    settings = tmp_path / "switch.toml"
    settings.write_text((EXAMPLES / "switch.toml").read_text().replace(*change))
    done = check(settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_tables_that_a_switch_would_refuse_are_found(tmp_path):
    rules, settings = tmp_path / "rules.flows", tmp_path / "switch.toml"
    rules.write_text("actions=drop\nactions=group:7\n")
    settings.write_text((EXAMPLES / "switch.toml").read_text().replace("state =", f'tables = ["{rules}"]\n#'))
    done = check(settings)
    assert done.returncode == 2
    assert f"{rules}:2:1: " in done.stderr
    assert "OpenFlow error 2/9" in done.stderr


def test_a_supervisor_is_told_when_it_is_ready_and_when_it_ends(lab, tmp_path):
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(path))
        supervisor.settimeout(PATIENCE_S)
        watchdog = "WATCHDOG_USEC=100000"
        switchd = ["env", f"NOTIFY_SOCKET={path}", watchdog, find_switch(), "--port=1=ta", "--port=2=tb"]
        with subprocess.Popen(lab.command(switchd), stdout=subprocess.PIPE, text=True) as switch:
            try:
                assert supervisor.recv(64) == b"READY=1"
                assert switch.stdout.readline() == "ready: switch\n"
                assert [supervisor.recv(64) for _ in range(3)] == [b"WATCHDOG=1"] * 3
            finally:
                switch.terminate()
            assert switch.wait(PATIENCE_S) == 0
            said = b"WATCHDOG=1"
            while said == b"WATCHDOG=1":
                said = supervisor.recv(64)
            assert said == b"STOPPING=1"


def test_manual_pages_are_written(tmp_path):
    pages = tmp_path / "share" / "man1"
    subprocess.run([find_switch(), "man", pages], check=True, timeout=PATIENCE_S)
    written = {page.name: page.read_text() for page in pages.iterdir()}
    assert {"brimful-switchd.1", "brimful-switchd-check.1", "brimful-switchd-ofctl-replace-flows.1"} <= set(written)
    assert "keeps the switch" in written["brimful-switchd.1"]
    if shutil.which("man") is not None:
        shown = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", pages / "brimful-switchd-ofctl.1"],
            capture_output=True,
            text=True,
        )
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "packet-out" in shown.stdout


def test_it_runs_with_the_privileges_of_the_unit(lab):
    wanted = re.search(r"^CapabilityBoundingSet=(.*)$", UNIT.read_text(), re.MULTILINE)[1].split()
    names = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in wanted)
    few = ["setpriv", f"--bounding-set=-all,{names}", f"--inh-caps=-all,{names}", "--no-new-privs"]
    command = lab.command([*few, find_switch(), "--port=1=ta", "--port=2=tb"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as switch:
        try:
            assert switch.stdout.readline() == "ready: switch\n"
        finally:
            switch.terminate()
        assert switch.wait(PATIENCE_S) == 0


def test_systemd_takes_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: it is in the Debian package systemd")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/brimful-switchd", find_switch()))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert UNIT.name not in said, said
    # What is left is the network and its packet sockets.
    grade = ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", unit]
    done = subprocess.run(grade, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
