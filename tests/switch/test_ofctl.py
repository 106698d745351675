"""`brimful switch ofctl` against our switch and against Open vSwitch."""

import contextlib
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from brimful.cli.switch import switch
from brimful.errors import MeasureError
from brimful.lab import open_lab, state
from brimful.lab.switch import find_switch
from support import wire_lab

LONGEST_S = 30
SWITCH = "tcp:127.0.0.1:6653"
FRAME = (
    "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('{interface}', 0));"
    "s.send(bytes.fromhex('020000000009020000000001') + b'\\x08\\x06' + bytes(46))"
)


class Ofctl:
    """Runs it in a lab's namespace, for one switch."""

    def __init__(self, lab, place):
        self.lab, self.place = lab, place

    def command(self, *arguments):
        return self.lab.command([find_switch(), "ofctl", self.place, *arguments])

    def __call__(self, *arguments):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=LONGEST_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *arguments):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=LONGEST_S)
        assert done.stderr.count("\n") == 1
        return done.returncode, done.stderr.strip()

    def lines(self, *arguments):
        return self(*arguments).splitlines()


def start(lab, *arguments):
    """Start the switch of a lab; it ends with the context."""
    command = lab.command([find_switch(), "--port=1=ta", "--port=2=tb", "--dpid=ab", *arguments])
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@contextlib.contextmanager
def ended(process):
    with process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def wire():
    with wire_lab() as lab:
        yield lab


@pytest.fixture
def ours(wire):
    with ended(start(wire, "--controller=ptcp:6653")) as switch:
        assert switch.stdout.readline() == "ready: switch\n"
        yield Ofctl(wire, SWITCH)


@pytest.fixture(scope="module")
def open_vswitch():
    try:
        lab = open_lab("ovs")
    except MeasureError as error:
        pytest.skip(str(error))
    with lab:
        # The lab keeps the sockets of its programs in a directory of its own.
        yield Ofctl(lab, f"unix:{state._files(lab.id)}/ovs0.mgmt")


def change_and_dump(ofctl):
    ofctl("del-flows")
    assert ofctl("dump-flows", "--no-counters") == ""
    first, second = (
        "priority=7,in_port=1,eth_type=0x0800,nw_src=10.0.0.0/255.0.0.0,actions=output:2",
        "table=1,actions=drop",
    )
    ofctl("add-flow", first, second)
    dumped = ofctl.lines("dump-flows", "--no-counters")
    assert len(dumped) == 2
    # What is printed can be added again.
    ofctl("del-flows")
    ofctl("add-flow", *dumped)
    assert ofctl.lines("dump-flows", "--no-counters") == dumped
    assert all("n_packets=0," in line for line in ofctl.lines("dump-flows"))
    assert len(ofctl.lines("dump-flows", "table=1")) == 1
    assert len(ofctl.lines("dump-flows", "out_port=2")) == 1
    ofctl("mod-flows", "in_port=1,actions=output:1")
    assert "actions=output:1" in ofctl("dump-flows", "table=0")
    # The order of ovs-ofctl.
    line = ["--strict", "mod-flows", ofctl.place, "priority=8,in_port=1,actions=drop"]
    assert subprocess.run(ofctl.lab.command([find_switch(), "ofctl", *line]), timeout=LONGEST_S).returncode == 0
    assert "actions=output:1" in ofctl("dump-flows", "table=0")
    ofctl("mod-flows", "--strict", "priority=8,in_port=1,actions=drop")
    assert "actions=output:1" in ofctl("dump-flows", "table=0")
    ofctl("del-flows", "--strict", "table=1")
    assert len(ofctl.lines("dump-flows")) == 1
    ofctl("del-flows", "in_port=1")
    assert ofctl("dump-flows") == ""


def groups_and_meters(ofctl):
    group = "group_id=5,type=all,bucket=actions=output:1,bucket=actions=output:2"
    ofctl("add-flow", group, "meter=3,pktps,bands=type=drop,rate=100", "actions=meter:3,group:5")
    assert ofctl.lines("dump-groups") == [group]
    assert "references=1" in ofctl("dump-groups", "--counters")
    assert ofctl.lines("dump-groups", "5") == ofctl.lines("dump-groups", "group_id=all") == [group]
    assert ofctl.lines("dump-groups", "50") == []
    (counted,) = ofctl.lines("dump-group-stats", "5")
    assert "references=1" in counted
    (meter,) = ofctl.lines("dump-meters")
    assert meter.startswith("meter=3,pktps")
    assert "type=drop,rate=100" in meter
    assert "flows=1" in ofctl("dump-meters", "--counters")
    assert ofctl.lines("dump-meter", "meter=3") == ofctl.lines("dump-meters", "all") == [meter]
    (counted,) = ofctl.lines("meter-stats", "3")
    assert "flows=1" in counted
    assert ofctl.refused("meter-stats", "4")[0] == 3


