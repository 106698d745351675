"""``brimful switch``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from brimful.cli import switch_ports
from brimful.cli.switch_options import CONTROL, NAME

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
# A bit of a port's configuration (OpenFlow 1.3.5, section 7.2.1): a controller has taken it out of operation.
_PORT_DOWN = 1


@click.group()
def switch() -> None:
    """Inspect a running OpenFlow switch, and change its tables, ports and queues.

    brimful-switchd is the switch itself: `brimful-switchd --port 1=eth1 --port 2=eth2 --tables FILE --control SOCKET`.
    """


@switch.command()
@CONTROL
@NAME
@click.option("--table", type=click.IntRange(0, 253), default=0, help="Table for the entries of a .tab file.")
@click.option("--add", is_flag=True, help="Keep the existing entries.")
@click.argument("file", type=_FILE)
def load(control: Path, switch: str | None, table: int, add: bool, file: Path) -> None:
    """Load tables from FILE: .tab for linc's syntax, else that of ovs-ofctl.

    All existing tables are replaced. If FILE has an error, nothing changes.
    """
    from brimful.switch import ask

    text = file.read_text(errors="replace")
    answer = ask(control, "load", switch=switch, file=str(file), text=text, table=table, add=add)
    for note in answer["notes"]:
        click.echo(note, err=True)
    click.echo(f"{file}: {answer['changes']} changes", err=True)


@switch.command()
@CONTROL
@NAME
def forget(control: Path, switch: str | None) -> None:
    """Forget the addresses that outputs to NORMAL have learned."""
    from brimful.switch import ask

    ask(control, "forget", switch=switch)


@switch.command()
@CONTROL
@NAME
@click.option("--tab", is_flag=True, help="Write flows as records of .tab files.")
@click.option("--counters", is_flag=True, help="Also print how many packets and bytes matched each flow.")
def dump(control: Path, switch: str | None, tab: bool, counters: bool) -> None:
    """Print the tables so that `load` reads them again."""
    from brimful.switch import ask

    click.echo(ask(control, "dump", switch=switch, tab=tab, counters=counters)["text"], nl=False)


@switch.command()
@CONTROL
@NAME
@click.option("--capture", type=_FILE, metavar="PCAP", help="Take the frame from a capture file; MATCH gives in_port.")
@click.option("--frame", type=click.IntRange(min=1), default=1, help="Which frame of the file.")
@click.option("--hex", "as_hex", is_flag=True, help="Also print the bytes of what leaves.")
@click.argument("match")
def trace(control: Path, switch: str | None, capture: Path | None, frame: int, as_hex: bool, match: str) -> None:
    """Show which entries a frame matches, such as in_port=1,tcp,nw_dst=10.0.0.1, and what leaves.

    What leaves is shown field by field, with earlier values of changed fields. Nothing is sent or counted; meters let
    the frame through.
    """
    from brimful.switch import ask, read_frame

    digits = None if capture is None else read_frame(capture, frame).hex()
    click.echo(ask(control, "trace", switch=switch, matching=match, frame=digits, hex=as_hex)["text"], nl=False)


@switch.command()
@CONTROL
@NAME
@click.option("--code", is_flag=True, help="Print the machine code too.")
@click.argument("table", type=click.IntRange(0, 253))
def explain(control: Path, switch: str | None, code: bool, table: int) -> None:
    """Show the form in which TABLE is compiled, and why."""
    from brimful.switch import ask

    click.echo(ask(control, "explain", switch=switch, table=table, code=code)["text"])


@switch.command()
@CONTROL
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
def status(control: Path, as_json: bool) -> None:
    """Show ports, tables and their counters."""
    import json

    from brimful.switch import ask

    for one in ask(control, "status")["switches"]:
        click.echo(json.dumps(one) if as_json else _status_text(one))


@switch.command()
@click.option("--name", help="Which table of the specification; the first by default.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=1, help="Seed of the random values.")
@click.option("--syntax", type=click.Choice(["tab", "ovs"]), default="tab", help="What to write.")
@click.argument("specification", type=_FILE)
def genflow(name: str | None, seed: int, syntax: str, specification: Path) -> None:
    """Print a synthetic flow table, always the same for a seed.

    SPECIFICATION is a file such as {test3,[{num_flows,128},{match,{1.0,eth_dst,16#ffffff}},allow_arp]}.
    """
    from brimful.switch import generate

    click.echo(generate(specification, name=name, seed=seed, syntax=syntax), nl=False)


@switch.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="SWITCH COMMAND ...")
@click.pass_context
def ofctl(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Query any switch of OpenFlow 1.3 or 1.4, and change its flows, groups, meters and ports.

    SWITCH is tcp:HOST:PORT, unix:PATH, ptcp:PORT to wait until it connects, or the name of a bridge of Open vSwitch.
    Commands: show, probe, dump-desc, dump-ports-desc, dump-tables, dump-flows, dump-aggregate, add-flow, add-flows,
    mod-flows, del-flows, replace-flows, diff-flows, packet-out, dump-ports, mod-port, queue-stats, dump-groups,
    dump-group-stats, add-group, add-groups, mod-group, del-groups, dump-meters, meter-stats, add-meter, mod-meter,
    del-meters, get-frags, set-frags, bundle, monitor, snoop; `ofctl --help` says what each does.
    """
    from brimful.switch import run_ofctl

    context.exit(run_ofctl(arguments))


for _command in (switch_ports.capture, switch_ports.mirror, switch_ports.port, switch_ports.queue):
    switch.add_command(_command)


def _reasons(counts: dict[str, int]) -> str:
    return f" ({', '.join(f'{count} {reason}' for reason, count in counts.items())})" if counts else ""


def _status_text(one: dict[str, Any]) -> str:
    lines = [f"{one['switch']}: datapath {one['dpid']}, threads {one['threads']}"]
    lines[0] += f", groups {one['groups']}, meters {one['meters']}"
    for port in one["ports"]:
        link = "set down" if port["config"] & _PORT_DOWN else "up" if port["has_link"] else "down"
        lines.append(
            f"  port {port['port']} ({port['interface']}, {link}): received {port['received_frames']}, "
            f"dropped {port['received_dropped']}{_reasons(port['received_dropped_because'])}; "
            f"sent {port['sent_frames']}, dropped {port['sent_dropped'] + port['send_errors']}"
            f"{_reasons(port['sent_dropped_because'])}"
            + (f"; copies of {port['cut_short']} cut short" if port["cut_short"] else "")
            + (f"; gets copies of ports {', '.join(map(str, port['mirror_of']))}" if port["mirror_of"] else "")
            + (f"; captures {port['captures']}" if port["captures"] else "")
        )
        lines += [
            f"    queue {queue['queue']}: sent {queue['frames']}, dropped {queue['dropped']}"
            for queue in port["queues"]
        ]
    lines += [
        f"  table {table['table']}: {table['entries']} entries, {table['lookups']} lookups, {table['matches']} matches"
        for table in one["tables"]
    ]
    return "\n".join(lines)
