import json
import os
import subprocess
import sys

import pytest
from brimful.cli.lab import lab as command
from brimful.lab import open_lab, state
from brimful.lab.namespaces import MARKER, Namespace, Process
from click.testing import CliRunner, Result
from lab_support import PYTHON, wait_until


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_up_list_and_clean(own_interfaces):
    up = json.loads(run("up", "bridge,work=2010", "--json").stdout)
    try:
        (listed,) = (json.loads(line) for line in run("list", "--json").stdout.splitlines())
        assert (listed["id"], listed["owner"], listed["state"]) == (up["id"], None, "alive")
        assert up["input"] == "inline" or up["work"] == 2010
        ports = subprocess.run([*up["command"], "ip", "-brief", "link"], capture_output=True, text=True, check=True)
        assert {"ta", "tb"} <= {line.split("@")[0] for line in ports.stdout.splitlines()}
        assert run("clean").stdout == "Cleaned 0\n"
        (entry,) = state.read_all()
    finally:
        cleaned = run("clean", up["id"])
    assert cleaned.stdout == f"Cleaned 1: {up['id']}\n"
    wait_until(lambda: not any(namespace.keeper.is_alive() for namespace in entry.namespaces), "the keepers ended")
    assert run("list", "--json").stdout == ""


def test_a_lab_outlives_the_command_that_made_it(own_interfaces):
    program = "from brimful.cli.lab import lab; lab(['up', 'wire'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (entry,) = state.read_all()
    try:
        assert entry.life is state.Life.ALIVE
        assert f"brimful lab clean {entry.lab_id}" in done.stdout
        assert run("list").stdout.splitlines()[1].split()[:2] == [entry.lab_id, "wire"]
    finally:
        assert run("clean", "--all").stdout == f"Cleaned 1: {entry.lab_id}\n"
    assert entry.life is state.Life.STALE


def test_clean_all_spares_the_labs_of_living_programs(own_interfaces):
    with open_lab("wire") as lab:
        assert run("clean", "--all").stdout == "Cleaned 0\n"
        assert str(os.getpid()) in run("list").stdout
        assert run("clean", lab.id).stdout == f"Cleaned 1: {lab.id}\n"
        assert not lab.tester.is_alive()


@pytest.mark.parametrize("disguise", ["start", "marker"])
def test_clean_never_ends_a_process_that_is_not_a_keeper(disguise):
    name = MARKER if disguise == "start" else "innocent"
    bystander = subprocess.Popen(["sh", "-c", "echo; read -r line", name, "abcdef", "tester"], stdin=-1, stdout=-1)
    with bystander:
        assert bystander.stdout is not None
        bystander.stdout.readline()
        process = Process.find(bystander.pid)
        assert process is not None
        if disguise == "start":
            process = Process(process.pid, process.start - 1)
        state.save(state.Entry("abcdef", "wire", 0.0, None, (Namespace("abcdef", "tester", process, False),)))
        assert "stale" in run("list").stdout
        assert run("clean", "--all").stdout == "Cleaned 1: abcdef\n"
        assert bystander.poll() is None
        bystander.communicate(b"\n")


def test_run_passes_the_command_and_its_exit_code(own_interfaces):
    assert run("run", "wire", "--", *PYTHON, "-c", "raise SystemExit(7)").exit_code == 7
    assert run("run", "wire", "ip", "link", "show", "ta").exit_code == 0
    assert run("run", "--mtu", "9216", "wire", "sh", "-c", "ip link show ta | grep 'mtu 9216'").exit_code == 0
    assert run("run", "wire", "--", "sh", "-c", "kill -9 $$").exit_code == 137
    assert state.read_all() == []


def test_an_unknown_lab_is_named():
    result = CliRunner().invoke(command, ["clean", "nosuch"])
    assert str(result.exception) == "there is no lab 'nosuch': `brimful lab list` shows those there are"


def test_a_foreign_state_directory_is_refused(state_directory):
    state_directory.mkdir(mode=0o755)
    result = CliRunner().invoke(command, ["list"])
    assert "is not a private directory of this user" in str(result.exception)
