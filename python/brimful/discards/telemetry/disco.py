"""Lines of M-Lab's switch telemetry (DISCO, both generations) to rows.

Whole pieces are read into columns at once; where anything is not as it should be, line by line, so that one bad line is
distinguished from the others.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from brimful.discards import archives
from brimful.discards.archives import Piece, Unread
from brimful.discards.compression import bare_name
from brimful.discards.telemetry.columns import Columns, Decoded, Refused, sort_out
from brimful.discards.telemetry.regular import read_regular
from brimful.discards.telemetry.rows import as_numbers
from brimful.discards.telemetry.source import Source


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


_RANGE_END = re.compile(r"-to-([0-9]{8}T[0-9:]{8})-switch[.]json")


def read_disco(source: Source) -> Iterator[Piece | Unread]:
    """Give the text of a file or of an archive of them, to be decoded in threads."""
    return archives.pieces(source.path, source.stream)


def is_second(name: str) -> bool:
    """Give the generation of a file by its name: nothing in it says so."""
    return bare_name(name).endswith(".jsonl")


def decode(pieces: list[Piece], latest_s: float) -> Decoded:
    """Read pieces of files of one generation; nothing after ``latest_s`` can be right."""
    if not pieces:
        return Decoded()
    second = is_second(pieces[0].name)
    generation = _SECOND if second else _FIRST
    refused: dict[int, str] = {}
    lines = [piece.content.split(b"\n") for piece in pieces]
    columns = _columns_at_once(lines, generation)
    if columns is None:
        columns = _columns_by_line(lines, generation, refused)
    for number in columns.line[columns.length == 0]:
        refused[int(number)] = "has no samples"
    counts = np.array([len(of_piece) for of_piece in lines])
    decoded = Decoded(lines=int(counts.sum()), samples=int(columns.length.sum()))
    piece_of_line = np.searchsorted(np.cumsum(counts), columns.line, side="right")
    if len(columns.line) and second:
        sort_out(columns, latest_s, refused, decoded, file_of_line=piece_of_line)
    elif len(columns.line):
        ends = np.array([_end_of_range(piece.name) for piece in pieces])
        columns = _without_repeated(columns, ends[piece_of_line])
        decoded.repeated = decoded.samples - int(columns.length.sum())
        sort_out(columns, latest_s, refused, decoded)
    decoded.refused = _refused(pieces, counts, refused)
    return decoded


def _columns_at_once(lines: list[list[bytes]], generation: _Generation) -> Columns | None:
    """Read all lines, or nothing when any is not as it should be."""
    every = list(itertools.chain.from_iterable(lines))
    if generation is _SECOND and (regular := read_regular(every)) is not None:
        return regular
    content = b"\n".join(every)
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
    if len(table) != len(every) or any(column.null_count for column in table.columns):
        return None
    (lists,) = table["sample"].chunks
    samples = lists.flatten()
    if samples.null_count or any(samples.field(place).null_count for place in range(samples.type.num_fields)):
        return None
    names = {}
    for name in ("metric", "hostname", "experiment"):
        encoded = table[name].dictionary_encode().chunk(0)
        try:
            names[name] = (encoded.dictionary.to_pylist(), as_numbers(encoded.indices).astype(np.int64))
        except UnicodeDecodeError:
            return None
    return Columns(
        line=np.arange(len(table)),
        names=names,
        length=np.diff(as_numbers(lists.offsets)).astype(np.int64),
        samples={field.name: as_numbers(samples.field(place)) for place, field in enumerate(samples.type)},
    )


def _columns_by_line(texts: list[list[bytes]], generation: _Generation, refused: dict[int, str]) -> Columns:
    """Read line by line; say of the bad ones why they are."""
    lines: list[tuple[int, _Line1 | _Line2]] = []
    for number, text in enumerate(itertools.chain.from_iterable(texts)):
        try:
            line = generation.decoder.decode(text)
            _check_integers(line)
            lines.append((number, line))
        except (msgspec.DecodeError, UnicodeDecodeError, OverflowError, RecursionError) as error:
            refused[number] = _problem(text, error)
    names = {}
    for name in ("metric", "hostname", "experiment"):
        codes: dict[str, int] = {}
        indices = [codes.setdefault(getattr(line, name), len(codes)) for _, line in lines]
        names[name] = (list(codes), np.array(indices, np.int64))
    return Columns(
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


def _problem(text: bytes, error: Exception) -> str:
    if not text.strip():
        return "is empty"
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8"
    # Lines with the same problem at different places have the same reason.
    return re.sub(r"\[[0-9]+\]", "[...]", str(error).splitlines()[0])


def _end_of_range(name: str) -> int:
    """Give the end of the range that the name of a file says, in Unix time; 0 where it says none."""
    found = _RANGE_END.search(name)
    if found is None:
        return 0
    try:
        return int(datetime.datetime.strptime(f"{found[1]}+0000", "%Y%m%dT%H:%M:%S%z").timestamp())
    except ValueError:
        return 0


def _without_repeated(columns: Columns, ends: NDArray[np.int64]) -> Columns:
    """Leave out the last sample of each line, which the next file begins with.

    Where it lies before the end of the file's range, because polls failed at its end, no other file has it: it stays.
    """
    has_last = columns.length > 0
    last = np.cumsum(columns.length)[has_last] - 1
    timestamps = columns.samples["timestamp"]
    repeated = (ends[has_last] == 0) | (timestamps[last] >= ends[has_last])
    stays = np.ones(len(timestamps), bool)
    stays[last[repeated]] = False
    length = columns.length.copy()
    length[has_last] -= repeated
    samples = {name: values[stays] for name, values in columns.samples.items()}
    return Columns(columns.line, columns.names, length, samples)


def _check_integers(line: _Line1 | _Line2) -> None:
    for sample in line.sample:
        if not -(2**63) <= sample.timestamp < 2**63:
            message = f"timestamp {sample.timestamp} is no time"
            raise OverflowError(message)
        if isinstance(sample, _Sample2) and max(sample.value, sample.counter) >= 2**64:
            message = "a value or counter has more than 64 bits"
            raise OverflowError(message)


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
