"""What each of more ports than two sent and received, and from which port: of a trial that shows it best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from brimful.records import Goal, Trial
from brimful.report import words
from brimful.report.blocks import Block, Sentence, Table
from brimful.units import format_delay, format_load

STARVED = "starved-ports"
"""Code of the warning of our tester."""
_MOST_NAMED = 10
"""Ways of frames to a wrong port that are named; the record has all."""


class _Port(msgspec.Struct, frozen=True):
    """What our tester says of a port."""

    name: str
    intended: int
    sent: int
    lost: int
    expected: int
    received: int
    misrouted: int


class _Delay(msgspec.Struct, frozen=True):
    """What it says of the delays of its frames, in seconds, its own share included."""

    frames: int
    min_s: float
    mean_s: float
    max_s: float
    jitter_s: float | None = None


class _Direction(msgspec.Struct, frozen=True, rename={"sender": "from", "receiver": "to"}):
    """What it says of a direction."""

    sender: str
    receiver: str
    sent: int
    lost: int
    misrouted_at: dict[str, int] = {}
    delay: _Delay | None = None


def blocks(trials: Sequence[Trial], load_unit: str) -> list[Block]:
    """Give the tables of the ports, and how far they were out of step; nothing where there are two.

    The trial is the one with the least share of lost frames, and of those the one with the largest load: where nothing
    was lost, what a throughput rests on.
    """
    told = [trial for trial in trials if trial.invalid is None and _said(trial.extra.get("ports"), list[_Port])]
    if not told:
        return []
    shown = min(
        told, key=lambda trial: (trial.stopped_early, trial.lost / max(trial.sent, 1), -trial.load, -trial.sent)
    )
    ports: list[_Port] = _said(shown.extra["ports"], list[_Port])
    directions: list[_Direction] = _said(shown.directions, list[_Direction]) or []
    where = f"trial {shown.seq} at {format_load(shown.load, load_unit)}"
    found: list[Block] = [_ports(ports, where), _matrix(ports, directions), *_delays(ports, directions)]
    found += [Sentence(text) for text in (_strays(directions), _slip(told)) if text]
    return found


def remarks(trials: Sequence[Trial]) -> list[str]:
    """Name the ports that were dead or starved in trials that count, each set of them once."""
    texts = [
        str(note.get("text", ""))
        for trial in trials
        # One that was stopped has sent no port all that was due.
        if trial.invalid is None and not trial.stopped_early
        for note in trial.warnings
        if note.get("code") == STARVED
    ]
    return [f"{text} ({words.count(texts.count(text), 'trial')})" for text in dict.fromkeys(texts)]


def beyond(goal: Goal, load: float, trials: Sequence[Trial]) -> list[str]:
    """Name the ports that lost more than a goal permits at its load; trials are those that met it over all ports."""
    sums: dict[str, tuple[int, int]] = {}
    for trial in trials:
        if trial.invalid is None and trial.load == load:
            for way in _said(trial.directions, list[_Direction]) or []:
                sent, lost = sums.get(way.receiver, (0, 0))
                sums[way.receiver] = (sent + way.sent, lost + way.lost)
    shares = {name: lost / sent for name, (sent, lost) in sums.items() if sent}
    return [
        f"goal {goal.name}: {words.share(lost)} of the frames to {name} were lost at its load, more than the goal's"
        f" {words.share(goal.loss_ratio)}, which is of all ports together"
        for name, lost in shares.items()
        if goal.loss_ratio < lost
    ]


def _said(value: Any, kind: Any) -> Any:  # noqa: ANN401 - whatever a tester answered
    """Give what a tester said as ours does; nothing where it says something else."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def _ports(ports: Sequence[_Port], where: str) -> Table:
    names = ["port", "intended", "sent", "lost of that", "sent to it", "received", "at the wrong port"]
    return Table(
        title=f"Ports in {where}",
        names=names,
        rows=[
            [
                port.name,
                *map(
                    words.group,
                    (port.intended, port.sent, port.lost, port.expected, port.received, port.misrouted),
                ),
            ]
            for port in ports
        ],
        key="ports",
        words=1,
    )


def _matrix(ports: Sequence[_Port], directions: Sequence[_Direction]) -> Table:
    ways = {(way.sender, way.receiver): way for way in directions}
    names = [port.name for port in ports]
    rows = [[sender, *(_cell(ways.get((sender, receiver))) for receiver in names)] for sender in names]
    return Table(
        title="Frames received in it, by the port that sent them (rows) and the port they were for",
        names=["from", *names],
        rows=rows,
        key="matrix",
        words=1,
    )


def _delays(ports: Sequence[_Port], directions: Sequence[_Direction]) -> list[Table]:
    """Show latency and jitter at each port (RFC 8239 section 2); nothing where they were not measured."""
    rows = []
    for port in ports:
        seen = [way.delay for way in directions if way.receiver == port.name and way.delay and way.delay.frames]
        frames = sum(one.frames for one in seen)
        if frames:
            mean_s = sum(one.mean_s * one.frames for one in seen) / frames
            jitters = [(one.jitter_s, one.frames) for one in seen if one.jitter_s is not None]
            weight = sum(count for _, count in jitters)
            jitter = format_delay(sum(value * count for value, count in jitters) / weight) if weight else "-"
            ends = (min(one.min_s for one in seen), mean_s, max(one.max_s for one in seen))
            rows.append([port.name, *map(format_delay, ends), jitter])
    title = "Delays of the frames in it, by the port they were for, the tester's own share included"
    names = ["port", "least", "mean", "most", "jitter"]
    return [Table(title=title, names=names, rows=rows, key="port-delays", words=1)] if rows else []


def _cell(way: _Direction | None) -> str:
    if way is None:
        return "-"
    received = words.group(way.sent - way.lost)
    return f"{received} of {words.group(way.sent)}" if way.lost else received


def _strays(directions: Sequence[_Direction]) -> str:
    strays = [
        f"{words.group(count)} from {way.sender} to {way.receiver} at {port}"
        for way in directions
        for port, count in way.misrouted_at.items()
    ]
    if not strays:
        return ""
    more = f", and {len(strays) - _MOST_NAMED} more ways" if len(strays) > _MOST_NAMED else ""
    return f"Frames arrived at ports that they were not for: {', '.join(strays[:_MOST_NAMED])}{more}."


def _slip(trials: Sequence[Trial]) -> str:
    slips = [slip for trial in trials if isinstance(slip := trial.extra.get("slip_frames"), int)]
    if not slips:
        return ""
    return (
        f"The greatest slip between ports was {words.count(max(slips), 'frame')} in any trial: outputs were overloaded "
        "by up to as many for a moment."
    )
