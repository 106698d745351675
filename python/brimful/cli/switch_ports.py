"""``brimful switch port``, ``queue``, ``mirror`` and ``capture``: what passes ports, and which there are."""

from __future__ import annotations

from pathlib import Path

import click

from brimful.cli.checked import FiniteRange
from brimful.cli.switch_options import CONTROL, NAME
from brimful.errors import UsageError

_BACK_ENDS = ["packet", "packet-blocks", "xdp-native", "xdp-generic", "tap", "fastest"]
_THOUSANDTHS = click.IntRange(0, 1000)


@click.group()
def port() -> None:
    """Add and remove ports while frames pass.

    With the next start, and with SIGHUP, the ports are those of the file of settings again.
    """


@port.command("add")
@CONTROL
@NAME
@click.option(
    "--back-end", type=click.Choice(_BACK_ENDS), default="packet", help="How frames get into and out of the kernel."
)
@click.option(
    "--max-frame-len",
    type=click.IntRange(60, 16380),
    default=1514,
    help="Longest frame in bytes, without check sequence and one tag.",
)
@click.option(
    "--speed-bps",
    type=click.IntRange(1, 10**13),
    default=10**10,
    help="Its speed in bit/s; the rates of its queues are fractions of it.",
)
@click.argument("ports", nargs=-1, required=True, metavar="NUMBER=INTERFACE...")
def add_ports(
    control: Path, switch: str | None, back_end: str, max_frame_len: int, speed_bps: int, ports: tuple[str, ...]
) -> None:
    """Add ports, such as 3=eth3."""
    from brimful.switch import ask

    for text in ports:
        number, _, interface = text.partition("=")
        if not number.isdecimal() or not interface:
            message = f"{text}: use NUMBER=INTERFACE"
            raise UsageError(message)
        settings = {"back_end": back_end, "max_frame_len": max_frame_len, "speed_bps": speed_bps}
        ask(control, "add_port", switch=switch, port={"number": int(number), "interface": interface, **settings})


@port.command("remove")
@CONTROL
@NAME
@click.argument("ports", nargs=-1, required=True, metavar="PORT...")
def remove_ports(control: Path, switch: str | None, ports: tuple[str, ...]) -> None:
    """Remove ports, each given by its number or interface.

    Flows and groups that send to them stay, and what they send there is dropped.
    """
    from brimful.switch import ask

    for one in ports:
        ask(control, "remove_port", switch=switch, port=one)


@click.group()
def queue() -> None:
    """Add, change and remove the output queues of a port while frames pass."""


@queue.command("add")
@CONTROL
@NAME
@click.option("--min-rate", type=_THOUSANDTHS, help="Guaranteed share of the port's speed, in thousandths.")
@click.option("--max-rate", type=_THOUSANDTHS, help="Greatest share of the port's speed, in thousandths.")
@click.argument("port")
@click.argument("number", type=click.IntRange(0, 2**32 - 2))
def add_queue(
    control: Path, switch: str | None, min_rate: int | None, max_rate: int | None, port: str, number: int
) -> None:
    """Give PORT the queue NUMBER, or give that queue other rates."""
    from brimful.switch import ask

    settings = {"id": number, "min_rate": min_rate, "max_rate": max_rate}
    ask(control, "add_queue", switch=switch, port=port, queue=settings)


@queue.command("remove")
@CONTROL
@NAME
@click.argument("port")
@click.argument("number", type=click.IntRange(0, 2**32 - 2))
def remove_queue(control: Path, switch: str | None, port: str, number: int) -> None:
    """Take the queue NUMBER from PORT; frames for it then wait in queue 0."""
    from brimful.switch import ask

    ask(control, "remove_queue", switch=switch, port=port, queue=number)


@click.command()
@CONTROL
@NAME
@click.argument("output")
@click.argument("ports", nargs=-1, metavar="[PORT]...")
def mirror(control: Path, switch: str | None, output: str, ports: tuple[str, ...]) -> None:
    """Copy to the port OUTPUT what each PORT receives and sends; without PORT, copy nothing more to it."""
    from brimful.switch import ask

    ask(control, "mirror", switch=switch, output=output, ports=list(ports))


@click.command()
@CONTROL
@NAME
@click.option(
    "-w",
    "--write",
    "file",
    required=True,
    metavar="FILE",
    help="Capture file to write (pcapng); - for standard output, as for `tcpdump -r -`.",
)
@click.option(
    "--filter",
    "expression",
    default="",
    show_default=False,
    metavar="MATCH",
    help="Only frames with this match, such as tcp,tp_dst=80.",
)
@click.option("--count", type=click.IntRange(1), help="End after this number of frames.")
@click.option("--seconds", type=FiniteRange(min=0, min_open=True), help="End after this time.")
@click.argument("port")
def capture(
    control: Path,
    switch: str | None,
    file: str,
    expression: str,
    count: int | None,
    seconds: float | None,
    port: str,
) -> None:
    """Capture the frames that PORT receives and sends, until Ctrl-C.

    Works with every back end, also where tcpdump sees nothing. Frames are captured as they are handed over: several
    segments in one frame, and checksums that are still to be finished.
    """
    from brimful.report import words
    from brimful.switch import capture_to

    wanted = {"switch": switch, "port": port, "filter": expression, "count": count, "seconds": seconds}
    captured = capture_to(file, control, wanted)
    name = "standard output" if file == "-" else file
    frames = words.count(captured.frames, "frame")
    text = f"{name}: {frames} of port {captured.port} ({captured.interface})"
    click.echo(f"{text}, {captured.lost} more found no room", err=True)
