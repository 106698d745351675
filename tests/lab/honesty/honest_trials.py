"""What the tests of honesty share: trials in labs whose parts do as they should not."""

import contextlib
import itertools
import subprocess
import sys

import pytest
from brimful.lab import links
from brimful.measurers import tester
from brimful.measurers.base import InvalidTrialError
from brimful.measurers.command import CommandMeasurer
from brimful.measurers.tester import LabMeasurer

ATTEMPTS = 20
OFF_SCHEDULE = ("on schedule", "stalled", "the rate was off")
"""What other work on the machine makes of a trial."""
HOGS = 24
"""A share of 4 % is left, on which no tester sends and receives 200 kpps each way."""
PLACES = ("tester_send", "link_in", "device", "link_out", "tester_receive")


@contextlib.contextmanager
def lab_tester(device, *arguments):
    measurer = LabMeasurer(device, ["--max-stall=1s", *arguments], ip=4, work=0, timeout_s=30)
    with contextlib.closing(measurer):
        yield measurer


@contextlib.contextmanager
def own_tester(lab, *arguments):
    command = lab.command([tester.tester_program(), *lab.tester_arguments(), *arguments])
    with contextlib.closing(CommandMeasurer(command, timeout_s=30, name="brimful-tester")) as measurer:
        yield measurer


def valid_trial(measurer, load, duration_s):
    """Perform a trial; what other work on this machine spoils is repeated."""
    for _ in range(ATTEMPTS):
        try:
            return measurer.measure(load, duration_s)
        except InvalidTrialError as error:
            if not any(words in str(error) for words in OFF_SCHEDULE):
                raise
    pytest.fail(f"{ATTEMPTS} trials in a row were off schedule")


def in_device(measurer, *commands):
    """Run commands of `ip` among the interfaces of the device."""
    links.configure(measurer._lab._keepers[1].namespace, commands)


def device_port(measurer, side):
    return measurer._lab._settings.ports[side]


def kept_processors(lab):
    words = lab.tester_arguments()
    return [int(value) for word, value in itertools.pairwise(words) if word == "--cpu"]


@contextlib.contextmanager
def hogs(processors):
    """Keep processors busy with several programs each, all of which run."""
    command = [sys.executable, "-I", "-S", "-c", "print(flush=True)\nwhile True: pass"]
    running = [
        subprocess.Popen(["taskset", "-c", str(processor), *command], stdout=subprocess.PIPE)
        for processor in processors
        for _ in range(HOGS)
    ]
    try:
        for hog in running:
            hog.stdout.readline()
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.communicate()
