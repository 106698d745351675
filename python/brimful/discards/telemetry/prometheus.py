"""Counters of the SNMP exporter: answers of Prometheus saved as JSON, and what VictoriaMetrics exports."""

from __future__ import annotations

import io
from collections.abc import Iterator

import msgspec

from brimful.discards.archives import WholeLines
from brimful.discards.compression import uncompressed
from brimful.discards.json_texts import documents
from brimful.discards.telemetry.columns import Decoded, Refused
from brimful.discards.telemetry.seen import Series, Value
from brimful.discards.telemetry.series import read_series
from brimful.discards.telemetry.source import Settled, Source, UnreadableError
from brimful.discards.telemetry.strangers import advice_on

MAX_BYTES = 256 << 20
"""An answer is held in memory; Prometheus itself gives at most 11,000 samples of a series."""


class _Data(msgspec.Struct):
    result: list[Series]
    result_type: str = msgspec.field(name="resultType", default="matrix")


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


class _Vector(msgspec.Struct):
    """An answer without series over time."""

    class Data(msgspec.Struct):
        result_type: str = msgspec.field(name="resultType")

    data: Data


class _Exported(msgspec.Struct):
    """A line of ``/api/v1/export`` of VictoriaMetrics, with times in milliseconds."""

    metric: dict[str, str]
    values: list[Value]
    timestamps: list[float]


_FORMS = tuple(msgspec.json.Decoder(form, strict=False) for form in (_Answer, _Data, list[Series], _Exported, _Vector))


def read_answer(source: Source) -> Iterator[Decoded | Settled]:
    """Read answers of ``/api/v1/query_range``, or exported series; each series is a line.

    Raises
    ------
    UnreadableError
        When there is none.
    DamagedError
        When it is damaged; what was given before is good.
    """
    found: dict[tuple[tuple[str, str], ...], Series] = {}
    problems: list[Refused] = []
    with source.path.open("rb") as file:
        lines = WholeLines(uncompressed(file))
        for number, text in documents(io.BufferedReader(lines, 1 << 20), max_bytes=MAX_BYTES):
            try:
                for one in _series_of(text):
                    # Answers that follow each other are of ranges that do.
                    of_all = found.setdefault(tuple(sorted(one.metric.items())), one)
                    of_all.values += one.values if of_all is not one else []
            except UnreadableError as error:
                problems.append(
                    Refused(str(source.path), "", number, str(error), (text or b"")[:1000].decode(errors="replace"))
                )
    if lines.damage is not None and not found:
        raise lines.damage
    if not found:
        raise UnreadableError(problems[0].reason if problems else "is empty")
    yield Decoded(lines=len(problems), refused=problems)
    yield from read_series(list(found.values()), source)
    if lines.damage is not None:
        raise lines.damage


def _series_of(text: bytes | None) -> list[Series]:
    if text is None:
        message = f"has more than {MAX_BYTES >> 20} MiB; save shorter ranges"
        raise UnreadableError(message)
    match _decode(text):
        case _Answer(status="success", data=_Data() as data) | (_Data() as data):
            if data.result_type == "matrix" and data.result:
                return data.result
            matrix = data.result_type == "matrix"
            message = "has no series" if matrix else _not_over_time(data.result_type)
        case _Answer(status=status, error=error):
            message = f"is the answer to a query that failed: {error or status}"
        case _Vector(data=data):
            message = _not_over_time(data.result_type)
        case _Exported(metric=metric, values=values, timestamps=timestamps) if len(values) == len(timestamps):
            return [Series(metric, list(zip(timestamps, values, strict=True)))]
        case _Exported():
            message = "has not as many values as timestamps"
        case list() as found:
            return found
    raise UnreadableError(message)


def _not_over_time(kind: str) -> str:
    return f"holds a {kind}; save the answer of /api/v1/query_range"


def _decode(text: bytes) -> object:
    for form in _FORMS:
        try:
            return form.decode(text)
        except msgspec.ValidationError:
            continue
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = f"is no JSON: {str(error).splitlines()[0]}"
            raise UnreadableError(message) from error
    raise UnreadableError(advice_on(text))
