"""Which clients a store names, and how."""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa
import pyarrow.compute as pc

from brimful.discards.schema import SEVERAL_STREAMS
from brimful.discards.speed_tests.pseudonyms import MONITORING_CLIENTS, Pseudonyms, canonical
from brimful.discards.store import Store
from brimful.errors import UsageError

MONITORING_FILE = "monitoring_clients.json"
"""In a store: a list of the clients that are no users, as the table of tests names them."""
KEY_FILE = "pseudonyms.json"
"""In a store: which key its clients are under, ``null`` for none; never the key itself."""
_NAMED_WITHOUT_CLIENT = ("ndt5", "ndt7", "iperf3")
"""Speed tests whose ids say nothing of the client; those of web100 are named after its host."""


def settle_clients(store: Store, pseudonyms: Pseudonyms | None) -> None:
    """Write down how a store names clients, and what the monitoring clients are called in it.

    Raises
    ------
    UsageError
        When it names clients otherwise already: one client would be two.
    """
    key = pseudonyms.fingerprint if pseudonyms else None
    noted = store.document(KEY_FILE)
    stored = json.loads(noted)["key"] if noted is not None else None if store.sites("tests") else key
    if stored != key:
        how = "without pseudonyms" if stored is None else f"under the key {stored}"
        message = f"{store.path}: names clients {how}; give the same --pseudonymise as before, or use another store"
        raise UsageError(message)
    names = [pseudonyms.client(client) if pseudonyms else client for client in MONITORING_CLIENTS]
    store.keep(MONITORING_FILE, json.dumps(names, indent=1).encode() + b"\n")
    store.keep(KEY_FILE, json.dumps({"key": key}).encode() + b"\n")


def name_clients(rows: pa.Table, pseudonyms: Pseudonyms | None) -> pa.Table:
    """Write each client in one way, or its pseudonym; then name tests that have no id.

    The ids that are made here identify a client no more than the rows do.
    """
    name = pseudonyms.client if pseudonyms else canonical
    clients = pc.dictionary_encode(rows["client"].combine_chunks())
    names = pa.array([name(client) for client in clients.dictionary.to_pylist()], pa.string())
    rows = _with(rows, "client", names.take(clients.indices))
    if pseudonyms:
        ids = zip(rows["test_id"].to_pylist(), rows["protocol"].to_pylist(), strict=True)
        kept = [
            one
            if not one or protocol.partition(SEVERAL_STREAMS)[0] in _NAMED_WITHOUT_CLIENT
            else pseudonyms.test_id(one)
            for one, protocol in ids
        ]
        rows = _with(rows, "test_id", pa.array(kept, pa.string()))
    return _with_ids(rows)


def _with_ids(rows: pa.Table) -> pa.Table:
    """Make ids, where there are none, of what distinguishes tests."""
    if not pc.any(pc.equal(rows["test_id"], "")).as_py():
        return rows
    columns = ["protocol", "direction", "site", "machine", "start", "client", "client_port"]
    facts = rows.select(columns).set_column(4, "start", pc.cast(rows["start"], pa.int64())).to_pylist()
    ids = [one or _made_id(fact) for one, fact in zip(rows["test_id"].to_pylist(), facts, strict=True)]
    return _with(rows, "test_id", pa.array(ids, pa.string()))


def _made_id(fact: dict[str, object]) -> str:
    digest = hashlib.blake2b(json.dumps(list(fact.values())).encode(), digest_size=16)
    return f"{fact['protocol']}-{digest.hexdigest()}"


def _with(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    index = rows.schema.get_field_index(name)
    return rows.set_column(index, rows.schema.field(index), column)
