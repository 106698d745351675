"""Setting a solution on a disk, in a directory that looks like the root of a machine."""

import os
from pathlib import Path

import pytest
from brimful.errors import BrimfulError, UsageError
from brimful.iocost import controller, device
from brimful.iocost.controller import MODEL_FILE, QOS_FILE, find_control_group
from brimful.iocost.device import apply, find_disk, render_applied
from brimful.kernel import sysfs_lines
from brimful.records import Run, RunFile, Solution

MODEL = {"rbps": 6, "rseqiops": 5, "rrandiops": 4, "wbps": 3, "wseqiops": 2, "wrandiops": 1}
QOS = {"rpct": 99.0, "rlat": 17032, "wpct": 99.0, "wlat": 21456, "min": 75.0, "max": 100.0}
NAIVE = Solution(name="naive", target="", model=MODEL, qos=QOS)
OTHER_DISK = "8:0 enable=1 ctrl=auto rpct=0.00"
SET_QOS = "259:0 enable=1 ctrl=user rpct=95.00 rlat=1 wpct=95.00 wlat=2 min=50.00 max=150.00"
SET_MODEL = "259:0 ctrl=user model=linear rbps=1 rseqiops=1 rrandiops=1 wbps=1 wseqiops=1 wrandiops=1"
AUTO_QOS = "259:0 enable=0 ctrl=auto rpct=0.00 rlat=250000 wpct=0.00 wlat=250000 min=1.00 max=10000.00"
AUTO_MODEL = "259:0 ctrl=auto model=linear rbps=7 rseqiops=7 rrandiops=7 wbps=7 wseqiops=7 wrandiops=7"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_disk(root, name, number, *, model=None, firmware=None, partitions=()):
    directory = root / "sys" / "block" / name
    write(directory / "dev", f"{number}\n")
    if model is not None:
        write(directory / "device" / "model", f"{model}\n")
        write(directory / "device" / ("firmware_rev" if name.startswith("nvme") else "rev"), f"{firmware}\n")
    for index, partition in enumerate(partitions, start=1):
        write(directory / partition / "dev", f"{number.split(':')[0]}:{index}\n")
        write(directory / partition / "partition", f"{index}\n")


def result(*solutions, model="INTEL SSDPEKKA256G7", firmware=" PSF119D"):
    run = Run(
        schema=1,
        run_id="r",
        started="",
        tool={},
        command=[],
        host={},
        subject="block-device",
        device={"name": "nvme0n1", "model": model, "firmware": firmware},
    )
    return RunFile(Path("run.jsonl"), run, [], [], [], [], [], solutions=list(solutions or [NAIVE]))


