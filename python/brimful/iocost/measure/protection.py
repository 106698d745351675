"""A protected group beside a hog: what it loses at a setting of the controller, and vrate searched as a load."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from brimful.changes import Note
from brimful.errors import MeasureError
from brimful.iocost.controller import CostController
from brimful.iocost.measure.disk import Disk
from brimful.measurers.base import Description, InvalidTrialError, TrialOutput
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.disk import PROGRAM
from brimful.records import Trial

WEIGHTS = {"protected": 800, "hog": 100}
"""As in published comparisons of the controller."""
PROTECTED_SHARE = WEIGHTS["protected"] / sum(WEIGHTS.values())
LOAD_SHARE = 0.1
"""Of what the disk does with at most 1 % late: the load of the protected group."""
SETTLE_S = 2.0
"""Between a setting and the count: the kernel's vrate needs a hundred of its periods, each twice the target."""
HOG_DEPTH = 64
LEAST_VRATE_FACTOR = 1.2
"""Below this many times what the protected group needs, it starves by the setting itself."""
GREATEST_VRATE = 150.0
LEAST_VRATE = 5.0
_PREFIX = "brimful-iocost-"
_ENTER = 'echo $$ > "$0" && exec "$@"'
_HOG_PATIENCE_S = 30.0
_TRIES = 5


class Groups:
    """Two control groups that share a disk by their weights; gone after `close`.

    Raises
    ------
    MeasureError
        When they cannot be made.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._enabled: Note | None = None
        self._made: list[Path] = []
        _sweep(root)
        try:
            switch = root / "cgroup.subtree_control"
            if "io" not in switch.read_text().split():
                self._enabled = Note([(switch, "-io")])
                switch.write_text("+io\n")
            for name, weight in WEIGHTS.items():
                directory = self._place(name)
                directory.mkdir()
                self._made.append(directory)
                (directory / "io.weight").write_text(f"default {weight}\n")
        except OSError as error:
            self.close()
            message = f"{root}: cannot make control groups: {error.strerror}; it takes root"
            raise MeasureError(message) from error

    def command(self, name: str, argv: list[str]) -> list[str]:
        """Give the command line that runs a program in a group."""
        return ["/bin/sh", "-c", _ENTER, str(self._place(name) / "cgroup.procs"), *argv]

    def close(self) -> None:
        """Remove them; the processes in them have ended."""
        for directory in self._made:
            _remove(directory)
        if self._enabled is not None:
            with contextlib.suppress(OSError):
                (self._root / "cgroup.subtree_control").write_text("-io\n")
            self._enabled.close()
        self._enabled = None

    def _place(self, name: str) -> Path:
        return self._root / f"{_PREFIX}{os.getpid()}-{name}"


class Protection:
    """Trials of a protected group beside a hog.

    Parameters
    ----------
    disk, groups
        What is shared, and by whom.
    controller
        Whose settings are tried.
    load
        Of the protected group, in IO/s.
    """

    def __init__(self, disk: Disk, groups: Groups, controller: CostController, load: float) -> None:
        self._disk = disk
        self._groups = groups
        self._controller = controller
        self._load = load
        self._protected = CommandMeasurer(self._command("protected"), name=PROGRAM)

    def beside_hog(self, seconds: float, *, stop_above: float | None = None) -> TrialOutput:
        """Count what the protected group loses while the hog takes what it gets.

        With the counts come ``hog_rate``, in IO/s, and the ``vrate`` at which the kernel was at the end, in per cent.

        Parameters
        ----------
        seconds
            How long it is counted.
        stop_above
            Once more than this share is late, the trial may end.

        Raises
        ------
        InvalidTrialError
            The tester was late itself.
        MeasureError
            Nothing can be measured.
        """
        with self._hog(seconds) as rate:
            time.sleep(SETTLE_S)
            output = self._protected.measure(self._load, seconds, stop_above=stop_above)
            vrate = self._controller.vrate()
        return msgspec.structs.replace(output, extra={**output.extra, "hog_rate": rate(), "vrate": vrate})

    def facts_beside_hog(
        self, vrate: float, seconds: float, *, stop_above: float | None = None
    ) -> dict[str, Any] | None:
        """Do that at a vrate that has been set, and give it for a record; nothing where every try was spoiled."""
        for _ in range(_TRIES):
            with contextlib.suppress(InvalidTrialError):
                return facts(vrate, self.beside_hog(seconds, stop_above=stop_above))
        return None

    def alone(self, seconds: float) -> TrialOutput:
        """Count what the protected group loses without a hog."""
        return self._protected.measure(self._load, seconds)

    def close(self) -> None:
        """End the tester."""
        self._protected.close()

    def _command(self, group: str, *arguments: str) -> list[str]:
        # A tester that spins takes the processor that the other group needs.
        command = self._disk.command("--pattern=randread", "--in-use", *arguments, pause="sleep")
        return self._groups.command(group, command)

    @contextlib.contextmanager
    def _hog(self, seconds: float) -> Iterator[Callable[[], float]]:
        """Keep IOs in flight for the block; afterwards the rate at which they were done is known."""
        longest_s = seconds + SETTLE_S + _HOG_PATIENCE_S
        words = [f"--depth={HOG_DEPTH}", f"--slots={HOG_DEPTH}", f"--duration={longest_s:.0f}s"]
        command = self._command("hog", *words)
        said: list[str] = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            try:
                yield lambda: _hog_rate(program, said)
            finally:
                program.terminate()
                try:
                    said += program.communicate(timeout=_HOG_PATIENCE_S)
                except subprocess.TimeoutExpired:
                    program.kill()


class VrateMeasurer:
    """A measurer whose load is the vrate at which the model is pinned, and whose IOs are those of the protected group.

    Parameters
    ----------
    protection
        Performs the trials.
    set_vrate
        Pins the model at a vrate.
    """

    def __init__(
        self,
        protection: Protection,
        set_vrate: Callable[[float], None],
    ) -> None:
        self._protection = protection
        self._set_vrate = set_vrate

    def describe(self) -> Description:
        """Say what it is."""
        return Description(
            name="vrate",
            load_unit="%",
            load_scope="of the model",
            contract="a protected IO is lost when it is not done by its deadline",
            max_load=GREATEST_VRATE,
            on_this_machine=True,
        )

    def measure(self, load: float, duration_s: float, *, stop_above: float | None = None) -> TrialOutput:
        """Perform one trial at a vrate."""
        self._set_vrate(load)
        return self._protection.beside_hog(duration_s)

    def now(self) -> float:
        """Give the time of the wall clock."""
        return time.monotonic()

    def resume_at(self, elapsed_s: float) -> None:
        """Nothing to do: the past is past."""

    def close(self) -> None:
        """Nothing to give back: `Protection` is somebody else's."""


