"""The programs of a device, each held by a keeper of its own: a program ends when its lab does, however that ends."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from brimful.errors import MeasureError
from brimful.lab import families, state
from brimful.lab.namespaces import MARKER, Keeper, Namespace, Process, read_line, start_shell, tool

if TYPE_CHECKING:
    from collections.abc import Sequence

# The arguments are the lab, the program's name, the lab's directory, how the program is asked to end, and the program.
# Its standard input is a pipe that stays open: some programs end with it. The kernel kills the program should the
# keeper be killed. A child that has ended is a zombie here, hence the look at its state; and no name has a blank.
_SCRIPT = """
name=$2 directory=$3 ending=$4
shift 4
finish() {
    exec 4>&-
    # To all that it started as well; this shell is in their group.
    [ "$ending" = input ] || { trap '' TERM; kill -TERM 0; }
    for tick in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        { read -r number called state rest <"/proc/$program/stat"; } 2>/dev/null && [ "$state" != Z ] || break
        sleep 0.1
    done
    rm -rf -- "$directory"
}
mkfifo "$directory/$name.input" && exec 4<>"$directory/$name.input" || exit 1
setpriv --pdeathsig KILL -- "$@" <"$directory/$name.input" >>"$directory/$name.log" 2>&1 4>&- &
program=$!
trap finish EXIT
trap 'exit 0' TERM
echo "$program"
read -r line
[ "$line" = detach ] || exit 0
exec 3>/proc/self/fd/0 || exit 1
echo detached
exec >/dev/null 2>&1
read -r line
"""
_LAST_LINES = 2
_PATIENCE_S = 10.0
_END_PATIENCE_S = 2.0
_MOST_OUTPUT_BYTES = 4000
"""Of what is kept in the record of a trial."""
_LARGEST_LOG_BYTES = 1 << 20


class Ending(StrEnum):
    """What makes a program end in an orderly way."""

    INPUT = "input"
    """The end of its standard input."""
    SIGNAL = "signal"
    """SIGTERM."""


@dataclass(frozen=True, slots=True)
class Program:
    """A running program of a device."""

    name: str
    process: Process
    log: Path

    def failure(self) -> str | None:
        """Return, in one line, that the program has ended and what it said last; None while it runs."""
        if self.process.is_alive():
            return None
        said = self.last_words()
        return f"{self.name} has ended" + (f"; it said: {said}" if said else " and said nothing")

    def last_words(self, most_lines: int = _LAST_LINES) -> str:
        """Return the last lines that the program wrote, as one."""
        try:
            lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        except OSError:
            return ""
        return " / ".join(line.removeprefix(f"{self.name}: ") for line in lines[-most_lines:])

    def wait_for(self, beginning: str) -> str:
        """Return the first line that the program writes with this beginning."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            failure = self.failure()
            for line in self.log.read_text(errors="replace").splitlines(keepends=True):
                if line.startswith(beginning) and line.endswith("\n"):
                    return line.strip()
            if failure is not None:
                raise MeasureError(failure)
            time.sleep(0.01)
        message = f"{self.name} is not ready after {_PATIENCE_S:g} s; it said: {self.last_words() or 'nothing'}"
        raise MeasureError(message)


class Programs:
    """Those of one device; what is started here is ended by closing the keepers that it adds, the last one first."""

    def __init__(self, namespace: Namespace, keepers: list[Keeper], cpus: Sequence[int]) -> None:
        self.namespace = namespace
        self.running: list[Program] = []
        self._keepers = keepers
        self._read: dict[str, int] = {}
        self._left = ""
        self._on_cpus = [tool("taskset"), "--cpu-list", ",".join(map(str, cpus))]

    @functools.cached_property
    def directory(self) -> Path:
        """For their files; removed with the lab."""
        return state.make_directory(self.namespace.lab_id)

    def cost(self) -> families.Cost:
        """Return what those that run have used."""
        costs = [families.cost(program.process) for program in self.running]
        return families.Cost(sum(one.cpu_s for one in costs), sum(one.peak_memory_bytes for one in costs))

    def take_output(self) -> str:
        """Return what they wrote since it was last asked for; of much, the end."""
        said = self._left
        self._left = ""
        for program in self.running:
            with contextlib.suppress(OSError), program.log.open("rb") as log:
                log.seek(max(self._read.get(program.name, 0), log.seek(0, os.SEEK_END) - _MOST_OUTPUT_BYTES))
                said += log.read().decode(errors="replace")
                self._read[program.name] = log.tell()
                if log.tell() > _LARGEST_LOG_BYTES:
                    # It lies in memory, and is written at its end.
                    os.truncate(program.log, 0)
                    self._read[program.name] = 0
        return said[-_MOST_OUTPUT_BYTES:]

    def end(self) -> None:
        """End all of them before their lab; what they wrote is kept for `take_output`."""
        for program in self.running:
            families.ask_to_end(program.process)
        deadline = time.monotonic() + _END_PATIENCE_S
        while any(program.process.is_alive() for program in self.running) and time.monotonic() < deadline:
            time.sleep(0.005)
        self._left = self.take_output()
        for program in reversed(self.running):
            keeper = next(keeper for keeper in self._keepers if keeper.namespace.role == program.name)
            self._keepers.remove(keeper)
            keeper.close()
        self.running.clear()
        self._read.clear()
        # Gone with the first of them, if any ran.
        shutil.rmtree(self.directory, ignore_errors=True)
        del self.directory

    def start(self, name: str, argv: Sequence[str], ending: Ending) -> Program:
        """Start a program in the device's namespace, on the device's CPUs."""
        lab_id, log = self.namespace.lab_id, self.directory / f"{name}.log"
        # Its reader need not wait for the shell to make it.
        log.touch()
        script = ["sh", "-c", _SCRIPT, MARKER, lab_id, name, str(self.directory), ending.value]
        child = start_shell(self.namespace.command([*script, *self._on_cpus, *argv]))
        said = read_line(child)
        keeper, process = Process.find(child.pid), Process.find(int(said)) if said.isdecimal() else None
        if keeper is None:
            message = f"cannot start {name}: {child.communicate()[1].strip() or 'no reason given'}"
            raise MeasureError(message)
        namespace = Namespace(lab_id, name, keeper, self.namespace.in_user_namespace)
        self._keepers.append(Keeper(namespace, child))
        # One that has already ended has process number 0, which no process has.
        program = Program(name, process or Process(0, 0), log)
        self.running.append(program)
        return program


def find_program(name: str, *, device: str, package: str) -> str:
    """Return the path of a program that a device needs.

    Raises
    ------
    MeasureError
        Naming the Debian package that has it.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if found is None:
        message = f"lab:{device} needs the program {name}: install the Debian package {package}"
        raise MeasureError(message)
    return found


def find_own_program(name: str) -> str | None:
    """Return the path of a program that was installed with this package, if it is there."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)
