"""One record as one line."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import msgspec

from brimful.errors import RecordError
from brimful.records import subjects
from brimful.records.record import Record
from brimful.records.run import SCHEMA, Trial

_LONGEST_S = 1e9
"""What the engine, which counts nanoseconds, takes."""

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
    try:
        record = _decoder(subjects.kinds()).decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"{where}: {error}"
        raise RecordError(message) from error
    except RecursionError as error:
        message = f"{where}: is nested too deeply for a record"
        raise RecordError(message) from error
    if isinstance(record, Trial):
        check_trial(record, where)
    return record


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
