"""The fast way through lines of the second generation that are exactly as its collector writes them.

All samples of a piece are checked against one template, byte for byte, and their digits turned into numbers eight at a
time. What does not match in any way is left to the readers of JSON, which this must agree with.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from brimful.discards.telemetry.columns import Columns

_SAMPLES = b'"sample":['
_TEMPLATE = b'{"timestamp":%s,"collectstart":%s,"collectend":%s,"value":' % (b"0" * 10, b"0" * 19, b"0" * 19)
_FIRST_DIGITS = [place + 1 for place in range(len(_TEMPLATE)) if _TEMPLATE[place : place + 2] == b":0"]
_VALUE = len(_TEMPLATE)
_COUNTER = b',"counter":'
_COMMAS = 5
"""Of a sample: between its fields, and behind it."""
_PAD = b"," * 32
_DIGITS = 19
"""More may not fit into 64 bits."""


def _words(content: bytes) -> NDArray[np.uint64]:
    return np.frombuffer(content.ljust(-(-len(content) // 8) * 8, b"\0"), np.uint64)


_ZERO = _words(b"0" * 8)[0]
_SIX = np.uint64(0x0606060606060606)
_HIGH = np.uint64(0xF0F0F0F0F0F0F0F0)
_EXPECTED = _words(_TEMPLATE)
_IS_DIGIT = _words(bytes(0xF0 if char == ord("0") else 0 for char in _TEMPLATE))
_FIXED = _words(bytes(0xF0 if char == ord("0") else 0xFF for char in _TEMPLATE))
_COUNTER_EXPECTED = _words(_COUNTER)
_COUNTER_FIXED = _words(b"\xff" * len(_COUNTER))
_LAST = np.array([(2**64 - 1) << (8 * (8 - count)) & (2**64 - 1) for count in range(9)], np.uint64)
"""Masks of the last bytes of a word, as it lies in memory."""


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    experiment: str
    hostname: str
    metric: str


_decode_head = msgspec.json.Decoder(_Head).decode


def read_regular(lines: list[bytes]) -> Columns | None:
    """Read lines; nothing where any of them is not as the collector writes them."""
    heads: dict[bytes, int] = {}
    codes, bodies = [], []
    for line in lines:
        place = line.find(_SAMPLES)
        if place < 1 or not line.endswith(b"}]}"):
            return None
        codes.append(heads.setdefault(line[:place], len(heads)))
        bodies.append(line[place + len(_SAMPLES) : -2])
    read = _samples(bodies)
    if read is None:
        return None
    begin, samples = read
    known = []
    for head in heads:
        try:
            known.append(_decode_head(head[:-1] + b"}" if head.endswith(b",") else b""))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
    names = {}
    for name in ("metric", "hostname", "experiment"):
        texts: dict[str, int] = {}
        of_head = np.array([texts.setdefault(getattr(head, name), len(texts)) for head in known])
        names[name] = (list(texts), of_head[codes])
    ends = np.cumsum([len(body) + 1 for body in bodies])
    length = np.diff(np.searchsorted(begin, ends), prepend=0)
    return Columns(line=np.arange(len(codes)), names=names, length=length, samples=samples)


def _samples(bodies: list[bytes]) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]] | None:
    """Read samples that follow each other, parted by commas; give where each begins, too."""
    # With the commas of the join, padding on both sides.
    text = np.frombuffer(b",".join([_PAD[1:], *bodies, (_PAD * 4)[1:]]), np.uint8)
    inside = text[len(_PAD) : 1 - 4 * len(_PAD)]
    end = np.flatnonzero(inside == ord("}")) + len(_PAD)
    commas = np.flatnonzero(inside == ord(",")) + len(_PAD)
    count = len(end)
    if not count or len(commas) != _COMMAS * count:
        return None
    begin = np.concatenate([[len(_PAD)], end[:-1] + 2])
    fourth = commas[_COMMAS - 2 :: _COMMAS]
    value_begin, counter_begin = begin + _VALUE, fourth + len(_COUNTER)
    if end[-1] != len(_PAD) + len(inside) - 2 or (commas[_COMMAS - 1 :: _COMMAS] != end + 1).any():
        return None
    heads = _windows(text, begin, len(_EXPECTED))
    if (
        ((heads & _FIXED) != _EXPECTED).any()
        or (((heads + _SIX) & _IS_DIGIT) != (_EXPECTED & _IS_DIGIT)).any()
        or ((_windows(text, fourth, len(_COUNTER_EXPECTED)) & _COUNTER_FIXED) != _COUNTER_EXPECTED).any()
    ):
        return None
    if any((text[begin + place] == ord("0")).any() for place in _FIRST_DIGITS):
        return None
    timestamp = _numbers(text, begin + _FIRST_DIGITS[0], begin + _FIRST_DIGITS[0] + 10)
    value = _numbers(text, value_begin, fourth)
    counter = _numbers(text, counter_begin, end)
    if timestamp is None or value is None or counter is None:
        return None
    return begin - len(_PAD), {"timestamp": timestamp.astype(np.int64), "value": value, "counter": counter}


def _windows(text: NDArray[np.uint8], begin: NDArray[np.intp], words: int) -> NDArray[np.uint64]:
    """Give this number of words of eight bytes from each place on."""
    size = 8 * words
    every = np.ndarray((len(text) - size + 1,), f"V{size}", text.data, strides=(1,))
    return every[begin].view(np.uint64).reshape(len(begin), words)


def _numbers(text: NDArray[np.uint8], begin: NDArray[np.intp], end: NDArray[np.intp]) -> NDArray[np.uint64] | None:
    """Read numbers of decimal digits alone; nothing where one of them is none, or is too long."""
    length = end - begin
    if (length < 1).any() or (length > _DIGITS).any() or ((text[begin] == ord("0")) & (length > 1)).any():
        return None
    number = np.zeros(len(begin), np.uint64)
    for place in range(-(-int(length.max()) // 8)):
        mask = _LAST[np.clip(length - 8 * place, 0, 8)]
        word = (_windows(text, end - 8 * (place + 1), 1)[:, 0] & mask) | (_ZERO & ~mask)
        if ((word & _HIGH) != _ZERO).any() or (((word + _SIX) & _HIGH) != _ZERO).any():
            return None
        number += _eight_digits(word) * np.uint64(10 ** (8 * place))
    return number


def _eight_digits(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Turn eight decimal digits, the first in the lowest byte, into their number: pairs, then fours, then all."""
    digits = word - _ZERO
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    low = (pairs & np.uint64(0x000000FF000000FF)) * np.uint64(0x000F424000000064)
    high = ((pairs >> np.uint64(16)) & np.uint64(0x000000FF000000FF)) * np.uint64(0x0000271000000001)
    number: NDArray[np.uint64] = (low + high) >> np.uint64(32)
    return number
