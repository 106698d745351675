"""The files for CI servers: what they run works, in a repository that has what they speak of, on a stub of a runner."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from support import ROOT
from test_how_to_compare import commit, environment, repository  # noqa: F401 - fixtures

yaml = pytest.importorskip("yaml")

ACTION = ROOT / "action.yml"
JOBS = ROOT / "examples" / "ci"
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
"""As GitHub starts it."""
BRIMFUL = f"""#!{sys.executable}
import os, re, sys
def simulated(word):
    found = re.fullmatch("cmd:(.*)bench/tester", word)
    if found is None:
        return word
    assert os.access(word[4:], os.X_OK), word
    return "sim:sharp,capacity=" + open(found[1] + "capacity").read().strip() + "pps"
os.execv({sys.executable!r}, [{sys.executable!r}, "-m", "brimful", *map(simulated, sys.argv[1:])])
"""
"""Has a simulator stand in for the builds, as each takes half a minute; test_how_to_compare.py measures them."""
STUBS = {
    "pip": '#!/bin/sh\necho "pip $*" >>"$CALLS"\n',
    "sudo": '#!/bin/sh\necho "sudo $*" >>"$CALLS"\n',
    "sysctl": "#!/bin/sh\necho 1\n",
    # Of `python3 -m venv DIR`.
    "python3": '#!/bin/sh\nmkdir -p "$3/bin" && cp "$STUBS/pip" "$STUBS/brimful" "$3/bin"\n',
    "brimful": BRIMFUL,
}


class Runner:
    """Runs the steps of a workflow, and those of our action in it."""

    def __init__(self, directory, given):
        self.files = directory / "runner"
        stubs = self.files / "stubs"
        stubs.mkdir(parents=True)
        for name, text in STUBS.items():
            (stubs / name).write_text(text)
            (stubs / name).chmod(0o755)
        places = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary", "CALLS": "calls"}
        self.environment = {
            **given,
            **{variable: str(self.files / name) for variable, name in places.items()},
            "RUNNER_TEMP": str(self.files),
            "STUBS": str(stubs),
            "PATH": f"{stubs}:{given['PATH']}",
        }
        (self.files / "calls").touch()

    def run(self, steps, work, inputs=None):
        """Carry steps out until one fails, and those with `always()`; gives the exit code."""
        code = 0
        for step in steps:
            if code and step.get("if") != "always()":
                continue
            if "contains" in step.get("if", "") and "lab:" not in inputs["command"]:
                continue
            if step.get("uses", "").startswith("OWNER/brimful@"):
                code = self.action(step["with"], work)
            elif step.get("uses", "").startswith("actions/upload-artifact@"):
                self.kept = sorted(path.name for path in work.glob(filled(step["with"]["path"], inputs)))
            elif "run" in step:
                variables = {name: filled(value, inputs) for name, value in step.get("env", {}).items()}
                done = subprocess.run(
                    [*BASH, step["run"]],
                    cwd=work,
                    env={**self.environment, **variables},
                    capture_output=True,
                    text=True,
                )
                code = done.returncode
                self.said = done.stderr
        return code

    def action(self, given, work):
        found = yaml.safe_load(ACTION.read_text())
        defaults = {name: one.get("default") for name, one in found["inputs"].items()}
        assert set(given) <= set(defaults)
        return self.run(found["runs"]["steps"], work, defaults | given)


def filled(text, inputs):
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)


@pytest.fixture
def runner(tmp_path, environment):  # noqa: F811
    return Runner(tmp_path, environment)


def scripts(path):
    """The commands of a file as its server gives them to a shell."""
    if path.name == "Jenkinsfile":
        return re.findall(r"sh '''\n(.*?)'''", path.read_text(), flags=re.DOTALL)
    content = yaml.safe_load(path.read_text())
    if path.name == "gitlab.yml":
        return ["\n".join(job["script"]) for job in content.values()]
    steps = content["runs"]["steps"] if path == ACTION else content["jobs"]["compare"]["steps"]
    return [step["run"] for step in steps if "run" in step]


@pytest.mark.parametrize("path", [ACTION, *sorted(JOBS.iterdir())], ids=lambda path: path.name)
def test_shells_read_every_block(path):
    found = scripts(path)
    assert found
    for script in found:
        shell = "bash" if path.suffix == ".yml" else "sh"
        subprocess.run([shell, "-n", "-c", script], check=True)


def test_the_workflow_fails_on_a_regression_and_keeps_the_page(repository, runner):  # noqa: F811
    commit(repository, "70000")
    (job,) = yaml.safe_load((JOBS / "github.yml").read_text())["jobs"].values()
    assert runner.run(job["steps"], repository) == 1, runner.said
    assert runner.kept == ["brimful.html", "brimful.txt", "brimful.xml"]
    assert ElementTree.parse(repository / "brimful.xml").find("testsuite").get("failures") == "1"
    assert "Regression: B is slower than A" in (runner.files / "summary").read_text()
    assert (runner.files / "output").read_text() == "exit-code=1\n"
    assert (runner.files / "calls").read_text() == "pip install --quiet brimful[report]\n"


@pytest.mark.parametrize(("undecided", "code"), [("fail", 4), ("pass", 0)])
def test_what_is_undecided_may_pass(tmp_path, runner, undecided, code):
    devices = "-m 'sim:noisy,capacity=1Mpps,seed=3' -m sim:noisy,capacity=1Mpps,seed=4"
    command = f"compare {devices} --tolerance 0.01% --precision 0.01% --budget 1m -q"
    assert runner.action({"command": command, "undecided": undecided, "name": "night"}, tmp_path) == code, runner.said
    assert (runner.files / "output").read_text() == "exit-code=4\n"
    assert runner.kept == ["night.html", "night.txt", "night.xml"]


def test_what_cannot_be_measured_is_an_error_of_the_test_cases(tmp_path, runner):
    command = "compare -m lab:program,run='./nothing {a} {b}' -m lab:bridge"
    assert runner.action({"command": command}, tmp_path) == 3
    assert runner.kept == ["brimful.txt", "brimful.xml"]
    assert ElementTree.parse(tmp_path / "brimful.xml").find("testsuite").get("errors") == "1"
    assert "sudo sysctl --quiet --write kernel" in (runner.files / "calls").read_text()


@pytest.mark.parametrize("name", ["gitlab.yml", "Jenkinsfile"])
def test_other_servers_get_what_they_collect(repository, runner, name):  # noqa: F811
    commit(repository, "70000")
    (script,) = scripts(JOBS / name)
    shell = ["bash", "-eo", "pipefail", "-c"] if name == "gitlab.yml" else ["sh", "-xe", "-c"]
    # Servers keep the directory: what the job before left is there.
    fetching = script.partition("make -C")[0]
    subprocess.run([*shell, fetching], cwd=repository, env=runner.environment, capture_output=True, check=True)
    done = subprocess.run([*shell, script], cwd=repository, env=runner.environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    collected = re.findall(r"\bcompare\.(?:xml|html)", (JOBS / name).read_text().replace(script, ""))
    assert collected
    assert all((repository / file).exists() for file in collected)