@pytest.fixture
def root(tmp_path):
    add_disk(
        tmp_path,
        "nvme0n1",
        "259:0",
        model="INTEL SSDPEKKA256G7                     ",
        firmware=" PSF119D",
        partitions=["nvme0n1p1"],
    )
    add_disk(tmp_path, "sda", "8:0", model="Samsung SSD 870 ", firmware="3B6Q")
    add_disk(tmp_path, "cciss!c0d0", "104:0")
    write(tmp_path / "proc/self/mounts", "sysfs /sys sysfs rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    for name in (QOS_FILE, MODEL_FILE):
        write(tmp_path / "sys/fs/cgroup" / name, OTHER_DISK + "\n")
    return tmp_path


@pytest.fixture
def kernel(root, monkeypatch):
    """Stands in for the kernel: a write replaces the line of its device; `refuse` and `change` make it differ."""

    class Kernel:
        def __init__(self):
            self.writes = []
            self.refuse = set()
            self.change = {}

        def write_line(self, path, line):
            self.writes.append((path.name, line))
            if line in self.refuse:
                message = f"cannot write to {path}: Invalid argument"
                raise BrimfulError(message)
            self.set(path, line)

        def set(self, path, line):
            number = line.split()[0]
            others = [old for old in path.read_text().splitlines() if old.split()[0] != number]
            path.write_text("\n".join([*others, self.change.get(line, line)]) + "\n")

        def lines(self):
            group = root / "sys/fs/cgroup"
            return tuple(
                next((line for line in (group / name).read_text().splitlines() if line.startswith("259:0 ")), None)
                for name in (QOS_FILE, MODEL_FILE)
            )

        def start(self, *lines):
            for name, line in zip((QOS_FILE, MODEL_FILE), lines, strict=True):
                self.set(root / "sys/fs/cgroup" / name, line)

    made = Kernel()
    monkeypatch.setattr(controller, "write_line", made.write_line)
    return made


def test_the_qos_is_written_first_and_both_are_read_back(root, kernel):
    applied = apply("nvme0n1", "naive", result(), root=root)
    lines = sysfs_lines("259:0", NAIVE)
    assert kernel.writes == [("io.cost.qos", lines[0]), ("io.cost.model", lines[1])]
    assert (applied.qos_after, applied.model_after) == lines
    assert (applied.qos_before, applied.model_before) == (None, None)
    assert applied.undo == [
        "echo '259:0 enable=0 ctrl=auto' > /sys/fs/cgroup/io.cost.qos",
        "echo '259:0 ctrl=auto' > /sys/fs/cgroup/io.cost.model",
    ]
    assert OTHER_DISK in (root / "sys/fs/cgroup/io.cost.qos").read_text()


def test_undo_brings_back_what_was_set_by_hand(root, kernel):
    kernel.start(SET_QOS, SET_MODEL)
    applied = apply("nvme0n1", None, result(), root=root)
    assert (applied.qos_before, applied.model_before) == (SET_QOS, SET_MODEL)
    assert applied.undo == [
        f"echo '{SET_QOS}' > /sys/fs/cgroup/io.cost.qos",
        f"echo '{SET_MODEL}' > /sys/fs/cgroup/io.cost.model",
    ]


def test_undo_brings_automatic_values_back_as_automatic(root, kernel):
    kernel.start(AUTO_QOS, AUTO_MODEL)
    applied = apply("nvme0n1", None, result(), root=root)
    assert [command.split(" > ")[0] for command in applied.undo] == [
        "echo '259:0 enable=0 ctrl=auto'",
        "echo '259:0 ctrl=auto'",
    ]


def test_a_dry_run_writes_nothing(root, kernel):
    applied = apply("nvme0n1", "naive", result(), root=root, dry_run=True)
    assert not kernel.writes
    assert (applied.qos_after, applied.model_after) == (None, None)
    assert applied.undo


def test_a_refused_qos_is_an_error_and_the_model_is_not_written(root, kernel):
    qos_line = sysfs_lines("259:0", NAIVE)[0]
    kernel.refuse.add(qos_line)
    with pytest.raises(BrimfulError, match="Invalid argument") as caught:
        apply("nvme0n1", "naive", result(), root=root)
    assert caught.value.exit_code == 3
    assert kernel.writes == [("io.cost.qos", qos_line)]


@pytest.mark.parametrize("before", [(SET_QOS, SET_MODEL), (AUTO_QOS, AUTO_MODEL)])
def test_a_refused_model_takes_the_qos_back(root, kernel, before):
    kernel.start(*before)
    kernel.refuse.add(sysfs_lines("259:0", NAIVE)[1])
    with pytest.raises(BrimfulError, match="Invalid argument"):
        apply("nvme0n1", "naive", result(), root=root)
    assert kernel.lines()[0].split()[:3] == before[0].split()[:3]
    assert kernel.lines()[1].split()[:2] == before[1].split()[:2]


def test_what_cannot_be_taken_back_is_said_with_the_first_error(root, kernel):
    kernel.start(SET_QOS, SET_MODEL)
    kernel.refuse |= {sysfs_lines("259:0", NAIVE)[1], SET_QOS, SET_MODEL}
    with pytest.raises(BrimfulError, match="Invalid argument; taking it back failed too, run: echo '259:0 ctrl=user"):
        apply("nvme0n1", "naive", result(), root=root)


def test_values_that_the_kernel_brought_within_its_limits_are_taken(root, kernel):
    low = Solution(name="low", target="", model=MODEL, qos={**QOS, "min": 0.25})
    line = sysfs_lines("259:0", low)[0]
    kernel.change[line] = line.replace("min=0.25", "min=1.00")
    assert "min=1.00" in str(apply("nvme0n1", "low", result(low), root=root).qos_after)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rlat=17032", "rlat=17000", "rlat=17000 instead of 17032"),
        ("ctrl=user", "ctrl=auto", "ctrl=auto instead of user"),
        (" wlat=21456", "", "wlat=None instead of 21456"),
        ("max=100.00", "max=much", "max=much instead of 100.00"),
        ("259:0 ", "259:9 ", "shows nothing for 259:0"),
    ],
)
def test_other_values_than_written_are_an_error_and_taken_back(root, kernel, old, new, message):
    kernel.start(SET_QOS, SET_MODEL)
    line = sysfs_lines("259:0", NAIVE)[0]
    kernel.change[line] = line.replace(old, new)
    with pytest.raises(BrimfulError, match=message):
        apply("nvme0n1", "naive", result(), root=root)
    assert kernel.lines() == (SET_QOS, SET_MODEL)


