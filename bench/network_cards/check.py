"""Holds what the tester said inside the guest, on standard input, against what it should say of these cards."""

from __future__ import annotations

import json
import sys
from typing import Any

FASTEST_GIGABIT_FPS = 1e9 / 8 / (64 + 20)
FRAMES = {"e1000e": 200, "virtio": 200, "veth": 2000}
"""Of each direction of a trial."""
BACK_ENDS = {
    "e1000e": ["packet", "packet-blocks", "xdp-generic"],
    "virtio": ["packet", "packet-blocks", "xdp-native", "xdp-generic"],
    "veth": ["packet", "packet-blocks", "xdp-native", "xdp-generic"],
}


class Said:
    """Lines by the question that they answer: JSON objects, errors and the exit code."""

    def __init__(self, text: str) -> None:
        self._lines = [line.split(": ", 1) for line in text.splitlines() if ": " in line]

    def objects(self, question: str) -> list[dict[str, Any]]:
        return [json.loads(line) for asked, line in self._lines if asked == question and line.startswith("{")]

    def ending(self, question: str) -> tuple[str, str]:
        """Give the error and how it ended."""
        lines = [line for asked, line in self._lines if asked == question]
        return next((line for line in lines if line.startswith("error: ")), ""), lines[-1] if lines else "not asked"


def expect(what: str, found: object, wanted: object) -> None:
    print(f"{'ok' if found == wanted else 'FAILED'}: {what}")
    if found != wanted:
        sys.exit(f"  found  {found}\n  wanted {wanted}")


def check_back_ends(said: Said, card: str) -> None:
    found = said.objects(f"{card} list")
    expect(f"{card}: two interfaces are listed", len(found), 2)
    for listed in found:
        works = [each["name"] for each in listed["back_ends"] if each["works"]]
        expect(f"{card}: {listed['interface']} works with {', '.join(works)}", works, BACK_ENDS[card])
    best = "xdp-native" if "xdp-native" in BACK_ENDS[card] else "packet"
    expect(f"{card}: {best} is what the tester takes by itself", chosen(said, card, "itself"), best)


def chosen(said: Said, card: str, question: str) -> str:
    (description,) = said.objects(f"{card} {question}")
    back_end: str = description["traffic"]["back_end"]
    return back_end


def check_line_rates(said: Said, card: str) -> None:
    (description,) = said.objects(f"{card} itself")
    rates = [port["line_rate_fps"] for port in description["traffic"]["ports"]]
    known = FASTEST_GIGABIT_FPS if card == "e1000e" else None
    expect(f"{card}: line rates of {rates} frames/s", rates, [known, known])


def check_trials(said: Said, card: str, back_end: str) -> None:
    _description, *replies = said.objects(f"{card} {back_end}")
    for reply in replies:
        outcome = reply.get("invalid") or f"sent {reply['sent']}, lost {reply['lost']}"
        print(f"  {card} {back_end}: {outcome}")
        for direction in reply["directions"]:
            if direction["lost"]:
                print(f"    {json.dumps({key: value for key, value in direction.items() if key != 'delay'})}")
    counted = [reply for reply in replies if "invalid" not in reply]
    clean = [reply for reply in counted if (reply["sent"], reply["lost"]) == (2 * FRAMES[card], 0)]
    expect(f"{card} {back_end}: valid trials without loss", (len(clean), len(clean) > 0), (len(counted), True))


def check_refusals(said: Said, card: str) -> None:
    for question, reason in (("used", "carries the address 192.0.2.1"), ("down", "is down")):
        error, ending = said.ending(f"{card} {question}")
        expect(f"{card}: {error.removeprefix('error: ')}", (reason in error, ending), (True, "exit 3"))
    expect(f"{card}: --force takes it", said.ending(f"{card} forced"), ("", "exit 0"))


def main() -> None:
    said = Said(sys.stdin.read())
    for card, back_ends in BACK_ENDS.items():
        check_back_ends(said, card)
        check_line_rates(said, card)
        for back_end in back_ends:
            check_trials(said, card, back_end)
        check_refusals(said, card)


if __name__ == "__main__":
    main()