def test_our_flows_are_changed_and_dumped(ours):
    change_and_dump(ours)
    groups_and_meters(ours)


def test_flows_of_open_vswitch_are_changed_and_dumped(open_vswitch):
    change_and_dump(open_vswitch)
    groups_and_meters(open_vswitch)


@pytest.mark.parametrize("kind", ["ours", "open_vswitch"])
def test_a_switch_and_its_ports_are_shown(kind, request):
    ofctl = request.getfixturevalue(kind)
    shown = ofctl("show")
    assert shown.startswith("datapath ")
    assert "\nconfiguration: flags=0,miss_send_len=" in shown
    assert "\nport 1(" in shown
    assert {"port 1", "port 2"} <= {line.partition(":")[0] for line in ofctl.lines("dump-ports")}
    assert len(ofctl.lines("dump-ports", "2")) == 1


def named_ports(ofctl):
    """The names of ports 1 and 2."""
    shown = ofctl("dump-ports-desc")
    return [re.search(rf"^port {number}\((\w+)\)", shown, re.MULTILINE)[1] for number in (1, 2)]


@pytest.fixture(params=["ours", "open_vswitch"])
def each(request):
    """One switch after the other, empty."""
    ofctl = request.getfixturevalue(request.param)
    ofctl("del-flows")
    ofctl("del-groups")
    ofctl("del-meters")
    return ofctl


def test_ports_are_called_by_their_names(each):
    first, second = named_ports(each)
    flows = (f'in_port="{first}",actions=output:{second}', f"in_port={second},actions={first},enqueue:{first}:0")
    each("add-flow", *flows, f"group_id=1,type=all,bucket=output:{first}")
    assert set(each.lines("dump-flows", "--no-counters")) == {
        "in_port=1,actions=output:2",
        "in_port=2,actions=output:1,set_queue:0,output:1",
    }
    assert len(each.lines("dump-flows", f"in_port={first}")) == 1
    assert len(each.lines("dump-flows", f"out_port={first}")) == 1
    assert each("dump-groups") == "group_id=1,type=all,bucket=actions=output:1\n"
    assert each("dump-ports", first).startswith("port 1:")
    code, said = each.refused("add-flow", "in_port=nobody,actions=drop")
    assert (code, "in_port is" in said) == (2, True)
    code, said = each.refused("dump-ports", "nobody")
    assert (code, "has no port nobody" in said) == (2, True)


def test_groups_and_meters_are_changed_and_deleted(each):
    each("add-group", "group_id=5,type=all,bucket=output:1", "group_id=6,type=indirect,bucket=output:2")
    each("mod-group", "group_id=5,type=select,bucket=output:1,bucket=weight:3,output:2")
    each("add-flow", "actions=group:5")
    assert each.lines("dump-groups") == [
        "group_id=5,type=select,bucket=actions=output:1,bucket=weight=3,actions=output:2",
        "group_id=6,type=indirect,bucket=actions=output:2",
    ]
    each("del-groups", "group_id=5")
    assert len(each.lines("dump-groups")) == 1
    assert each("dump-flows") == ""
    each("del-groups")
    assert each("dump-groups") == ""
    each("add-meter", "meter=3,pktps,bands=type=drop,rate=100", "meter=4,kbps,bands=type=drop,rate=9")
    each("mod-meter", "meter=3,kbps,burst,bands=type=drop,rate=50,burst_size=7")
    assert "meter=3,kbps,burst,bands=type=drop,rate=50,burst_size=7" in each.lines("dump-meters")
    each("del-meters", "meter=3")
    assert len(each.lines("dump-meters")) == 1
    each("del-meters")
    assert each("dump-meters") == ""
    code, said = each.refused("mod-group", "group_id=9,type=all,bucket=output:1")
    assert (code, "OpenFlow error 6/8 (GROUP_UNKNOWN)" in said) == (3, True)
    for command, line in [
        ("add-group", "actions=drop"),
        ("mod-meter", "group_id=1,type=all"),
        ("del-flows", "meter=1"),
    ]:
        code, said = each.refused(command, line)
        assert (code, "this is no " in said) == (2, True), said


