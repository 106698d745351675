"""Slow, obvious readers of the formats of telemetry: what is usable of each bin, by (machine, metric, start)."""

import datetime
import gzip
import json
import re
import tarfile

import pyarrow.parquet as pq
from brimful.discards.schema import Flag

CEILING = {"octets": 12_500_000_000, "unicast": 12_500_000_000 // 64}
OF_32_BITS = ("discards", "errors")
MISLABELLED = "switch.octets.local"


def members(directory):
    """Names and contents, in the order in which archives were sent."""
    for archive in sorted(directory.rglob("*.tgz"), key=lambda path: path.name):
        with tarfile.open(archive) as opened:
            for member in opened:
                yield member.name, opened.extractfile(member).read()


def read_v1(directory, conflicts=None):
    found = {}
    for name, content in members(directory):
        end = datetime.datetime.strptime(re.search(r"-to-(.*)-switch", name)[1], "%Y%m%dT%H:%M:%S")
        end_s = end.replace(tzinfo=datetime.UTC).timestamp()
        for line in gzip.decompress(content).splitlines():
            row = json.loads(line)
            for sample in row["sample"]:
                if sample["timestamp"] != end_s:
                    key = (row["hostname"].split(".")[0], row["metric"], sample["timestamp"])
                    if conflicts is not None and found.get(key, sample["value"]) != sample["value"]:
                        conflicts.add(key)
                    found[key] = sample["value"]
    return usable(found)


def read_v2(directory):
    polls = {}
    for _, content in members(directory):
        for line in content.splitlines():
            row = json.loads(line)
            if row["metric"].startswith(MISLABELLED):
                continue
            for sample in row["sample"]:
                machine = row["hostname"].split("-")[0]
                polls.setdefault((machine, row["metric"]), {})[sample["timestamp"]] = sample
    found = {}
    for (machine, metric), series in polls.items():
        before = None
        for time, sample in sorted(series.items()):
            counter, value = sample["counter"], sample["value"]
            if before is not None:
                assert value == (counter - before[1]) % 2**64
            span = 10 if before is None else time - before[0]
            if before is not None and counter < before[1]:
                value = counter + 2**32 - before[1] if metric.split(".")[1] in OF_32_BITS else None
            bins = span // 10
            if value is not None and bins <= 30:
                for index in range(bins):
                    found[machine, metric, time - span + 10 * index] = value / bins
            before = time, counter
    return usable(found)


def read_flat(directory):
    found = {}
    for file in sorted(directory.glob("*.parquet")):
        table = pq.read_table(file)
        for row in table.to_pylist():
            found[row["hostname"].split(".")[0], row["metric"], row["timestamp"]] = row["value"]
    return usable(found)


def read_store(directory, conflicts=None):
    found = {}
    for file in directory.rglob("samples/**/*.parquet"):
        for row in pq.ParquetFile(file).read().to_pylist():
            if row["usable"]:
                start = row["bin_start"].replace(tzinfo=datetime.UTC).timestamp()
                assert (row["bin_end"] - row["bin_start"]).total_seconds() == row["span_s"] == 10
                found[row["machine"], row["metric"], int(start)] = row["value"]
                if conflicts is not None and row["flags"] & Flag.CONFLICT:
                    conflicts.add((row["machine"], row["metric"], int(start)))
    return found


def usable(found):
    return {
        key: float(value) for key, value in found.items() if value <= CEILING.get(key[1].split(".")[1], float("inf"))
    }
