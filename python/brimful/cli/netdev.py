"""``brimful netdev``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimful.measurers.back_ends import BackEnd, Interface


@click.command()
@click.argument("interfaces", nargs=-1, metavar="[INTERFACE]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
def netdev(interfaces: tuple[str, ...], as_json: bool) -> None:
    """List the back ends that work on each INTERFACE, and why the others do not.

    Without INTERFACE it lists all interfaces. Those in use (with an address or in a bridge) are not tried if this would
    interrupt their traffic. The tester takes such an interface only with --force.
    """
    import msgspec

    from brimful.measurers.back_ends import list_back_ends

    found = list_back_ends(interfaces)
    if as_json:
        for interface in found:
            click.echo(msgspec.json.encode(interface))
    elif found:
        click.echo(_table(found))
    else:
        click.echo("There is no interface but lo.", err=True)


def _verdict(interface: Interface, back_end: BackEnd) -> tuple[str, str]:
    if not back_end.works:
        return "no", back_end.obstacle or ""
    if interface.used_for is not None:
        return "--force", f"`{interface.interface}` {interface.used_for}"
    return "yes", ""


def _table(found: Sequence[Interface]) -> str:
    rows = [("INTERFACE", "BACK END", "WORKS", "WHY NOT")]
    for interface in found:
        for index, back_end in enumerate(interface.back_ends):
            name = interface.interface if index == 0 else ""
            rows.append((name, back_end.name, *_verdict(interface, back_end)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
