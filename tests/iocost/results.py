"""Made-up benchmark results in the benchmark's own layout, and the real ones where they are."""

import gzip
import json

import pytest
from iocost.samples import SHARED

EXPECTED = sorted((SHARED / "expected").glob("*.json"))
MERGES = sorted((SHARED / "expected" / "merged").glob("*.json"))
needs_shared = pytest.mark.skipif(not EXPECTED, reason="the published results are not here; set BRIMFUL_SHARED")

LATENCY_PERCENTILES = ["00", "01", "05", "10", "25", "50", "75", "90", "95", "99", "99.9", "99.99", "99.999", "100"]
TIME_PERCENTILES = ["00", "01", "05", "10", "25", "50", "75", "90", "95", "99", "99.9", "100", "mean", "stdev", "cum"]


def raw_path(expected, name=None):
    return SHARED / "raw" / expected["version"] / expected["device"] / (name or expected["file"])


def model(**changes):
    numbers = {"rbps": 1_000_000_000, "rseqiops": 100_000, "rrandiops": 90_000}
    return numbers | {"wbps": 800_000_000, "wseqiops": 80_000, "wrandiops": 70_000} | changes


def qos():
    return {"rpct": 95.0, "rlat": 3000, "wpct": 95.0, "wlat": 4000, "min": 60.0, "max": 100.0}


def system(**changes):
    return {
        "bench_version": "2.2.6 x86_64-unknown-linux-gnu",
        "sysreqs_missed": {},
        "sysreqs_report": {
            "kernel_version": "6.9.0",
            "agent_version": "2.2.6",
            "hashd_version": "2.2.6",
            "nr_cpus": 8,
            "total_memory": 32 << 30,
            "total_swap": 16 << 30,
            "scr_dev": "nvme0n1",
            "scr_devnr": [259, 0],
            "scr_dev_model": "ACME Disk 1",
            "scr_dev_fwrev": "F1",
            "scr_dev_size": 1 << 40,
            "scr_dev_iosched": "none",
        },
        "iocost": {"vrate": 10.0, "model": model(), "qos": qos()},
        "mem": {"profile": 16, "avail": 30 << 30, "share": 12 << 30, "target": 11 << 30},
        "swappiness": 60,
    } | changes


def _override(vrate):
    return {"off": vrate is None, "rpct": None, "rlat": None, "wpct": None, "wlat": None, "min": vrate, "max": vrate}


def run_record(vrate, *, protected=True, crashed=False):
    hog = {"isol_pct": "05", "isol_thr": 0.9, "final_size": (10 << 30) if protected else None}
    return {
        "ovr": _override(vrate),
        "stor": {"mem_usages": [8e9], "mem_sizes": [8e9 * _offload(vrate)]},
        "prot": {"scenarios": [] if crashed else [{"MemHogTune": hog}]},
    }


def _offload(vrate):
    return 1.2 + min(vrate or 100, 60) / 150


def run_result(vrate, *, protected=True, crashed=False):
    offload, isolation = _offload(vrate), 0.98 if vrate <= 70 else 0.98 - (vrate - 70) / 100
    table = {
        latency: {time: 1e-4 * (1 + place) * (1 + vrate / 50) for time in TIME_PERCENTILES}
        for place, latency in enumerate(LATENCY_PERCENTILES)
    }
    final = {"isol": {"05": isolation, "01": isolation - 0.05, "mean": 0.99}, "lat_imp": {"mean": 0.1}, "work_csv": 0.8}
    adjusted = 1.1 + min(vrate, 50) / 200 if protected else None
    return {
        "stor": {"mem_offload_factor": offload, "iolat": [table, table]},
        "prot": {"scenarios": [] if crashed else [{"MemHogTune": {"final_run": final}}]},
        "adjusted_mem_offload_factor": adjusted,
        "adjusted_mem_offload_delta": None if adjusted is None else offload - adjusted,
        "nr_reports": [99, 1],
    }


VRATES = [120.0, 110.0, 100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0]


def qos_job(vrates=VRATES, **system_changes):
    baseline = run_record(None) | {"ovr": _override(None)}
    return {
        "spec": {"kind": "iocost-qos", "id": None, "props": [{"dither": "", "vrate-intvs": "25", "vrate-max": "125"}]},
        "period": [1_700_000_000, 1_700_020_000],
        "sysinfo": system(**system_changes),
        "record": {
            "base_model": model(),
            "base_qos": qos(),
            "mem_profile": 16,
            "inc_runs": [],
            "runs": [baseline, *(run_record(vrate, protected=vrate <= 90) for vrate in vrates)],
        },
        "result": {"runs": [run_result(100.0), *(run_result(vrate, protected=vrate <= 90) for vrate in vrates)]},
    }


def write(path, jobs, *, compress=False):
    content = json.dumps(jobs).encode()
    path.write_bytes(gzip.compress(content) if compress else content)
    return path


def read_expected(path):
    return json.loads(path.read_text())
