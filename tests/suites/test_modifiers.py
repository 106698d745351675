"""RFC 2544 with the modifiers of section 11, over IPv6 and with tags: simulated, and in a lab."""

import json
import time

import msgspec
import pytest
from brimful.cli import suite
from brimful.errors import MeasureError, UsageError
from brimful.lab import permitted
from brimful.measurers.simulated import SimulatedMeasurer
from brimful.records import read_run
from brimful.report import rendering
from brimful.report.suite.results import results_of
from brimful.report.suite.values import main_value
from brimful.report.verdicts import of_suite
from brimful.suites.manager import run_suite
from brimful.suites.modifiers import parse_modifiers, running
from brimful.suites.rfc2544 import SuiteRequest, suite_of
from brimful.throughput.manager import SearchRequest
from click.testing import CliRunner
from support import brimful

REQUEST = SuiteRequest(
    search=SearchRequest(measurer="sim:sharp", goals=[], strategy="straddle", traffic={"arguments": [], "ip": 4}),
    sizes=["64", "512"],
    tests=["throughput", "loss"],
    is_quick=True,
    modifiers={"broadcast": "", "filters": "sleep 60"},
)


def run(out, *, resume=False, request=REQUEST):
    """A device that forwards less where broadcasts come, or while filters are set."""

    def open_for(search):
        slower = "--broadcast-every=100" in search.traffic["arguments"]
        return lambda spec, detail: SimulatedMeasurer(f"sharp,capacity={0.9 if slower else 1.0}Mpps")

    return run_suite(suite_of(request, open_for), out=out, resume=resume)


def text_of(out):
    return " ".join(rendering.text(read_run(out)).split())


def test_each_modifier_is_a_throughput_of_its_own_beside_the_plain_one(tmp_path):
    assert run(tmp_path / "s").end.reason == "done"
    found = {(one.test, one.size): main_value(one) for one in results_of(read_run(tmp_path / "s"))}
    for size in ("64", "512"):
        assert found["throughput", size] == found["with-filters", size] == pytest.approx(1e6, rel=0.006)
        assert found["with-broadcast", size] == pytest.approx(0.9e6, rel=0.006)
    text = text_of(tmp_path / "s")
    assert "64 broadcast 897" in text
    assert "-10.0 %" in text
    assert "11.2 Management frames not done" in text
    assert "11.4 Filters deviation" in text
    assert of_suite(read_run(tmp_path / "s"), None).holds
    # All tests without a modifier come first, each modifier is alone.
    tests = [one.test for one in results_of(read_run(tmp_path / "s")) if one.size == "64"]
    assert tests == ["throughput", "loss", "with-broadcast", "with-filters"]


def test_a_suite_that_was_interrupted_in_a_modifier_goes_on(tmp_path):
    run(tmp_path / "whole")
    calls = 0

    class Stopped(SimulatedMeasurer):
        def measure(self, load, duration_s, *, stop_above=None):
            nonlocal calls
            calls += 1
            if calls == 5:
                raise KeyboardInterrupt
            return super().measure(load, duration_s)

    def open_for(search):
        kind = Stopped if "--broadcast-every=100" in search.traffic["arguments"] else SimulatedMeasurer
        return lambda spec, detail: kind(f"sharp,capacity={0.9 if kind is Stopped else 1.0}Mpps")

    assert run_suite(suite_of(REQUEST, open_for), out=tmp_path / "cut").end.reason == "interrupted"
    assert run(tmp_path / "cut", resume=True).end.reason == "done"
    figures = [
        {(one.test, one.size): main_value(one) for one in results_of(read_run(tmp_path / name))}
        for name in ("whole", "cut")
    ]
    assert figures[0] == figures[1]
    assert of_suite(read_run(tmp_path / "cut"), None).holds


def test_a_suite_without_modifiers_says_that_none_was_made(tmp_path):
    run(tmp_path / "s", request=msgspec.structs.replace(REQUEST, modifiers={}, sizes=["64"]))
    text = text_of(tmp_path / "s")
    assert text.count("not done --modifier") == 4
    assert "with modifiers" not in text


