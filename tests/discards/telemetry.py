"""Small telemetry that tests make up: polls of counters as the two generations of files have them."""

import gzip
import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from brimful.discards.capacities import Capacities
from brimful.discards.store import Store
from brimful.discards.telemetry.ingest import ingest
from brimful.discards.telemetry.source import Reading
from support import ROOT

SHARED = Path(os.environ.get("BRIMFUL_SHARED", ROOT.parent / "shared")) / "discards" / "switch"
needs_samples = pytest.mark.skipif(not SHARED.exists(), reason="the real samples are not there: set BRIMFUL_SHARED")

MIDNIGHT = 1_641_081_600
"""2022-01-02, when local octets were mislabelled."""

DIFFERENCES = Reading(counters=False)
"""Tables of two or three rows do not show what they hold."""


class Silent:
    def start(self, total_bytes):
        pass

    def advance(self, read_bytes):
        pass


def put(store, *sources, **options):
    """Ingest into a store at a path; give the summary."""
    settings = {"ceilings": Capacities(), "workers": 2, "max_bad": 0.01, "progress": Silent(), "reading": DIFFERENCES}
    return ingest(Store.create(Path(store)), [Path(source) for source in sources], **settings | options)


def files_of(store):
    """Give path and content of every file of samples."""
    root = Path(store) / "samples"
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.parquet"))}


def line2(metric, samples, host="mlab1-dfw02.mlab-oti.measurement-lab.org", switch="s1-dfw02.measurement-lab.org"):
    """Give a line of the second generation; ``samples`` are (timestamp, value, counter)."""
    polls = [
        {
            "timestamp": at,
            "collectstart": at * 10**9 + 1_234_567,
            "collectend": at * 10**9 + 81_234_567,
            "value": value,
            "counter": counter,
        }
        for at, value, counter in samples
    ]
    line = {"experiment": switch, "hostname": host, "metric": metric, "sample": polls}
    return json.dumps(line, separators=(",", ":"))


def line1(metric, samples, host="mlab1.dfw02.measurement-lab.org", switch="s1.dfw02.measurement-lab.org"):
    """Give a line of the first generation; ``samples`` are (timestamp, value)."""
    polls = [{"timestamp": at, "value": value} for at, value in samples]
    return json.dumps({"sample": polls, "metric": metric, "hostname": host, "experiment": switch})


def content(*lines):
    return "".join(f"{line}\n" for line in lines).encode()


def tar(members, *, compress=False, **options):
    """Give the bytes of an archive of (name, content)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.pax_headers = {"MLAB.datatype": "switch", "MLAB.comment": "é" * 10} if options else {}
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0) if compress else out.getvalue()
