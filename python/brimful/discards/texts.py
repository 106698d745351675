"""Texts as people save them: with a mark of their encoding at the beginning, or in the one of a Windows shell."""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def encoding_of(begin: bytes) -> tuple[str, int]:
    """Give the encoding that the first bytes of a text say, and how long the mark is.

    >>> encoding_of(b"\\xef\\xbb\\xbf{}"), encoding_of(b"{}")
    (('utf-8', 3), ('utf-8', 0))

    Without a mark, every second octet of the first letters is 0 in UTF-16.

    >>> encoding_of("{}".encode("utf-16-le"))
    ('utf-16-le', 0)
    """
    for mark, name in _MARKS:
        if begin.startswith(mark):
            return name, len(mark)
    for name, first, second in (("utf-16-le", begin[:1], begin[1:2]), ("utf-16-be", begin[1:2], begin[:1])):
        if second == b"\0" < first < b"\x80":
            return name, 0
    return "utf-8", 0


def decoded(octets: bytes) -> str:
    """Give the words in octets: UTF-8, or Latin-1, in which any octets are words and different ones differ.

    >>> decoded("Zürich".encode("latin-1"))
    'Zürich'
    """
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def as_utf8(content: bytes) -> bytes:
    """Give a text in UTF-8 without a mark.

    Raises
    ------
    UnicodeDecodeError
        When it is not in the encoding that it says.
    """
    name, length = encoding_of(content)
    return content[length:] if name == "utf-8" else content[length:].decode(name).encode()
