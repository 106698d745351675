"""An object store on the loopback interface: SeaweedFS, with users who may do this and that."""

import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "weed"
ALL = ("owner", "secret of the owner", ["Admin", "Read", "Write", "List", "Tagging"])
READER = ("reader", "secret of the reader", ["Read:shared", "List:shared"])
START_S = 60


def is_installed():
    return PROGRAM.exists()


def environment(end_point, user=ALL, **more):
    """What programs read: keys of a user, and where the object store is; no other place is asked for keys."""
    key, secret, _ = user
    return {
        "AWS_ENDPOINT_URL": end_point,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        **more,
    }


@contextlib.contextmanager
def serve(directory):
    """Have one with its files in a directory; give its end point."""
    names = ["master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc", "s3", "s3.grpc"]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    users = [
        {"name": key, "credentials": [{"accessKey": key, "secretKey": secret}], "actions": actions}
        for key, secret, actions in (ALL, READER)
    ]
    (directory / "users.json").write_text(json.dumps({"identities": users}))
    (directory / "data").mkdir()
    command = [PROGRAM, "server", "-s3", f"-s3.config={directory}/users.json", f"-dir={directory}/data"]
    command += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false"]
    command += ["-master.telemetry=false", "-volume.preStopSeconds=0", "-master.volumeSizeLimitMB=64"]
    # As many volumes as the disk has room for: each bucket takes seven at once.
    command += ["-volume.max=0"]
    command += [
        f"-{name.replace('.', '.port.') if '.' in name else f'{name}.port'}={port}" for name, port in ports.items()
    ]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory)
    try:
        wait_for(ports["s3"], process, directory / "log")
        yield f"http://127.0.0.1:{ports['s3']}"
    finally:
        # It would take its time to end well, and nothing of it is needed.
        process.kill()
        process.wait()
        shutil.rmtree(directory / "data", ignore_errors=True)


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_for(port, process, log):
    """Wait until it answers."""
    end_s = time.monotonic() + START_S
    while time.monotonic() < end_s:
        assert process.poll() is None, log.read_text()[-2000:]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request("GET", "/status")
            return connection.getresponse().read()
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])
