"""Reads benchmark results: 2.1 and 2.2, merged or not, compressed or not, finished or not. Never writes them."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TypeVar

import msgspec

from brimful.errors import RecordError, UsageError
from brimful.files import read_file
from brimful.iocost import layout, selectors
from brimful.iocost.selectors import Selector

QOS, TUNE, MERGE = "iocost-qos", "iocost-tune", "merge-info"
OLDEST = (2, 1)
"""Oldest version of the benchmark whose results can be read."""
DEFAULT_ISOLATION = {(2, 1): "01"}
"""Isolation percentile of a version whose results do not say it; of all others ``05``."""
GZIP = b"\x1f\x8b"
"""What a compressed file begins with."""
MAX_BYTES = 1 << 30
_HIGHEST_RATIO = 100
"""Benchmark results shrink to a tenth or so; what grows by more than this is made to fill the memory."""
_PIECE_BYTES = 1 << 26
"""No result is nearly as large; what is larger is something else."""

Points = list[tuple[float, float]]
_T = TypeVar("_T")


class Run(msgspec.Struct, frozen=True):
    """One run at one vrate: what was recorded, and what was derived from it once the benchmark was done."""

    vrate: float
    record: layout.RunRecord
    result: layout.RunResult | None


class Result(msgspec.Struct, frozen=True):
    """What one benchmark of one device says."""

    path: str
    id: str | None
    system: layout.System
    period: tuple[int, int]
    base_model: layout.Model
    base_qos: layout.Qos
    memory_profile_gib: int
    isolation_percentile: str
    isolation_threshold: float
    properties: list[dict[str, str]]
    """Of the job that measured."""
    runs: list[Run]
    stored: dict[str, Points]
    """Series of a merged result, which has no runs."""
    skipped_runs: int
    """Runs that the benchmark left out or lost."""
    unfinished: bool
    warnings: list[str]

    @property
    def machine(self) -> layout.Machine:
        """The machine and the device."""
        return self.system.sysreqs_report or layout.Machine()

    @property
    def selectors(self) -> list[Selector]:
        """The series that are worth keeping: those of a merged result, else what is always analysed."""
        return [selectors.parse(name) for name in self.stored] or list(selectors.DEFAULT)

    def points(self, selector: Selector) -> Points | None:
        """Give the points of a series, sorted; nothing where a merged result was not asked for it."""
        if self.stored:
            return self.stored.get(selector.name, [] if selector in selectors.DEFAULT else None)
        values = ((run.vrate, _value(run, selector, self.isolation_percentile)) for run in self.runs)
        return sorted((vrate, value) for vrate, value in values if value is not None)

    def judged_by(self, percentile: str | None, threshold: float | None) -> Result:
        """Give the same result with another measure of isolation.

        Parameters
        ----------
        percentile
            Of the protected workload's share, as `DEFAULT_ISOLATION` writes it (``05``), or ``mean``; none: as it is.
        threshold
            Share of its work below which a group counts as not isolated; none: as it is.

        Raises
        ------
        UsageError
            When the result has no such percentile.
        """
        changes: dict[str, str | float] = {} if threshold is None else {"isolation_threshold": threshold}
        if percentile is not None and percentile != self.isolation_percentile:
            finals = [run.result.prot.final_run for run in self.runs if run.result is not None]
            known = sorted({name for final in finals if final is not None for name in final.isol})
            if percentile not in known:
                has = f"it has {', '.join(known)}" if known else f"it has {self.isolation_percentile} only"
                message = f"{self.path}: has no isolation percentile {percentile}; {has}"
                raise UsageError(message)
            changes["isolation_percentile"] = percentile
        return msgspec.structs.replace(self, **changes)


def read_results(path: Path) -> list[Result]:
    """Read every device's result of a file.

    Raises
    ------
    RecordError
        In one line: the file, the job and the field that are not what they should be.
    """
    return parse_results(read_bytes(path), path)


def parse_results(content: bytes, path: Path) -> list[Result]:
    """Read the results in the content of a file; ``path`` names it in results and errors."""
    jobs = _decode(content, list[layout.Job], str(path))
    _check_versions(jobs, path)
    numbered = {kind: [(n, job) for n, job in enumerate(jobs) if job.spec.kind == kind] for kind in (QOS, TUNE)}
    if not numbered[QOS] and not numbered[TUNE]:
        kinds = ", ".join(sorted({job.spec.kind for job in jobs})) or "nothing"
        message = f"{path}: holds {kinds}, but no job of kind {QOS} or {TUNE}; is it a result of another benchmark?"
        raise RecordError(message)
    analyses = [_decode_tune(path, number, job) for number, job in numbered[TUNE]]
    measured = []
    for place, (number, job) in enumerate(numbered[QOS]):
        result = _from_runs(path, number, job, analyses[place] if place < len(analyses) else None)
        if result is not None:
            measured.append(result)
    if measured:
        return measured
    return [_from_analysis(path, job, *analysis) for (_, job), analysis in zip(numbered[TUNE], analyses, strict=True)]


def _check_versions(jobs: list[layout.Job], path: Path) -> None:
    for number, job in enumerate(jobs):
        version = version_of(job.sysinfo.bench_version)
        if version is not None and version < OLDEST:
            message = (
                f"{path}: job {number} ({job.spec.kind}) was made by version {job.sysinfo.bench_version.split()[0]}; "
                f"results are read from version {OLDEST[0]}.{OLDEST[1]} on"
            )
            raise RecordError(message)


def read_bytes(path: Path) -> bytes:
    """Read a file, uncompressed; whether it is compressed shows in its first bytes."""
    content = read_file(path)
    if not content.startswith(GZIP):
        return content
    try:
        return _uncompress(content)
    except (EOFError, zlib.error) as error:
        message = f"{path}: the compressed data are damaged or cut off ({error}); get the file again"
        raise RecordError(message) from error
    except OverflowError as error:
        message = f"{path}: {error}; is it a benchmark result?"
        raise RecordError(message) from error


def _uncompress(content: bytes) -> bytes:
    """Uncompress gzip members up to the limits, in large pieces: that takes half the time of `gzip.open`."""
    parts: list[bytes] = []
    size, most = 0, min(MAX_BYTES, max(_PIECE_BYTES, _HIGHEST_RATIO * len(content)))
    while content.startswith(GZIP):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            parts.append(member.decompress(content, _PIECE_BYTES))
            content = member.unconsumed_tail
            size += len(parts[-1])
            if size > most:
                message = f"more than {most >> 20} MiB uncompressed"
                raise OverflowError(message)
            if not parts[-1] and not member.eof:
                message = "it ends too early"
                raise EOFError(message)
        content = member.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def version_of(text: str) -> tuple[int, int] | None:
    """Give the major and minor version.

    >>> version_of("2.2.4-g6d0138c-dirty x86_64-unknown-linux-gnu")
    (2, 2)
    """
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def _decode(content: bytes | msgspec.Raw, type_: type[_T], where: str) -> _T:
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"{where}: no benchmark result: {error}"
        raise RecordError(message) from error


def _decode_part(path: Path, number: int, job: layout.Job, part: str, type_: type[_T]) -> _T | None:
    content = getattr(job, part)
    if content == layout.NULL:
        return None
    return _decode(content, type_, f"{path}: job {number} ({job.spec.kind}), {part}")


_Analysis = tuple[layout.TuneRecord | None, layout.TuneResult | None]


def _decode_tune(path: Path, number: int, job: layout.Job) -> _Analysis:
    record = _decode_part(path, number, job, "record", layout.TuneRecord)
    return record, _decode_part(path, number, job, "result", layout.TuneResult)


def _from_runs(path: Path, number: int, job: layout.Job, analysis: _Analysis | None) -> Result | None:
    record = _decode_part(path, number, job, "record", layout.QosRecord)
    if record is None:
        return None
    result = _decode_part(path, number, job, "result", layout.QosResult)
    records = record.runs or record.inc_runs
    unfinished = result is None
    derived = result.runs if result is not None else [None] * len(records)
    warnings = []
    if len(derived) != len(records):
        warnings.append(f"{len(records)} runs were recorded, but {len(derived)} derived; only those with both count")
    if unfinished:
        warnings.append("the benchmark is not finished: latencies and isolation are derived only at its end")
    runs = [
        Run(run.ovr.vrate, run, outcome)
        for run, outcome in zip(records, derived, strict=False)
        if run is not None and run.ovr.vrate is not None and (outcome is not None or unfinished)
    ]
    stored = analysis[1] if analysis is not None else None
    percentile, threshold = _isolation(records, stored, job.sysinfo.bench_version)
    return Result(
        path=str(path),
        id=job.spec.id,
        system=job.sysinfo,
        period=job.period,
        base_model=record.base_model,
        base_qos=record.base_qos,
        memory_profile_gib=record.mem_profile,
        isolation_percentile=percentile,
        isolation_threshold=threshold,
        properties=job.spec.props,
        runs=runs,
        stored={},
        skipped_runs=sum(run is None for run in records),
        unfinished=unfinished,
        warnings=warnings,
    )


def _isolation(
    records: list[layout.RunRecord | None], stored: layout.TuneResult | None, version: str
) -> tuple[str, float]:
    """Give percentile and threshold: as the baseline run says, else as the file, else as the version."""
    first = records[0] if records else None
    if first is not None and first.prot.hog is not None:
        return first.prot.hog.isol_pct, first.prot.hog.isol_thr
    default = DEFAULT_ISOLATION.get(version_of(version) or (0, 0), "05")
    if stored is None:
        return default, 0.9
    return stored.isol_pct or default, 0.9 if stored.isol_thr is None else stored.isol_thr


def _from_analysis(
    path: Path, job: layout.Job, record: layout.TuneRecord | None, result: layout.TuneResult | None
) -> Result:
    if result is None:
        message = f"{path}: the job {TUNE} has no result, and there is no job {QOS} to derive one from"
        raise RecordError(message)
    stored = {
        name: sorted((place.x, place.y) for place in (*series.data, *series.points, *series.outliers))
        for name, series in result.data.items()
    }
    percentile, threshold = _isolation([], result, job.sysinfo.bench_version)
    return Result(
        path=str(path),
        id=job.spec.id,
        system=job.sysinfo,
        period=job.period,
        base_model=result.base_model,
        base_qos=result.base_qos,
        memory_profile_gib=result.mem_profile,
        isolation_percentile=percentile,
        isolation_threshold=threshold,
        properties=record.qos_props if record is not None else [],
        runs=[],
        stored=stored,
        skipped_runs=0,
        unfinished=False,
        warnings=[],
    )


def _value(run: Run, selector: Selector, isolation_percentile: str) -> float | None:
    """Give the value of a metric in a run; nothing where the run does not say it."""
    result = run.result
    if result is None:
        return _recorded_value(run.record, selector)
    final = result.prot.final_run if run.record.prot.hog is not None else None
    match selector.family:
        case "MOF":
            return result.stor.mem_offload_factor
        case "aMOF":
            return result.adjusted_mem_offload_factor
        case "aMOF-delta":
            return result.adjusted_mem_offload_delta
        case "isol" if selector.percentile == "mean" and final is None:
            return 0.0
        case "isol":
            return final.isol.get(selector.percentile or isolation_percentile) if final else None
        case "lat-imp":
            return final.lat_imp.get("mean") if final else None
        case "work-csv":
            return final.work_csv if final else None
        case "missing":
            present, missed = result.nr_reports
            return missed / (present + missed) if present + missed else None
        case _:
            table = result.stor.iolat[selector.family == "wlat"]
            return table.get(selector.percentile or "", {}).get(selector.time or "mean")


def _recorded_value(record: layout.RunRecord, selector: Selector) -> float | None:
    """Derive what can be derived while the benchmark is still going on."""
    usages, sizes, hog = record.stor.mem_usages, record.stor.mem_sizes, record.prot.hog
    if not usages or not sizes or sum(usages) <= 0:
        return None
    usage = sum(usages) / len(usages)
    offload = sum(sizes) / len(sizes) / usage
    adjusted = None if hog is None or hog.final_size is None else hog.final_size / usage
    values = {"MOF": offload, "aMOF": adjusted, "aMOF-delta": None if adjusted is None else offload - adjusted}
    return values.get(selector.family)
