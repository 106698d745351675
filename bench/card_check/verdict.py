"""Holds what the guest said, on standard input, against what there is to be found of such cards."""

from __future__ import annotations

import json
import sys
from typing import Any

FAULTS = {
    "igb": {"pause", "ring", "interrupt-delay"},
    "e1000e": {"pause", "ring", "interrupt-delay"},
    "vmxnet3": {"merging", "ring"},
    "virtio_net": {"merging", "queues"},
}
"""By driver: what its cards have when they are set up, beside what all have."""
ALL_HAVE = {"gro", "ipv6"}
BACK_ENDS = {"igb": "xdp-native", "virtio_net": "xdp-native"}
"""What the tester takes once all is mended, where it is not `packet`."""


def expect(what: str, found: object, wanted: object) -> None:
    print(f"{'ok' if found == wanted else 'FAILED'}: {what}")
    if found != wanted:
        sys.exit(f"  found  {found}\n  wanted {wanted}")


def findings(checked: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for each in checked["interfaces"] for finding in each["findings"]]


def show(checked: dict[str, Any]) -> None:
    for each in checked["interfaces"]:
        print(
            f"  {each['card']['interface']}: {', '.join(finding['code'] for finding in each['findings']) or 'nothing'}"
        )


def main() -> None:
    lines = [line.split(": ", 1) for line in sys.stdin.read().splitlines() if ": " in line]
    said = {what: json.loads(value) for what, value in lines if value[:1] in '{"0123456789'}
    drivers = [what.removesuffix(" before") for what in said if what.endswith(" before")]
    expect(f"cards of the drivers {', '.join(drivers)}", {*drivers}, {*FAULTS})
    for driver in drivers:
        before, after, trial = said[f"{driver} before"], said[f"{driver} after"], said[f"{driver} trial"]
        show(before)
        wanted = FAULTS[driver] | ALL_HAVE
        expect(
            f"{driver}: {', '.join(sorted(wanted))}", {finding["code"] for finding in findings(before)} >= wanted, True
        )
        expect(f"{driver}: something would falsify a test", before["clean"], False)
        expect(f"{driver}: every command works", said[f"{driver} failed"], {})
        expect(f"{driver}: nothing is left that a command mends", [f for f in findings(after) if f["command"]], [])
        expect(f"{driver}: nothing would falsify a test", after["clean"], True)
        back_end = BACK_ENDS.get(driver, "packet")
        expect(f"{driver}: {back_end}, {after['back_end_remark']}", after["back_end"], back_end)
        outcome = (trial["sent"] > 0, trial["lost"], trial["back_end"])
        remark = f" ({trial['invalid']})" if trial["invalid"] else ""
        expect(f"{driver}: {trial['sent']} frames without loss by {back_end}{remark}", outcome, (True, 0, back_end))
    expect("the command ends with 0", said["exit code"], 0)


if __name__ == "__main__":
    main()
