"""One record as one line."""

from __future__ import annotations

import math

import msgspec

from brimful.errors import RecordError
from brimful.records.analysis import Finding, Fit, Series, Solution
from brimful.records.campaign import Member
from brimful.records.delay import Delay
from brimful.records.run import SCHEMA, End, Run, Trial, Warning
from brimful.records.throughput import Bound, GoalResult

Record = Run | Trial | Bound | GoalResult | Warning | End | Series | Fit | Solution | Finding | Member | Delay


_LONGEST_S = 1e9
"""What the engine, which counts nanoseconds, takes."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)


def encode(record: Record) -> bytes:
    """Encode one record as one line, newline included."""
    return _encoder.encode(record) + b"\n"


def json_schema() -> bytes:
    """Give the JSON Schema of one record, as in ``schemas/record-v1.json``."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"brimful record, schema {SCHEMA}: one line of a record file",
        **msgspec.json.schema(Record),
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def decode_line(line: bytes, *, where: str) -> Record:
    """Decode one line; ``where`` names it in an error."""
    try:
        record: Record = _decoder.decode(line)
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
