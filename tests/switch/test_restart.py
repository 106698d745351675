"""`brimful-switchd` that loses power, and its channel under TLS: the program itself, with its files."""

import contextlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from brimful.lab.switch import find_switch
from brimful.switch import ask

LONGEST_S = 60
PLACE = "tcp:127.0.0.1:6653"
# Says hello and asks for features; prints what the answers are, or that the switch does not want to talk.
CLIENT = """
import socket, ssl, sys
authority, certificate, key = sys.argv[1:]
context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=authority)
context.check_hostname = False
if certificate != "none":
    context.load_cert_chain(certificate, key)
try:
    with context.wrap_socket(socket.create_connection(("127.0.0.1", 6653), timeout=20)) as tls:
        tls.sendall(bytes([4, 0, 0, 8, 0, 0, 0, 1, 4, 5, 0, 8, 0, 0, 0, 2]))
        received = b""
        while len(received) < 16 + 32:
            more = tls.recv(4096)
            if not more:
                raise ConnectionError("the end")
            received += more
        print("served", received[16 + 1])
except (ssl.SSLError, ConnectionError):
    print("refused")
"""


@contextlib.contextmanager
def running(lab, log, *options):
    """A switch with the lab's ports; it has its end when the context ends, if it has not had it before."""
    command = lab.command([find_switch(), "--port=1=ta", "--port=2=tb", *options])
    with log.open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as switch:
        try:
            assert switch.stdout.readline() == "ready: switch\n", log.read_text()
            yield switch
        finally:
            switch.terminate()


def lines_of(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")] if path.exists() else []


@pytest.mark.timeout(2 * LONGEST_S)
def test_tables_are_back_after_the_power_was_lost_in_the_middle_of_changes(lab, tmp_path):
    state, control, log = tmp_path / "state", tmp_path / "s.sock", tmp_path / "log"
    options = ["--controller=ptcp:6653", f"--control={control}", f"--state={state}"]
    ends = threading.Event()

    def change():
        number = 0
        while not ends.is_set():
            flows = [f"priority=5,in_port={number + one},actions=output:2" for one in range(1, 101)]
            command = lab.command([find_switch(), "ofctl", PLACE, "add-flow", *flows])
            subprocess.run(command, capture_output=True, timeout=LONGEST_S)
            number += 100

    with running(lab, log, *options) as switch:
        assert "state is not there yet" in log.read_text()
        changing = threading.Thread(target=change)
        changing.start()
        try:
            deadline = time.monotonic() + LONGEST_S
            while len(lines_of(state)) < 300:
                assert time.monotonic() < deadline, "the file does not grow"
                time.sleep(0.05)
            # Whatever enters the namespace may stand in front of the switch.
            pid = subprocess.run(["pgrep", "-n", "-f", f"state={state}"], capture_output=True, check=True).stdout
            subprocess.run(["kill", f"-{signal.SIGKILL.name[3:]}", pid.decode().strip()], check=True)
            switch.wait(timeout=LONGEST_S)
        finally:
            ends.set()
            changing.join()
    kept = lines_of(state)
    assert len(kept) >= 300
    control.unlink(missing_ok=True)
    with running(lab, log, *options):
        assert ask(control, "dump")["text"].splitlines() == kept
        assert f"{len(kept)} entries, groups and meters are back from" in log.read_text()
    control.unlink(missing_ok=True)
    with running(lab, log, *options[:2]):
        assert ask(control, "dump")["text"] == ""
        assert "its tables are empty" in log.read_text()


def test_half_of_a_file_is_not_taken(lab, tmp_path):
    state = tmp_path / "state"
    state.write_text("in_port=1,actions=output:2\n")
    command = lab.command([find_switch(), "--port=1=ta", f"--state={state}"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S)
    assert (done.returncode, done.stdout) == (3, "")
    assert "it is not whole: remove it to start with empty tables" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority with a switch and a controller, and another one with a stranger."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: nothing to make certificates with")
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    for authority, names in (("authority", ("switch", "controller")), ("other", ("stranger",))):
        subject = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        openssl(
            "req",
            "-x509",
            *subject,
            "-subj",
            f"/CN={authority}",
            "-keyout",
            f"{authority}.key",
            "-out",
            f"{authority}.pem",
        )
        for name in names:
            openssl("req", *subject, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
            (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
            signed = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", "-extfile", "names"]
            openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem")
    return folder


def secured(certificates, certificate="switch.pem", key="switch.key"):
    return [
        "--controller=ptls:6653",
        f"--private-key={certificates / key}",
        f"--certificate={certificates / certificate}",
        f"--ca-certificate={certificates / 'authority.pem'}",
    ]


@pytest.mark.parametrize(
    ("certificate", "said"),
    [("controller", "served 6\n"), ("stranger", "refused\n"), ("none", "refused\n")],
)
def test_only_controllers_of_the_authority_are_served(lab, tmp_path, certificates, certificate, said):
    with running(lab, tmp_path / "log", *secured(certificates)):
        files = [certificates / "authority.pem", certificate, "none"]
        if certificate != "none":
            files[1:] = [certificates / f"{certificate}.pem", certificates / f"{certificate}.key"]
        client = lab.command([sys.executable, "-I", "-c", CLIENT, *map(str, files)])
        done = subprocess.run(client, capture_output=True, text=True, timeout=LONGEST_S)
    assert (done.stdout, done.stderr) == (said, "")


@pytest.mark.parametrize(
    ("certificate", "key"),
    [("switch.key", "switch.key"), ("switch.pem", "stranger.key"), ("absent.pem", "switch.key")],
)
def test_a_wrong_certificate_is_told_in_one_line_and_nothing_starts(lab, certificates, certificate, key):
    command = lab.command([find_switch(), "--port=1=ta", *secured(certificates, certificate, key)])
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    assert "pem" in done.stderr or "key" in done.stderr
