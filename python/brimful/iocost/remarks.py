"""What to say of a device beside its solutions."""

from __future__ import annotations

from collections.abc import Iterator

from brimful.iocost import rules
from brimful.iocost.rules import Target
from brimful.iocost.selectors import AMOF_DELTA, MOF, latency
from brimful.iocost.solve import Fits, Setting
from brimful.units import format_ratio

HIGH_P99_S = 0.5
HIGH_MAX_S = 1.0
LARGE_DELTA = 0.05
"""Share of the supportable size that cannot be protected."""
_SIZED = {rules.BANDWIDTH.text, rules.ISOLATION.text, rules.ISOLATED_BANDWIDTH.text}


def of_latencies(fits: Fits, scale_min: float, scale_max: float) -> Iterator[str]:
    """Say where latencies are too high, or do not follow vrate."""
    for direction, word in (("r", "read"), ("w", "write")):
        lines = {
            key: fits[latency(direction, *key)].lines.clamped(scale_min * 100, scale_max * 100)
            for key in (("50", "mean"), ("99", "mean"), ("99", "99"), ("100", "100"))
        }
        heights = {key: [y for _, y in line.vertices] for key, line in lines.items() if line is not None}
        if len(heights) < len(lines):
            yield f"Too few {word} latencies were measured to say anything about them."
            continue
        if all(len(set(heights[key])) == 1 for key in (("50", "mean"), ("99", "mean"))):
            yield f"Mean {word} latencies do not change with vrate, so throttling will not lower them."
        p99_s, greatest_s = min(heights["99", "99"]), min(heights["100", "100"])
        if p99_s >= HIGH_P99_S:
            yield f"The 99th percentile of {word} latency stays at {p99_s:.1f} s or more at any vrate."
        if greatest_s >= HIGH_MAX_S:
            yield f"The greatest {word} latency stays at {greatest_s:.1f} s or more at any vrate."


def of_settings(settings: dict[str, tuple[Target, Setting]]) -> Iterator[tuple[str, str]]:
    """Say which solutions throttle by a latency that was never measured."""
    for name in sorted(settings):
        _, setting = settings[name]
        for word, percentile, latency_us in (
            ("read", setting.rpct, setting.rlat_us),
            ("write", setting.wpct, setting.wlat_us),
        ):
            if percentile and not latency_us:
                yield name, f"{name}: throttles by a {word} latency of 0, as none was measured: do not set it."


def of_sizing(fits: Fits, settings: dict[str, tuple[Target, Setting]]) -> Iterator[tuple[str, str]]:
    """Say of each solution that promises protection how far the protected size is from the supportable one."""
    for name in sorted(settings):
        target, setting = settings[name]
        offload = fits.at(MOF, setting.vrate)
        if target.text not in _SIZED or offload == 0:
            continue
        share = fits.at(AMOF_DELTA, setting.vrate) / offload
        if share >= LARGE_DELTA:
            yield (
                name,
                f"{name}: what can be protected is {format_ratio(share)} less memory than what the device can support: "
                "hard to size for.",
            )