def test_another_model_or_firmware_needs_force(root, kernel):
    other = result(model="INTEL OTHER", firmware="1")
    with pytest.raises(
        UsageError, match="nvme0n1: its model is INTEL SSDPEKKA256G7, the result is of INTEL OTHER; its"
    ):
        apply("nvme0n1", "naive", other, root=root)
    assert not kernel.writes
    applied = apply("nvme0n1", "naive", other, root=root, force=True)
    assert [text.split(",")[0] for text in applied.differences] == [
        "its model is INTEL SSDPEKKA256G7",
        "its firmware is PSF119D",
    ]
    assert "  despite: its firmware is PSF119D, the result is of 1\n" in render_applied(applied)


def test_a_disk_without_a_model_needs_force(root, kernel):
    for recorded in ("", "Some"):
        with pytest.raises(UsageError, match="its model is not known"):
            apply("cciss!c0d0", "naive", result(model=recorded, firmware=""), root=root)


@pytest.mark.parametrize(
    ("model", "firmware", "same"),
    [
        ("Samsung SSD 870", "3B6Q", True),
        ("Samsung SSD 870 EVO 1TB", "3B6Q1234", True),
        ("Samsung  SSD 870", "", True),
        ("Samsung SSD 860", "3B6Q", False),
        ("Samsung SSD 870", "4B6Q", False),
        ("Samsung", "3B6Q", False),
    ],
)
def test_scsi_disks_are_compared_as_far_as_sysfs_tells(root, model, firmware, same):
    differences = device.compare(find_disk("sda", root=root), result(model=model, firmware=firmware))
    assert (not differences) is same


def test_nvme_models_are_compared_whole(root):
    add_disk(root, "nvme1n1", "259:5", model="Samsung SSD 990 PRO 1TB", firmware="4")
    disk = find_disk("nvme1n1", root=root)
    assert device.compare(disk, result(model="Samsung SSD 990 PRO 2TB", firmware="4"))
    assert not device.compare(disk, result(model=" Samsung SSD 990  PRO 1TB ", firmware=""))


@pytest.mark.parametrize("name", ["nvme0n1", "/dev/nvme0n1", "259:0", "/dev/disk/by-id/it"])
def test_a_disk_is_found_by_name_path_number_and_link(root, name):
    write(root / "dev/nvme0n1", "")
    (root / "dev/disk/by-id").mkdir(parents=True)
    (root / "dev/disk/by-id/it").symlink_to("../../nvme0n1")
    disk = find_disk(name, root=root)
    assert (disk.name, disk.device_number, disk.firmware) == ("nvme0n1", "259:0", " PSF119D")


def test_a_name_with_a_slash_is_found(root):
    assert find_disk("/dev/cciss/c0d0", root=root).device_number == "104:0"


@pytest.mark.parametrize("name", ["nvme0n1p1", "/dev/nvme0n1p1", "259:1"])
def test_a_partition_is_refused_with_its_disk(root, name):
    with pytest.raises(UsageError, match="is a partition; parameters belong to whole disks, use nvme0n1"):
        find_disk(name, root=root)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nvme0n2", r"did you mean nvme0n1\?"),
        ("/dev/nvme1n1", r"did you mean nvme0n1\?"),
        ("1:1", "there are cciss!c0d0, nvme0n1, sda"),
        ("../sda", "no disk '../sda'"),
        ("", "no disk ''"),
    ],
)
def test_no_such_disk_is_an_error_with_a_hint(root, name, hint):
    with pytest.raises(UsageError, match=hint):
        find_disk(name, root=root)