def test_ports_are_set_down_and_up(each):
    first, _ = named_ports(each)
    # Bits of the configuration (OF 1.3.5 section 7.2.1): down, and no packet-in.
    for changes, config in [(["down"], 0x1), (["up", "no-packet-in"], 0x40), (["packet-in"], 0x0)]:
        each("mod-port", first, *changes)
        assert f"config:{config:#x} " in next(line for line in each.lines("show") if line.startswith("port 1("))
    code, said = each.refused("mod-port", first, "no-flood")
    assert (code, "no change of a port in OpenFlow 1.3: use up, down" in said) == (2, True)


def test_packets_are_sent(each):
    frame = "0200000000020200000000010806" + "00" * 46
    _, second = named_ports(each)

    def sent():
        return int(re.search(r"sent_packets=(\d+)", each("dump-ports", "2"))[1])

    each("packet-out", f"in_port=1,packet={frame},actions=set_field:02:00:00:00:00:09->eth_dst,output:{second}")
    each("packet-out", "CONTROLLER", f"output:{second}", frame, frame)
    # Through the tables.
    each("add-flow", "in_port=1,actions=output:2")
    each("packet-out", f"in_port=1,packet={frame},actions=TABLE")
    deadline = time.monotonic() + LONGEST_S
    while sent() < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sent() >= 4
    for line, expected in [
        (f"packet={frame[:-1]},actions=output:1", "two for each byte"),
        ("actions=output:1", "has no packet="),
        (f"packet={frame}", "has no actions="),
        (f"packet={frame},table=1,actions=output:1", "a packet-out has no table"),
    ]:
        code, said = each.refused("packet-out", line)
        assert (code, expected in said) == (2, True), said


def test_tables_and_sums_of_flows_are_counted(each):
    each("add-flow", "in_port=1,actions=drop", "in_port=2,actions=drop", "table=3,actions=drop")
    tables = each.lines("dump-tables")
    assert tables[0].startswith("table 0: active=2,lookup=")
    assert "table 3: active=1,lookup=0,matched=0" in tables
    assert tables[-1] == "tables 4 to 253: active=0,lookup=0,matched=0"
    assert each("dump-aggregate", "table=0") == "n_packets=0,n_bytes=0,flow_count=2\n"
    assert each("dump-aggregate").endswith("flow_count=3\n")


def test_flows_of_a_file_are_added_replaced_and_compared(each, tmp_path):
    first, _ = named_ports(each)
    rules = tmp_path / "rules.flows"
    rules.write_text(
        f"# by names\npriority=5,in_port={first},actions=output:2\npriority=4,tcp,tp_dst=80,actions=output:1\n"
    )
    each("add-flows", str(rules))
    assert each("diff-flows", str(rules)) == ""
    each("add-flow", "table=2,actions=drop")
    each("mod-flows", "tcp,tp_dst=80,actions=output:2")
    differences = subprocess.run(each.command("diff-flows", str(rules)), capture_output=True, text=True)
    assert differences.returncode == 1
    assert differences.stdout.splitlines() == [
        "-priority=4,eth_type=0x800,ip_proto=6,tcp_dst=0x50,actions=output:2",
        "+priority=4,eth_type=0x800,ip_proto=6,tcp_dst=0x50,actions=output:1",
        "-table=2,actions=drop",
    ]
    # Lines of standard input, and what deletes; a deletion is of all tables, unless it names one.
    text = "add table=7,actions=drop\ndelete priority=0,in_port=1\n"
    subprocess.run(each.command("add-flow", "-"), input=text, text=True, check=True)
    assert len(each.lines("dump-flows")) == 3
    # What stays keeps its counters and its age.
    time.sleep(1.1)
    each("replace-flows", str(rules))
    assert each("diff-flows", str(rules)) == ""
    assert len(each.lines("dump-flows")) == 2
    kept = [line for line in each.lines("dump-flows") if "priority=4" in line]
    assert not kept[0].startswith("duration=0")
    each("del-flows")
    each("--bundle", "replace-flows", str(rules))
    assert each("diff-flows", str(rules)) == ""
    assert each("diff-flows", each.place) == ""
    rules.write_text("actions=drop\nin_port=1,foo=2,actions=drop\n")
    code, said = each.refused("replace-flows", str(rules))
    assert (code, f"{rules}:2:11: there is no match field foo" in said) == (2, True)
    code, said = each.refused("add-flows", str(tmp_path / "absent"))
    assert (code, "No such file" in said) == (2, True)


