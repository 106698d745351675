"""Small stores that hypothesis makes up: rows as dictionaries, and a database to ask about them."""

import datetime
from random import Random

import duckdb
import ibis
import pyarrow as pa
from brimful.discards import analysis, engine
from hypothesis import strategies as st

MIDNIGHT = datetime.datetime(2018, 2, 2)
TEN_S = datetime.timedelta(seconds=10)
SITES = ["dfw01", "dfw02", "lga03"]
MACHINES = ["mlab1", "mlab2", "mlab3"]
MONITORS = ["192.0.2.1"]


def schema(name):
    """Columns of a table as an engine gives them."""
    return engine.no_rows(name).schema


def table(name, rows):
    return pa.Table.from_pylist(rows, schema=schema(name))


@st.composite
def sample_rows(draw, metrics=(analysis.DISCARDS, analysis.UNICAST, analysis.OCTETS), most=60):
    """Samples around a midnight; on the 10 s and off it, of one bin and of several, usable and not."""
    off = draw(st.sampled_from([0, 0, 0, 3, 7.5]))
    keys = draw(
        st.sets(
            st.tuples(
                st.sampled_from(SITES[:2]),
                st.sampled_from(MACHINES),
                st.sampled_from(metrics),
                st.integers(-20, 20),
            ),
            max_size=most,
        )
    )
    rows = []
    for site, machine, metric, number in sorted(keys):
        late = off if machine == "mlab2" else 0
        start = MIDNIGHT + number * TEN_S + datetime.timedelta(seconds=late)
        span = draw(st.sampled_from([10.0, 10.0, 10.0, 9.4, 20.0, 25.5, 34.0, 300.0, 310.0, 2.0]))
        most_value = 10 if metric == analysis.DISCARDS else 4000
        value = draw(st.none() | st.just(0.0) | st.integers(0, most_value).map(float) | st.floats(0, most_value))
        rows.append(
            {
                "site": site,
                "day": start.date(),
                "machine": machine,
                "metric": metric,
                "bin_start": start,
                "bin_end": start + datetime.timedelta(seconds=span),
                "span_s": span,
                "value": value,
                "counter": None,
                "reported": draw(st.none() | st.integers(0, 3000)) if draw(st.integers(0, 4)) == 0 else None,
                "flags": 0,
                "usable": value is not None and draw(st.integers(0, 5)) > 0,
            }
        )
    return rows


@st.composite
def speed_tests(draw, most=20, clients=5):
    """Speed tests around a midnight."""
    rows = []
    for number in range(draw(st.integers(0, most))):
        site = draw(st.sampled_from(SITES))
        machine = draw(st.sampled_from(MACHINES))
        start = MIDNIGHT + datetime.timedelta(microseconds=draw(st.integers(-200_000_000, 200_000_000)))
        if draw(st.booleans()):
            start = start.replace(second=start.second // 10 * 10, microsecond=0)
        length = draw(st.sampled_from([0.1, 9.999999, 10.0, 10.1, 20.0, 61.0, 600.0]) | st.floats(0.1, 600))
        end = start + datetime.timedelta(seconds=length)
        rows.append(
            {
                "test_id": f"test-{number}",
                "site": site,
                "day": start.date(),
                "protocol": "web100",
                "direction": draw(st.sampled_from(["download", "download", "download", "upload"])),
                "machine": machine,
                "server_name": draw(st.sampled_from(["", "ndt.iupui."])) + f"{machine}.{site}",
                "start": start,
                "end": end,
                "logged": start + datetime.timedelta(seconds=draw(st.sampled_from([0, 15]))),
                "client": draw(st.sampled_from([*(f"198.51.100.{n}" for n in range(clients)), MONITORS[0], None])),
                "client_port": draw(st.integers(1, 2)),
                "server": None,
                "server_port": None,
                "bytes": draw(st.sampled_from([None, 999_999, 1_000_000, 25_000_000])),
                "sending_s": draw(st.sampled_from([None, 8.9, 9.0, 10.0, 599.9, 600.0])),
                "rate_bps": draw(st.none() | st.sampled_from([0.0, 1e6]) | st.floats(1e3, 1e9)),
                "retransmitted": draw(st.none() | st.integers(0, 50)),
                "sent": draw(st.none() | st.integers(0, 5000)),
                "retransmission_unit": draw(st.sampled_from(["segments", "bytes"])),
                "congestion_control": "reno",
            }
        )
    return rows


class Prepared:
    """A question, compiled once, because that takes longer than to answer it for a few rows."""

    def __init__(self, question):
        samples, tests = (ibis.table(ibis.Schema.from_pyarrow(schema(name)), name=name) for name in engine.COLUMNS)
        self.sql = ibis.to_sql(question(samples, tests), dialect="duckdb")
        self.connection = duckdb.connect()

    def ask(self, *, samples=(), tests=()):
        self.connection.register("samples", table("samples", samples))
        self.connection.register("tests", table("tests", tests))
        return self.connection.execute(self.sql).to_arrow_table()


def dense(seed):
    """Samples of three machines that poll at different seconds and miss some polls, and tests at every half second."""
    random = Random(seed)
    samples, tests = [], []
    for machine, late in zip(MACHINES, (0, 3, 7.5), strict=True):
        number = -30
        while number < 30:
            covered = random.choice([1, 1, 1, 1, 1, 2, 3])
            start = MIDNIGHT + number * TEN_S + datetime.timedelta(seconds=late)
            if random.random() < 0.6:
                samples.append(_discards(machine, start, covered * 10.0, random.choice([0.0, 0.0, 7.0, 12.0])))
            number += covered
    for number in range(150):
        start = MIDNIGHT + datetime.timedelta(seconds=random.randrange(-400, 400) / 2)
        length = datetime.timedelta(seconds=random.randrange(1, 80) / 2)
        tests.append(download(f"test-{number}", random.choice(MACHINES), start, start + length))
    return samples, tests


def _discards(machine, start, span_s, value):
    return {
        "site": SITES[0],
        "day": start.date(),
        "machine": machine,
        "metric": analysis.DISCARDS,
        "bin_start": start,
        "bin_end": start + datetime.timedelta(seconds=span_s),
        "span_s": span_s,
        "value": value,
        "reported": None,
        "flags": 0,
        "usable": True,
    }


def download(test_id, machine, start, end):
    names = {"test_id": test_id, "site": SITES[0], "day": start.date(), "machine": machine}
    return names | {
        "direction": "download",
        "start": start,
        "end": end,
        "logged": start,
        "client": "198.51.100.1",
        "bytes": 25_000_000,
        "sending_s": 10.0,
        "rate_bps": 2e7,
    }
