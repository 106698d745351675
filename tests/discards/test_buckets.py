"""A store in a bucket is what the same store is in a directory; what a user can get wrong is one line."""

import datetime
import json
import os
import re
import shutil
import subprocess

import object_store
import pytest
import questions
import written
from brimful.discards import engine
from brimful.discards.modes import Mode
from brimful.discards.places import Bucket, Directory
from brimful.discards.store import Partition, Store
from brimful.errors import BrimfulError, UsageError
from pyarrow import fs
from support import BRIMFUL, ROOT, brimful

PAGE = (ROOT / "docs" / "how-to" / "discards-warehouse.md").read_text()
CONNECTOR = ROOT / "build" / "s3a"
pytestmark = pytest.mark.skipif(
    not object_store.is_installed(), reason="SeaweedFS, which stands in for S3, is not installed"
)


@pytest.fixture(scope="module")
def end_point(tmp_path_factory):
    with object_store.serve(tmp_path_factory.mktemp("objects")) as url:
        key, secret, _ = object_store.ALL
        system = fs.S3FileSystem(
            access_key=key, secret_key=secret, endpoint_override=url, region="us-east-1", allow_bucket_creation=True
        )
        for bucket in ("measurements", "shared", "private"):
            system.create_dir(bucket)
        yield url


@pytest.fixture
def owner(end_point, monkeypatch):
    """Have the keys of one who may do everything in this process."""
    for name, value in object_store.environment(end_point).items():
        monkeypatch.setenv(name, value)
    return end_point


@pytest.mark.usefixtures("owner")
def test_both_places_keep_the_same(tmp_path):
    (tmp_path / "store").mkdir()
    places = Directory(tmp_path / "store"), Bucket("s3://shared/places/")
    day = "site=a%2Fb%201/day=2018-02-01"
    for place in places:
        assert place.is_empty()
        assert place.read("none") is None
        assert place.directories("samples") == place.files("samples") == []
        place.append("lines", b"1\n")
        place.append("lines", b"2\n")
        place.write("content", b"old and long")
        place.write("content", b"new")
        place.write(f"samples/{day}/mlab1.parquet", b"")
        place.write("samples/site=01/day=2018-02-02/mlab2.parquet", b"-")
        with place.writing():
            assert not place.is_empty()
    for name in ("lines", "content", "none", f"samples/{day}/mlab1.parquet"):
        one, other = (place.read(name) for place in places)
        assert one == other
    for name in ("samples", "samples/site=01"):
        for listed in ("directories", "files"):
            one, other = (sorted(getattr(place, listed)(name)) for place in places)
            assert one == other
            assert one


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize("name", ["daily_loss_ratio", "test_overlap", "split_of_tests"])
def test_a_question_has_the_same_answer(tmp_path, name):
    options = {"sites": ("01", "a/b 1"), "bins": 100, "tests": 20}
    question = questions.all_questions(written.FIRST_DAY + questions.DAY, 3, [])[name]
    stores = [written.write_store(path, **options) for path in (tmp_path / "store", f"s3://shared/{name}")]
    local, bucket = (
        engine.connect_duckdb(store).per_site(lambda samples, tests: question(samples, tests, Mode.CORRECT))
        for store in stores
    )
    assert local.num_rows
    assert bucket.schema == local.schema
    questions.assert_same(name, bucket.to_pylist(), local.to_pylist())


@pytest.mark.usefixtures("owner")
def test_a_damaged_object_is_an_error_of_one_line():
    store = written.write_store("s3://shared/damaged", bins=10, tests=5)
    partition = Partition("samples", "dfw01", written.FIRST_DAY, "mlab1")
    store.place.write(store.file(partition), b"no Parquet")
    with pytest.raises(BrimfulError, match=r"^s3://shared/damaged: DuckDB cannot compute this: .*Parquet") as failed:
        engine.connect_duckdb(store).per_site(lambda samples, tests: samples)
    assert "\n" not in str(failed.value)
    with pytest.raises(BrimfulError, match=r"^s3://shared/damaged/samples/.*mlab1.parquet: cannot read"):
        store.read(partition, written.schema.SAMPLES)


def counters(directory, *, end_s=4000):
    """A table as the page speaks of, of an uplink that drops from the 2,000th second on."""
    begin = int(datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC).timestamp())
    rows = ["timestamp,device,port,direction,octets,packets,discards"]
    rows += [f"{begin + second},edge1,uplink,tx,1000000,1000,{3 * (second >= 2000)}" for second in range(0, end_s, 10)]
    (directory / "day.csv").write_text("\n".join(rows) + "\n")


