"""What several tests share: small systems under test and the command as a process."""

import importlib
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from brimful.errors import MeasureError
from brimful.lab import open_lab
from brimful.lab.namespaces import permitted
from brimful.measurers.base import Description, InvalidTrialError, TrialFailedError, TrialOutput
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import SCHEMA, Goal, MeasurerFacts, Run

BRIMFUL = [sys.executable, "-m", "brimful"]
ROOT = Path(__file__).resolve().parent.parent


def goal(name="ndr", loss=0.0, exceed=0.5, trial=1.0, duration_sum=21.0, initial=None, width=0.005, delay=None):
    return Goal(
        name=name,
        loss_ratio=loss,
        exceed_ratio=exceed,
        final_trial_duration_s=trial,
        duration_sum_s=duration_sum,
        initial_trial_duration_s=trial if initial is None else initial,
        width=width,
        delay_limit_s=delay,
    )


NDR_AND_PDR = [goal(), goal("pdr", 0.005)]


def sharp(capacity):
    """A function that forwards a capacity and no more."""

    def measure(load, duration):
        sent = round(load * duration)
        return sent, max(0, sent - round(capacity * duration))

    return measure


class Troubled:
    """A simulated system whose measurer has trouble with chosen trials.

    ``troubles`` maps the number of a call to the exception that it raises.
    """

    def __init__(self, troubles, spec="sharp,capacity=1Mpps"):
        self._inner = SimulatedMeasurer(spec)
        self._troubles = troubles
        self.calls = 0

    def measure(self, load, duration_s, *, stop_above=None):
        self.calls += 1
        if self.calls - 1 in self._troubles:
            raise self._troubles[self.calls - 1]
        return self._inner.measure(load, duration_s, stop_above=stop_above)

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Dropping(SimulatedMeasurer):
    """A simulated system that drops all frames of this size, and where ``is_cut`` those of others as well."""

    def __init__(self, spec, *, drops=True, is_cut=False):
        super().__init__(spec)
        self._drops, self._is_cut = drops or is_cut, is_cut

    def measure(self, load, duration_s, *, stop_above=None):
        output = super().measure(load, duration_s)
        return msgspec.structs.replace(output, lost=output.sent) if self._drops else output

    def passing_size(self):
        return None if self._is_cut else 64


def interrupted_at(call, open_system):
    """Members of a campaign, of which the ``call``th trial of all is interrupted."""
    calls = 0

    def open_member(request):
        measurer = open_system(request)
        inner = measurer.measure

        def measure(load, duration_s, *, stop_above=None):
            nonlocal calls
            calls += 1
            if calls == call:
                raise KeyboardInterrupt
            return inner(load, duration_s, stop_above=stop_above)

        measurer.measure = measure
        return measurer

    return open_member


def brimful(*arguments, cwd, check=None, environment=None, patience_s=100, **options):
    """Run the command; ``check`` is the exit code that it must have, ``environment`` what is added to ours."""
    finished = subprocess.run(
        [*BRIMFUL, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=patience_s,
        env={**os.environ, **(environment or {})},
        **options,
    )
    assert "Traceback" not in finished.stderr
    if check is not None:
        assert finished.returncode == check, finished.stderr + finished.stdout
    return finished


def invented(subject, measurer, **facts):
    """The first record of a run that was not made."""
    return Run(
        schema=SCHEMA,
        run_id="20210526T0756",
        started="2021-05-26T07:56:00+00:00",
        tool={"name": "brimful", "version": "0.1.0"},
        command=["brimful"],
        host={"cpu_model": "i7-4770", "kernel": "5.12"},
        subject=subject,
        measurer=MeasurerFacts(measurer),
        **facts,
    )


def needs(package):
    """Import a package that only tests need: without it a test is skipped, but fails where CI runs it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        reason = f"the package {package} is not installed; see requirements/development.lock"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


__all__ = [
    "BRIMFUL",
    "NDR_AND_PDR",
    "ROOT",
    "Description",
    "Dropping",
    "InvalidTrialError",
    "MeasureError",
    "TrialFailedError",
    "TrialOutput",
    "Troubled",
    "brimful",
    "goal",
    "invented",
    "needs",
    "sharp",
]


@contextmanager
def wire_lab():
    """Two ports joined in namespaces of their own; skips only where no lab can be made."""
    reason = permitted()
    if reason is not None:
        pytest.skip(reason)
    with open_lab("wire") as lab:
        subprocess.run(lab.command(["ip", "link", "set", "lo", "up"]), check=True)
        yield lab
