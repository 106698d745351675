"""Facts that reports look up in the free-form parts of a `Run`: traffic, device, measurer, host, labels.

The well-known keys are listed in `docs/reference/record.md`; whatever else is there is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from brimful.records import End, Goal, Machine, Run, Trial, is_rate_of_units
from brimful.units import ETHERNET_OVERHEAD_BYTES, format_duration, format_load

LINK_KEYS = ("link_bps", "link_rate_bps", "link_speed_bps")
FRAME_SIZE_KEYS = ("frame_size", "frame_size_bytes", "frame_bytes")
DIRECTION_KEYS = ("direction", "directions", "bidirectional")
WARM_UP_KEYS = ("warm_up", "warmup", "warm_up_s")
ISOLATION_KEYS = ("isolation", "isolated")
REACTION_KEYS = ("load_reaction", "pacing", "burst", "bursts")
PROTOCOL_KEYS = ("protocol", "protocols")
STREAM_KEYS = ("flows", "streams", "flow_count")
MEDIUM_KEYS = ("medium", "media", "link", "driver")
MESH_KEYS = ("mesh", "topology")
MODIFIER_KEYS = ("modifiers", "modifier")
CEILING_KEYS = ("ceiling", "measured_ceiling")
DUPLICATE_KEYS = ("duplicates", "duplicate_handling")
REORDER_KEYS = ("reordering", "reorder_handling")
PATTERN_KEYS = ("pattern",)
EFFECTIVE_KEYS = ("effective_duration",)


def lookup(run: Run, keys: tuple[str, ...]) -> object:
    """Give the first value under a key: in the traffic, the device, the measurer, the host or the labels; or none."""
    for place in (run.traffic, run.device, run.measurer.facts(), run.host, run.labels):
        for key in keys:
            value = place.get(key)
            if value is not None and value != "":
                return value
    return None


def machine(ends: Sequence[End]) -> Machine | None:
    """Give how quiet the machine was: the worst of each time that the run ended; none where nothing was watched."""
    known = [end.machine for end in ends if end.machine is not None]
    if not known:
        return None
    return Machine(
        others_share=max(one.others_share for one in known),
        speed_spread=max(one.speed_spread for one in known),
        quiet=all(one.quiet for one in known),
    )


def number(value: object) -> float | None:
    """Give a value as a finite number above zero, or nothing.

    >>> number("64"), number("imix"), number(True), number(0)
    (64.0, None, None, None)
    """
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < 1e300 else None


def frame_size(run: Run) -> float | None:
    """Give the frame size in bytes, FCS included, where all frames have one size."""
    return number(lookup(run, FRAME_SIZE_KEYS))


def mean_frame_size(run: Run) -> float | None:
    """Give the mean frame size in bytes, FCS included; of a mix that of one turn of its sizes."""
    one = frame_size(run)
    mix = run.traffic.get("frame_sizes")
    if one is not None or not isinstance(mix, list):
        return one
    sizes = [number(size) for size in mix]
    known = [size for size in sizes if size is not None]
    return sum(known) / len(known) if known and len(known) == len(sizes) else None


def link_bps(run: Run) -> float | None:
    """Give the bit rate of the link."""
    return number(lookup(run, LINK_KEYS))


def theoretical_rate(run: Run) -> float | None:
    """Give the most frames a second that the link carries in one direction at the frame size."""
    size, rate = frame_size(run), link_bps(run)
    return rate / (8 * (size + ETHERNET_OVERHEAD_BYTES)) if size is not None and rate is not None else None


def counts_frames(run: Run) -> bool:
    """Say whether a load counts frames, so that RFC 2544 has something to say about it."""
    return run.load_unit in {"frames/s", "packets/s", "pps", "fps"}


def units(run: Run) -> str:
    """Give what a load counts as a noun in the plural: frames, IOs."""
    return "frames" if counts_frames(run) else f"{run.load_unit.removesuffix('/s').removesuffix('s')}s"


def counts_ios(run: Run) -> bool:
    """Say whether a load counts reads and writes of a disk."""
    return run.load_unit == "IO/s"


def io_size(run: Run) -> object:
    """Give the bytes of an IO, or of a mix its mean."""
    return run.traffic.get("io_size") or run.traffic.get("mean_io_size")


def traffic(run: Run) -> list[tuple[str, str]]:
    """Name what was offered: the size and the directions of frames, the size and the pattern of IOs."""
    if counts_ios(run):
        return [("IO size", _bytes(io_size(run))), ("Pattern", text(lookup(run, PATTERN_KEYS) or "not recorded"))]
    if counts_frames(run) and not is_simulated(run):
        size = _bytes(lookup(run, FRAME_SIZE_KEYS))
        return [("Frame size", size), ("Directions", directions(run) or "not recorded")]
    return []


def _bytes(size: object) -> str:
    if size is None:
        return "not recorded"
    return text(size) if number(size) is None else f"{text(size)} bytes"


def bytes_per_second(run: Run, load: float | None) -> float | None:
    """Give the bytes that a load of IOs reads and writes in a second."""
    size = number(run.traffic.get("mean_io_size"))
    return load * size if counts_ios(run) and load is not None and size is not None else None


def directions(run: Run) -> str | None:
    """Give the directions of the traffic in words."""
    ports, pattern = run.traffic.get("ports"), run.traffic.get("pattern")
    if isinstance(ports, list) and pattern is not None:
        return f"{text(pattern)}, {len(ports)} ports"
    value = lookup(run, DIRECTION_KEYS)
    if value is None:
        return None
    if value is True or value in ("bi", 2):
        return "both directions at once"
    if value is False or value in ("uni", 1):
        return "one direction"
    return text(value)


def protocol(run: Run) -> str | None:
    """Give the protocols of the traffic in words."""
    said = lookup(run, PROTOCOL_KEYS)
    if said is not None:
        return text(said)
    layers = [
        str(run.traffic["transport"]).upper() if run.traffic.get("transport") else "",
        f"IPv{text(run.traffic['ip_version'])}" if run.traffic.get("ip_version") else "",
        f"VLAN {text(run.traffic['vlan'])}" if run.traffic.get("vlan") else "",
    ]
    return " over ".join(layer for layer in layers if layer) or None


def is_own_tester(run: Run) -> bool:
    """Say whether the traffic came from the tester of this package."""
    return run.measurer.name == "brimful-tester"


def is_lab(run: Run) -> bool:
    """Say whether the device stood in a lab of this package."""
    return run.measurer.spec.startswith("lab:")


def is_simulated(run: Run) -> bool:
    """Say whether nothing real was measured."""
    if run.traffic.get("simulated") or run.device.get("simulated"):
        return True
    return run.measurer.name.startswith("sim:")


def device(run: Run, trials: Sequence[Trial]) -> dict[str, Any]:
    """Give what is known of the device, with units, and what its programs used in trials."""
    work = run.device.get("work")
    known = {"work": f"{text(work)} multiplications a frame"} if is_lab(run) and work else {}
    # A sum over several devices says nothing of any of them.
    has_one_device = run.paired is None and run.bisection is None
    return {**run.device, **known, **(_programs(trials) if has_one_device else {})}


def _programs(trials: Sequence[Trial]) -> dict[str, str]:
    """Give what the programs of a lab's device used, as trials have it in ``extra.device_programs``."""
    seen = [(trial.extra.get("device_programs"), trial.elapsed_s) for trial in trials]
    used = [(programs, elapsed_s) for programs, elapsed_s in seen if isinstance(programs, Mapping)]
    if not used:
        return {}
    cpu_s = sum(number(programs.get("cpu_s")) or 0.0 for programs, _ in used)
    peak = max(number(programs.get("peak_memory_bytes")) or 0.0 for programs, _ in used)
    took_s = sum(elapsed_s for _, elapsed_s in used)
    return {
        "processor_time": f"{format_duration(cpu_s)}, in trials that took {format_duration(took_s)}",
        "largest_memory": f"{peak / 2**20:.1f} MiB",
    }


