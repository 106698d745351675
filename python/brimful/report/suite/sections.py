"""Every section of RFC 2544 with what a suite can do of it: all, otherwise, or nothing. Facts, no records."""

from __future__ import annotations

DONE, OTHERWISE, NOT_DONE, NOT_APPLICABLE = "done", "deviation", "not done", "not applicable"

SECTIONS: tuple[tuple[str, str, str, str], ...] = (
    ("6, 7", "Test set up, device set up", DONE, "the record has device, tester, host and load"),
    (
        "8",
        "Frame formats",
        DONE,
        "UDP in IPv4 or IPv6 from 198.18.0.0/15 or 2001:2::/48, unless a profile says otherwise",
    ),
    ("9", "Frame sizes", DONE, "section 9.1, FCS included; with --sizes others"),
    ("10", "Verifying received frames", DONE, "signature, sequence numbers, duplicates and order of every frame"),
    ("11", "Modifiers", NOT_DONE, "broadcast, management, routing updates and filters are not sent"),
    ("12", "Protocol addresses", DONE, "one address pair; with --flows or a profile many"),
    ("13", "Route set up", NOT_DONE, "no routing protocol is spoken: routes are set by hand"),
    ("14", "Bidirectional traffic", DONE, "both directions at once unless --direction uni"),
    ("15, 16", "Single stream path, multi-port", OTHERWISE, "one pair of ports"),
    (
        "17-19, 22",
        "Several protocols, sizes, devices; token rings",
        NOT_APPLICABLE,
        "left open by the RFC, or of other media",
    ),
    ("20", "Maximum frame rate", OTHERWISE, "100 % is --max-load, or the most that the tester can offer"),
    ("21", "Bursty traffic", NOT_DONE, "bursts of 16 to 1024 frames are not searched; profiles can send them"),
    ("23", "Trial description", OTHERWISE, "stragglers are waited for until the count is complete, 500 ms at most"),
    ("24", "Trial duration", DONE, "60 s; shorter with --quick"),
    ("25", "Address resolution", DONE, "ARP is answered during trials"),
    ("26.1", "Throughput", DONE, "by search to 0.5 % of the load"),
    (
        "26.2",
        "Latency",
        OTHERWISE,
        "every frame is stamped; the mean of all frames instead of one tagged frame a trial",
    ),
    ("26.3", "Frame loss rate", DONE, "from 100 % in steps of 10 % until two trials lose nothing"),
    ("26.4", "Back-to-back frames", DONE, "as RFC 9004 has it"),
    ("26.5", "System recovery", OTHERWISE, "the load is reduced between two trials, not within one"),
    ("26.6", "Reset", DONE, "with --reset-command; the frame-loss method of RFC 6201"),
)
"""Section, title, state of a suite that did all it can, and what is to be known."""
SIZES = ["64", "128", "256", "512", "1024", "1280", "1518"]
"""Frame sizes of Ethernet: section 9.1."""
TEST_OF = {
    "26.1": "throughput",
    "26.2": "latency",
    "26.3": "loss",
    "26.4": "bursts",
    "26.5": "recovery",
    "26.6": "reset",
}
"""Sections that are tests of a suite."""
