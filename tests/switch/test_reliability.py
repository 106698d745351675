"""`brimful-switchd` where something is wrong around it: it goes on, or it ends with a code; memory stays bounded."""

import contextlib
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from brimful.lab.switch import find_switch
from brimful.switch import ask
from support import wire_lab

PATIENCE_S = 20
KIB_PER_MIB = 1024
HELLO = struct.pack("!BBHI", 4, 0, 8, 1)
ALL_FLOWS = struct.pack("!BBHIHH4x", 4, 18, 56, 2, 1, 0) + struct.pack(
    "!B3xII4xQQHH4x", 255, 2**32 - 1, 2**32 - 1, 0, 0, 1, 4
)
# Runs in the namespace of the switch and speaks to it as many controllers: how many, and what each of them sends.
CONNECT = """
import socket, sys, time
count, port, sent, wait = int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3]), float(sys.argv[4])
sockets = []
for _ in range(count):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", port))
    one.sendall(sent)
    sockets.append(one)
print("connected", flush=True)
time.sleep(wait)
"""
SCRAPE = """
import socket, urllib.request
slow = [socket.create_connection(("127.0.0.1", 9119)) for _ in range(4)]
for one in slow:
    one.sendall(b"GET")
print(urllib.request.urlopen("http://127.0.0.1:9119/metrics", timeout=2).read().decode())
"""
HANG_UP = """
import socket
with socket.create_server(("127.0.0.1", 6654)) as own:
    for _ in range(4):
        own.accept()[0].close()
"""


@pytest.fixture
def lab():
    with wire_lab() as lab:
        subprocess.run(lab.command(["ip", "link", "set", "lo", "up"]), check=True)
        yield lab


class Switch:
    """A switch that runs, its process and its control socket."""

    def __init__(self, process, control):
        self.process, self.control = process, control
        # Whatever enters the namespace may stand in front of the switch; the switch owns the socket.
        found = subprocess.run(["pgrep", "-n", "-f", f"control={control}"], capture_output=True, check=True)
        self.pid = int(found.stdout)

    def resident_mib(self):
        status = Path(f"/proc/{self.pid}/status").read_text()
        kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(kib) / KIB_PER_MIB

    def cpu_s(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(lab, tmp_path, *options, code=0, **how):
    control = tmp_path / "s.sock"
    command = lab.command([find_switch(), "--port=1=ta", "--port=2=tb", f"--control={control}", *options])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how) as process:
        try:
            assert process.stdout.readline() == "ready: switch\n"
            switch = Switch(process, control)
            yield switch
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(switch.pid, signal.SIGTERM)
            ended = process.wait(timeout=PATIENCE_S)
        assert ended == code