def test_a_machine_without_disks_says_so(tmp_path):
    with pytest.raises(UsageError, match="there are none"):
        find_disk("sda", root=tmp_path)


def test_no_such_solution_is_an_error(root, kernel):
    with pytest.raises(UsageError, match=r"did you mean naive\?"):
        apply("nvme0n1", "naiv", result(), root=root)


@pytest.mark.parametrize(
    ("mounts", "place"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "sys/fs/cgroup"),
        ("none /mnt/my\\040groups cgroup2 rw 0 0\n", "mnt/my groups"),
        ("none /mnt/empty cgroup2 rw 0 0\nnone /mnt/c cgroup2 rw 0 0\n", "mnt/c"),
        (None, "sys/fs/cgroup"),
        ("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n", "sys/fs/cgroup/unified"),
    ],
)
def test_the_controller_is_found_where_it_is_mounted(tmp_path, mounts, place):
    if mounts is not None:
        write(tmp_path / "proc/self/mounts", mounts)
    for name in (QOS_FILE, MODEL_FILE):
        write(tmp_path / place / name, "")
    assert find_control_group(root=tmp_path) == tmp_path / place


def test_a_kernel_without_the_controller_is_an_error(root, kernel):
    (root / "sys/fs/cgroup" / MODEL_FILE).unlink()
    with pytest.raises(BrimfulError, match="CONFIG_BLK_CGROUP_IOCOST") as caught:
        apply("nvme0n1", "naive", result(), root=root)
    assert caught.value.exit_code == 3
    assert not kernel.writes


def test_the_undo_names_the_place_of_the_mount(root, kernel):
    write(root / "proc/self/mounts", "cgroup2 /mnt/c cgroup2 rw 0 0\n")
    for name in (QOS_FILE, MODEL_FILE):
        write(root / "mnt/c" / name, "")
    assert apply("nvme0n1", "naive", result(), root=root).undo[0].endswith(" > /mnt/c/io.cost.qos")


def test_a_line_is_written_at_once(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("")
    written = []
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda number, content: written.append(content) or real_write(number, content))
    controller.write_line(path, "259:0 enable=0")
    assert written == [b"259:0 enable=0\n"]
    assert path.read_text() == "259:0 enable=0\n"


def test_without_the_rights_it_says_root(tmp_path, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(BrimfulError, match="Permission denied; run it as root"):
        controller.write_line(tmp_path / "file", "259:0 enable=0")


def test_a_file_that_cannot_be_written_or_read_is_an_error(tmp_path):
    with pytest.raises(BrimfulError, match=r"cannot write '259:0' to .*: Is a directory"):
        controller.write_line(tmp_path, "259:0")
    with pytest.raises(BrimfulError, match=r"cannot read .*: Is a directory"):
        controller.read_line(tmp_path, "259:0")


def test_the_text_says_what_was_set_what_was_before_and_how_to_undo(root, kernel):
    kernel.start(SET_QOS, SET_MODEL)
    qos_line, model_line = sysfs_lines("259:0", NAIVE)
    assert render_applied(apply("nvme0n1", "naive", result(), root=root)).splitlines() == [
        "nvme0n1 (259:0, INTEL SSDPEKKA256G7, firmware PSF119D): set naive",
        f"  io.cost.qos:   {qos_line}",
        f"  io.cost.model: {model_line}",
        "before:",
        f"  io.cost.qos:   {SET_QOS}",
        f"  io.cost.model: {SET_MODEL}",
        "to undo, as root:",
        f"  echo '{SET_QOS}' > /sys/fs/cgroup/io.cost.qos",
        f"  echo '{SET_MODEL}' > /sys/fs/cgroup/io.cost.model",
    ]


def test_the_text_of_a_dry_run_says_would(root, kernel):
    text = render_applied(apply("nvme0n1", "naive", result(), root=root, dry_run=True))
    assert "would set naive" in text
    assert text.count("not set") == 2
