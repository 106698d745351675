"""Set a solution on a disk of this machine, and say how to take it back."""

from __future__ import annotations

import contextlib
import difflib
import math
import re
from pathlib import Path

import msgspec

from brimful.changes import Note
from brimful.errors import BrimfulError, UsageError
from brimful.iocost import controller
from brimful.iocost.controller import (
    MODEL_FILE,
    QOS_FILE,
    find_control_group,
    parse_line,
    read_line,
    read_text,
    restoring,
)
from brimful.iocost.export import choose_solution
from brimful.kernel import echo_line, sysfs_lines
from brimful.records import RunFile

_SCSI_MODEL_BYTES = 16
_SCSI_REVISION_BYTES = 4

_VRATE_LIMITS_PERCENT = (1.0, 10000.0)
"""Between which the kernel keeps ``min`` and ``max`` of a QoS, without an error."""


class Disk(msgspec.Struct, frozen=True):
    """A whole disk, as sysfs describes it."""

    name: str
    device_number: str
    model: str
    firmware: str


class Applied(msgspec.Struct, frozen=True):
    """What was set, or with ``dry_run`` what would be."""

    disk: Disk
    solution: str
    control_group: str
    """Directory of the controller files."""
    qos_line: str
    model_line: str
    qos_before: str | None
    """Line of the device before; none: not set."""
    model_before: str | None
    qos_after: str | None
    """Line of the device as read back; none: dry run."""
    model_after: str | None
    undo: list[str]
    """Shell commands that bring back what was set before."""
    differences: list[str]
    """Where disk and result differ, which ``force`` let pass."""
    dry_run: bool


def apply(
    device: str,
    solution: str | None,
    run_file: RunFile,
    *,
    root: Path = Path("/"),
    force: bool = False,
    dry_run: bool = False,
) -> Applied:
    """Set a solution on a disk: the QoS, then the model, then read both back.

    Parameters
    ----------
    device
        ``nvme0n1``, ``/dev/nvme0n1`` (or a link under ``/dev``), or ``259:0``.
    solution
        Name of the solution; none: the most isolating one that there is.
    run_file
        The result that has the solution.
    root
        Where ``sys``, ``proc`` and ``dev`` are.
    force
        Set it although the disk is another model or has another firmware than the result is of.
    dry_run
        Read everything, write nothing.

    Raises
    ------
    UsageError
        When there is no such disk or no such solution, or the result is of another model.
    BrimfulError
        When the kernel has no such controller, or does not take the values. What was written is taken back.
    """
    chosen = choose_solution(run_file, solution)
    disk = find_disk(device, root=root)
    differences = compare(disk, run_file)
    if differences and not force:
        message = f"{disk.name}: {'; '.join(differences)}; use a result of this device, or --force"
        raise UsageError(message)
    directory = find_control_group(root=root)
    qos_line, model_line = sysfs_lines(disk.device_number, chosen)
    qos_path, model_path = directory / QOS_FILE, directory / MODEL_FILE
    qos_before = read_line(qos_path, disk.device_number)
    model_before = read_line(model_path, disk.device_number)
    qos_restoring = restoring(qos_before, f"{disk.device_number} enable=0 ctrl=auto")
    model_restoring = restoring(model_before, f"{disk.device_number} ctrl=auto")
    qos_after = model_after = None
    if not dry_run:
        before = [(model_path, model_restoring), (qos_path, qos_restoring)]
        # Killed between the two, it would leave half of a solution.
        with Note(before):
            controller.write_line(qos_path, qos_line)
            try:
                controller.write_line(model_path, model_line)
                qos_after = _check(qos_path, qos_line)
                model_after = _check(model_path, model_line)
            except BrimfulError as error:
                _take_back(error, before)
                raise
    shown = "/" + str(directory.relative_to(root))
    return Applied(
        disk=disk,
        solution=chosen.name,
        control_group=shown,
        qos_line=qos_line,
        model_line=model_line,
        qos_before=qos_before,
        model_before=model_before,
        qos_after=qos_after,
        model_after=model_after,
        undo=[
            echo_line(qos_restoring, f"{shown}/{QOS_FILE}"),
            echo_line(model_restoring, f"{shown}/{MODEL_FILE}"),
        ],
        differences=differences,
        dry_run=dry_run,
    )


def render_applied(applied: Applied) -> str:
    """Write for people what was set, what was set before, and how to take it back."""
    disk = applied.disk
    named = [" ".join(disk.model.split()), f"firmware {disk.firmware.strip()}" if disk.firmware.strip() else ""]
    about = ", ".join([disk.device_number, *filter(None, named)])
    verb = "would set" if applied.dry_run else "set"
    lines = [f"{disk.name} ({about}): {verb} {applied.solution}"]
    lines += [f"  despite: {difference}" for difference in applied.differences]
    lines += [
        f"  {QOS_FILE}:   {applied.qos_after or applied.qos_line}",
        f"  {MODEL_FILE}: {applied.model_after or applied.model_line}",
        "before:",
        f"  {QOS_FILE}:   {applied.qos_before or 'not set'}",
        f"  {MODEL_FILE}: {applied.model_before or 'not set'}",
        "to undo, as root:",
        *(f"  {command}" for command in applied.undo),
    ]
    return "\n".join(lines) + "\n"


