"""A program that speaks the measurer protocol and tells delays: a stand-in for the tester.

Usage: delay_tester.py MEAN_S [OPTION=VALUE...]. Delays are gamma distributed around the mean. Options: seed, loss (a
share of the frames), invalid (every so many trials), drift (seconds a trial), die (with that trial), silent (1: no
delay told), hang (in that trial), encoding of the histogram (plain or packed).
"""

import base64
import itertools
import json
import random
import sys
import time
import zlib

from hdrh.histogram import HdrHistogram

BATCHES = 32


def encoded(delays_ns, encoding):
    histogram = HdrHistogram(1, 60_000_000_000, 3)
    for delay in delays_ns:
        histogram.record_value(max(1, round(delay)))
    text = histogram.encode()
    if encoding == "plain":
        text = base64.b64encode(zlib.decompress(base64.b64decode(text)[8:]))
    return text.decode()


def direction(names, frames, lost, mean_ns, options, chance):
    shape = 4.0
    delays = [chance.gammavariate(shape, mean_ns / shape) for _ in range(frames - lost)]
    told = {"from": names[0], "to": names[1], "sent": frames, "lost": lost}
    if options.get("silent") or not delays:
        return told
    ordered = sorted(delays)
    size = max(1, len(delays) // BATCHES)
    batches = [delays[start : start + size] for start in range(0, size * BATCHES, size)]
    seconds = {
        f"p{name}_s": ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1e9
        for name, share in (("50", 0.5), ("90", 0.9), ("99", 0.99), ("999", 0.999))
    }
    told["delay"] = {
        "frames": len(delays),
        "min_s": ordered[0] / 1e9,
        "mean_s": sum(delays) / len(delays) / 1e9,
        "max_s": ordered[-1] / 1e9,
        "jitter_s": sum(abs(b - a) for a, b in itertools.pairwise(delays)) / len(delays) / 1e9,
        **seconds,
        "batches": [[len(batch), sum(batch) / len(batch) / 1e9 if batch else None] for batch in batches],
        "histogram": encoded(delays, options.get("encoding", "plain")),
    }
    return told


def reply(request, options, mean_s, chance, trial):
    if request["op"] == "describe":
        return {
            "name": "stand-in",
            "tells_delay": not options.get("silent"),
            "max_load": 1e6,
            "traffic": {"frame_size": 64, "direction": "bi"},
            "device": {"name": "stand-in"},
        }
    assert request["detail"] is True
    if options.get("hang") == str(trial):
        time.sleep(60)
    if "die" in options and trial >= int(options["die"]):
        return {"id": request["id"], "error": "the stand-in was told to stop"}
    frames = round(request["load"] * request["duration_s"])
    if "invalid" in options and trial % int(options["invalid"]) == 0:
        return {"id": request["id"], "invalid": "the sender stalled", "sent": frames, "lost": 0}
    lost = round(float(options.get("loss", 0)) * frames)
    mean_ns = 1e9 * (mean_s + float(options.get("drift", 0)) * trial)
    both = [direction(names, frames, lost, mean_ns, options, chance) for names in (("a", "b"), ("b", "a"))]
    return {"id": request["id"], "sent": 2 * frames, "lost": 2 * lost, "directions": both}


def main():
    mean_s = float(sys.argv[1])
    options = dict(word.split("=", 1) for word in sys.argv[2:])
    chance = random.Random(int(options.get("seed", 1)))
    trial = 0
    for line in sys.stdin:
        request = json.loads(line)
        trial += request["op"] == "measure"
        sys.stdout.write(json.dumps(reply(request, options, mean_s, chance, trial)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
