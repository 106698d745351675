"""Every section of a standard with what a suite can do of it: all, otherwise, or nothing. Facts, no records."""

from __future__ import annotations

DONE, OTHERWISE, NOT_DONE, NOT_APPLICABLE = "done", "deviation", "not done", "not applicable"
HARDWARE = "needs hardware"

RFC2889 = "RFC 2889"

Rows = tuple[tuple[str, str, str, str], ...]
"""Section, title, state of a suite that did all it can, and what is to be known."""
_RFC2544: Rows = (
    ("6, 7", "Test set up, device set up", DONE, "the record has device, tester, host and load"),
    (
        "8",
        "Frame formats",
        DONE,
        "UDP in IPv4 or IPv6 from 198.18.0.0/15 or 2001:2::/48, unless a profile says otherwise",
    ),
    ("9", "Frame sizes", DONE, "section 9.1, FCS included; with --sizes others"),
    ("10", "Verifying received frames", DONE, "signature, sequence numbers, duplicates and order of every frame"),
    ("11.1", "Broadcast frames", DONE, "--modifier broadcast: one of 100 frames, evenly spread, beside the load"),
    (
        "11.2",
        "Management frames",
        OTHERWISE,
        "--modifier management=COMMAND: a program queries, and checks the answers",
    ),
    ("11.3", "Routing update frames", OTHERWISE, "--modifier routing=COMMAND: a program announces and changes routes"),
    ("11.4", "Filters", OTHERWISE, "--modifier filters=COMMAND: which ones are set, and on what, is the command's"),
    (
        "12",
        "Protocol addresses",
        OTHERWISE,
        "one address pair alone; with --flows or a profile many, in a suite of its own",
    ),
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
    ("25", "Address resolution", DONE, "ARP and IPv6 neighbour discovery are answered during trials"),
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
_RFC2889: Rows = (
    ("3", "Set up of the device", DONE, "the record has device, tester, host and rates"),
    ("4", "Frame formats and sizes", DONE, "UDP in IPv4 with a signature; sizes of section 9.1 of RFC 2544"),
    ("5.1", "Fully meshed", DONE, "throughput, with the order of section 5.1.3; the report of each has the matrix"),
    ("5.2", "Partially meshed, one to many, many to one", DONE, "throughput; the one port is the first"),
    ("5.3", "Partially meshed, several devices", OTHERWISE, "two halves of the ports, no local traffic"),
    (
        "5.4",
        "Partially meshed, unidirectional",
        DONE,
        "throughput, first half to second; an even number of ports",
    ),
    (
        "5.5",
        "Congestion control",
        DONE,
        "groups of four ports, a run without congestion, and with five ports one with two B; needs --max-load, the rate"
        " of the ports",
    ),
    ("5.6", "Maximum forwarding rate", OTHERWISE, "loads from 100 % to 50 % in steps of 5 %, port 1 to port 2"),
    ("5.6", "Forward pressure", HARDWARE, "no program sends with a gap of less than 96 bits"),
    ("5.7", "Address caching capacity", DONE, "the port that watches must see floods, or there is no verdict"),
    ("5.8", "Address learning rate", DONE, "of a number of addresses that fits the capacity"),
    ("5.9", "Errored frames: too long, too short", DONE, "on virtual interfaces of these alone, not of a cable"),
    ("5.9", "Errored frames: bad check sequence", HARDWARE, "a driver must send frames with a check sequence given"),
    ("5.9", "Errored frames: dribble bits, alignment", HARDWARE, "programs send whole octets"),
    ("5.10", "Broadcast frames", DONE, "throughput and copies at each port; latency of one frame"),
    ("A, B", "Bursts, frame based or time based load", OTHERWISE, "constant load; frame based: a number of frames"),
)
RFC5180: Rows = (
    ("5180", "IPv6: addresses", DONE, "2001:2::/48, unless a profile says otherwise"),
    (
        "5180",
        "IPv6: frame sizes",
        OTHERWISE,
        "the least has 84 bytes with UDP and the stamp of the tester, 88 with a tag",
    ),
    ("5180", "IPv6: neighbour discovery", DONE, "answered before and during trials, for all addresses of all ports"),
    ("5180", "IPv6: extension headers", NOT_DONE, "no frames with extension headers are sent"),
    ("5180", "IPv6: dual stack", NOT_DONE, "all frames of a suite are of one protocol"),
)
"""What is asked of tests over IPv6 beside RFC 2544."""
SECTIONS = {"RFC 2544": _RFC2544, RFC2889: _RFC2889}
"""By standard."""
SIZES = ["64", "128", "256", "512", "1024", "1280", "1518"]
"""Frame sizes of Ethernet: section 9.1."""
_LEAST_SIZE = {4: 64, 6: 84}
_TAG_BYTES = 4
MODIFIED = ("with-broadcast", "with-management", "with-routing", "with-filters")
"""Tests of the throughput with a modifier of section 11."""
OF_MANY_PORTS = ("mesh", "one-to-many", "many-to-one", "backbone", "halves")
"""Tests of the throughput of several ports."""
THROUGHPUTS = ("throughput", *MODIFIED, *OF_MANY_PORTS)
"""Tests whose figure is a throughput."""


def sizes_of(ip: int, *, is_tagged: bool) -> list[str]:
    """Give the frame sizes for a protocol: the least has room for its headers, and a tag makes the largest longer.

    >>> sizes_of(4, is_tagged=False) == SIZES, sizes_of(6, is_tagged=True)
    (True, ['88', '128', '256', '512', '1024', '1280', '1522'])
    """
    tag = _TAG_BYTES if is_tagged else 0
    return [str(_LEAST_SIZE[ip] + tag), *SIZES[1:-1], str(int(SIZES[-1]) + tag)]


TESTS_OF = {
    "11.1": ("with-broadcast",),
    "11.2": ("with-management",),
    "11.3": ("with-routing",),
    "11.4": ("with-filters",),
    "26.1": ("throughput",),
    "26.2": ("latency",),
    "26.3": ("loss",),
    "26.4": ("bursts",),
    "26.5": ("recovery",),
    "26.6": ("reset",),
    "5.1": ("mesh",),
    "5.2": ("one-to-many", "many-to-one"),
    "5.3": ("backbone",),
    "5.4": ("halves",),
    "5.5": ("control", "congestion"),
    "5.6": ("forwarding",),
    "5.7": ("caching",),
    "5.8": ("learning",),
    "5.9": ("errored",),
    "5.10": ("broadcast",),
}
"""Sections that are tests of a suite."""
