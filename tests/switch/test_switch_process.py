"""`brimful-switchd` as a process: signals, metrics, and what it says when it cannot run."""

import signal
import subprocess
import sys
import time

import pytest
from brimful.lab.switch import find_switch
from brimful.switch import ask

SCRAPE = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:9119/metrics').read().decode())"


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "not within 20 s"
        time.sleep(0.02)


def test_signals_reload_and_end_it(lab, tmp_path):
    rules, control, log = tmp_path / "rules.flows", tmp_path / "s.sock", tmp_path / "log"
    rules.write_text("in_port=1,actions=output:2\n")
    options = ["--port=1=ta", "--port=2=tb", f"--control={control}", f"--tables={rules}"]
    with log.open("w") as errors:
        command = lab.command([find_switch(), *options])
        switch = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    with switch:
        try:
            assert switch.stdout.readline() == "ready: switch\n"
            assert ask(control, "dump")["text"] == "in_port=1,actions=output:2\n"
            rules.write_text("in_port=2,actions=output:1\n")
            # Whatever enters the namespace may stand in front of the switch; the switch owns the socket.
            pid = int(subprocess.run(["pgrep", "-n", "-f", str(control)], capture_output=True, check=True).stdout)
            subprocess.run(["kill", f"-{signal.SIGHUP.name[3:]}", str(pid)], check=True)
            wait_for(lambda: ask(control, "dump")["text"] == "in_port=2,actions=output:1\n")
            rules.write_text("in_port=2,actions=fly\n")
            subprocess.run(["kill", f"-{signal.SIGHUP.name[3:]}", str(pid)], check=True)
            wait_for(lambda: "there is no action fly (OpenFlow error 2/0); the tables stay" in log.read_text())
            assert ask(control, "dump")["text"] == "in_port=2,actions=output:1\n"
        finally:
            switch.terminate()
        assert switch.wait(timeout=20) == 0
    assert not control.exists()


def test_prometheus_is_answered(lab):
    command = lab.command([find_switch(), "--port=1=ta", "--metrics=127.0.0.1:9119"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as switch:
        try:
            assert switch.stdout.readline() == "ready: switch\n"
            lab_python = lab.command([sys.executable, "-I", "-c", SCRAPE])
            subprocess.run(lab.command(["ip", "link", "set", "lo", "up"]), check=True)
            answer = subprocess.run(lab_python, capture_output=True, text=True, check=True).stdout
        finally:
            switch.terminate()
    assert 'brimful_switch_port_received_frames_total{switch="switch",port="1",interface="ta"} 0' in answer


def test_threads_that_would_have_nothing_to_receive_are_refused(lab):
    command = lab.command([find_switch(), "--port=1=ta", "--port=2=tb", "--threads=3"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.returncode == 3
    assert "3 data-plane threads for 2 receive queues: use 1 to 2" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "no ports: give --port NUMBER=INTERFACE"),
        (["--port"], 2, "a value is required for '--port <PORT>'"),
        (["--prot=1=lo"], 2, "unexpected argument '--prot' found"),
        (["--port=1=lo", "--port=2=lo"], 2, "interface lo is a port twice"),
        (["--port=1=lo", "--port=1=eth9"], 2, "port 1 is there twice"),
        (["--port=x"], 2, "--port x: use NUMBER=INTERFACE"),
        (["--port=1=lo", "--dpid=xyz"], 2, "use at most 16 hexadecimal digits"),
        (["--port=1=no-such-port"], 3, "no-such-port"),
        (["--config=/absent.toml"], 2, "/absent.toml"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(arguments, code, said):
    done = subprocess.run([find_switch(), *arguments], capture_output=True, text=True, timeout=20)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
