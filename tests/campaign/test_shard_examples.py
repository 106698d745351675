"""The commands of `examples/shards` make the parts of a campaign and put them together, with no cluster around them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from brimful.records import read_run
from support import ROOT

EXAMPLES = ROOT / "examples" / "shards"
PARTS = (1, 2, 3)
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def run(directory, *commands):
    """Run commands side by side, each with variables of its own."""
    begun = [
        subprocess.Popen(
            ["sh", "-euc", command],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": PATH, **variables},
        )
        for command, variables in commands
    ]
    for process in begun:
        shown, _ = process.communicate(timeout=200)
        assert process.returncode == 0, shown


def github(directory):
    jobs = yaml.safe_load((EXAMPLES / "github.yml").read_text())["jobs"]
    assert tuple(jobs["measure"]["strategy"]["matrix"]["part"]) == PARTS
    measure, upload = jobs["measure"]["steps"]
    for part in PARTS:
        (directory / f"runner-{part}").mkdir()
        run(directory / f"runner-{part}", (measure["run"].replace("${{ matrix.part }}", str(part)), {}))
        name = upload["with"]["name"].replace("${{ matrix.part }}", str(part))
        shutil.move(directory / f"runner-{part}" / upload["with"]["path"], directory / "parts" / name)
    (merge,) = [step["run"] for step in jobs["merge"]["steps"] if step.get("run", "").startswith("brimful ")]
    run(directory, (merge, {}))


def slurm(directory):
    script = EXAMPLES / "slurm.sh"
    count = {"SLURM_ARRAY_TASK_COUNT": str(len(PARTS))}
    run(directory, *((f"sh {script}", {**count, "SLURM_ARRAY_TASK_ID": str(part)}) for part in PARTS))
    (merge,) = [line for line in script.read_text().splitlines() if "--wrap" in line]
    run(directory, (merge.split("'")[1], {}))


def kubernetes(directory):
    def command(job):
        (container,) = job["spec"]["template"]["spec"]["containers"]
        return container["args"][0].replace("/parts", str(directory / "parts"))

    measure, merge = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())
    assert measure["spec"]["completions"] == len(PARTS)
    run(directory, *((command(measure), {"JOB_COMPLETION_INDEX": str(part - 1), "NODE": "a"}) for part in PARTS))
    run(directory, (command(merge), {}))
    for name in ("merged", "throughput.html"):
        shutil.move(directory / "parts" / name, directory)


@pytest.mark.parametrize("example", [github, slurm, kubernetes])
def test_an_example_ends_in_one_record_and_one_report(tmp_path, example):
    (tmp_path / "parts").mkdir()
    example(tmp_path)
    file = read_run(tmp_path / "merged")
    assert [(member.frame_size, member.repeat) for member in file.members] == [
        (size, repeat) for repeat in (1, 2) for size in ("64", "512", "1518")
    ]
    assert [shard["part"] for shard in file.run.source["shards"]] == [1, 2, 3]
    assert all(shard["labels"]["bed"] for shard in file.run.source["shards"])
    assert (tmp_path / "throughput.html").read_text().endswith("</html>\n")


def test_every_example_is_run():
    assert sorted(path.stem for path in EXAMPLES.iterdir()) == ["github", "kubernetes", "slurm"]
