"""What can go wrong, by what the user can do about it.

Every message is one line: what, where, how to fix.
"""

from __future__ import annotations


class BrimfulError(Exception):
    """Any error that is not a defect of brimful itself; ``exit_code`` is what the command ends with."""

    exit_code = 3


class UsageError(BrimfulError):
    """A value that was given is wrong or does not fit the others."""

    exit_code = 2


class RecordError(BrimfulError):
    """A file of records cannot be read, or is not what it should be."""

    exit_code = 2


class MeasureError(BrimfulError):
    """Nothing more can be measured."""

    exit_code = 3


_LONGEST_SHOWN = 60


def shown(value: object) -> str:
    """Write whatever an error is about in a few words of one line.

    >>> shown("5\\n"), shown([1] * 100)
    ("'5\\\\n'", '[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1...')
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
