"""Cycles a frame, and time and memory until rules are machine code, 100 to 100,000 exact flows."""

from __future__ import annotations

import argparse
import math
import random
import re
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "target" / "release" / "examples" / "tables"
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
FRAMES = 20_000
FRAME_LEN = 60
WIDTH, HEIGHT, MARGIN = 640, 320, 60


class Row(NamedTuple):
    """Medians of one number of flows."""

    flows: int
    cycles: float
    compiled_ms: float
    memory_mb: float


def address(flow: int) -> bytes:
    return b"\x02\x00" + flow.to_bytes(4, "big")


def write_case(directory: Path, flows: int) -> list[str]:
    """Write rules, frames of random flows and where each is to go; return the three paths."""
    draw = random.Random(flows)
    paths = [directory / f"{flows}.{kind}" for kind in ("flows", "pcap", "expect")]
    rules = (f"dl_dst={address(flow).hex(':')},actions=output:{2 + flow % 2}\n" for flow in range(flows))
    paths[0].write_text("".join(rules))
    chosen = [draw.randrange(flows) for _ in range(FRAMES)]
    capture = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for flow in chosen:
        frame = address(flow) + b"\x02\x00\x00\x00\x00\x01\x88\xb5"
        capture += struct.pack("<IIII", 0, 0, FRAME_LEN, FRAME_LEN) + frame.ljust(FRAME_LEN, b"\0")
    paths[1].write_bytes(capture)
    paths[2].write_text("".join(f"{2 + flow % 2}\n" for flow in chosen))
    return [str(path) for path in paths]


def measure(directory: Path, flows: int, rounds: int) -> Row:
    """Return medians of what several runs say."""
    case = write_case(directory, flows)
    said = [subprocess.run([TABLES, *case], check=True, capture_output=True, text=True).stdout for _ in range(rounds)]

    def median(pattern: str) -> float:
        return sorted(float(re.search(pattern, text)[1]) for text in said)[rounds // 2]

    return Row(
        flows,
        median(r"([\d.]+) cycles a frame"),
        median(r"compiled after ([\d.]+) ms"),
        median(r"([\d.]+) MB of memory"),
    )


def plot(rows: list[Row]) -> str:
    """Return a plot of both over the number of flows, each by its own axis; flows and times on logarithmic ones."""

    def x_of(flows: float) -> float:
        low, high = (math.log10(rows[index].flows) for index in (0, -1))
        return MARGIN + (math.log10(flows) - low) / (high - low) * (WIDTH - 2 * MARGIN)

    most_cycles = max(row.cycles for row in rows) * 1.1
    low_time, high_time = math.floor(math.log10(rows[0].compiled_ms)), math.ceil(math.log10(rows[-1].compiled_ms))

    def y_of_cycles(cycles: float) -> float:
        return HEIGHT - MARGIN - cycles / most_cycles * (HEIGHT - 2 * MARGIN)

    def y_of_time(time: float) -> float:
        return HEIGHT - MARGIN - (math.log10(time) - low_time) / (high_time - low_time) * (HEIGHT - 2 * MARGIN)

    def line(points: list[tuple[float, float]], colour: str) -> str:
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)
        return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'

    def text(x: float, y: float, words: str, anchor: str, colour: str = "#333") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'

    blue, red = "#1f5fa8", "#b3452c"
    bottom = HEIGHT - MARGIN
    parts = [f'<path d="M{MARGIN} {MARGIN}V{bottom}H{WIDTH - MARGIN}V{MARGIN}" fill="none" stroke="#333"/>']
    parts += [text(x_of(flows), bottom + 18, f"{flows:,}", "middle") for flows in (100, 1_000, 10_000, 100_000)]
    parts += [
        text(MARGIN - 8, y_of_cycles(cycles) + 4, f"{cycles:.0f}", "end", blue)
        for cycles in range(0, int(most_cycles) + 1, 50)
    ]
    parts += [
        text(WIDTH - MARGIN + 8, y_of_time(10**power) + 4, f"{10**power:g} ms", "start", red)
        for power in range(low_time, high_time + 1)
    ]
    parts.append(line([(x_of(row.flows), y_of_cycles(row.cycles)) for row in rows], blue))
    parts.append(line([(x_of(row.flows), y_of_time(row.compiled_ms)) for row in rows], red))
    parts.append(text(MARGIN, MARGIN - 16, "cycles a frame", "start", blue))
    parts.append(text(WIDTH - MARGIN, MARGIN - 16, "run by machine code after", "end", red))
    parts.append(text(WIDTH / 2, HEIGHT - 14, "exact flows in the table", "middle"))
    font = 'font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {font}>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>\n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--svg", type=Path, help="where to write the plot")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for flows in SIZES:
            row = measure(Path(directory), flows, options.rounds)
            rows.append(row)
            print(
                f"{flows:7} flows: {row.cycles:6.1f} cycles a frame, compiled after {row.compiled_ms:7.1f} ms "
                f"({row.compiled_ms * 1e3 / flows:.2f} us a flow), "
                f"{row.memory_mb:.1f} MB ({row.memory_mb * 1e6 / flows:.0f} bytes a flow)"
            )
    print(f"from {SIZES[0]} to {SIZES[-1]} flows cycles grow by {rows[-1].cycles / rows[0].cycles:.2f}")
    if options.svg:
        options.svg.write_text(plot(rows))


if __name__ == "__main__":
    main()
