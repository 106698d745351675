"""A page that cannot be made here is refused before what it is to show is measured."""

import subprocess
import sys

import pytest
from support import brimful

WITHOUT = "import sys; sys.modules['jinja2'] = None\n"
MESSAGE = "an HTML report needs jinja2; install it with: pip install 'brimful[report]'"


@pytest.fixture
def environment(tmp_path):
    """Where Python finds no jinja2."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WITHOUT)
    return {"PYTHONPATH": str(tmp_path / "site")}


@pytest.mark.parametrize(
    "command",
    [
        ("search", "-m", "sim:sharp"),
        ("search", "-m", "sim:sharp", "--sizes", "64,128"),
        ("search", "-m", "sim:sharp", "--find", "burst"),
        ("search", "-m", "sim:sharp", "--find", "loss"),
        ("compare", "-m", "sim:sharp", "-m", "sim:noisy"),
        ("rfc2544", "-m", "sim:sharp"),
        ("delay", "-m", "lab:bridge", "--load", "1kpps"),
    ],
)
def test_commands_refuse_a_page_at_once(tmp_path, environment, command):
    done = brimful(*command, "--html", "page.html", cwd=tmp_path, environment=environment, check=2)
    assert done.stderr == f"brimful: error: {MESSAGE}\n"
    assert not (tmp_path / "runs").exists()


def test_pytest_refuses_it_before_the_first_test(tmp_path, environment):
    (tmp_path / "test_it.py").write_text("def test_it():\n    raise AssertionError\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--brimful-html", "page.html", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env={**environment, "PATH": ""}, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (4, f"ERROR: {MESSAGE}")


def test_a_robot_library_refuses_it_when_it_is_loaded(tmp_path, environment):
    program = f"import brimful.robot\nbrimful.robot.BrimfulLibrary(html={str(tmp_path / 'page.html')!r})"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stderr.strip().endswith(f"brimful.errors.UsageError: {MESSAGE}")
