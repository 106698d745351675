"""Forms in which `ovs-ofctl` takes its arguments: `ofctl` takes them, or says in one line what it does not."""

import subprocess

import pytest
from brimful.lab.switch import find_switch
from test_ofctl import LONGEST_S, SWITCH, ended, start


@pytest.fixture
def ofctl(lab):
    def run(*arguments):
        words = lab.command([find_switch(), "ofctl", *arguments])
        done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST_S)
        assert done.stderr.count("\n") <= 1, done.stderr
        return done.returncode, done.stdout.splitlines() or done.stderr.strip()

    with ended(start(lab, "--controller=ptcp:6653")) as switch:
        assert switch.stdout.readline() == "ready: switch\n"
        yield run


def test_the_switch_may_follow_the_command_and_options_may_be_anywhere(ofctl, tmp_path):
    flow = "priority=7,eth_type=0x800,actions=output:2"
    assert ofctl("add-flow", SWITCH, "-O", "OpenFlow13", "ip,priority=7 actions=2") == (0, "")
    assert ofctl("-O", "OpenFlow14", "dump-flows", "--no-names", SWITCH, "table=0,ip", "--no-stats") == (0, [flow])
    assert ofctl("-OOpenFlow13", SWITCH, "dump-flows", "--no-stats", "table=0,arp") == (0, "")
    rules = tmp_path / "rules.flows"
    rules.write_text(f"{flow}\nin_port=tb,actions=drop\n")
    # Signs are those of the first and the second.
    assert ofctl("diff-flows", SWITCH, str(rules)) == (1, ["+in_port=2,actions=drop"])
    assert ofctl("diff-flows", str(rules), SWITCH) == (1, ["-in_port=2,actions=drop"])
    assert ofctl("diff-flows", str(rules), str(rules))[0] == 2


def test_ports_and_fragments_are_asked_for(ofctl):
    (_, ports) = ofctl("dump-ports-desc", SWITCH, "2")
    assert [line.partition(":")[0] for line in ports] == ["port 2(tb)"]
    assert len(ofctl("dump-ports-desc", SWITCH)[1]) == 2
    assert ofctl("get-frags", SWITCH) == (0, ["normal"])
    assert ofctl("set-frags", SWITCH, "drop") == (0, "")
    assert ofctl("get-frags", SWITCH) == (0, ["drop"])
    assert ofctl("set-frags", SWITCH, "normal") == (0, "")
    code, said = ofctl("set-frags", SWITCH, "reassemble")
    assert (code, "OpenFlow error 10/0" in said) == (3, True)
    assert ofctl("probe", SWITCH) == (0, "")


def test_what_there_is_not_is_said_in_one_line(ofctl):
    for arguments, expected in [
        (["dump-flows", "br0"], "unix:/run/openvswitch/br0.mgmt: No such file"),
        (["snoop", "br0"], "unix:/run/openvswitch/br0.snoop: No such file"),
        (["show", "/absent/s.mgmt"], "unix:/absent/s.mgmt: No such file"),
    ]:
        code, said = ofctl(*arguments)
        assert (code, expected in said) == (3, True), said
    for arguments, expected in [
        (["benchmark", SWITCH, "1", "1"], "'benchmark'"),
        (["dump-flows", "--sort=priority", SWITCH], "unexpected argument '--sort'"),
        (["-O", "OpenFlow10", "show", SWITCH], "possible values: OpenFlow13, OpenFlow14"),
        (["add-flow", SWITCH], "required arguments were not provided"),
        (["show"], "required arguments were not provided"),
        (["add-flow", SWITCH, "actions=learn(table=1,in_port=1)"], "is an extension of Open vSwitch's"),
    ]:
        code, said = ofctl(*arguments)
        assert (code, expected in said) == (2, True), said
