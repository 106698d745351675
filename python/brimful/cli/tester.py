"""``brimful tester``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from brimful.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimful.cards.card import Card
    from brimful.cards.checking import Check

_COMMANDS = {
    "check": ("brimful.cli.tester:check", "Say what of network cards would falsify a test, and what mends it."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def tester() -> None:
    """See whether this machine and its network cards are fit for a test."""


@click.command()
@click.argument("interfaces", nargs=-1, required=True, metavar="INTERFACE...")
@click.option(
    "--cpu",
    "processors",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="NUMBER",
    help="Processor that the tester is given, as its own option: those of threads that send, then the receiver's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@click.pass_context
def check(context: click.Context, interfaces: tuple[str, ...], processors: tuple[int, ...], as_json: bool) -> None:
    """Say what of each INTERFACE would falsify a test, and the command that mends it.

    It opens and closes those that are not in use, which may restart their links, and changes nothing. Name all that a
    test is to use. Exit code 0: nothing would falsify a test. 1: something would, or prevents it.
    """
    import msgspec

    from brimful.cards.checking import check as check_cards

    found = check_cards(interfaces, processors)
    if as_json:
        for checked in found.interfaces:
            line = {"back_end": found.back_end, **msgspec.to_builtins(checked)}
            click.echo(msgspec.json.encode(line))
    else:
        click.echo("\n".join(_lines(found)))
    context.exit(0 if found.is_clean() else 1)


def _lines(found: Check) -> Iterator[str]:
    for checked in found.interfaces:
        yield f"{checked.card.interface}: {', '.join(_facts(checked.card))}"
        for finding in checked.findings:
            yield f"  {finding.level}: {finding.text}"
            if finding.command is not None:
                yield f"      {finding.command}"
    yield f"The tester takes {found.back_end} here: {found.back_end_remark}."
    clean = "Nothing here would falsify a test."
    yield clean if found.is_clean() else "A test here would be falsified or is not possible: see above."


def _facts(card: Card) -> Iterator[str]:
    from brimful.cards.processors import written_processors

    yield card.driver or "no driver"
    yield "speed not known" if card.speed_bps is None else f"{card.speed_bps / 1e9:g} Gbit/s"
    queues = (card.receiving_queues or 0) + (card.combined_queues or 0)
    if queues:
        yield "1 receive queue" if queues == 1 else f"{queues} receive queues"
    if card.ring is not None:
        yield f"rings of {card.ring} frames"
    yield f"frames up to {card.mtu + 18} bytes"
    if card.numa_node is not None:
        yield f"NUMA node {card.numa_node}"
    if card.interrupts:
        processors = sorted({number for interrupt in card.interrupts for number in interrupt.processors})
        yield f"interrupts on processors {written_processors(processors)}"
    clock = card.hardware_clock
    yield "no hardware time stamps" if clock is None else f"hardware time stamps by clock {clock} (not used)"
