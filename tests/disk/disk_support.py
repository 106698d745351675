"""What the tests of disks share: the program, and one request after the other."""

import json
import subprocess

import pytest
from brimful.lab.programs import find_own_program

DISK = find_own_program("brimful-disk")


def run(*command, check=True, **options):
    return subprocess.run([str(word) for word in command], check=check, capture_output=True, text=True, **options)


class DiskTester:
    """The program, one request at a time."""

    def __init__(self, *arguments, command=lambda words: words):
        words = command([DISK, *map(str, arguments)])
        self._program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._program.pid

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self._program.stdin.close()
        self._program.wait(60)
        self._program.stdout.close()

    def ask(self, **request):
        self._program.stdin.write(json.dumps(request) + "\n")
        self._program.stdin.flush()
        return json.loads(self._program.stdout.readline())

    def measure(self, load, duration_s, **more):
        return self.ask(op="measure", id=7, load=load, duration_s=duration_s, **more)

    def measure_on_schedule(self, load, duration_s, attempts=20, **more):
        """Give a trial that the machine did not spoil."""
        for _ in range(attempts):
            reply = self.measure(load, duration_s, **more)
            if "invalid" not in reply:
                return reply
        pytest.skip(f"this machine is too busy for {load} IO/s: {reply['invalid']}")
        return None