@contextlib.contextmanager
def controllers(lab, count, sent, wait_s=60):
    words = [sys.executable, "-I", "-c", CONNECT, str(count), "6653", sent.hex(), str(wait_s)]
    with subprocess.Popen(lab.command(words), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "connected\n"
            yield process
        finally:
            process.kill()


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s"
        time.sleep(0.02)


def test_a_full_disk_for_telemetry_and_a_log_that_cannot_be_written_end_nothing(lab, tmp_path):
    # A limit for files takes the place of a disk without room.
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    telemetry = tmp_path / "telemetry"
    with (
        Path("/dev/full").open("w") as full,
        running(lab, tmp_path, f"--telemetry={telemetry}", stderr=full, preexec_fn=limit) as switch,
    ):
        # Rows are written every 10 s.
        time.sleep(11)
        assert switch.process.poll() is None
        assert ask(switch.control, "status")["switches"]
    (rows,) = telemetry.glob("*.csv")
    assert rows.read_text() == "timestamp,device,port,direction,octets,packets,discards\n"


def test_a_part_that_hangs_does_not_keep_the_process(lab, tmp_path):
    rules, log = tmp_path / "rules.flows", tmp_path / "log"
    rules.write_text("")
    writers = []

    def is_read():
        # There is a reader, which then waits for what is never written.
        with contextlib.suppress(OSError):
            writers.append(os.open(rules, os.O_WRONLY | os.O_NONBLOCK))
        return writers != []

    with log.open("w") as errors, running(lab, tmp_path, f"--tables={rules}", code=3, stderr=errors) as switch:
        rules.unlink()
        os.mkfifo(rules)
        os.kill(switch.pid, signal.SIGHUP)
        wait_for(is_read)
    os.close(writers[0])
    assert log.read_text().endswith("a part of the switch did not end in time: the process was ended\n")


def test_only_sockets_give_way_to_the_control_socket(lab, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    command = lab.command([find_switch(), "--port=1=ta", f"--control={precious}"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "there is a file that is no socket: give another path" in done.stderr
    assert precious.read_text() == "keep me"
    left = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(left))
    with running(lab, tmp_path):
        # What stands there at the end is somebody else's.
        left.unlink()
        left.write_text("keep me")
    assert left.read_text() == "keep me"


def test_another_protocol_at_the_control_socket_is_hung_up(lab, tmp_path):
    with running(lab, tmp_path) as switch, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE_S)
        client.connect(str(switch.control))
        client.sendall(HELLO)
        assert b"it does not speak OpenFlow" in client.makefile("rb").read()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config=/dev/zero"], "/dev/zero: it is no text"),
        (["--config=switch.toml", "--state=x"], "--config"),
        (["--port=1=lo", "--entries=0"], "entries is 0: use 1 to"),
        (["--port=1=lo", "--max-frame-len=0"], "max_frame_len is 0: use 60 to"),
        (["--port=1=lo", "--threads=1000000000"], "threads is 1000000000: use 1 to"),
    ],
)
def test_settings_that_cannot_be_are_refused(arguments, said):
    done = subprocess.run([find_switch(), *arguments], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert said in done.stderr


def test_tables_without_an_end_are_refused(lab):
    command = lab.command([find_switch(), "--port=1=ta", "--tables=/dev/zero"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "/dev/zero: it is no text: it has a byte that is 0" in done.stderr


def test_metrics_have_all_series_and_a_slow_scraper_holds_up_no_other(lab, tmp_path):
    rules = tmp_path / "rules.flows"
    rules.write_text(
        "meter=3,kbps,bands=type=drop,rate=1000\n"
        "group_id=7,type=all,bucket=actions=output:2\n"
        "in_port=1,actions=meter:3,group:7\n"
    )
    options = [f"--tables={rules}", "--metrics=127.0.0.1:9119", '--name=a"b']
    control = tmp_path / "s.sock"
    command = lab.command([find_switch(), "--port=1=ta", f"--control={control}", *options])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as switch:
        try:
            assert switch.stdout.readline() == 'ready: a"b\n'
            done = subprocess.run(
                lab.command([sys.executable, "-I", "-c", SCRAPE]), capture_output=True, text=True, check=True
            )
        finally:
            switch.terminate()
    lines = done.stdout.splitlines()
    for series in (
        'brimful_switch_port_up{switch="a\\"b",port="1",interface="ta"} 1',
        'brimful_switch_group_frames_total{switch="a\\"b",group="7"} 0',
        'brimful_switch_meter_frames_total{switch="a\\"b",meter="3"} 0',
        'brimful_switch_meter_band_frames_total{switch="a\\"b",meter="3",band="0"} 0',
        'brimful_switch_controllers{switch="a\\"b"} 0',
    ):
        assert series in lines
    for name in ("process_resident_memory_bytes ", "process_open_fds ", "brimful_switch_compile_seconds_total{"):
        assert any(line.startswith(name) for line in lines), name
    assert any(line.startswith('brimful_switch_thread_cpu_seconds_total{thread="frames-0"}') for line in lines)


def test_half_a_long_message_takes_little_more_memory_than_none(lab, tmp_path):
    count, taken = 100, []
    half = struct.pack("!BBHI", 4, 2, 60_000, 3) + bytes(30_000)
    for sent in (HELLO, HELLO + half):
        with running(lab, tmp_path, "--controller=ptcp:6653") as switch:
            before = switch.resident_mib()
            with controllers(lab, count, sent):
                # What has been sent is read.
                time.sleep(1)
                taken.append((switch.resident_mib() - before) / count)
    none, some = taken
    # The allocator takes 0.5 MiB for each thread and size above 8 KiB.
    assert some - none < 0.3, taken


def test_a_controller_that_asks_and_does_not_read_takes_bounded_memory(lab, tmp_path):
    rules = tmp_path / "rules.flows"
    flows = (f"ip,nw_dst=10.{index >> 8}.{index & 255}.1,actions=output:2\n" for index in range(20_000))
    rules.write_text("".join(flows))
    with running(lab, tmp_path, f"--tables={rules}", "--controller=ptcp:6653") as switch:
        before = switch.resident_mib()
        with controllers(lab, 1, HELLO + 500 * ALL_FLOWS):
            # One answer has 2 MiB, all have 1 GiB.
            most = before
            for _ in range(20):
                time.sleep(0.1)
                most = max(most, switch.resident_mib())
            assert ask(switch.control, "status")["switches"]
        assert most - before < 64


@pytest.mark.parametrize(
    ("sent", "most_mib"), [(HELLO, 0.5), (HELLO + struct.pack("!BBHI", 4, 14, 65_528, 3) + bytes(60_000), 1.6)]
)
def test_connections_that_wait_take_little(lab, tmp_path, sent, most_mib):
    count = 100
    with running(lab, tmp_path, "--controller=ptcp:6653") as switch:
        before = switch.resident_mib()
        with controllers(lab, count, sent):
            time.sleep(3)
            each = (switch.resident_mib() - before) / count
        assert each < most_mib


def test_a_full_table_of_descriptors_stops_no_thread_and_burns_no_processor(lab, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    with running(lab, tmp_path, "--controller=ptcp:6653", "--metrics=127.0.0.1:9119", preexec_fn=limit) as switch:
        with controllers(lab, 200, b""):
            begun = switch.cpu_s()
            time.sleep(2)
            assert switch.cpu_s() - begun < 1
        wait_for(lambda: switch.process.poll() is None and "switches" in ask(switch.control, "status"))


def test_what_a_reload_cannot_change_is_said(lab, tmp_path):
    settings, rules, control = tmp_path / "s.toml", tmp_path / "rules.flows", tmp_path / "s.sock"
    port = "[[switch.port]]\nnumber = {0}\ninterface = 't{1}'\n"
    text = f"control = '{control}'\n[[switch]]\nname = 'edge'\n" + port.format(1, "a")
    settings.write_text(text)
    rules.write_text("in_port=1,actions=drop\n")
    log = tmp_path / "log"
    with log.open("w") as errors:
        command = lab.command([find_switch(), f"--config={settings}"])
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    with process:
        try:
            assert process.stdout.readline() == "ready: edge\n"
            found = subprocess.run(["pgrep", "-n", "-f", f"config={settings}"], capture_output=True, check=True)
            settings.write_text(
                text.replace("[[switch.port", f"dpid = '7'\ntables = ['{rules}']\n[[switch.port") + port.format(2, "b")
            )
            os.kill(int(found.stdout), signal.SIGHUP)
            wait_for(lambda: "switch edge has other settings: takes effect with the next start" in log.read_text())
            wait_for(lambda: ask(control, "dump")["text"] == "in_port=1,actions=drop\n")
        finally:
            os.kill(int(found.stdout), signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0


def test_a_controller_that_hangs_up_at_once_is_said_to_do_so_once(lab, tmp_path):
    log = tmp_path / "log"
    words = lab.command([sys.executable, "-I", "-c", HANG_UP])
    with (
        log.open("w") as errors,
        subprocess.Popen(words) as controller,
        running(lab, tmp_path, "--controller=tcp:127.0.0.1:6654", stderr=errors),
    ):
        assert controller.wait(timeout=PATIENCE_S) == 0
    said = log.read_text()
    assert said.count("tcp:127.0.0.1:6654: the connection has ended") == 1
    assert ": connected" not in said
