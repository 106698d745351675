import subprocess

import pytest
from brimful import kernel
from brimful.errors import UsageError
from brimful.iocost import export
from brimful.records import Run, RunFile, Solution

MODEL = {"wrandiops": 98255, "rbps": 2903088180, "rseqiops": 345470, "rrandiops": 233041, "wbps": 9, "wseqiops": 8}
QOS = {"max": 100.0, "min": 75.125, "rlat": 5767, "rpct": 99.0, "wlat": 20774, "wpct": 0.0}
NAIVE = Solution(name="naive", target="any", scale_factor=1.0, model=MODEL, qos=QOS, info={"MOF": 1.5})
BANDWIDTH = Solution(name="bandwidth", target="aMOF=max-vrate", model=MODEL, qos=QOS)
UNSOLVED = Solution(name="isolation", target="aMOF-delta=min", unsolved="aMOF has no data")
DEVICE = {"name": "nvme0n1", "device_number": "259:0", "model": "SSD  One", "firmware": "1"}


@pytest.fixture
def run_file(tmp_path):
    def build(*solutions, subject="block-device", device=DEVICE):
        run = Run(schema=1, run_id="r", started="", tool={}, command=[], host={}, subject=subject, device=device)
        return RunFile(tmp_path / "run.jsonl", run, [], [], [], [], [], solutions=list(solutions))

    return build


def test_lines_have_the_order_and_the_digits_of_the_kernel():
    assert kernel.sysfs_lines("259:0", NAIVE) == (
        "259:0 enable=1 ctrl=user rpct=99.00 rlat=5767 wpct=0.00 wlat=20774 min=75.12 max=100.00",
        "259:0 ctrl=user model=linear"
        " rbps=2903088180 rseqiops=345470 rrandiops=233041 wbps=9 wseqiops=8 wrandiops=98255",
    )


@pytest.mark.parametrize("number", ["", "nvme0n1", "259", "259:0 ", "259:0\n", "259:0'; reboot '"])
def test_a_device_number_is_two_numbers(number):
    with pytest.raises(UsageError, match="not MAJOR:MINOR"):
        kernel.sysfs_lines(number, NAIVE)


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        (UNSOLVED, "isolation is unsolved: aMOF has no data"),
        (Solution(name="x", target="", model={}, qos=QOS), "rbps is None"),
        (Solution(name="x", target="", model={**MODEL, "wbps": -1}, qos=QOS), "wbps is -1"),
        (Solution(name="x", target="", model=MODEL, qos={**QOS, "min": float("nan")}), "min is nan"),
        (Solution(name="x", target="", model=MODEL, qos={**QOS, "rlat": float("inf")}), "rlat is inf"),
    ],
)
def test_what_the_kernel_would_not_take_is_not_written(solution, message):
    with pytest.raises(UsageError, match=message):
        kernel.sysfs_lines("8:0", solution)


def test_echo_lines_write_the_lines(tmp_path):
    for command in kernel.echo_lines("259:0", NAIVE, control_group=str(tmp_path)):
        subprocess.run(["sh", "-c", command], check=True)
    written = tuple((tmp_path / name).read_text() for name in ("io.cost.qos", "io.cost.model"))
    assert written == tuple(line + "\n" for line in kernel.sysfs_lines("259:0", NAIVE))


def test_echo_lines_name_the_usual_place():
    assert kernel.echo_lines("259:0", NAIVE)[0].endswith("' > /sys/fs/cgroup/io.cost.qos")


def test_without_a_name_the_most_isolating_solved_one_is_chosen(run_file):
    assert export.choose_solution(run_file(NAIVE, BANDWIDTH, UNSOLVED)) == BANDWIDTH
    own = Solution(name="own", target="", model=MODEL, qos=QOS)
    assert export.choose_solution(run_file(own, UNSOLVED)) == own


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bandwith", r"no solution 'bandwith'; did you mean bandwidth\?"),
        ("zzz", "it has naive, bandwidth"),
        ("isolation", "isolation cannot be set, it is unsolved: aMOF has no data; what can be set: naive, bandwidth"),
    ],
)
def test_a_solution_that_is_not_there_is_an_error_with_a_hint(run_file, name, message):
    with pytest.raises(UsageError, match=message):
        export.choose_solution(run_file(NAIVE, BANDWIDTH, UNSOLVED), name)


def test_no_solution_at_all_is_an_error(run_file):
    with pytest.raises(UsageError, match="has no solution"):
        export.choose_solution(run_file(UNSOLVED))
    with pytest.raises(UsageError, match="it has none"):
        export.choose_solution(run_file(), "naive")


def test_a_search_has_no_solutions(run_file):
    with pytest.raises(UsageError, match="no result of a block device"):
        export.choose_solution(run_file(NAIVE, subject="search"))


def test_sysfs_text_names_each_solution(run_file):
    text = export.render_sysfs(run_file(NAIVE, BANDWIDTH, UNSOLVED))
    lines = text.splitlines()
    assert lines[0] == "# nvme0n1 SSD One naive"
    assert tuple(lines[1:3]) == kernel.echo_lines("259:0", NAIVE)
    assert lines[3:5] == ["", "# nvme0n1 SSD One bandwidth"]
    assert export.render_sysfs(run_file()).endswith(": no solution can be set; brimful iocost tune says why\n")


def test_sysfs_text_needs_the_device_number(run_file):
    with pytest.raises(UsageError, match="does not say the device number"):
        export.render_sysfs(run_file(NAIVE, device={}))


def test_some_solutions_by_name(run_file):
    run = run_file(NAIVE, BANDWIDTH, UNSOLVED)
    assert export.with_solutions(run, ["bandwidth"]).solutions == [BANDWIDTH]
    assert export.with_solutions(run, []) == run
    with pytest.raises(UsageError, match="it is unsolved"):
        export.with_solutions(run, ["isolation"])
