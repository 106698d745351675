"""JSON documents of speed tests: one a file, one a line, or a list of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa

from brimful.discards.json_texts import documents, without_nan
from brimful.discards.speed_tests import iperf3, ndt, ookla
from brimful.discards.speed_tests.mapping import Mapping, choose_mappings, missing_columns
from brimful.discards.speed_tests.rows import Server, SpeedTest, Tally
from brimful.discards.speed_tests.tables import read_table

BATCH_ROWS = 20_000
_OTHERS = ("timestamp", "download", "upload", "interface", "result", "intervals", "succeeded", "x_values", "Key")


class Document(ndt.Result):
    """A result of any of the known speed tests: their fields do not overlap."""

    a: ndt.Analysed | None = None
    raw: ndt.Result | None = None
    server: ndt.Host | None = None
    client: ndt.Host | None = None
    start: iperf3.Start | None = None
    end: iperf3.End | None = None
    error: str | None = None
    # Of Ookla and others; tables have columns of these names, too, with anything in them.
    type: Any = None
    timestamp: Any = None
    download: Any = None
    upload: Any = None
    interface: Any = None
    result: Any = None
    intervals: Any = None
    succeeded: Any = None
    x_values: Any = None
    Key: Any = None


# Exports of BigQuery write whole numbers of 64 bits as text.
_DECODER: msgspec.json.Decoder[Document | list[Document]] = msgspec.json.Decoder(
    Document | list[Document], strict=False
)


def read_documents(
    file: BinaryIO,
    member: str,
    server: Server | None,
    tally: Tally,
    *,
    lines_alone: bool,
    mappings: tuple[Mapping, ...] | None = None,
    zone: str | None = None,
) -> Iterator[SpeedTest | pa.Table]:
    """Give the tests in a file of JSON; ``lines_alone``: a document is never longer than a line.

    Rows of tables are recognised by their names, or by ``mappings``.
    """
    rows = _Rows(mappings, server, tally, member, zone)
    for number, text in iperf3.joined(ookla.without_progress(documents(file, lines_alone=lines_alone))):
        if text is None:
            tally.results += 1
            tally.reject("is too large for one result; write one a line", member=member)
            return
        yield from _read_text(text, number, rows)
        if len(rows.waiting) >= BATCH_ROWS:
            yield from rows.take()
    yield from rows.take()


class _Rows:
    """Rows of tables among documents, which are read together."""

    def __init__(
        self, mappings: tuple[Mapping, ...] | None, server: Server | None, tally: Tally, member: str, zone: str | None
    ) -> None:
        self.mappings = mappings
        self.server = server
        self.tally = tally
        self.member = member
        self.zone = zone
        self.waiting: list[tuple[int, dict[str, str | None]]] = []

    def put(self, number: int, document: object) -> bool:
        """Keep a row; say whether it is one."""
        if not isinstance(document, dict):
            return False
        row = dict(_flat(document))
        if self.mappings is None and choose_mappings(list(row)) is None:
            return False
        self.waiting.append((number, row))
        return True

    def take(self) -> list[pa.Table]:
        """Give the tests of all rows that wait."""
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return []
        names = list(dict.fromkeys(name for _, row in waiting for name in row))
        table = pa.table({name: pa.array([row.get(name) for _, row in waiting], pa.string()) for name in names})
        numbers = np.array([number for number, _ in waiting], np.int64)
        chosen = self.mappings or choose_mappings(names)
        missing = sorted({name for mapping in chosen or () for name in missing_columns(mapping, names)})
        if chosen is None or missing:
            self.tally.results += len(waiting)
            self.tally.reject(f"has no column {', '.join(missing)}", member=self.member, count=len(waiting))
            return []
        return read_table(table, numbers, chosen, self.server, self.tally, member=self.member, zone=self.zone)


def _flat(document: dict[str, Any], outer: str = "") -> Iterator[tuple[str, str | None]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{outer}{name}.")
        elif not isinstance(value, list):
            yield f"{outer}{name}", None if value is None else str(value)


def _parts(text: bytes) -> list[msgspec.Raw]:
    """Give the documents of a list one by one, so that one that is none costs no other."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(without_nan(text), type=list[msgspec.Raw])
    return []


def _read_text(text: bytes, number: int, rows: _Rows, *, is_part: bool = False) -> Iterator[SpeedTest]:
    tally, member = rows.tally, rows.member
    try:
        decoded = _decoded(text)
    except msgspec.ValidationError as error:
        parts = [] if is_part else _parts(text)
        for part in parts:
            yield from _read_text(bytes(part), number, rows, is_part=True)
        if parts:
            return
        problem = f"has a wrong type: {error}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        problem = "is not JSON"
    else:
        plain = None
        if decoded == []:
            tally.results += 1
            tally.empty += 1
        for place, document in enumerate(decoded if isinstance(decoded, list) else [decoded]):
            try:
                tests = _tests_of(document, rows.server)
            except ndt.ResultError as error:
                plain = msgspec.json.decode(text) if plain is None else plain
                if rows.put(number, plain[place] if isinstance(plain, list) else plain):
                    continue
                tally.results += 1
                tally.reject(str(error), member=member, line=number, text=text.decode(errors="replace"))
                continue
            tally.results += 1
            tally.without_transfer += not tests
            yield from tests
        return
    tally.results += 1
    tally.reject(problem, member=member, line=number, text=text.decode(errors="replace"))


def _decoded(text: bytes) -> Document | list[Document]:
    try:
        return _DECODER.decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return _DECODER.decode(without_nan(text))


def _tests_of(document: Document, server: Server | None) -> list[SpeedTest]:
    if document.start is not None:
        return iperf3.tests_of(document.start, document.end, document.error, server)
    if document.a is not None or document.raw is not None:
        return ndt.tests_of_row(document.a, document.raw, document.server, document.client, server)
    others = {name: getattr(document, name) for name in _OTHERS}
    if document.type == "result" and document.result is not None:
        return ookla.tests_of(others, server)
    reason = ookla.other(others)
    if reason is not None:
        raise ndt.ResultError(reason)
    return ndt.tests_of(document, server)
