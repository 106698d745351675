"""An object file with an XDP program, as clang makes them: tests need no compiler for BPF."""

import struct
from pathlib import Path

XDP_DROP, XDP_PASS = 1, 2
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATABLE, _BPF = 1, 247
_CODE, _TEXT, _SYMBOLS = 1, 3, 2
_ALLOCATED, _EXECUTABLE = 2, 4
_GLOBAL_FUNCTION = 0x12
_REDIRECT = 23
"""The number of `bpf_redirect`."""


def same_for_all(answer: int) -> bytes:
    """A program that gives this answer for every frame."""
    # r0 = answer; exit
    return _instruction(0xB7, 0, 0, answer) + _instruction(0x95)


def to_the_other(interfaces: tuple[int, int]) -> bytes:
    """A program that sends each frame out of the other of two interfaces, which are given by their numbers."""
    return (
        _instruction(0x61, 0x12, 12)  # r2 = the interface that it came in by
        + _instruction(0xB7, 1, 0, sum(interfaces))  # r1 = both
        + _instruction(0x1F, 0x21)  # r1 -= r2
        + _instruction(0xB7, 2)  # r2 = no flags
        + _instruction(0x85, 0, 0, _REDIRECT)  # r0 = bpf_redirect(r1, r2)
        + _instruction(0x95)  # exit
    )


def _instruction(code: int, registers: int = 0, offset: int = 0, number: int = 0) -> bytes:
    return struct.pack("<BBhi", code, registers, offset, number)


def write_xdp_object(path: Path, code: bytes, section: str = "xdp") -> None:
    """Write an object file with a program."""
    names = b"\0" + b"\0".join(name.encode() for name in (section, "license", "answer", ".symtab", ".strtab")) + b"\0"

    def name(text: str) -> int:
        return names.index(f"\0{text}\0".encode()) + 1

    symbols = _SYMBOL.pack(0, 0, 0, 0, 0, 0) + _SYMBOL.pack(name("answer"), _GLOBAL_FUNCTION, 0, 1, 0, len(code))
    parts = [
        (section, _CODE, _ALLOCATED | _EXECUTABLE, code, 0, 8, 0),
        ("license", _CODE, _ALLOCATED, b"GPL\0", 0, 1, 0),
        (".symtab", _SYMBOLS, 0, symbols, 4, 8, _SYMBOL.size),
        (".strtab", _TEXT, 0, names, 0, 1, 0),
    ]
    sections, body = bytes(_SECTION.size), b""
    for title, kind, flags, content, link, alignment, entry in parts:
        body += bytes(-len(body) % 8)
        place = _HEADER.size + len(body)
        # Of symbols: the first that is not local.
        information = 1 if kind == _SYMBOLS else 0
        sections += _SECTION.pack(name(title), kind, flags, 0, place, len(content), link, information, alignment, entry)
        body += content
    body += bytes(-len(body) % 8)
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    count = len(parts) + 1
    header = _HEADER.pack(
        identity, _RELOCATABLE, _BPF, 1, 0, 0, _HEADER.size + len(body), 0, _HEADER.size, 0, 0, _SECTION.size, count, 4
    )
    path.write_bytes(header + body + sections)
