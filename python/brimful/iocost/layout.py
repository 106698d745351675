"""How benchmark results are laid out, as far as they are used; what is not named here is skipped.

Fields that some versions leave out have a default. Numbers that the benchmark could not compute are null.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

_Count = Annotated[int, msgspec.Meta(ge=0)]
Number = float | None
NULL = msgspec.Raw(b"null")


class Model(msgspec.Struct, frozen=True):
    """The six numbers of a linear cost model: bytes/s and IO/s."""

    rbps: _Count
    rseqiops: _Count
    rrandiops: _Count
    wbps: _Count
    wseqiops: _Count
    wrandiops: _Count


class Qos(msgspec.Struct, frozen=True):
    """QoS parameters: per cent and microseconds."""

    rpct: float
    rlat: _Count
    wpct: float
    wlat: _Count
    min: float
    max: float


class Spec(msgspec.Struct, frozen=True):
    """What a job was asked to do."""

    kind: str
    id: str | None = None
    props: list[dict[str, str]] = []


class Controller(msgspec.Struct, frozen=True):
    """The controller as it was during a job."""

    model: Model
    qos: Qos | None = None


class Memory(msgspec.Struct, frozen=True):
    """Memory of a job, in bytes; the profile is in GiB."""

    profile: int = 0
    avail: int = 0
    share: int = 0
    target: int = 0


class Workload(msgspec.Struct, frozen=True):
    """Parameters of the protected workload."""

    hash_size: int
    rps_max: int
    mem_size: int
    mem_frac: float
    chunk_pages: int
    fake_cpu_load: bool


class Machine(msgspec.Struct, frozen=True):
    """The machine and the device of a job."""

    kernel_version: str = ""
    agent_version: str = ""
    hashd_version: str = ""
    nr_cpus: int = 0
    total_memory: int = 0
    total_swap: int = 0
    scr_dev: str = ""
    scr_devnr: tuple[int, int] = (0, 0)
    scr_dev_model: str = ""
    scr_dev_fwrev: str = ""
    scr_dev_size: int = 0
    scr_dev_iosched: str = ""


class System(msgspec.Struct, frozen=True):
    """All that a job says of where it ran."""

    bench_version: str = ""
    sysreqs_missed: dict[str, Any] = {}
    sysreqs_report: Machine | None = None
    iocost: Controller | None = None
    hashd: Workload | None = None
    mem: Memory = Memory()
    swappiness: int = 0


class Job(msgspec.Struct, frozen=True):
    """One job; its record and result depend on its kind."""

    spec: Spec
    period: tuple[int, int] = (0, 0)
    sysinfo: System = System()
    record: msgspec.Raw = NULL
    result: msgspec.Raw = NULL


class Override(msgspec.Struct, frozen=True):
    """What one run set."""

    off: bool = False
    rpct: Number = None
    rlat: Number = None
    wpct: Number = None
    wlat: Number = None
    min: Number = None
    max: Number = None

    @property
    def vrate(self) -> float | None:
        """The vrate, where nothing else was set."""
        if self.off or any(value is not None for value in (self.rpct, self.rlat, self.wpct, self.wlat)):
            return None
        return self.min if self.min == self.max else None


class HogRecord(msgspec.Struct, frozen=True):
    """What was measured of protection against a memory hog."""

    isol_pct: str = "05"
    isol_thr: float = 0.9
    final_size: Number = None


class ScenarioRecord(msgspec.Struct, frozen=True):
    """A protection scenario; there is one kind."""

    hog: HogRecord | None = msgspec.field(name="MemHogTune", default=None)


class ProtectionRecord(msgspec.Struct, frozen=True):
    """No scenario: the protection run crashed."""

    scenarios: list[ScenarioRecord] = []

    @property
    def hog(self) -> HogRecord | None:
        """The scenario, if there is one."""
        return self.scenarios[0].hog if self.scenarios else None


class StorageRecord(msgspec.Struct, frozen=True):
    """Memory that the workload used and held, in bytes, one of each a loop."""

    mem_usages: list[float] = []
    mem_sizes: list[float] = []


class RunRecord(msgspec.Struct, frozen=True):
    """One run at one setting."""

    ovr: Override
    stor: StorageRecord = StorageRecord()
    prot: ProtectionRecord = ProtectionRecord()


class QosRecord(msgspec.Struct, frozen=True):
    """All runs; null: skipped or failed. ``inc_runs`` are those of a benchmark that is still going on."""

    base_model: Model
    base_qos: Qos
    mem_profile: int = 0
    runs: list[RunRecord | None] = []
    inc_runs: list[RunRecord | None] = []


Table = dict[str, dict[str, Number]]


class FinalRun(msgspec.Struct, frozen=True):
    """Protection at the size that was found."""

    isol: dict[str, Number] = {}
    lat_imp: dict[str, Number] = {}
    work_csv: Number = None


class HogResult(msgspec.Struct, frozen=True):
    """Null: no run."""

    final_run: FinalRun | None = None


class ScenarioResult(msgspec.Struct, frozen=True):
    """See `ScenarioRecord`."""

    hog: HogResult | None = msgspec.field(name="MemHogTune", default=None)


class ProtectionResult(msgspec.Struct, frozen=True):
    """See `ProtectionRecord`."""

    scenarios: list[ScenarioResult] = []

    @property
    def final_run(self) -> FinalRun | None:
        """The final run of the scenario, if there is one."""
        hog = self.scenarios[0].hog if self.scenarios else None
        return hog.final_run if hog else None


class StorageResult(msgspec.Struct, frozen=True):
    """Tables of latencies in seconds: by latency percentile, then time percentile; of reads, then writes."""

    mem_offload_factor: Number = None
    iolat: tuple[Table, Table] = ({}, {})


class RunResult(msgspec.Struct, frozen=True):
    """What one run came to."""

    stor: StorageResult = StorageResult()
    prot: ProtectionResult = ProtectionResult()
    adjusted_mem_offload_factor: Number = None
    adjusted_mem_offload_delta: Number = None
    nr_reports: tuple[int, int] = (0, 0)


class QosResult(msgspec.Struct, frozen=True):
    """Parallel to the runs of the record."""

    runs: list[RunResult | None] = []


class Place(msgspec.Struct, frozen=True):
    """A point of a stored series."""

    x: float
    y: float


class StoredSeries(msgspec.Struct, frozen=True):
    """A series of a stored analysis: ``data`` since 2.2, ``points`` before."""

    data: list[Place] = []
    points: list[Place] = []
    outliers: list[Place] = []


class TuneRecord(msgspec.Struct, frozen=True):
    """What a stored analysis was made of."""

    qos_props: list[dict[str, str]] = []


class TuneResult(msgspec.Struct, frozen=True):
    """A stored analysis."""

    base_model: Model
    base_qos: Qos
    mem_profile: int = 0
    isol_pct: str | None = None
    isol_thr: float | None = None
    data: dict[str, StoredSeries] = {}
