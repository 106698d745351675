"""What heads the report of a device: which device it is, and what it was measured with.

The blocks have the layout of resctl-bench, so far as the record has the facts. A fact that is missing is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from brimful.kernel import MODEL_KEYS, QOS_KEYS
from brimful.records import Run
from brimful.report.iocost.numbers import percent, size


def title(run: Run) -> str:
    """Name the tool, the device and when it was measured (UTC)."""
    tool = " ".join(part for part in (run.tool.get("name", ""), "iocost", run.tool.get("version", "")) if part)
    parts = [f"[{tool}]", str(run.device.get("model") or run.device.get("name") or ""), _period(run.source)]
    return " ".join(part.strip() for part in parts if part.strip())


def blocks(run: Run) -> Iterator[str]:
    """Give the blocks of facts below the title."""
    for name, lines in (
        ("System info: ", _system(run.source)),
        ("IO info: ", _device(run)),
        ("Method: ", [str(run.source.get("method") or "")]),
        ("hashd params: ", [_benchmark(_mapping(run.source, "benchmark"))]),
        ("Missed requirements: ", _missed(_mapping(run.source, "missed_requirements"))),
    ):
        filled = [line for line in lines if line]
        if filled:
            yield name + ("\n" + " " * len(name)).join(filled)


def has_bounds(run: Run) -> bool:
    """Say whether intervals of solutions are the bounds of a search, as of measurements of our own."""
    return bool(run.source.get("method"))


def model_parameters(model: Mapping[str, Any]) -> list[str]:
    """Write the parameters of a model as the kernel takes them."""
    return [f"{key}={model[key]:.0f}" for key in MODEL_KEYS if key in model]


def qos_parameters(qos: Mapping[str, Any]) -> list[str]:
    """Write QoS parameters as the kernel takes them: percentages with two decimals, times in whole microseconds."""
    return [f"{key}={qos[key]:.{0 if key.endswith('lat') else 2}f}" for key in QOS_KEYS if key in qos]


def _period(source: Mapping[str, Any]) -> str:
    begin, end = ([*source.get("period_s", ()), None, None])[:2]
    if begin is None or end is None:
        return ""
    first, last = _utc(begin), _utc(end)
    same_day = first.split(" ")[0] == last.split(" ")[0]
    return f"{first} - {last.split(' ')[-1] if same_day else last} UTC"


def _utc(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
    except (OverflowError, OSError, ValueError):
        return str(seconds)


def _system(source: Mapping[str, Any]) -> list[str]:
    system = _mapping(source, "system")
    memory = _mapping(source, "memory")
    amounts = " ".join(
        f"{name}={size(memory[key])}"
        for name, key in (("avail", "available_bytes"), ("share", "share_bytes"), ("target", "target_bytes"))
        if memory.get(key) is not None
    )
    return [
        _facts(system, [("kernel", "kernel", _quoted)]),
        _facts(
            system,
            [
                ("nr_cpus", "cpus", str),
                ("memory", "memory_bytes", size),
                ("swap", "swap_bytes", size),
                ("swappiness", "swappiness", str),
            ],
        ),
        " ".join(
            part
            for part in (_facts(memory, [("mem_profile", "profile", str)]), f"({amounts})" if amounts else "")
            if part
        ),
    ]


def _device(run: Run) -> list[str]:
    device = run.device
    controller = _mapping(run.source, "controller")
    model = model_parameters(_mapping(controller, "model"))
    qos = qos_parameters(_mapping(controller, "qos"))
    number = device.get("device_number")
    identity = _facts(device, [("dev", "name", str)]) + (f"({number})" if number and device.get("name") else "")
    details = _facts(
        device, [("model", "model", _quoted), ("firmware", "firmware", _quoted), ("size", "size_bytes", size)]
    )
    switches = [
        _facts(device, [("iosched", "scheduler", str)]),
        _facts(_mapping(controller, "qos"), [("iocost", "enable", lambda enabled: "on" if enabled else "off")]),
    ]
    return [
        " ".join(part for part in (identity, details) if part),
        " ".join(part for part in switches if part),
        f"iocost model: {' '.join(model[:3])}" if model else "",
        f"              {' '.join(model[3:])}" if len(model) > 3 else "",
        f"iocost QoS: {' '.join(qos)}" if qos else "",
    ]


def _benchmark(benchmark: Mapping[str, Any]) -> str:
    return _facts(
        benchmark,
        [
            ("hash_size", "hash_bytes", size),
            ("rps_max", "rps_max", str),
            ("mem_size", "memory_bytes", size),
            ("mem_frac", "memory_fraction", lambda fraction: f"{percent(fraction)}%"),
            ("chunk_pages", "chunk_pages", str),
            ("fake_cpu_load", "fake_cpu_load", lambda faked: "on" if faked else "off"),
        ],
    )


def _missed(requirements: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}: {'; '.join(map(str, reasons))}" if isinstance(reasons, list) and reasons else name
        for name, reasons in requirements.items()
    ]


def _facts(mapping: Mapping[str, Any], wanted: list[tuple[str, str, Any]]) -> str:
    """Write those facts that are there: name in the text, key in the record, how it is written."""
    return " ".join(f"{name}={write(mapping[key])}" for name, key, write in wanted if mapping.get(key) is not None)


def _quoted(text: object) -> str:
    return f'"{text}"'


def _mapping(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = mapping.get(key)
    return found if isinstance(found, dict) else {}