def test_a_command_that_fails_spoils_its_test_alone(tmp_path):
    failing = msgspec.structs.replace(REQUEST, modifiers={"filters": "echo no such table; exit 3"}, sizes=["64"])
    assert run(tmp_path / "s", request=failing).end.reason == "measurement-failed"
    assert "the command of the modifier ended with 3: no such table" in text_of(tmp_path / "s")
    found = {one.test: main_value(one) for one in results_of(read_run(tmp_path / "s"))}
    assert None not in (found["throughput"], found["loss"])
    assert found["with-filters"] is None


def test_a_command_is_ended_with_its_test_and_may_undo_what_it_did(tmp_path):
    mark = tmp_path / "mark"
    with running(["sh", "-c", f"trap 'rm {mark}; exit' TERM; touch {mark}; sleep 60 & wait"], 0.0):
        deadline = time.monotonic() + 20
        while not mark.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert not mark.exists()
    with running(["true"], 5.0):
        pass
    with pytest.raises(MeasureError, match="ended with 1: it said nothing"), running(["false"], 5.0):
        pass
    with pytest.raises(MeasureError, match="cannot be started"), running(["/nonexistent"], 5.0):
        pass


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["filter=x"], "there is no 'filter'.*filters"),
        (["broadcast=x"], "takes no command"),
        (["filters"], "needs a command"),
        (["filters= "], "needs a command"),
        (["broadcast", "broadcast"], "is given twice"),
        (["filters=a\nb"], "cannot be shown"),
    ],
)
def test_what_is_no_modifier_is_refused(texts, said):
    with pytest.raises(UsageError, match=said):
        parse_modifiers(texts)


def test_a_measurer_that_cannot_send_broadcasts_is_refused(tmp_path):
    refused = brimful("rfc2544", "-m", "sim:sharp", "--modifier", "broadcast", "--quiet", cwd=tmp_path, check=2)
    assert "cannot send broadcasts" in refused.stderr


def lab_suite(directory, *words, device="lab:bridge"):
    if (reason := permitted()) is not None:
        pytest.skip(reason)
    options = ("--quick", "--max-load", "20kpps", "--tests", "throughput", "--quiet", "--json", "--out", "s")
    return json.loads(brimful("rfc2544", "-m", device, *options, *words, cwd=directory, check=0).stdout)


@pytest.mark.slow
def test_a_suite_over_ipv6_with_tags_says_what_it_did_of_rfc_5180(tmp_path):
    found = lab_suite(tmp_path, "--ip", "6", "--vlan", "5", "--sizes", "88,1522")
    assert [(test["size"], test["end"]) for test in found["tests"]] == [("88", "done"), ("1522", "done")]
    text = text_of(tmp_path / "s")
    assert "5180 IPv6: extension headers not done" in text
    assert "IPv6" in text[text.index("Protocol") :]


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ((), "64,128,256,512,1024,1280,1518"),
        (("--ip", "6"), "84,128,256,512,1024,1280,1518"),
        (("--vlan", "5"), "68,128,256,512,1024,1280,1522"),
        (("--ip", "6", "--vlan", "5"), "88,128,256,512,1024,1280,1522"),
        (("--ip", "6", "--sizes", "100"), "100"),
    ],
)
def test_sizes_have_room_for_the_headers(monkeypatch, words, sizes):
    seen = []
    monkeypatch.setattr(suite, "carry_out", lambda suite_of, options, expected_s: seen.append(suite_of(print)) or 0)
    done = CliRunner().invoke(suite.rfc2544, ["-m", "lab:bridge", "--quick", *words])
    assert done.exception is None or done.exit_code == 0, done.output
    assert ",".join(seen[0].sizes) == sizes


@pytest.mark.slow
def test_broadcasts_cross_a_bridge_and_end_at_a_router(tmp_path):
    for device in ("bridge", "router"):
        (tmp_path / device).mkdir()
        words = ("--sizes", "84", "--modifier", "broadcast", "--max-load", "2kpps")
        found = lab_suite(tmp_path / device, *words, device=f"lab:{device}")
        plain, modified = found["tests"]
        # Neither the copies of a bridge nor those that a router keeps are counted.
        assert plain["value"] == modified["value"] == 2000.0, device
        traffic = read_run(tmp_path / device / "s" / "84" / "with-broadcast").run.traffic
        assert traffic["broadcast_every"] == 100
