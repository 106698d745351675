"""What can go wrong, by what the user can do about it.

Every message is one line: what, where, how to fix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class BrimfulError(Exception):
    """Any error that is not a defect of brimful itself; ``exit_code`` is what the command ends with."""

    exit_code = 3


class UsageError(BrimfulError):
    """A value that was given is wrong or does not fit the others."""

    exit_code = 2


class RecordError(BrimfulError):
    """A file of records cannot be read, or is not what it should be."""

    exit_code = 2


class RecordWriteError(RecordError):
    """A record cannot be written: what was measured may go on where there is room."""

    exit_code = 3


class MeasureError(BrimfulError):
    """Nothing more can be measured."""

    exit_code = 3


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask whether one of some names was meant, to be put behind what is said of the name; empty where none is like it.

    >>> did_you_mean("brigde", ["bridge", "router"]), did_you_mean("x", ["bridge"])
    (" (did you mean 'bridge'?)", '')
    """
    from difflib import get_close_matches

    alike = get_close_matches(name, map(str, known), n=1, cutoff=0.65)
    return f" (did you mean {alike[0]!r}?)" if alike else ""


_LONGEST_SHOWN = 60
_LONGEST_TEXT = 500
_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
"""What stands for characters that would steer a terminal: their pictures, where there are such."""


def shown(value: object) -> str:
    """Write whatever an error is about in a few words of one line.

    >>> shown("5\\n"), shown([1] * 100)
    ("'5\\\\n'", '[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1...')
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def one_line(text: object, *, longest: int = _LONGEST_TEXT) -> str:
    """Give a text from outside as one line that can be shown: no control characters, and not without end.

    >>> one_line("ports\\n are \\x1b[2J down"), one_line("x" * 10, longest=4)
    ('ports are ␛[2J down', 'xxxx...')
    """
    line = " ".join(str(text).split()).translate(_PICTURES)
    return line if len(line) <= longest else f"{line[:longest]}..."
