"""Network namespaces without names, held by keeper processes.

A keeper is a shell in a new network namespace that waits for the end of its standard input. The owner holds the other
end of that pipe: when the owner ends, however it ends, the kernel closes the pipe, the keeper exits, and the kernel
removes the namespace with every interface in it. There is nothing to clean and no name to collide with.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brimful.errors import MeasureError

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKER = "brimful-lab-keeper"
"""What the command line of every keeper has as its name; a process without it is never ended."""

# On "detach" the keeper opens the write end of its own standard input, so that the pipe outlives the owner.
_KEEPER_SCRIPT = """
echo ready
read -r line
[ "$line" = detach ] || exit 0
exec 3>/proc/self/fd/0 || exit 1
echo detached
exec >/dev/null 2>&1
read -r line
"""
_PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "bridge": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "taskset": "util-linux",
}
_END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    start: int
    """Clock ticks between the start of the machine and of the process (field 22 of `/proc/PID/stat`)."""

    @classmethod
    def find(cls, pid: int) -> Process | None:
        """Return the living process with this number."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]))

    def is_alive(self) -> bool:
        """Say whether this very process still runs."""
        return Process.find(self.pid) == self


@dataclass(frozen=True, slots=True)
class Namespace:
    """A network namespace and the keeper that holds it."""

    lab_id: str
    role: str
    keeper: Process
    in_user_namespace: bool

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs a program inside."""
        user = ["--user", "--preserve-credentials"] if self.in_user_namespace else []
        return [tool("nsenter"), f"--target={self.keeper.pid}", *user, "--net", "--", *argv]

    def run(self, argv: Sequence[str], *, text: str = "") -> str:
        """Run a program inside, `text` on its standard input, and return its output."""
        done = self.attempt(argv, text=text)
        if done.returncode != 0:
            said = _first_line(done.stderr) or f"exit code {done.returncode}"
            message = f"cannot prepare the lab: `{Path(argv[0]).name}` in the {self.role} namespace: {said}"
            raise MeasureError(message)
        return done.stdout

    def attempt(self, argv: Sequence[str], *, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program inside and return whatever came of it."""
        return subprocess.run(self.command(argv), input=text, capture_output=True, text=True, check=False)

    def is_alive(self) -> bool:
        """Say whether the keeper still runs and is really a keeper of this lab."""
        try:
            words = Path(f"/proc/{self.keeper.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return False
        return self.keeper.is_alive() and words[3:6] == [MARKER, self.lab_id, self.role]

    def end(self) -> bool:
        """End the keeper if it is still ours; return whether there was one to end."""
        try:
            descriptor = os.pidfd_open(self.keeper.pid)
        except OSError:
            return False
        try:
            # The descriptor stays with one process: what is verified now is what gets the signal.
            if not self.is_alive():
                return False
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, number)
                if select.select([descriptor], [], [], _END_SECONDS)[0]:
                    break
            return True
        finally:
            os.close(descriptor)


class Keeper:
    """The owner's side of a keeper; closing it ends the namespace."""

    def __init__(self, namespace: Namespace, child: subprocess.Popen[str]) -> None:
        self.namespace = namespace
        self._child = child

    def detach(self) -> None:
        """Let the keeper outlive this process."""
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write("detach\n")
            self._child.stdin.flush()
        if read_line(self._child) != "detached":
            message = f"the keeper of the {self.namespace.role} namespace ended early: try again"
            raise MeasureError(message)
        self._close_pipes()
        # It ends after us: without a code, a Popen warns when it is collected.
        self._child.returncode = 0

    def close(self) -> None:
        """End the keeper and wait for it."""
        self._close_pipes()
        try:
            self._child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _close_pipes(self) -> None:
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def start_keeper(lab_id: str, role: str, *, beside: Namespace | None = None) -> Keeper:
    """Make a network namespace, in the user namespace of another one when that has its own."""
    keeper = ["sh", "-c", _KEEPER_SCRIPT, MARKER, lab_id, role]
    own_user = _needs_user_namespace() if beside is None else beside.in_user_namespace
    if beside is None:
        argv = [*_unshare(in_user_namespace=own_user), *keeper]
    elif own_user:
        enter = [tool("nsenter"), f"--target={beside.keeper.pid}", "--user", "--preserve-credentials", "--"]
        argv = [*enter, tool("unshare"), "--net", "--", *keeper]
    else:
        argv = [tool("unshare"), "--net", "--", *keeper]
    child = start_shell(argv)
    process = Process.find(child.pid) if read_line(child) == "ready" else None
    if process is None:
        said = _first_line(child.communicate()[1])
        raise MeasureError(_refused(said))
    return Keeper(Namespace(lab_id, role, process, own_user), child)


def start_shell(argv: Sequence[str]) -> subprocess.Popen[str]:
    """Start what a keeper is: a program that this process talks to, until one of them ends."""
    pipe = subprocess.PIPE
    # A session of its own: an interrupt from the terminal reaches the owner, which then closes the keepers in order.
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def read_line(child: subprocess.Popen[str]) -> str:
    """Return the next line that a keeper says, empty when it has ended."""
    assert child.stdout is not None
    return child.stdout.readline().rstrip("\n")


def permitted() -> str | None:
    """Return why no lab can be made here, in one line, or nothing when one can.

    Returns
    -------
    str or None
        The reason and what would help.
    """
    if sys.platform != "linux":
        return "labs need Linux: use the simulator instead"
    try:
        for name in _PACKAGES:
            tool(name)
        argv = [*_unshare(in_user_namespace=_needs_user_namespace()), "true"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except MeasureError as error:
        return str(error)
    return None if done.returncode == 0 else _refused(_first_line(done.stderr))


def tool(name: str) -> str:
    """Return the path of a program of iproute2 or util-linux."""
    # The administrator's directories are not on every user's path, yet `ip` and `tc` work without being root.
    path = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if path is None:
        message = f"a lab needs the program `{name}`: install the Debian package {_PACKAGES[name]}"
        raise MeasureError(message)
    return path


def _needs_user_namespace() -> bool:
    """Say whether this user may make network namespaces in a user namespace only: root of a container often is one."""
    if os.geteuid() != 0:
        return True
    plain = [*_unshare(in_user_namespace=False), "true"]
    return subprocess.run(plain, capture_output=True, check=False).returncode != 0


def _unshare(*, in_user_namespace: bool) -> list[str]:
    user = ["--user", "--map-root-user"] if in_user_namespace else []
    return [tool("unshare"), *user, "--net", "--"]


def _refused(said: str) -> str:
    remedy = "run as root" if os.geteuid() != 0 else "give the container CAP_SYS_ADMIN"
    return f"the system refuses a network namespace ({said or 'no reason given'}): {remedy}, or use the simulator"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