def find_disk(device: str, *, root: Path = Path("/")) -> Disk:
    """Find a whole disk by name, path or number.

    Raises
    ------
    UsageError
        When there is no such disk, or it is a partition.
    """
    blocks = root / "sys" / "block"
    disks = {path.name: path for path in sorted(blocks.glob("*"))}
    partitions = {path.parent.name: path.parents[1].name for path in blocks.glob("*/*/partition")}
    wanted = device
    if device.startswith("/"):
        target = (root / device.lstrip("/")).resolve()
        # sysfs writes the slash of names like cciss/c0d0 as an exclamation mark.
        with contextlib.suppress(ValueError):
            target = target.relative_to((root / "dev").resolve())
        wanted = str(target).replace("/", "!")
    elif re.fullmatch(r"[0-9]+:[0-9]+", device):
        numbers = {read_text(path / "dev"): name for name, path in disks.items()}
        numbers |= {read_text(blocks / disk / name / "dev"): name for name, disk in partitions.items()}
        wanted = numbers.get(device, device)
    if wanted in partitions:
        message = f"{device} is a partition; parameters belong to whole disks, use {partitions[wanted]}"
        raise UsageError(message)
    if wanted not in disks:
        nearest = difflib.get_close_matches(wanted, disks, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(disks) or 'none'}"
        message = f"no disk {device!r}; {hint}"
        raise UsageError(message)
    path = disks[wanted]
    return Disk(
        name=wanted,
        device_number=read_text(path / "dev"),
        model=read_text(path / "device" / "model"),
        firmware=read_text(path / "device" / "firmware_rev") or read_text(path / "device" / "rev"),
    )


def compare(disk: Disk, run_file: RunFile) -> list[str]:
    """Say where a disk is not what a result is of; an empty list: it is.

    Blanks count as udev counts them. SCSI and SATA disks give sysfs 16 characters of the model and 4 of the revision,
    so of those no more is compared. A revision that the result does not have is not compared.
    """
    recorded = run_file.run.device
    model, firmware = (str(recorded.get(key) or "") for key in ("model", "firmware"))
    model_bytes, revision_bytes = None, None
    if not disk.name.startswith("nvme"):
        model_bytes, revision_bytes = _SCSI_MODEL_BYTES, _SCSI_REVISION_BYTES
    differences = []
    if _joined(model, model_bytes) != _joined(disk.model, model_bytes) or not disk.model.strip():
        differences.append(f"its model is {_named(disk.model)}, the result is of {_named(model)}")
    if firmware.strip() and _joined(firmware, revision_bytes) != _joined(disk.firmware, revision_bytes):
        differences.append(f"its firmware is {_named(disk.firmware)}, the result is of {_named(firmware)}")
    return differences


def _joined(text: str, limit: int | None) -> str:
    return "_".join(text[:limit].split())


def _named(text: str) -> str:
    return " ".join(text.split()) or "not known"


def _take_back(error: BrimfulError, lines: list[tuple[Path, str]]) -> None:
    """Write what was set before; where that fails too, say so along with the first error."""
    left = []
    for path, line in lines:
        try:
            controller.write_line(path, line)
        except BrimfulError:
            left.append(echo_line(line, str(path)))
    if left:
        message = f"{error}; taking it back failed too, run: {'; '.join(left)}"
        raise BrimfulError(message) from error


def _check(path: Path, line: str) -> str:
    """Read back what was written; the kernel may have brought numbers within its limits."""
    device_number, wanted = parse_line(line)
    found = read_line(path, device_number)
    if found is None:
        message = f"{path}: shows nothing for {device_number} after the write; the kernel did not take it"
        raise BrimfulError(message)
    values = parse_line(found)[1]
    wrong = [key for key, value in wanted.items() if not _same(key, value, values.get(key))]
    if wrong:
        listed = ", ".join(f"{key}={values.get(key)} instead of {wanted[key]}" for key in wrong)
        message = f"{path}: the kernel has {listed}; another program may set it too"
        raise BrimfulError(message)
    return found


def _same(key: str, wanted: str, found: str | None) -> bool:
    if found is None or key in {"ctrl", "model"}:
        return wanted == found
    lowest, highest = _VRATE_LIMITS_PERCENT if key in {"min", "max"} else (0.0, math.inf)
    try:
        return math.isclose(min(max(float(wanted), lowest), highest), float(found), abs_tol=0.011)
    except ValueError:
        return False