def test_a_bundle_is_done_as_a_whole_or_not_at_all(each, tmp_path):
    changes = tmp_path / "changes"
    changes.write_text(
        "group add group_id=4,type=all,bucket=output:1\nflow add priority=9,actions=group:4\nflow delete in_port=1\n"
    )
    each("add-flow", "in_port=1,actions=drop")
    each("bundle", str(changes))
    assert each("dump-flows", "--no-counters") == "priority=9,actions=group:4\n"
    # The first is known to be wrong when it is added, the second when the bundle is committed.
    for wrong, error in [("actions=goto_table:0", "3/2"), ("actions=group:99", "2/9")]:
        code, said = each.refused("--bundle", "add-flow", "in_port=1,actions=drop", wrong)
        assert (code, f"line 2: the switch refuses: OpenFlow error {error}" in said) == (3, True), said
        assert each("dump-flows", "--no-counters") == "priority=9,actions=group:4\n"
    for arguments, expected in [
        (["-O", "OpenFlow13", "bundle", str(changes)], "bundles need OpenFlow 1.4"),
        (["--bundle", "show"], "--bundle is for changes"),
    ]:
        code, said = each.refused(*arguments)
        assert (code, expected in said) == (2, True), said
    assert each("-O", "OpenFlow14", "dump-flows", "--no-counters") == "priority=9,actions=group:4\n"


def test_a_switch_without_bundles_is_told_in_one_line(wire):
    with ended(start(wire, "--controller=ptcp:6653", "--versions=1.3")) as switch:
        assert switch.stdout.readline() == "ready: switch\n"
        code, said = Ofctl(wire, SWITCH).refused("--bundle", "add-flow", "actions=drop")
    assert (code, "does not speak OpenFlow 1.4" in said) == (3, True), said


def test_queues_are_counted(wire, tmp_path):
    settings = tmp_path / "switch.toml"
    port = "[[switch.port]]\nnumber = {}\ninterface = '{}'\n"
    queue = "[[switch.port.queue]]\nid = 7\nmax_rate = 500\n"
    head = "[[switch]]\nname = 'queues'\ncontrollers = ['ptcp:6653']\n"
    settings.write_text(head + port.format(1, "ta") + port.format(2, "tb") + queue)
    with ended(
        subprocess.Popen(wire.command([find_switch(), f"--config={settings}"]), stdout=subprocess.PIPE, text=True)
    ) as switch:
        assert switch.stdout.readline() == "ready: queues\n"
        ofctl = Ofctl(wire, SWITCH)
        frame = "0200000000020200000000010806" + "00" * 46
        ofctl("packet-out", f"packet={frame},actions=set_queue:7,output:2")
        deadline = time.monotonic() + LONGEST_S
        expected = "port 2 queue 7: n_packets=1,n_bytes=60,n_errors=0"
        while expected not in ofctl.lines("queue-stats") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert expected in ofctl.lines("queue-stats")
        assert ofctl.lines("queue-stats", "tb", "7") == [expected]
        assert ofctl.lines("queue-stats", "ALL", "7") == [expected]
        assert expected in ofctl.lines("queue-stats", "tb", "ALL")
        code, said = ofctl.refused("queue-stats", "ta", "7")
        assert (code, "OpenFlow error 9/1 (QUEUE_UNKNOWN)" in said) == (3, True)


def test_a_file_that_is_refused_line_by_line_ends(each, tmp_path):
    # Many more errors than a connection holds: neither side may wait for the other to read.
    rules = tmp_path / "rules.flows"
    rules.write_text("actions=group:99\n" * 50_000)
    code, said = each.refused("add-flows", str(rules))
    assert (code, said.partition(": ")[2]) == (
        3,
        f"{rules}:1: the switch refuses: OpenFlow error 2/9 (ACTION_OUT_GROUP)",
    )


