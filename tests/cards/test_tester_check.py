"""`brimful tester check`: of made-up cards, and of veth pairs of the kernel."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click.testing
import msgspec
import pytest
from brimful.cards import checking
from brimful.cards.card import Interrupt
from brimful.cli import group
from brimful.cli.tester import check
from brimful.lab import permitted
from brimful.measurers.back_ends import BackEnd, Interface
from cards_support import CLEAN, FIXED, NATIVE, ON, PACKET, changed, with_features
from support import ROOT
from test_documents import blocks

PAGE = ROOT / "docs" / "how-to" / "cards.md"
AS_TEXT, AS_JSON = (
    re.sub("^brimful", f"'{sys.executable}' -m brimful", command)
    for command in "".join(blocks(PAGE, "")).splitlines()
    if command.startswith("brimful tester check")
)
"""What the page on cards shows."""
WORSE = msgspec.structs.replace(
    with_features(rx_lro=ON, rx_vlan_hw_parse=FIXED),
    interface="eth2",
    driver="virtio_net",
    speed_bps=None,
    combined_queues=4,
    ring=256,
    obeys_pause=True,
    sends_pause=True,
    hardware_clock=None,
    numa_node=None,
    interrupts=[Interrupt(50, [0])],
)


@pytest.fixture
def cards(monkeypatch):
    """Cards by name; the tester can go every way on them, and asks for none that is in use."""
    known = {"eth1": CLEAN, "eth2": WORSE}

    def listed(names, *, force):
        assert not force
        return [Interface(name, [PACKET, NATIVE], known[name].used_for) for name in names]

    monkeypatch.setattr(checking, "read_card", known.__getitem__)
    monkeypatch.setattr(checking, "list_back_ends", listed)
    return known


def run(*arguments):
    return click.testing.CliRunner().invoke(check, arguments, catch_exceptions=False)


def test_what_people_see(cards, snapshot):
    cards["eth3"] = changed(interface="eth3", used_for="carries the address 192.0.2.1", is_up=False, driver="")
    shown = run("eth1", "eth2", "eth3", "--cpu", "8", "--cpu", "9")
    assert (shown.exit_code, shown.stdout) == (1, snapshot)


def test_clean_cards_end_with_0(cards):
    shown = run("eth1", "--cpu=8")
    assert shown.exit_code == 0
    assert shown.stdout.endswith("Nothing here would falsify a test.\n")


def test_notices_falsify_nothing(cards):
    cards["eth1"] = changed(ring=256, combined_queues=4)
    assert run("eth1", "--cpu=8").exit_code == 0


def test_json_has_facts_and_findings_of_each(cards):
    shown = run("eth1", "eth2", "--json", "--cpu=8")
    first, second = map(json.loads, shown.stdout.splitlines())
    assert shown.exit_code == 1
    assert (first["card"]["interface"], first["back_end"], first["findings"]) == ("eth1", "xdp-native", [])
    assert second["card"]["features"]["rx-lro"] == {"on": True, "can_change": True}
    assert second["findings"][0] == {
        "level": "falsifies",
        "code": "pause",
        "text": "it stops for and sends pause frames: the device or the tester is slowed down, and what would be lost"
        " is not",
        "command": "ethtool -A eth2 autoneg off rx off tx off",
    }


def test_usage_errors_end_with_2():
    command = [sys.executable, "-m", "brimful", "tester", "check"]
    for arguments in ([], ["brimful-absent"], ["lo", "--cpu=-1"]):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr


def test_the_group_lists_its_command():
    assert "check" in click.testing.CliRunner().invoke(group, ["tester", "--help"]).stdout


def test_what_is_said_of_veth_pairs_is_mended_by_its_commands():
    if (reason := permitted()) is not None:
        pytest.skip(reason)
    program = shutil.which("ethtool") or shutil.which("/usr/sbin/ethtool")
    if program is None:
        pytest.skip("ethtool is not installed")
    script = f"""
        set -e
        ip link add eth1 mtu 1400 numrxqueues 2 numtxqueues 2 type veth peer name eth2
        ip link set eth1 up; ip address add 192.0.2.1/24 dev eth1
        {AS_JSON} && exit 9; echo
        while read -r command; do eval "$command" >&2; done
        {AS_JSON}
        {AS_TEXT} >&2
    """
    environment = {**os.environ, "PATH": f"{Path(program).parent}:{os.environ['PATH']}"}

    def run_script(mends):
        return subprocess.run(
            ["unshare", "--net", "sh", "-c", script], input=mends, capture_output=True, text=True, env=environment
        )

    found = [json.loads(line) for line in run_script("").stdout.partition("\n\n")[0].splitlines()]
    codes = [[finding["code"] for finding in each["findings"]] for each in found]
    assert codes[0][:3] == ["in-use", "no-carrier", "bypass"]
    assert {"mtu", "queues"} <= {*codes[0]}
    assert codes[1][:2] == ["down", "bypass"]
    mends = [finding["command"] for each in found for finding in each["findings"] if finding["command"]]
    assert all(re.match(r"(ip|ethtool|sysctl) ", mend) for mend in mends)
    mended = run_script("\n".join([*mends, ""]))
    left = [json.loads(line) for line in mended.stdout.partition("\n\n")[2].splitlines()]
    assert [each["findings"] for each in left] == [[], []]
    assert mended.returncode == 0, mended.stderr
    assert mended.stderr.endswith("Nothing here would falsify a test.\n")


def test_an_interface_that_another_program_has_is_not_for_a_test(cards, monkeypatch):
    taken = BackEnd("xdp-native", works=False, obstacle="another XDP program is attached", is_taken=True)
    monkeypatch.setattr(checking, "list_back_ends", lambda names, *, force: [Interface("eth1", [PACKET, taken])])
    shown = run("eth1", "--cpu=8")
    assert shown.exit_code == 1
    assert "  prevents: another XDP program is attached\n" in shown.stdout
