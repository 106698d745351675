"""Tests in real time are run again where the machine held them up, and only there."""

import os
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest
from held_up import ATTEMPTS, HELD_UP_S, Watch, run_until_undisturbed
from support import ROOT


class Scripted:
    """Attempts that fail or not, each beside the longest wait of a processor."""

    def __init__(self, *attempts):
        self.attempts, self.made, self.longest_s = attempts, 0, 0.0

    def __call__(self):
        failed, self.longest_s = self.attempts[self.made]
        self.made += 1
        return failed, f"attempt {self.made}"


LONG_S, SHORT_S = 2 * HELD_UP_S, HELD_UP_S / 2


@pytest.mark.parametrize(
    ("attempts", "result", "waits_s"),
    [
        ([(False, LONG_S)], "attempt 1", []),
        ([(True, SHORT_S)], "attempt 1", []),
        ([(True, LONG_S), (False, SHORT_S)], "attempt 2", [LONG_S]),
        ([(True, LONG_S), (True, SHORT_S)], "attempt 2", [LONG_S]),
        ([(True, LONG_S)] * ATTEMPTS, f"attempt {ATTEMPTS}", [LONG_S] * (ATTEMPTS - 1)),
    ],
)
def test_only_a_failure_of_a_held_up_test_is_tried_again(attempts, result, waits_s):
    scripted = Scripted(*attempts)
    assert run_until_undisturbed(scripted, scripted) == (result, waits_s)


def test_the_watch_sees_that_the_process_was_stopped():
    watch = Watch()
    subprocess.Popen(["sh", "-c", f"kill -STOP {os.getpid()}; sleep 0.3; kill -CONT {os.getpid()}"]).wait()
    time.sleep(0.05)
    assert watch.longest_s > HELD_UP_S


@pytest.mark.parametrize("waits", [True, False])
def test_a_spoilt_test_is_run_again_and_its_report_says_so(tmp_path, waits):
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\nimport held_up\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(held_up.Plugin())\n"
    )
    (tmp_path / "test_rate.py").write_text(
        "import os, pathlib, pytest, subprocess\n"
        "made = pathlib.Path(__file__).with_name('made')\n"
        "@pytest.mark.real_time\ndef test_rate(tmp_path):\n"
        "    first = not made.exists()\n    made.touch()\n"
        f"    if first and {waits}:\n"
        "        me = os.getpid()\n"
        "        subprocess.run(['sh', '-c', f'kill -STOP {me}; sleep 0.3; kill -CONT {me}'], check=True)\n"
        "    assert not first\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml", "-n", "1"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, "1 passed" in ran.stdout) == ((0, True) if waits else (1, False)), ran.stdout
    report = ElementTree.parse(tmp_path / "report.xml")
    assert len(report.findall(".//testcase")) == 1
    assert len(report.findall(".//property[@name='held_up_s']")) == waits
