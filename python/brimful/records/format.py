"""One record as one line."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from brimful.errors import RecordError
from brimful.records import subjects
from brimful.records.campaign import Member
from brimful.records.measurer import with_other_facts
from brimful.records.record import Record
from brimful.records.run import SCHEMA, Run, Trial

_LONGEST_S = 1e9
"""What the engine, which counts nanoseconds, takes."""

_LARGEST_FACTOR = 1e9
"""Far more directions than any tester has."""
_ESCAPE = re.compile(rb"\\(u00[0189][0-9a-fA-F]|u007[fF]|.)|\xc2[\x80-\x9f]", re.DOTALL)
_SHORT = {b"b": 8, b"f": 12, b"r": 13}

_encoder = msgspec.json.Encoder()


def _any_of(kinds: tuple[type[Record], ...]) -> Any:  # noqa: ANN401 - a union has no type of its own
    return functools.reduce(operator.or_, kinds)


@functools.cache
def _decoder(kinds: tuple[type[Record], ...]) -> msgspec.json.Decoder[Record]:
    return msgspec.json.Decoder(_any_of(kinds))


def encode(record: Record) -> bytes:
    """Encode one record as one line, newline included."""
    return _encoder.encode(record) + b"\n"


def json_schema() -> bytes:
    """Give the JSON Schema of one record, as in ``schemas/record-v1.json``."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"brimful record, schema {SCHEMA}: one line of a record file",
        **msgspec.json.schema(_any_of(subjects.kinds())),
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def decode_line(line: bytes, *, where: str) -> Record:
    """Decode one line; ``where`` names it in an error."""
    return next(decode_lines([(line, where)]))


def decode_lines(lines: Iterable[tuple[bytes, str]]) -> Iterator[Record]:
    """Decode lines, each with its name in an error."""
    decoder = _decoder(subjects.kinds())
    for line, where in lines:
        yield _decode(decoder, line, where)


def _decode(decoder: msgspec.json.Decoder[Record], line: bytes, where: str) -> Record:
    try:
        shown = _ESCAPE.sub(_visible, line)
        record = decoder.decode(shown)
        if isinstance(record, Run):
            record = _with_other_facts(record, shown)
        elif isinstance(record, Member) and record.run is not None:
            run = _with_other_facts(record.run, bytes(_member_decoder.decode(shown).run))
            record = msgspec.structs.replace(record, run=run)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"{where}: {error}"
        raise RecordError(message) from error
    except RecursionError as error:
        message = f"{where}: is nested too deeply for a record"
        raise RecordError(message) from error
    if isinstance(record, Trial):
        check_trial(record, where)
    elif isinstance(record, Run):
        check_run(record, where)
    return record


class _WrittenMember(msgspec.Struct):
    run: msgspec.Raw


_member_decoder = msgspec.json.Decoder(_WrittenMember)


def _with_other_facts(run: Run, written: bytes) -> Run:
    return msgspec.structs.replace(run, measurer=with_other_facts(run.measurer, written))


def _visible(found: re.Match[bytes]) -> bytes:
    """Give a picture for a character that would steer a terminal; ends of lines and tabulators stay."""
    escape = found[1]
    if escape is None:
        return "\N{REPLACEMENT CHARACTER}".encode()
    code = int(escape[1:], 16) if len(escape) > 1 else _SHORT.get(escape)
    if code is None or code in (9, 10):
        return found[0]
    return chr(0x2400 + code if code < 0x20 else 0x2421 if code == 0x7F else 0xFFFD).encode()


def check_run(run: Run, where: str) -> None:
    """Refuse a factor that nothing can be multiplied with, naming the place, the field and the value."""
    if not 1 / _LARGEST_FACTOR <= run.conversion_factor <= _LARGEST_FACTOR:
        message = (
            f"{where}: conversion_factor is {run.conversion_factor:g};"
            f" it must be from {1 / _LARGEST_FACTOR:g} to {_LARGEST_FACTOR:g}"
        )
        raise RecordError(message)


def check_trial(trial: Trial, where: str) -> None:
    """Refuse numbers that no trial can have, naming the place, the field and the value."""
    for field in ("intended", "sent", "lost"):
        count = getattr(trial, field)
        if not 0 <= count < 2**64:
            message = f"{where}: {field} is {count:.17g}; a count is a whole number from 0 to below 2^64"
            raise RecordError(message)
    if trial.lost > trial.sent:
        message = f"{where}: lost {trial.lost} is above sent {trial.sent}"
        raise RecordError(message)
    for field, value in (("load", trial.load), ("duration_s", trial.duration_s)):
        if not 0 < value < math.inf:
            message = f"{where}: {field} is {value:g}; it must be above 0"
            raise RecordError(message)
    for field in ("duration_s", "effective_duration_s", "delay_p99_s"):
        seconds = getattr(trial, field)
        if seconds is not None and not 0 <= seconds <= _LONGEST_S:
            message = f"{where}: {field} is {seconds:g}; it must be from 0 to {_LONGEST_S:g} s"
            raise RecordError(message)
