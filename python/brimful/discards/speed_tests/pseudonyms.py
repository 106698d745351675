"""Stable pseudonyms of client addresses that keep which of them share a network.

Two addresses whose first n bits are equal have pseudonyms whose first n bits are equal, and no more than these
(Xu, Fan, Ammar and Moon 2002, "Prefix-preserving IP address anonymization"); here with keyed BLAKE2 for the cipher.
"""

from __future__ import annotations

import functools
import hashlib
import ipaddress
import os
import secrets
from pathlib import Path

from brimful.errors import UsageError

KEY_BYTES = 32
MONITORING_CLIENTS = (
    # What the report of 2018 leaves out,
    "45.56.98.222",
    "2600:3c03::f03c:91ff:fe33:819",
    "35.225.75.192",
    "35.192.37.249",
    "35.193.254.117",
    # and what M-Lab left out since.
    "23.228.128.99",
    "2605:a601:f1ff:fffe::99",
    "35.202.153.90",
    "35.188.150.110",
)
"""Clients that are no users: the operator's own checks."""

_CACHED_PREFIXES = 1 << 17
_CACHED_CLIENTS = 1 << 18


def canonical(client: str) -> str:
    """Write an address in one way; what is none stays as it is.

    >>> canonical("2001:DB8:0::1"), canonical("::ffff:192.0.2.1"), canonical("probe-7")
    ('2001:db8::1', '192.0.2.1', 'probe-7')
    """
    address = _address(client)
    return client if address is None else str(address)


def _address(client: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


class Pseudonyms:
    """Replaces clients under a key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._turns = functools.lru_cache(_CACHED_PREFIXES)(self._make_turns)
        self.client = functools.lru_cache(_CACHED_CLIENTS)(self._client)
        self.fingerprint = self._digest(b"fingerprint", b"").hex()[:16]
        """Distinguishes keys without giving the key away."""

    @classmethod
    def from_file(cls, path: Path) -> Pseudonyms:
        """Read the key in a file; make one there, for its owner alone, if there is none.

        Raises
        ------
        UsageError
            When the file cannot be read or made, or holds no key.
        """
        try:
            if not path.exists():
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(handle, "w") as file:
                    file.write(secrets.token_hex(KEY_BYTES) + "\n")
            key = bytes.fromhex(path.read_text().strip())
        except OSError as error:
            message = f"{path}: cannot use this file for the key: {error.strerror}"
            raise UsageError(message) from error
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            message = f"{path}: holds no key ({2 * KEY_BYTES} hexadecimal digits); name a file that is not there yet"
            raise UsageError(message)
        return cls(key)

    def _client(self, client: str) -> str:
        """Give the pseudonym of a client: an address of the same family; a word where it is no address."""
        address = _address(client)
        if address is None:
            return f"client-{self._digest(b'client', client.encode()).hex()[:16]}"
        family = b"4" if address.version == 4 else b"6"
        packed = address.packed
        replaced = bytes(_turned(octet, self._turns(family, packed[:length])) for length, octet in enumerate(packed))
        return str(ipaddress.ip_address(replaced))

    def test_id(self, test_id: str) -> str:
        """Give the pseudonym of the id of a test, which may be named after its client."""
        return self._digest(b"test", test_id.encode()).hex()[:32]

    def _make_turns(self, family: bytes, prefix: bytes) -> int:
        """Give a bit for each of the 255 prefixes of 0 to 7 bits within the octet that follows a prefix."""
        return int.from_bytes(self._digest(family, prefix)[:32], "big")

    def _digest(self, what: bytes, content: bytes) -> bytes:
        return hashlib.blake2b(content, key=self._key, person=what).digest()


def _turned(octet: int, turns: int) -> int:
    """Turn each bit of an octet for which the bit of the prefix before it is set.

    Prefixes are numbered as in a heap: 1 the empty one, 2 and 3 those of one bit, and so on.
    """
    mask = 0
    for bit in range(8):
        mask = mask << 1 | turns >> (1 << bit | octet >> 8 - bit) & 1
    return octet ^ mask