@pytest.mark.timeout(600)
def test_the_commands_of_the_page_give_what_they_give_for_a_directory(end_point, tmp_path):
    (block,) = re.findall(r"^```sh\n(brimful discards ingest --store s3://.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    counters(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "brimful").write_text(f'#!/bin/sh\nexec {" ".join(map(str, BRIMFUL))} "$@"\n')
    (tools / "brimful").chmod(0o755)
    environment = os.environ | object_store.environment(end_point, PATH=f"{tools}:{os.environ['PATH']}")
    outputs = []
    for commands in (block, block.replace("s3://measurements", str(tmp_path))):
        done = subprocess.run(
            ["sh", "-euc", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        of_a_run = r"discards-\w+, started \S+"
        outputs.append(re.sub(of_a_run, "", done.stdout.replace("s3://measurements", str(tmp_path))))
    assert outputs[0] == outputs[1]
    assert "edge1" in outputs[0]
    (again, *_) = re.findall(r"^brimful discards ingest.*$", block, re.MULTILINE)
    known = subprocess.run(
        again, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
    )
    assert re.search(r"sources, known +1$", known.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("store", "user", "message"),
    [
        ("s3://nothing/store", object_store.ALL, "s3://nothing/store: there is no bucket nothing; make it first"),
        ("s3://private/store", object_store.READER, "s3://private/store: no permission: check AWS_ACCESS_KEY_ID"),
        ("s3://shared/new", object_store.READER, "s3://shared/new: no permission: check AWS_ACCESS_KEY_ID"),
        ("s3://shared/new", ("owner", "wrong", []), "s3://shared/new: no permission: check AWS_ACCESS_KEY_ID"),
        ("s3://shared/new", ("nobody", "nothing", []), "s3://shared/new: no permission: check AWS_ACCESS_KEY_ID"),
        ("s3://shared/new", ("", "", []), "s3://shared/new: no permission: check AWS_ACCESS_KEY_ID"),
        ("gs://shared/new", object_store.ALL, "'gs://shared/new' is no place of a store"),
        ("s3:///new", object_store.ALL, "'s3:///new' is no place of a store"),
        ("day.csv", object_store.ALL, "'day.csv' is a file; a store is a directory"),
    ],
)
def test_what_a_user_gets_wrong_is_one_line(end_point, tmp_path, store, user, message):
    counters(tmp_path, end_s=20)
    environment = object_store.environment(end_point, user)
    done = brimful("discards", "ingest", "--store", store, "day.csv", cwd=tmp_path, check=2, environment=environment)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_store_that_is_not_there_or_does_not_answer_is_one_line(end_point, tmp_path):
    for url, code, message in (
        (end_point, 2, "s3://shared/none: is no store of discards"),
        ("http://127.0.0.1:9", 3, "s3://shared/none: the object store fails: "),
    ):
        environment = object_store.environment(url)
        done = brimful(
            "discards", "report", "--store", "s3://shared/none", cwd=tmp_path, check=code, environment=environment
        )
        assert done.stderr.startswith(f"brimful: error: {message}")
        assert done.stderr.count("\n") == 1


def test_an_amount_of_lines_is_kept_whole(owner):
    store = Store.create("s3://shared/lines")
    for number in range(3):
        store.note_ingested([{"digest": f"{number}{kind}"} for kind in "ab"])
    assert list(Store.open("s3://shared/lines").ingested()) == ["0a", "0b", "1a", "1b", "2a", "2b"]
    with pytest.raises(UsageError, match="neither empty nor a store"):
        Store.create("s3://shared")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed")
def test_spark_reads_the_bucket(end_point, tmp_path):
    """The quick twin is `test_a_question_has_the_same_answer`, by DuckDB."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    environment = object_store.environment(end_point, SPARK_LOCAL_IP="127.0.0.1")
    counters(tmp_path)
    place = ["--store", "s3://shared/spark"]
    brimful("discards", "ingest", *place, "day.csv", cwd=tmp_path, check=0, environment=environment)
    command = [*BRIMFUL, "discards", "affected", *place, "--json"]
    by_duckdb = brimful(*command[len(BRIMFUL) :], cwd=tmp_path, check=0, environment=environment)
    command += ["--engine", "spark", "--master", "local[1]"]

    def by_spark(**more):
        return subprocess.run(
            command, cwd=tmp_path, env=os.environ | environment | more, capture_output=True, text=True, timeout=400
        )

    without = by_spark()
    assert without.returncode == 2
    assert without.stderr.splitlines()[-1].startswith(
        "brimful: error: s3://shared/spark: Spark has no connector for S3;"
    )
    assert "Traceback" not in without.stderr
    jars = ",".join(map(str, sorted(CONNECTOR.glob("*.jar"))))
    if not jars:
        pytest.skip("Maven, which brings Spark's connector, is not installed")
    found = by_spark(PYSPARK_SUBMIT_ARGS=f"--jars {jars} pyspark-shell")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == json.loads(by_duckdb.stdout)
