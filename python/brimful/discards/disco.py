"""Lines of M-Lab's switch telemetry (DISCO, both generations) to rows.

Whole pieces are read into columns at once; where anything is not as it should be, line by line, so that one bad line is
told from the others.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from brimful.discards.archives import Piece
from brimful.discards.mislabelled import FIXED_ON_S
from brimful.discards.rows import (
    BIN_US,
    CODES,
    DELTA,
    FIXED,
    LOCAL_OCTETS_RX,
    LOCAL_OCTETS_TX,
    SECOND_US,
    UNKNOWN_DIRECTION,
    Rows,
    day_of,
    empty_rows,
)

EARLIEST_S = int(datetime.datetime(2009, 1, 1, tzinfo=datetime.UTC).timestamp())
"""M-Lab did not measure before."""
_MACHINE = re.compile(r"mlab([1-4])[.-]([a-z]{3}[0-9]{2}t?)(?![a-z0-9])")
_SWITCH = re.compile(r"s[0-9]+[.-]([a-z]{3}[0-9]{2}t?)(?![a-z0-9])")
_NAME_LENGTH = 80


@dataclass(frozen=True)
class Refused:
    """A line that was not taken."""

    source: str
    member: str
    line: int
    reason: str
    text: str


@dataclass
class Decoded:
    """What a number of pieces hold."""

    rows: dict[tuple[str, str, int], Rows] = field(default_factory=dict)
    """By site, machine and day (since 1970)."""
    refused: list[Refused] = field(default_factory=list)
    lines: int = 0
    samples: int = 0
    """That were delivered."""
    repeated: int = 0
    """Samples of the first generation that the next file begins with."""


class _Sample1(msgspec.Struct, gc=False):
    timestamp: int
    value: float


class _Sample2(msgspec.Struct, gc=False):
    timestamp: int
    value: Annotated[int, msgspec.Meta(ge=0)]
    counter: Annotated[int, msgspec.Meta(ge=0)]


class _Line1(msgspec.Struct, gc=False):
    metric: str
    hostname: str
    experiment: str
    sample: list[_Sample1]


class _Line2(msgspec.Struct, gc=False):
    metric: str
    hostname: str
    experiment: str
    sample: list[_Sample2]


def _schema(**sample: pa.DataType) -> pa.Schema:
    names = [(name, pa.string()) for name in ("metric", "hostname", "experiment")]
    return pa.schema([*names, ("sample", pa.list_(pa.struct(list(sample.items()))))])


@dataclass(frozen=True)
class _Generation:
    decoder: msgspec.json.Decoder[_Line1] | msgspec.json.Decoder[_Line2]
    schema: pa.Schema


_FIRST = _Generation(msgspec.json.Decoder(_Line1), _schema(timestamp=pa.int64(), value=pa.float64()))
_SECOND = _Generation(
    msgspec.json.Decoder(_Line2), _schema(timestamp=pa.int64(), value=pa.uint64(), counter=pa.uint64())
)


def is_second(name: str) -> bool:
    """Tell the generation of a file by its name: nothing in it says so."""
    return name.endswith(".jsonl")


@dataclass(frozen=True)
class _Columns:
    """Lines as columns; those that could not be read are absent."""

    line: NDArray[np.int64]
    """Place of each among all lines."""
    names: dict[str, tuple[list[str], NDArray[np.int64]]]
    """Of ``metric``, ``hostname`` and ``experiment``: the different ones, and which of them each line has."""
    length: NDArray[np.int64]
    """Samples of each line."""
    samples: dict[str, NDArray[np.generic]]


def decode(pieces: list[Piece], latest_s: float) -> Decoded:
    """Read pieces of files of one generation; nothing after ``latest_s`` can be right."""
    if not pieces:
        return Decoded()
    second = is_second(pieces[0].name)
    generation = _SECOND if second else _FIRST
    refused: dict[int, str] = {}
    columns = _columns_at_once(pieces, generation)
    if columns is None:
        columns = _columns_by_line(pieces, generation, refused)
    counts = np.array([piece.content.count(b"\n") + 1 for piece in pieces])
    decoded = Decoded(lines=int(counts.sum()), samples=int(columns.length.sum()))
    if len(columns.line):
        piece_of_line = np.searchsorted(np.cumsum(counts), columns.line, side="right")
        _sort_out(columns, piece_of_line, latest_s, second=second, refused=refused, decoded=decoded)
    decoded.refused = _refused(pieces, counts, refused)
    return decoded


def _columns_at_once(pieces: list[Piece], generation: _Generation) -> _Columns | None:
    """Read all lines, or nothing when any is not as it should be."""
    content = b"\n".join([piece.content for piece in pieces])
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(content),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(content) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=generation.schema, unexpected_field_behavior="ignore"
            ),
        ).combine_chunks()
    except pa.ArrowException:
        return None
    if len(table) != content.count(b"\n") + 1 or any(column.null_count for column in table.columns):
        return None
    (lists,) = table["sample"].chunks
    samples = lists.flatten()
    if samples.null_count or any(samples.field(place).null_count for place in range(samples.type.num_fields)):
        return None
    names = {}
    for name in ("metric", "hostname", "experiment"):
        encoded = table[name].dictionary_encode().chunk(0)
        try:
            names[name] = (encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64))
        except UnicodeDecodeError:
            return None
    return _Columns(
        line=np.arange(len(table)),
        names=names,
        length=np.diff(lists.offsets.to_numpy()).astype(np.int64),
        samples={
            field.name: samples.field(place).to_numpy(zero_copy_only=False) for place, field in enumerate(samples.type)
        },
    )


def _columns_by_line(pieces: list[Piece], generation: _Generation, refused: dict[int, str]) -> _Columns:
    """Read line by line; say of the bad ones why they are."""
    lines: list[tuple[int, _Line1 | _Line2]] = []
    texts = (text for piece in pieces for text in piece.content.split(b"\n"))
    for number, text in enumerate(texts):
        try:
            line = generation.decoder.decode(text)
            _check_integers(line)
            lines.append((number, line))
        except (msgspec.DecodeError, UnicodeDecodeError, OverflowError, RecursionError) as error:
            refused[number] = "is empty" if not text.strip() else str(error).splitlines()[0]
    names = {}
    for name in ("metric", "hostname", "experiment"):
        codes: dict[str, int] = {}
        indices = [codes.setdefault(getattr(line, name), len(codes)) for _, line in lines]
        names[name] = (list(codes), np.array(indices, np.int64))
    return _Columns(
        line=np.array([number for number, _ in lines], np.int64),
        names=names,
        length=np.array([len(line.sample) for _, line in lines], np.int64),
        samples={
            field.name: np.array(
                [getattr(sample, field.name) for _, line in lines for sample in line.sample],
                field.type.to_pandas_dtype(),
            )
            for field in generation.schema.field("sample").type.value_type
        },
    )


def _check_integers(line: _Line1 | _Line2) -> None:
    for sample in line.sample:
        if not -(2**63) <= sample.timestamp < 2**63:
            message = f"timestamp {sample.timestamp} is no time"
            raise OverflowError(message)
        if isinstance(sample, _Sample2) and max(sample.value, sample.counter) >= 2**64:
            message = "a value or counter has more than 64 bits"
            raise OverflowError(message)


def _sort_out(
    columns: _Columns,
    piece_of_line: NDArray[np.intp],
    latest_s: float,
    *,
    second: bool,
    refused: dict[int, str],
    decoded: Decoded,
) -> None:
    """Refuse what cannot be right; file the rest under site, machine and day."""
    places, place = _places(columns)
    metric = np.array([CODES.get(name, -1) for name in columns.names["metric"][0]])[columns.names["metric"][1]]
    good = np.ones(len(columns.line), bool)

    def refuse(wrong: NDArray[np.bool_], reason: str) -> None:
        nonlocal good
        for number in columns.line[wrong & good]:
            refused[int(number)] = reason
        good = good & ~wrong

    for code, known in enumerate(places):
        if isinstance(known, str):
            refuse(place == code, known)
    refuse(metric < 0, "has no metric of a switch")
    refuse(columns.length == 0, "has no samples")
    line_of_sample = np.repeat(np.arange(len(columns.line)), columns.length)
    timestamp = columns.samples["timestamp"]
    for reason, wrong in _wrong_clocks(timestamp, latest_s):
        if wrong.any():
            refuse(np.bincount(line_of_sample[wrong], minlength=len(good)) > 0, reason)
    if not second:
        wrong = ~((columns.samples["value"] >= 0) & np.isfinite(columns.samples["value"]))
        refuse(np.bincount(line_of_sample[wrong], minlength=len(good)) > 0, "a value is not a count")
    if second:
        first = np.cumsum(columns.length) - columns.length
        started = np.where(columns.length > 0, np.append(timestamp, 0)[first], 0)
        metric = _unlabelled(metric, piece_of_line * len(places) + place, started)

    taken = good[line_of_sample]
    if not second:
        last = np.cumsum(columns.length[columns.length > 0]) - 1
        decoded.repeated = int(taken[last].sum())
        taken[last] = False
    chosen = slice(None) if taken.all() else np.flatnonzero(taken)
    line_of_sample = line_of_sample[chosen]
    rows = empty_rows(len(line_of_sample))
    rows["metric"] = metric[line_of_sample]
    at_us = timestamp[chosen] * SECOND_US
    if second:
        rows["kind"] = DELTA
        rows["end_us"] = at_us
        rows["delivered"] = columns.samples["value"][chosen]
        rows["counter"] = columns.samples["counter"][chosen]
    else:
        rows["kind"] = FIXED
        rows["start_us"] = at_us
        rows["end_us"] = at_us + BIN_US
        rows["value"] = columns.samples["value"][chosen]
    _file(rows, place[line_of_sample], places, decoded)


def _wrong_clocks(timestamp: NDArray[np.int64], latest_s: float) -> Iterable[tuple[str, NDArray[np.bool_]]]:
    for unit, least in (("nanoseconds", 10**17), ("microseconds", 10**14), ("milliseconds", 10**11)):
        yield f"timestamps are in {unit}, not in seconds", timestamp >= least
    yield "a timestamp is in the future", timestamp > latest_s
    yield "a timestamp is before 2009", timestamp < EARLIEST_S


def _places(columns: _Columns) -> tuple[list[tuple[str, str] | str], NDArray[np.int64]]:
    """Give the different pairs of site and machine, or what is wrong with them; and which of them each line has."""
    hosts, host = columns.names["hostname"]
    switches, switch = columns.names["experiment"]
    pairs, place = np.unique(host * len(switches) + switch, return_inverse=True)
    return [_place(hosts[pair // len(switches)], switches[pair % len(switches)]) for pair in pairs], place


def _place(host: str, switch: str) -> tuple[str, str] | str:
    """Give site and machine, or what is wrong.

    >>> _place("mlab2-dfw07.mlab-oti.measurement-lab.org", "s1-dfw07.measurement-lab.org")
    ('dfw07', 'mlab2')
    """
    machine = _MACHINE.match(host)
    if machine is None:
        return f"hostname {host[:_NAME_LENGTH]!r} is no machine of a site"
    site = _SWITCH.match(switch)
    if site is None:
        return f"experiment {switch[:_NAME_LENGTH]!r} is no switch of a site"
    if site[1] != machine[2]:
        return f"is of another switch: {switch[:_NAME_LENGTH]} is not that of {host[:_NAME_LENGTH]}"
    return machine[2], f"mlab{machine[1]}"


def _unlabelled(
    metric: NDArray[np.int64], file: NDArray[np.int64], started_s: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Take away the direction of local octets where a file calls both the same.

    Before the cut-off a file that has one direction alone may mean either.
    """
    received = np.isin(file, file[metric == LOCAL_OCTETS_RX])
    transmitted = metric == LOCAL_OCTETS_TX
    twice = np.bincount(file, transmitted)[file] > 1
    return np.where(transmitted & ~received & (twice | (started_s < FIXED_ON_S)), UNKNOWN_DIRECTION, metric)


def _file(
    rows: Rows, place: NDArray[np.int64], places: list[tuple[str, str] | str], decoded: Decoded
) -> None:
    if not len(rows):
        return
    day = day_of(rows["end_us"])
    days = int(day.max()) + 1
    key = place * days + day
    # Nearly always all of one place and day or two.
    keys = [int(key[0])] if (key == key[0]).all() else [int(one) for one in np.unique(key)]
    for one in keys:
        known = places[one // days]
        if isinstance(known, tuple):
            decoded.rows[*known, one % days] = rows if len(keys) == 1 else rows[key == one]


def _refused(pieces: list[Piece], counts: NDArray[np.int64], refused: dict[int, str]) -> list[Refused]:
    found = []
    begins = np.cumsum(counts) - counts
    texts: dict[int, list[bytes]] = {}
    for number, reason in sorted(refused.items()):
        place = int(np.searchsorted(begins, number, side="right")) - 1
        piece = pieces[place]
        if place not in texts:
            texts[place] = piece.content.split(b"\n")
        line = number - int(begins[place])
        text = texts[place][line][:1000].decode(errors="replace")
        found.append(Refused(piece.source, piece.member, piece.first_line + line, reason, text))
    return found
