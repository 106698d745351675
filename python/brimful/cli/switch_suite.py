"""``brimful rfc2889``: the tests of RFC 2889 by one command."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from brimful.campaign.plan import parse_sizes
from brimful.cli import values
from brimful.cli.beds import BedCommand
from brimful.cli.checked import NAMED
from brimful.cli.suite import LONGEST, carry_out, suite_options
from brimful.cli.traffic_options import labels_of
from brimful.errors import UsageError
from brimful.measurers.base import Measurer
from brimful.measurers.opening import open_measurer
from brimful.measurers.stations import Stations, open_stations
from brimful.report.suite.sections import SIZES
from brimful.suites.rfc2889 import TESTS, SwitchSuiteRequest, expected_s, suite_of
from brimful.switching.addresses import MOST
from brimful.throughput.manager import SearchRequest


@click.command("rfc2889", cls=BedCommand)
@click.option(
    "--measurer",
    "-m",
    required=True,
    metavar="SPEC",
    help="Three ports or more of the switch, lab:DEVICE,ports=N or tester:PORT,PORT,PORT: the first sends test frames,"
    " addresses are learned at the second, the others watch for floods.",
)
@click.option("--sizes", metavar="BYTES,...", default=",".join(SIZES), help="Frame sizes with FCS.")
@click.option(
    "--tests",
    metavar="TEST,...",
    default=",".join(TESTS),
    show_default=False,
    help=f"The tests to make. Default: {', '.join(TESTS)}; those that the ports are not enough for are left out, and"
    " named.",
)
@click.option("--rate", type=values.LOAD, help="Of test frames, and of learning in section 5.7.")
@click.option(
    "--max-addresses", type=click.IntRange(1, MOST), metavar="N", help="The most that are learned in a trial."
)
@click.option(
    "--ageing",
    type=values.SECONDS,
    default="310s",
    help="Silence before each trial that learns: longer than the ageing time of the device.",
)
@click.option(
    "--flush-command",
    type=NAMED,
    metavar="COMMAND",
    help="Instead of that silence, a shell command that makes the device forget; in a lab, inside the device.",
)
@suite_options
def rfc2889(**options: Any) -> int:  # noqa: ANN401
    """Test a switch as RFC 2889 says, in one record and one report.

    The tests are the throughput of many ports in several patterns, the forwarding rate, congestion control, broadcast
    frames, the address caching capacity, the learning rate, ageing, and errored frames. Each has a record of its own
    below that of the suite. Exit code 1: a requirement or an asserted threshold is missed; 3: a
    test failed.
    """
    request = _request(options)
    openers = _openers(request, options["timeout"])
    return carry_out(lambda note: suite_of(request, *openers, note=note), options, partial(expected_s, request))


def _request(options: dict[str, Any]) -> SwitchSuiteRequest:
    sizes = [size for size in parse_sizes(options["sizes"]) if size is not None]
    for size in sizes:
        if not size.isdecimal() or not 64 <= int(size) <= LONGEST:
            message = f"--sizes: {size} is no size of one frame from 64 to {LONGEST} bytes"
            raise UsageError(message)
    return SwitchSuiteRequest(
        search=SearchRequest(
            measurer=options["measurer"],
            goals=[],
            strategy="straddle",
            max_load=options["max_load"],
            # The tester's own ceiling is measured where it is the load that is 100 %.
            calibrate=options["max_load"] is None,
            on_invalid=options["on_invalid"],
            on_error=options["on_error"],
            labels=labels_of(options),
        ),
        sizes=sizes,
        tests=[test.strip() for test in options["tests"].split(",")],
        is_quick=options["quick"],
        rate=options["rate"],
        most_addresses=options["max_addresses"],
        rest_s=options["ageing"],
        flush_command=options["flush_command"],
    )


def _openers(
    request: SwitchSuiteRequest, timeout_s: float
) -> tuple[Callable[[int], Stations], Callable[[SearchRequest], Measurer]]:
    """Give what opens the ports for sequences of frames, and for trials of a load."""

    def measurer(search: SearchRequest) -> Measurer:
        return open_measurer(search.measurer, timeout_s=timeout_s, tester_arguments=search.traffic["arguments"])

    def stations(frame_size: int) -> Stations:
        return open_stations(
            request.search.measurer,
            flush_command=request.flush_command,
            timeout_s=timeout_s,
            frame_size=frame_size,
        )

    return stations, measurer