def measurer(run: Run) -> dict[str, Any]:
    """Give what is known of the measurer, with units."""
    known = run.measurer.facts()
    ceiling = number(run.measurer.ceiling)
    return known if ceiling is None else {**known, "ceiling": format_load(ceiling, run.load_unit)}


def text(value: object) -> str:
    """Write any value of a record for people.

    >>> text({"a": [1, 2], "b": True})
    'a: 1, 2; b: yes'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {text(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(text(part) for part in value) or "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return "none" if value is None else str(value)


def table(mapping: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give a nested mapping as rows of path and value, keys as words and values with their units.

    >>> table({"nic": {"driver": "veth"}, "cores": 4, "stop_grace_s": 0.02})
    [('nic.driver', 'veth'), ('cores', '4'), ('stop grace', '20 ms')]
    >>> table({"ports": [{"mac": "02::1"}, {"mac": "02::2", "next_hop_mac": None}]})
    [('port 1.mac', '02::1'), ('port 2.mac', '02::2')]
    """
    rows: list[tuple[str, str]] = []
    for key, value in mapping.items():
        name = str(key).replace("_", " ")
        if isinstance(value, Mapping) and value:
            rows += [(f"{name}.{path}", shown) for path, shown in table(value)]
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            known = [{part: each[part] for part in each if each[part] is not None} for each in value]
            rows += [
                (f"{name.removesuffix('s')} {number}.{path}", shown)
                for number, each in enumerate(known, start=1)
                for path, shown in table(each)
            ]
        else:
            rows.append(_with_unit(name, value))
    return rows


def set_up(run: Run, of_device: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Give what the record says of the set-up, in groups; those that are empty are left out."""
    groups = [
        ("Device", table(of_device)),
        ("Traffic", table(run.traffic)),
        ("Measurer", table(measurer(run))),
        ("Host", table(run.host)),
        ("Labels", list(run.labels.items())),
    ]
    return [(name, rows) for name, rows in groups if rows]


def _with_unit(name: str, value: object) -> tuple[str, str]:
    """Write a fact of which the last word of the name may be the unit."""
    stem, _, unit = name.rpartition(" ")
    write = _UNITS.get(unit)
    if stem and write is not None and isinstance(value, int | float) and not isinstance(value, bool):
        return stem, write(value)
    return name, text(value)


_UNITS: Mapping[str, Callable[[float], str]] = {
    "s": format_duration,
    "fps": format_load,
    "bps": lambda rate: format_load(rate, "bps"),
    "bytes": lambda number: f"{text(number)} bytes",
}


def load_of_a_unit(goal: Goal, conversion_factor: float, load_unit: str = "frames/s") -> float:
    """Give the load, in units per second, by which a full-length trial that counts one more differs.

    Where loads are no rates of what is counted, it is not known, and left out.

    >>> load_of_a_unit(Goal("ndr", 0.0, 0.5, 0.5, 10.0, 0.5), 2.0)
    1.0
    >>> load_of_a_unit(Goal("ndr", 0.0, 0.5, 0.5, 10.0, 0.5), 2.0, "%")
    0.0
    """
    if not is_rate_of_units(load_unit):
        return 0.0
    return 1 / (goal.final_trial_duration_s * conversion_factor)
