"""Interfaces that another switch, a tester or a bridge has: what is refused, and what is said."""

import subprocess
from pathlib import Path

import pytest
from brimful.cli.switch import switch as command
from brimful.errors import UsageError
from brimful.lab.switch import find_switch
from click.testing import CliRunner
from hosts import PLAIN, switch, wait_until

PATIENCE_S = 20
TAKEN = "interface `s2` is a port of another brimful-switchd: remove that port, or end that switch"


def refused(bed, program, *options):
    """Run a program that does not start; return its code and what it says, without its name."""
    done = subprocess.run(
        bed.middle.command([program, *options]), capture_output=True, text=True, timeout=PATIENCE_S, input=""
    )
    assert done.stderr.count("\n") == 1, done.stderr
    return done.returncode, done.stderr.strip().partition(": ")[2]


def program_that_measures():
    return str(Path(find_switch()).with_name("brimful-tester"))


@pytest.mark.parametrize(
    ("first", "second"), [("packet", "packet"), ("packet", "xdp-generic"), ("xdp-generic", "packet")]
)
def test_an_interface_is_a_port_of_one_switch(bed, tmp_path, first, second):
    beside = tmp_path / "beside"
    beside.mkdir()
    with switch(bed, tmp_path, PLAIN, first) as own:
        assert refused(bed, find_switch(), "--port=1=s2", f"--back-end={second}") == (3, TAKEN)
        # A name is not what an interface is known by.
        bed.ip(bed.middle, "link", "property", "add", "dev", "s2", "altname", "another")
        assert refused(bed, find_switch(), "--port=1=another", f"--back-end={second}")[0] == 3
        with switch(bed, beside, PLAIN, second, ports=0, options=["--port=3=s3"]) as other:
            arguments = ["port", "add", "--back-end", second, "--control", str(other.control), "2=s2"]
            with pytest.raises(UsageError, match="`s2` is a port of another brimful-switchd"):
                CliRunner().invoke(command, arguments, catch_exceptions=False)
            assert bed.talk("tcp", "4", "10.9.0.2", "10.9.0.1") == {"tcp": True}
            # The end of a switch leaves nothing that keeps others out, however it ends.
            own.process.kill()
            own.process.wait()
            assert CliRunner().invoke(command, arguments, catch_exceptions=False).exit_code == 0


def test_a_successor_starts_while_the_switch_before_it_is_still_ending(bed, tmp_path):
    after = tmp_path / "after"
    after.mkdir()
    with switch(bed, tmp_path, PLAIN) as own:
        own.process.terminate()
        with switch(bed, after, PLAIN):
            assert own.process.wait() == 0


def test_a_switch_and_a_tester_do_not_have_an_interface_together(bed, tmp_path):
    ports = ["--port=s3", "--port=s4"]
    with switch(bed, tmp_path, PLAIN, ports=0, options=["--port=1=s3"]):
        code, said = refused(bed, program_that_measures(), *ports)
        assert (code, said.partition(",")[0]) == (3, "interface `s3` is a port of brimful-switchd")
        found = subprocess.run(
            bed.middle.command([program_that_measures(), "--list-back-ends", *ports]),
            capture_output=True,
            text=True,
            check=True,
        )
        assert "is a port of brimful-switchd" in found.stdout
    words = bed.middle.command([program_that_measures(), "--back-end=packet", *ports])
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as measuring:

        def is_measured():
            sockets = bed.middle.command(["cat", "/proc/self/net/unix"])
            return "brimful-tester" in subprocess.run(sockets, capture_output=True, text=True, check=True).stdout

        wait_until(is_measured, "the tester has its interfaces")
        code, said = refused(bed, find_switch(), "--port=1=s3")
        assert (code, said.partition(";")[0]) == (3, "interface `s3`: a brimful-tester measures on it")
        measuring.stdin.close()


@pytest.mark.parametrize("back_end", ["packet", "packet-blocks"])
def test_a_port_that_a_bridge_forwards_from_as_well_is_said_to_be_one(bed, tmp_path, back_end):
    bed.ip(bed.middle, "link", "add", "br0", "type", "bridge")
    bed.ip(bed.middle, "link", "set", "s2", "master", "br0")
    with switch(bed, tmp_path, PLAIN, back_end):
        pass
    said = (tmp_path / "log").read_text().splitlines()
    assert any(f"s2 by {back_end}: it is a port of `br0`" in line for line in said)
    assert not any("s1 by" in line for line in said)