def facts(vrate: float, trial: TrialOutput | Trial) -> dict[str, Any]:
    """Give what happened beside the hog at a vrate that was set, for a record."""
    return {
        "set": vrate,
        "vrate": trial.extra["vrate"],
        "intended": trial.intended,
        "sent": trial.sent,
        "late": trial.lost,
        "hog_rate": trial.extra["hog_rate"],
    }


def least_vrate(load: float, random_reads: float) -> float:
    """Give the vrate, in per cent, below which the protected group cannot have what it asks for.

    >>> round(least_vrate(200, 2000), 1)
    13.5
    """
    return max(LEAST_VRATE, LEAST_VRATE_FACTOR * load / (PROTECTED_SHARE * random_reads) * 100)


def _hog_rate(program: subprocess.Popen[str], said: list[str]) -> float:
    if program.returncode != 0 or not said or not said[0]:
        reason = " ".join(said[1].split()) if len(said) > 1 and said[1].strip() else f"ended with {program.returncode}"
        message = f"the hog: {reason}"
        raise MeasureError(message)
    return float(json.loads(said[0])["rate"])


def _sweep(root: Path) -> None:
    """Remove what killed processes left."""
    for directory in root.glob(f"{_PREFIX}*"):
        number = directory.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdecimal() and not Path(f"/proc/{number}").exists():
            _remove(directory)


def _remove(directory: Path) -> None:
    """Remove a control group, once the last who was in it has gone."""
    for _ in range(20):
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)
        else:
            return
