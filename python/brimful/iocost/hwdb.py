"""Solutions of many devices as one file for the hardware database of systemd.

udev looks entries up by the properties ``ID_MODEL`` and ``ID_REVISION``. What stands in them depends on the device:

* NVMe: the attributes of sysfs as they are, blanks included, without trailing blanks.
* ATA and SCSI: blanks at the ends cut, runs of blanks and characters that udev does not let pass turned into ``_``.

An entry therefore has a match line for each of the two, where they differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from brimful.errors import UsageError
from brimful.iocost.export import PREFERENCE, solved
from brimful.kernel import model_parameters, qos_parameters
from brimful.records import RunFile, Solution

_SCSI_MODEL_BYTES = 16

_HEADER = """\
# IO cost parameters of block devices, written by brimful iocost export.
#
# Match key: block:<devpath>:name:<model name>:fwrev:<firmware revision>:
# The name is ID_MODEL and the revision ID_REVISION as udevadm info shows them.
# Install as /etc/udev/hwdb.d/90-iocost-tune.hwdb, then run
#   systemd-hwdb update && udevadm trigger --subsystem-match=block
"""

_NODE_CHARACTERS = "0-9A-Za-z#+.:=@_-"
_STRICT = re.compile(rf"\\x|[{_NODE_CHARACTERS}]|[^\x00-\x7f]")
_LENIENT = re.compile(rf"\\x|[/ $%?,{_NODE_CHARACTERS}]|[^\x00-\x7f]")
_BLANKS = " \t\n\v\f\r"


def identifier(text: str) -> str:
    """Write a name as udev does for ATA and SCSI devices.

    >>> identifier(" Samsung SSD  870 "), identifier("WD*Blue (SA510)")
    ('Samsung_SSD_870', 'WD_Blue__SA510_')
    """
    return _replace(re.sub(rf"[{_BLANKS}]+", "_", text.strip(_BLANKS)), _STRICT)


def attribute(text: str) -> str:
    """Write a name as udev does for NVMe devices.

    >>> attribute(" PSF119D "), attribute("KXG50ZNV256G TOSHIBA  ")
    (' PSF119D', 'KXG50ZNV256G TOSHIBA')
    """
    return _replace(re.sub(rf"[{_BLANKS}]", " ", text.rstrip(_BLANKS)), _LENIENT)


def escape(text: str) -> str:
    r"""Write a name so that it matches only itself in a match line.

    >>> escape("a*b?[c]"), escape("SSD #2"), escape("a\\x20b")
    ('a[*]b[?][[]c]', 'SSD ?2', 'a\\\\x20b')
    """
    # A number sign begins a comment even inside a match line, so any one character has to stand for it.
    return re.sub(r"([*?\[])", r"[\1]", text).replace("\\", "\\\\").replace("#", "?")


def match_lines(model: str, firmware: str | None, *, device_name: str = "") -> list[str]:
    """Give the match lines of a model.

    Parameters
    ----------
    model
        As the benchmark read it from sysfs.
    firmware
        Revision, as read from sysfs; none: any.
    device_name
        As the kernel names the device, where that is known: only NVMe devices keep blanks.
    """
    writers: list[Callable[[str], str]] = [attribute, identifier]
    if device_name.startswith("sd"):
        writers = [identifier]
    lines = [f"block:*:name:{escape(write(model))}:fwrev:{_revision(firmware, write)}:" for write in writers]
    return list(dict.fromkeys(lines))


def render(entries: list[RunFile], *, with_firmware: bool) -> str:
    """Write one file for all devices: the best result for each model.

    The best result is the one with the most MOF points, then the most solutions, then the first by file name. The
    others are named in a comment. The text depends on nothing but the arguments.

    Parameters
    ----------
    entries
        Results of block devices, in any order.
    with_firmware
        Keep firmware revisions of a model apart; without, an entry holds for all revisions.

    Raises
    ------
    UsageError
        When an entry is not the result of a block device.
    """
    groups: dict[tuple[str, str], list[RunFile]] = {}
    nameless = []
    for entry in entries:
        if entry.run.subject != "block-device":
            message = f"{entry.path}: no result of a block device; make one with brimful iocost tune"
            raise UsageError(message)
        model = identifier(_text(entry, "model"))
        firmware = identifier(_text(entry, "firmware")) if with_firmware else ""
        if model:
            groups.setdefault((model, firmware), []).append(entry)
        else:
            nameless.append(entry)
    blocks = [_HEADER]
    blocks += [_block(groups[key], with_firmware=with_firmware) for key in sorted(groups)]
    blocks += [f"# {_comment(entry.path.name)}: left out, it names no model\n" for entry in sorted(nameless, key=_name)]
    return "\n".join(blocks)


def _block(candidates: list[RunFile], *, with_firmware: bool) -> str:
    ranked = sorted(candidates, key=_rank)
    best, rest = ranked[0], ranked[1:]
    model, device_name = _text(best, "model"), _text(best, "name")
    usable = solved(best)
    lines = [_summary(best, usable)]
    lines += [f"# from {_comment(best.path.name)}"] if rest else []
    lines += [f"# not taken: {_comment(entry.path.name)} ({_counts(entry)})" for entry in rest]
    if device_name.startswith("sd") and len(model.rstrip()) >= _SCSI_MODEL_BYTES - 1:
        lines.append(f"# {_comment(model.strip())}: perhaps cut at 16 characters; compare with ID_MODEL")
    emitted, skipped = _properties(usable)
    lines += [f"# left out: {_comment(name)} ({reason})" for name, reason in skipped]
    if not emitted:
        return "\n".join([*lines, f"# {_comment(model.strip())}: no solution", ""])
    lines += match_lines(model, _text(best, "firmware") if with_firmware else None, device_name=device_name)
    return "\n".join([*lines, *(f"  {line}" for line in emitted), ""])


def _properties(usable: list[Solution]) -> tuple[list[str], list[tuple[str, str]]]:
    """Give the properties and which solutions are not among them, and why."""
    order = {name: rank for rank, name in enumerate(PREFERENCE)}
    names = {solution.name for solution in usable}
    listed = [name for name in PREFERENCE if name in names]
    lines = [f"IOCOST_SOLUTIONS={' '.join(listed)}"] if listed else []
    skipped = []
    taken: set[str] = set()
    for solution in sorted(usable, key=lambda solution: order.get(solution.name, len(order))):
        suffix = solution.name.upper().replace("-", "_")
        if re.fullmatch(r"[0-9A-Z_]+", suffix) is None:
            skipped.append((solution.name, "no name for a property; use letters, digits, - and _"))
        elif suffix in taken:
            skipped.append((solution.name, f"{suffix} is taken"))
        else:
            taken.add(suffix)
            lines.append(f"IOCOST_MODEL_{suffix}={model_parameters(solution)}")
            lines.append(f"IOCOST_QOS_{suffix}={qos_parameters(solution)}")
    return lines, skipped


def _summary(entry: RunFile, usable: list[Solution]) -> str:
    parts = [_plural(_point_count(entry), "point")]
    for metric in ("MOF", "aMOF"):
        values = [solution.info[metric] for solution in usable if solution.info.get(metric) is not None]
        if values:
            parts.append(f"{metric}=[{min(values):.3f},{max(values):.3f}]")
    return f"# {', '.join(parts)}"


def _rank(entry: RunFile) -> tuple[int, int, str, str]:
    return (-_point_count(entry), -_solution_count(entry), entry.path.name, str(entry.path))


def _counts(entry: RunFile) -> str:
    return f"{_plural(_point_count(entry), 'point')}, {_plural(_solution_count(entry), 'solution')}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _point_count(entry: RunFile) -> int:
    return sum(len(series.points) for series in entry.series if series.name == "MOF")


def _solution_count(entry: RunFile) -> int:
    return len(solved(entry))


def _name(entry: RunFile) -> str:
    return entry.path.name


def _text(entry: RunFile, key: str) -> str:
    value = entry.run.device.get(key)
    return value if isinstance(value, str) else ""


def _revision(firmware: str | None, write: Callable[[str], str]) -> str:
    return escape(write(firmware)) if firmware and firmware.strip() else "*"


def _comment(text: str) -> str:
    """Keep a text on its line."""
    return "".join(character if character.isprintable() else "_" for character in text)


def _replace(text: str, allowed: re.Pattern[str]) -> str:
    kept: list[str] = []
    position = 0
    while position < len(text):
        match = allowed.match(text, position)
        kept.append(match[0] if match else "_")
        position = match.end() if match else position + 1
    return "".join(kept)
