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
    """Attempts with what failed or None, each beside the longest wait of a processor."""

    def __init__(self, *attempts):
        self.attempts, self.made, self.longest_s = attempts, 0, 0.0

    def __call__(self):
        failure, self.longest_s = self.attempts[self.made]
        self.made += 1
        return failure, f"attempt {self.made}"


@pytest.mark.parametrize(
    ("attempts", "result", "spoilt"),
    [
        ([(None, 0.2)], "attempt 1", []),
        ([("rate", 0.01)], "attempt 1", []),
        ([("rate", 0.2), (None, 0.01)], "attempt 2", ["0.20 s: rate"]),
        ([("rate", 0.2), ("rate", 0.01)], "attempt 2", ["0.20 s: rate"]),
        ([("rate", 0.2)] * ATTEMPTS, f"attempt {ATTEMPTS}", ["0.20 s: rate"] * (ATTEMPTS - 1)),
        ([("the machine is busy (x)", 0.01), (None, 0.01)], "attempt 2", ["machine is busy: the machine is busy (x)"]),
    ],
)
def test_only_a_failure_of_a_held_up_test_is_tried_again(attempts, result, spoilt):
    scripted = Scripted(*attempts)
    assert run_until_undisturbed(scripted, scripted, pause_s=0) == (result, spoilt)


def test_without_a_watch_only_what_brimful_says_is_a_cause():
    for failure, attempts in (("assert 1 == 2", 1), ("calibration found no load: the machine is busy", ATTEMPTS)):
        scripted = Scripted(*[(failure, 0.2)] * ATTEMPTS)
        assert len(run_until_undisturbed(scripted, pause_s=0)[1]) == attempts - 1


def test_the_watch_sees_that_the_process_was_stopped():
    watch = Watch()
    subprocess.Popen(["sh", "-c", f"kill -STOP {os.getpid()}; sleep 0.3; kill -CONT {os.getpid()}"]).wait()
    time.sleep(0.05)
    assert watch.longest_s > HELD_UP_S


@pytest.mark.parametrize("spoilt", [True, False])
def test_a_spoilt_test_is_run_again_and_its_report_says_so(tmp_path, spoilt):
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\nimport held_up\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(held_up.Plugin())\n"
    )
    (tmp_path / "test_rate.py").write_text(
        "import os, pathlib, pytest, subprocess\n"
        "made = pathlib.Path(__file__).with_name('made')\n"
        "@pytest.mark.real_time\ndef test_rate(tmp_path):\n"
        f"    assert {spoilt}\n"
        "    if not made.exists():\n"
        "        made.touch()\n"
        "        me = os.getpid()\n"
        "        subprocess.run(['sh', '-c', f'kill -STOP {me}; sleep 0.3; kill -CONT {me}'], check=True)\n"
        "        raise AssertionError('a rate too low')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml", "-n", "1"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, "1 passed" in ran.stdout) == ((0, True) if spoilt else (1, False)), ran.stdout
    report = ElementTree.parse(tmp_path / "report.xml")
    assert len(report.findall(".//testcase")) == 1
    if spoilt:
        assert "a rate too low" in report.find(".//property[@name='held_up']").get("value")
