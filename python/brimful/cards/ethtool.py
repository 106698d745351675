"""What drivers say of their interfaces: commands of `linux/ethtool.h` that only ask."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import socket
import struct
from typing import Self

_LONGEST_NAME = 15
_SIOCETHTOOL = 0x8946
_SIOCGIFFLAGS = 0x8913
_SIOCGIFMTU = 0x8921
_IFF_UP, _IFF_RUNNING = 1, 1 << 6
_GET_SETTINGS, _GET_DRIVER, _GET_COALESCING, _GET_RINGS, _GET_PAUSE = 0x1, 0x3, 0xE, 0x10, 0x12
_GET_STRINGS, _COUNT_STRINGS, _GET_FEATURES, _GET_CHANNELS, _GET_TIME_STAMPING = 0x1B, 0x37, 0x3A, 0x3C, 0x41
_FEATURE_NAMES = 4
"""`ETH_SS_FEATURES`: the set of strings that names features."""
_STRING_LEN = 32
_SPEEDS_UNKNOWN = {0, 0xFFFF, 0xFFFFFFFF}
_HALF_DUPLEX, _FULL_DUPLEX = 0, 1


class Interface:
    """Asks the kernel about an interface of this network namespace; None for what its driver does not answer.

    Parameters
    ----------
    name
        Of the interface, which need not exist.
    """

    def __init__(self, name: str) -> None:
        self._name = name.encode()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def __enter__(self) -> Self:
        """Give the interface itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the socket."""
        self._socket.close()

    def mtu(self) -> int:
        """Give the bytes that a frame carries beside its Ethernet header.

        Raises
        ------
        OSError
            When there is no such interface.
        """
        return int(struct.unpack_from("i", self._request(_SIOCGIFMTU), 16)[0])

    def state(self) -> tuple[bool, bool]:
        """Give whether it is set up, and whether it has a carrier then.

        Raises
        ------
        OSError
            When there is no such interface.
        """
        (flags,) = struct.unpack_from("H", self._request(_SIOCGIFFLAGS), 16)
        return bool(flags & _IFF_UP), bool(flags & _IFF_RUNNING)

    def driver(self) -> tuple[str, str]:
        """Give the driver's name, and the address of the card on its bus; "" for what there is not."""
        answer = self._ask(_GET_DRIVER, 196)
        return ("", "") if answer is None else (_text(answer[4:36]), _text(answer[100:132]))

    def link(self) -> tuple[int | None, bool | None]:
        """Give the speed in bits a second, and whether it sends and receives at once."""
        answer = self._ask(_GET_SETTINGS, 44)
        if answer is None:
            return None, None
        low, duplex, high = struct.unpack_from("=HB13xH", answer, 12)
        megabits = high << 16 | low
        speed = None if megabits in _SPEEDS_UNKNOWN else megabits * 1_000_000
        return speed, {_HALF_DUPLEX: False, _FULL_DUPLEX: True}.get(duplex)

    def channels(self) -> tuple[int, int] | None:
        """Give how many queues are there to receive alone, and how many to send and receive."""
        words = self._ask_words(_GET_CHANNELS, 9)
        return None if words is None else (words[5], words[8])

    def rings(self) -> tuple[int, int] | None:
        """Give how many arrived frames a queue holds, and how many it can be set to hold."""
        words = self._ask_words(_GET_RINGS, 9)
        return None if words is None else (words[5], words[1])

    def pause(self) -> tuple[bool, bool] | None:
        """Give whether it stops for pause frames, and whether it sends some."""
        words = self._ask_words(_GET_PAUSE, 4)
        return None if words is None else (words[2] != 0, words[3] != 0)

    def coalescing(self) -> tuple[int, bool] | None:
        """Give how many microseconds an arrived frame may wait for its interrupt, and whether that adapts itself."""
        words = self._ask_words(_GET_COALESCING, 23)
        return None if words is None else (words[1], words[10] != 0)

    def hardware_clock(self) -> int | None:
        """Give the number of the clock by which the card stamps frames."""
        words = self._ask_words(_GET_TIME_STAMPING, 11)
        clock = None if words is None else struct.unpack("i", struct.pack("I", words[2]))[0]
        return clock if clock is not None and clock >= 0 else None

    def features(self) -> dict[str, tuple[bool, bool]]:
        """Give for each feature, by the kernel's name, whether it is on and whether it can be changed."""
        counted = self._ask_words(_COUNT_STRINGS, 5, 0, *struct.unpack("2I", struct.pack("Q", 1 << _FEATURE_NAMES)))
        count = counted[4] if counted is not None and counted[2] else 0
        strings = self._ask(_GET_STRINGS, 12 + count * _STRING_LEN, _FEATURE_NAMES, count)
        blocks = (count + 31) // 32
        words = self._ask_words(_GET_FEATURES, 2 + 4 * blocks, blocks)
        if strings is None or words is None:
            return {}
        names = [_text(strings[12 + at * _STRING_LEN :][:_STRING_LEN]) for at in range(count)]

        def has(at: int, which: int) -> bool:
            return bool(words[2 + at // 32 * 4 + which] >> at % 32 & 1)

        # Of each block: what is available, asked for, on, and never changed.
        return {name: (has(at, 2), has(at, 0) and not has(at, 3)) for at, name in enumerate(names) if name}

    def _ask_words(self, command: int, count: int, *arguments: int) -> tuple[int, ...] | None:
        answer = self._ask(command, 4 * count, *arguments)
        return None if answer is None else struct.unpack(f"{count}I", answer)

    def _ask(self, command: int, length: int, *arguments: int) -> bytes | None:
        """Give the structure of a command, as the kernel has filled it in."""
        given = struct.pack(f"{1 + len(arguments)}I", command, *arguments)
        answer = array.array("B", given.ljust(length, b"\0"))
        try:
            self._request(_SIOCETHTOOL, struct.pack("P", answer.buffer_info()[0]))
        except OSError:
            return None
        return answer.tobytes()

    def _request(self, what: int, data: bytes = b"") -> bytes:
        if len(self._name) > _LONGEST_NAME:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        return fcntl.ioctl(self._socket, what, struct.pack("16s24s", self._name, data))


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="replace")