def test_a_socket_of_this_machine_is_listened_at(wire, tmp_path):
    path, log = tmp_path / "s.mgmt", tmp_path / "log"
    with ended(start(wire, f"--controller=punix:{path}")) as switch:
        assert switch.stdout.readline() == "ready: switch\n"
        ofctl = Ofctl(wire, f"unix:{path}")
        ofctl("add-flow", "in_port=1,actions=output:tb")
        assert ofctl("dump-flows", "--no-counters") == "in_port=1,actions=output:2\n"
        if shutil.which("ovs-ofctl") is not None:
            command = ["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", f"unix:{path}"]
            shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONGEST_S).stdout
            assert "in_port=" in shown
        with log.open("w") as errors:
            other = wire.command([find_switch(), "--port=1=lo", f"--controller=punix:{path}"])
            assert subprocess.run(other, stderr=errors, timeout=LONGEST_S).returncode == 3
        assert "another switch answers there" in log.read_text()
    switch.wait(LONGEST_S)
    assert not path.exists()


def test_what_cannot_be_is_told_in_one_line(ours):
    code, said = ours.refused("add-flow", "in_port=1,actions=goto_table:0")
    assert (code, said) == (3, "brimful-switchd: the switch refuses: OpenFlow error 3/2 (INSTRUCTION_TABLE)")
    code, said = ours.refused("add-flow", "in_port=1,actions=drop", "foo=1,actions=drop")
    assert code == 2
    assert "flow:2:1: there is no match field foo" in said
    code, said = Ofctl(ours.lab, "tcp:127.0.0.1:1").refused("show")
    assert (code, "Connection refused" in said) == (3, True)
    code, said = Ofctl(ours.lab, "udp:1").refused("show")
    assert (code, "use tcp:HOST:PORT" in said) == (2, True)


def test_what_a_switch_tells_is_watched(ours):
    ours("add-flow", "in_port=1,cookie=77,actions=controller")
    with subprocess.Popen(ours.command("monitor", "--count=1"), stdout=subprocess.PIPE, text=True) as monitor:
        # It has connected once the switch counts it; frames until then meet no one.
        deadline = time.monotonic() + LONGEST_S
        while monitor.poll() is None and time.monotonic() < deadline:
            subprocess.run(ours.lab.command([sys.executable, "-I", "-c", FRAME.format(interface="tb")]), check=True)
            time.sleep(0.1)
        line = monitor.stdout.readline()
    assert "PacketIn " in line
    assert "cookie=77" in line
    assert "in_port=1" in line
    assert "0200000000090200000000010806" in line


def test_what_a_switch_and_its_controller_say_is_seen_from_between(wire):
    watching = [find_switch(), "ofctl", "ptcp:7001", "snoop", "--controller=ptcp:7002", "--count=4"]
    with ended(start(wire, "--controller=tcp:127.0.0.1:7001")) as switch:
        assert switch.stdout.readline() == "ready: switch\n"
        with subprocess.Popen(wire.command(watching), stdout=subprocess.PIPE, text=True) as snoop:
            asked = Ofctl(wire, "tcp:127.0.0.1:7002")
            deadline = time.monotonic() + LONGEST_S
            while snoop.poll() is None and time.monotonic() < deadline:
                subprocess.run(asked.command("dump-flows"), capture_output=True, timeout=LONGEST_S)
            seen = snoop.stdout.read()
    assert "switch: xid=" in seen
    assert "controller: xid=" in seen
    assert "MultipartRequest Flow table=255" in seen


def test_every_command_is_named_where_people_look():
    shown = subprocess.run([find_switch(), "ofctl", "--help"], capture_output=True, text=True, check=True).stdout
    commands = set(
        re.findall(r"^  ([a-z-]+) ", shown.partition("Commands:")[2].partition("Arguments:")[0], re.MULTILINE)
    )
    assert {"show", "mod-port", "snoop"} <= commands
    for command in commands - {"help"}:
        assert re.search(rf"\b{command}\b", switch.get_command(None, "ofctl").help), command


def test_it_is_a_command_of_brimful(ours):
    program = Path(sys.executable).with_name("brimful")
    command = ours.lab.command([program, "switch", "ofctl", SWITCH, "add-flow", "actions=drop"])
    subprocess.run(command, check=True, timeout=LONGEST_S)
    assert ours("dump-flows", "--no-counters") == "actions=drop\n"
    wrong = ours.lab.command([program, "switch", "ofctl", SWITCH, "add-flow", "actions=fly"])
    assert subprocess.run(wrong, capture_output=True, timeout=LONGEST_S).returncode == 2
