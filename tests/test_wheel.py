"""The wheel in an empty environment: what `make wheel` builds has all that the README shows."""

import json
import os
import subprocess
import sys
import venv
import zipfile

import pytest
from support import ROOT
from test_documents import README, blocks

# test_packaging.py looks at what is packed; test_documents.py runs the same Python.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Give the programs of an environment that has the wheel, its dependencies, and nothing else."""
    directory = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, ROOT / "tools" / "wheel.py", directory]
    # What is packed is looked at here, not how fast it is: the profile that the tests are compiled with.
    subprocess.run(build, env={**os.environ, "BRIMFUL_PROFILE": "dev"}, check=True, capture_output=True, timeout=600)
    (wheel,) = directory.glob("*.whl")
    venv.create(directory / "empty", with_pip=True)
    pip = [directory / "empty" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    done = subprocess.run(pip, capture_output=True, text=True)
    if "NewConnectionError" in done.stderr or "Temporary failure" in done.stderr:
        pytest.skip("the dependencies of the wheel cannot be fetched here")
    assert done.returncode == 0, done.stderr
    return wheel, directory / "empty" / "bin"


def run(installed, *command, cwd):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [installed[1] / command[0], *command[1:]], cwd=cwd, env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(600)
def test_one_wheel_serves_all_later_pythons_on_linux(installed):
    assert "cp311-abi3-manylinux" in installed[0].name


@pytest.mark.timeout(600)
def test_its_only_bill_has_what_programs_and_extension_are_linked_with(installed):
    with zipfile.ZipFile(installed[0]) as wheel:
        (bill,) = [name for name in wheel.namelist() if "/sboms/" in name]
        names = {one["name"] for one in json.loads(wheel.read(bill))["components"]}
    assert {"pyo3", "cranelift-codegen", "uplot"} <= names


@pytest.mark.timeout(600)
def test_the_command_and_its_programs_are_on_the_path(installed, tmp_path):
    assert "regular" in run(installed, "brimful", "search", "-m", "sim:sharp", "-q", cwd=tmp_path)
    for program in ("brimful-tester", "brimful-switchd"):
        assert program in run(installed, program, "--help", cwd=tmp_path)
    assert (installed[1] / "brimful-forwarder").exists()


@pytest.mark.timeout(600)
def test_the_python_of_the_readme_runs(installed, tmp_path):
    (program,) = blocks(README, "python")
    assert run(installed, "python", "-c", program, cwd=tmp_path)


@pytest.mark.timeout(600)
def test_every_public_name_has_a_help_text(installed, tmp_path):
    shown = run(installed, "python", "-c", "import brimful; help(brimful); help(brimful.search)", cwd=tmp_path)
    assert "Find how much load something takes." in shown
