"""`brimful compare -m A -m B` from end to end: through TRex, iperf3, and on disks of a lab."""

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess

import pytest
from brimful.lab import permitted
from brimful.lab.disk import obstacle
from brimful.lab.namespaces import start_keeper
from brimful.records import read_run
from support import BRIMFUL, brimful

SHORT = ("--tolerance", "20%", "--precision", "20%", "--no-control", "--quiet", "--json", "--out", "run")
PATIENCE_S = 280
TO_THE_VERDICT = "BRIMFUL_ALL_CASES" in os.environ
"""Else comparisons whose trials wait for what is late end by their budget: they would take minutes."""
TREX = importlib.util.find_spec("lbr_trex_client") is not None or "BRIMFUL_TREX_PATH" in os.environ


def interval(done):
    (found,) = json.loads(done.stdout)["ratios"]
    return found["low"] * (1 - 1e-9), found["high"] * (1 + 1e-9)


def check_record(directory):
    assert "recomputed" in brimful("verify", "run", cwd=directory, check=0).stdout


def check_both(directory, done):
    """Both were measured, to the verdict or until the time was up."""
    assert done.returncode in ((1,) if TO_THE_VERDICT else (1, 4)), done.stderr
    assert {trial.path for trial in read_run(directory / "run").counted()} == {"A", "B"}
    check_record(directory)


@pytest.fixture
def trex(tmp_path):
    """Compare the devices of two servers."""
    if not TREX:
        pytest.skip("no TRex client: install lbr-trex-client or set BRIMFUL_TREX_PATH")
    from stand_in import StandIn

    servers = [StandIn(), StandIn()]

    def compare(*words, capacities, code):
        specs = []
        for server, pps in zip(servers, capacities, strict=True):
            server.faults.capacity_pps = pps
            place = f"sync-port={server.sync_port},async-port={server.async_port}"
            specs += ["-m", f"trex:127.0.0.1,{place},settle=0,max-stretch=5"]
        options = ("--max-load", "1Mpps", "--trial", "50ms", *words, *SHORT)
        return brimful("compare", *specs, *options, cwd=tmp_path, check=code, patience_s=PATIENCE_S)

    yield compare
    for server in servers:
        server.close()


@pytest.mark.slow
def test_devices_between_the_ports_of_two_trex_servers(tmp_path, trex):
    low, high = interval(trex("--budget", "5m", capacities=(200_000, 100_000), code=1))
    assert low <= 0.5 <= high
    check_record(tmp_path)


def test_a_short_comparison_of_two_trex_servers(tmp_path, trex):
    trex("--budget", "1s", capacities=(200_000, 100_000), code=4)
    assert {trial.path for trial in read_run(tmp_path / "run").counted()} == {"A", "B"}
    check_record(tmp_path)


@contextlib.contextmanager
def servers_behind_queues(rates):
    """A namespace, with links to others; each has an iperf3 server, and a rate to it in kbit/s."""
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    if (reason := permitted()) is not None:
        pytest.skip(reason)
    with contextlib.ExitStack() as stack:
        near = start_keeper("iperf3", "near")
        stack.callback(near.close)
        for number, rate in enumerate(rates):
            far = start_keeper("iperf3", f"far{number}", beside=near.namespace)
            stack.callback(far.close)
            name = f"v{number}"
            peer = f"peer name w netns {far.namespace.keeper.pid}"
            near.namespace.run(["ip", "link", "add", name, "type", "veth", *peer.split()])
            for namespace, link, host in ((near.namespace, name, 1), (far.namespace, "w", 2)):
                text = f"addr add 198.18.{number}.{host}/24 dev {link}\nlink set {link} up\nlink set lo up\n"
                namespace.run(["ip", "-batch", "-"], text=text)
            shape = ["rate", f"{rate}kbit", "burst", "1600", "limit", "1600"]
            near.namespace.run(["tc", "qdisc", "add", "dev", name, "root", "tbf", *shape])
            server = far.namespace.command(["timeout", "300", "iperf3", "--server"])
            process = stack.enter_context(subprocess.Popen(server, stdout=subprocess.DEVNULL))
            stack.callback(process.terminate)
        yield near.namespace


def compare_through_iperf3(directory, namespace, *words):
    specs = [word for number in range(2) for word in ("-m", f"iperf3:198.18.{number}.2,max-stretch=5")]
    command = [*BRIMFUL, "compare", *specs, "--direction", "uni", *words, *SHORT]
    return subprocess.run(namespace.command(command), cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_two_paths_that_iperf3_sends_through(tmp_path):
    with servers_behind_queues([2000, 1000]) as near:
        done = compare_through_iperf3(tmp_path, near, "--budget", "3m" if TO_THE_VERDICT else "15s")
    check_both(tmp_path, done)
    if TO_THE_VERDICT:
        low, high = interval(done)
        # What the bucket of the queue holds passes beside the rate.
        assert low <= 0.65
        assert high >= 0.45


@pytest.mark.slow
def test_two_disks_of_a_lab(tmp_path):
    if (reason := obstacle()) is not None:
        pytest.skip(reason)
    # A deadline that a busy machine keeps: the tester may be late by a tenth of it.
    specs = [word for limit in (3000, 1500) for word in ("-m", f"lab:disk,limit={limit}iops,deadline=200ms")]
    words = ("--trial", "300ms", "--budget", "4m" if TO_THE_VERDICT else "15s", *SHORT)
    done = brimful("compare", *specs, *words, cwd=tmp_path, patience_s=PATIENCE_S)
    check_both(tmp_path, done)
    if TO_THE_VERDICT:
        low, high = interval(done)
        assert low < high < 0.8
