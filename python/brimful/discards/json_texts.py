"""JSON as people and programs save it: one document, one a line, or several that follow each other."""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from brimful.discards.compression import DamagedError, Readable
from brimful.discards.texts import encoding_of

MAX_BYTES = 1 << 26
"""No result or row is nearly as large; what is larger is something else."""
_FIRST_BYTES = 1 << 16
_INK = re.compile(r"\S")
_NO_NUMBER = re.compile(rb"(:\s*)[+-]?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
_ANSWER = '"resultType"'
_ANSWER_WITHIN = 1000
"""An answer of Prometheus is one long line, which says so at its beginning."""


def documents(
    file: BinaryIO, *, lines_alone: bool = False, max_bytes: int = MAX_BYTES
) -> Iterator[tuple[int, bytes | None]]:
    """Give documents with the number of the line that each begins in; nothing where one is too large.

    ``lines_alone``: a document is never longer than a line.
    """
    head = file.readline(max_bytes)
    encoding, mark = encoding_of(head)
    if encoding != "utf-8":
        file = io.BytesIO(
            (head + file.read()).decode(encoding, errors="replace").encode().removeprefix(b"\xef\xbb\xbf")
        )
        head, mark = file.readline(max_bytes), 0
    every = enumerate(itertools.chain([head[mark:]], iter(lambda: file.readline(max_bytes), b"")), start=1)
    lines = ((number, line) for number, line in every if line.strip())
    begin = list(itertools.islice(lines, 2))
    alone = len(begin) < 2 and all(b"}{" not in line for _, line in begin)
    if lines_alone or alone:
        yield from begin
        yield from lines
        return
    if _is_whole(begin[0][1]):
        yield begin[0]
        yield from _lines(itertools.chain(begin[1:], lines), file, max_bytes)
        return
    content = b"".join(line for _, line in begin) + file.read(max_bytes)
    if len(content) > max_bytes:
        yield 1, None
        return
    yield from _parted(content, begin[0][0])


def _lines(lines: Iterable[tuple[int, bytes]], file: BinaryIO, max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Give documents of a line each, until one goes over several; `lines` are read from the file as they are taken."""
    for number, line in lines:
        if line.rstrip().endswith((b"}", b"]")):
            yield number, line
            continue
        content = line + file.read(max_bytes)
        if len(content) <= max_bytes:
            yield from _parted(content, number)
            return
        # Of a long file of lines, one is damaged.
        content += file.readline(max_bytes)
        rest = itertools.chain(io.BytesIO(content), iter(lambda: file.readline(max_bytes), b""))
        yield from ((place, each) for place, each in enumerate(rest, start=number) if each.strip())
        return


def first_object(stream: Readable) -> dict[str, Any] | None:
    """Give the first object of a text, alone or in a list; nothing where there is none, or it answers a query."""
    begin, size = b"", _FIRST_BYTES
    ended = False
    while not ended and size <= MAX_BYTES:
        try:
            while len(begin) < size and not ended:
                block = stream.read(size)
                begin, ended = begin + block, not block
        except DamagedError:
            ended = True
        encoding, mark = encoding_of(begin)
        text = begin[mark:].decode(encoding, errors="replace").lstrip("[ \t\r\n")
        if _ANSWER in text[:_ANSWER_WITHIN]:
            return None
        try:
            found = json.JSONDecoder().raw_decode(text)[0]
        except (ValueError, RecursionError):
            size *= 4
        else:
            return found if isinstance(found, dict) else None
    return None


def _parted(content: bytes, first: int) -> Iterator[tuple[int, bytes]]:
    """Part documents that follow each other, as a log that is appended to has them."""
    text = content.decode(errors="replace")
    decoder = json.JSONDecoder()
    place, line = 0, first
    while place < len(text):
        found = _INK.search(text, place)
        if found is None:
            return
        begin = found.start()
        line += text.count("\n", place, begin)
        try:
            end = decoder.raw_decode(text, begin)[1]
        except (ValueError, RecursionError):
            # What is no document ends where the next may begin.
            following = text.find("\n{", begin)
            end = len(text) if following < 0 else following
        yield line, text[begin:end].encode()
        line += text.count("\n", begin, end)
        place = end


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def decoded_json(text: bytes) -> Any:  # noqa: ANN401  # Whatever is in it.
    """Decode a document, in which ``NaN`` and ``Infinity`` of Python are null; raises what msgspec does."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return msgspec.json.decode(without_nan(text))


def without_nan(text: bytes) -> bytes:
    """Give a text in which ``nan`` and ``inf``, which C prints for what cannot be computed, are null.

    >>> without_nan(b'{"lost_percent": -nan, "packets": 0}')
    b'{"lost_percent": null, "packets": 0}'
    """
    return _NO_NUMBER.sub(rb"\1null", text)
