"""Commands that make a build, or make it the active one."""

import os
import signal
import time

import pytest
from brimful.paired.beds import CommandFailedError, run_command


def test_a_command_that_hangs_is_ended_with_what_it_started(tmp_path):
    began_s = time.monotonic()
    with pytest.raises(Exception, match="took longer than"):
        run_command(f"sleep 60 & echo $! > {tmp_path / 'pid'}; wait", 0.5)
    assert time.monotonic() - began_s < 30
    assert run_command("echo ready", 10) == "ready\n"
    with pytest.raises(Exception, match="exit code 3: no such build"):
        run_command("echo no such build; exit 3", 10)
    with pytest.raises(Exception, match="signal 9"):
        run_command("kill -9 $$", 10)
    with pytest.raises(CommandFailedError) as failed:
        run_command("echo begun; sleep 60", 0.5)
    assert failed.value.output == "begun\n"


def test_what_a_command_starts_in_the_background_is_not_waited_for(tmp_path):
    assert run_command(f"echo begun; sleep 60 & echo $! > {tmp_path / 'pid'}", 30) == "begun\n"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)  # fails where it did not go on
