"""What `run` starts inside the guest: sets solutions on the disk and compares what the kernel shows."""

import subprocess
import sys
import traceback
from pathlib import Path

from brimful.errors import BrimfulError
from brimful.iocost.device import apply, render_applied
from brimful.kernel import sysfs_lines
from brimful.records import RecordWriter, Run, Solution, read_run

RESULT = Path("/tmp/run.jsonl")
GROUP = Path("/sys/fs/cgroup")
NUMBER = Path("/sys/block/vda/dev").read_text().strip()
MODEL = {
    "rbps": 2903088180,
    "rseqiops": 345470,
    "rrandiops": 233041,
    "wbps": 1712687511,
    "wseqiops": 213890,
    "wrandiops": 98255,
}
QOS = {"rpct": 0.0, "rlat": 5767, "wpct": 0.0, "wlat": 20774, "min": 100.0, "max": 100.0}


def solutions():
    return [
        Solution(name="isolation", target="", model=MODEL, qos=QOS),
        Solution(name="naive", target="", model=MODEL, qos={**QOS, "rpct": 99.0, "wpct": 99.0, "min": 75.55}),
        Solution(name="clamped", target="", model=MODEL, qos={**QOS, "min": 0.25}),
        Solution(name="bad-qos", target="", model=MODEL, qos={**QOS, "min": 120.0}),
        Solution(name="bad-model", target="", model={**MODEL, "rbps": 1 << 64}, qos={**QOS, "rlat": 1}),
    ]


def shown():
    return [
        next((line for line in (GROUP / name).read_text().splitlines() if line.startswith(f"{NUMBER} ")), None)
        for name in ("io.cost.qos", "io.cost.model")
    ]


def say(text):
    print(f"iocost_apply: {text}", flush=True)


def expect(what, found, wanted):
    say(f"{'ok' if found == wanted else 'FAILED'}: {what}")
    if found != wanted:
        print(f"  found  {found}\n  wanted {wanted}")
        raise SystemExit(1)


def fails(what, *arguments, **options):
    before = shown()
    try:
        apply("vda", *arguments, **options)
    except BrimfulError as error:
        say(f"exit code {error.exit_code}: {error}")
    else:
        expect(what, "no error", "an error")
    return before


def main():
    device = {"name": "vda", "model": "Some Disk", "firmware": "1"}
    run = Run(schema=1, run_id="r", started="", tool={}, command=[], host={}, subject="block-device", device=device)
    with RecordWriter(RESULT) as writer:
        for record in (run, *solutions()):
            writer.write(record)
    result = read_run(RESULT)

    unset = shown()
    expect("nothing is set at first", unset, [None, None])
    fails("another model", "isolation", result)
    apply("vda", "isolation", result, force=True, dry_run=True)
    expect("a dry run changes nothing", shown(), unset)

    first = apply("/dev/vda", "isolation", result, force=True)
    print(render_applied(first), end="", flush=True)
    wanted = list(sysfs_lines(NUMBER, result.solutions[0]))
    expect("the kernel shows the lines that were written", shown(), wanted)

    second = apply(NUMBER, "naive", result, force=True)
    expect("a second solution replaces the first", shown(), list(sysfs_lines(NUMBER, result.solutions[1])))
    for command in second.undo:
        subprocess.run(["sh", "-c", command], check=True)
    expect("undo brings the first back", shown(), wanted)

    expect(
        "a QoS that the kernel refuses changes nothing", fails("min above max", "bad-qos", result, force=True), shown()
    )
    expect("a refused model takes the QoS back", fails("rbps too large", "bad-model", result, force=True), shown())
    clamped = apply("vda", "clamped", result, force=True)
    say(f"min=0.25 was taken as: {clamped.qos_after}")

    for command in first.undo:
        subprocess.run(["sh", "-c", command], check=True)
    say(f"after the undo of the first: {shown()}")
    expect("the controller is off again", shown()[0].split()[1:3], ["enable=0", "ctrl=auto"])
    expect("the model is the kernel's again", shown()[1].split()[1], "ctrl=auto")
    automatic = shown()
    third = apply("vda", "isolation", result, force=True)
    for command in third.undo:
        subprocess.run(["sh", "-c", command], check=True)
    expect("undo brings the automatic values back", shown(), automatic)
    say("passed")


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc(file=sys.stdout)
