"""How exact both sides' rates are where ports send different shares of a load, drawn from a seed.

A port sends its share of the load, in whole frames, in the time of a trial; one that a port does not end on schedule is
invalid, and made again.
"""

from __future__ import annotations

import argparse
import random

from brimful.measurers.base import InvalidTrialError, Settings, TrialOutput
from brimful.measurers.tester import open_lab_measurer

BAR = 1e-4
ATTEMPTS = 20


def sent(shares: tuple[float, float], load: float, duration_s: float) -> TrialOutput:
    """Make a trial on a wire, again where the machine spoils it."""
    words = "/".join(f"{share:g}%" for share in shares)
    settings = Settings(timeout_s=20.0, tester_arguments=[f"--port-shares={words}"])
    measurer = open_lab_measurer("wire", settings)
    try:
        for _ in range(ATTEMPTS):
            try:
                return measurer.measure(load, duration_s)
            except InvalidTrialError as error:
                reason = error
    finally:
        measurer.close()
    raise SystemExit(f"{ATTEMPTS} trials in a row were invalid: {reason}")


def main() -> None:
    """Print each draw, and fail above the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--duration", type=float, default=5.0, metavar="SECONDS")
    options = parser.parse_args()
    draw, worst = random.Random(options.seed), 0.0
    for _ in range(options.draws):
        shares = (100.0, float(draw.randrange(1, 100)))
        if draw.random() < 0.5:
            shares = shares[::-1]
        load = float(draw.randrange(5_000, 20_001))
        output = sent(shares, load, options.duration)
        lasted_s = output.effective_duration_s or options.duration
        errors = []
        for share, way in zip(shares, output.directions, strict=True):
            due = load * share / 100
            off = max(0.0, abs(int(way["sent"]) - due * options.duration) - 1) / (due * options.duration)
            errors += [off, abs(lasted_s / options.duration - 1)]
        worst = max(worst, *errors)
        counts = " and ".join(str(way["sent"]) for way in output.directions)
        print(
            f"{load:g}/s, {shares[0]:g} % and {shares[1]:g} %: {counts} frames in {lasted_s:.6f} s,"
            f" at most {100 * max(errors):.4f} % off",
            flush=True,
        )
    print(f"worst of {options.draws}: {100 * worst:.4f} % off (bar: {100 * BAR:g} %)")
    if worst > BAR:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
