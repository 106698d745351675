"""Puts the parts of a campaign together: one record, as if one test bed had measured all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from brimful.campaign.run import end_of
from brimful.campaign.shards import Shard, ShardFacts
from brimful.campaign.steadiness import steadiness_warnings
from brimful.errors import RecordError, RecordWriteError, UsageError, one_line, shown
from brimful.records import Run, RunFile, Warning, planned_members, read_run
from brimful.records.writing import RecordWriter
from brimful.run_index import RECORD_NAME
from brimful.runs import new_run_directory, run_identity

PARTS_DIFFER = "parts-differ"


class Part(msgspec.Struct, frozen=True):
    """A part of a campaign."""

    file: RunFile
    facts: ShardFacts

    @property
    def shard(self) -> Shard:
        """Which part."""
        return Shard(self.facts.part, self.facts.of)


def merge(paths: Sequence[Path], out: Path | None) -> Path:
    """Make one record of the parts of a campaign, with those of their searches; gives its directory.

    Parameters
    ----------
    paths
        Records of the parts, or their directories, in any order.
    out
        Where the record is made; none: in a new directory below ``runs``.

    Raises
    ------
    UsageError
        When they are not all parts of one campaign, each once and whole; nothing is written then.
    RecordError
        When one cannot be read.
    """
    parts = sorted((_part(path) for path in paths), key=lambda part: part.shard.part)
    _check(parts)
    directory = new_run_directory(out)
    members = sorted((member for part in parts for member in part.file.members), key=lambda member: member.name)
    for part in parts:
        for member in part.file.members:
            source = part.file.path.parent / member.path
            if source.is_dir():
                _copy(source, directory / member.path)
    unfinished = directory / f".{RECORD_NAME}"  # a merge that was killed leaves no record, and can be made again
    unfinished.unlink(missing_ok=True)
    with RecordWriter(unfinished) as writer:
        writer.write(_run(parts))
        for member in members:
            writer.write(member)
        for warning in [*_differences(parts), *steadiness_warnings(parts[0].file.run.goals, members)]:
            writer.write(warning)
        writer.write(end_of("done", members))
    unfinished.rename(directory / RECORD_NAME)
    return directory


def _copy(source: Path, target: Path) -> None:
    """Copy a directory, also over what a merge has left that did not come to its end."""
    try:
        shutil.copytree(source, target, dirs_exist_ok=True)
    except OSError as error:
        # One of several files has a list of them: place, target, reason.
        why = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror
        message = f"{target}: cannot copy {source} there: {one_line(why)}; mend that, and merge again"
        raise RecordWriteError(message) from error


def _part(path: Path) -> Part:
    file = read_run(path)
    try:
        facts = msgspec.convert(file.run.source.get("shard"), ShardFacts)
    except msgspec.ValidationError:
        message = f"{file.path}: is no part of a campaign; name records of `brimful search --shard`"
        raise UsageError(message) from None
    if (change := file.change()) is not None:
        message = f"{file.path}: {change}; measure this part again"
        raise RecordError(message)
    strange = next((member.path for member in file.members if member.path not in facts.members), None)
    if strange is not None:
        message = f"{file.path}: has a run in {shown(strange)}, which is not of its part; measure this part again"
        raise RecordError(message)
    return Part(file, facts)


def _check(parts: Sequence[Part]) -> None:
    """Refuse parts that are not one campaign, each once and whole."""
    first = parts[0]
    for part in parts[1:]:
        if part.facts.campaign != first.facts.campaign or part.shard.of != first.shard.of:
            message = (
                f"{part.file.path}: is a part of another campaign than {first.file.path}; merge parts of one command,"
                " of which only --shard, --out and what is printed may differ"
            )
            raise UsageError(message)
        twice = next(other for other in parts if other.shard == part.shard)
        if twice is not part:
            message = f"shard {part.shard} is there twice: {twice.file.path} and {part.file.path}; leave one out"
            raise UsageError(message)
    missing = sorted({*range(1, first.shard.of + 1)} - {part.shard.part for part in parts})
    if missing:
        names = ", ".join(str(Shard(number, first.shard.of)) for number in missing)
        message = f"shard {names} is missing; name its record too, or measure it with --shard"
        raise UsageError(message)
    _check_cuts(parts)
    for part in parts:
        ended = {member.name for member in part.file.members}
        if not part.file.is_done() or ended != {*part.facts.members}:
            message = (
                f"shard {part.shard} is not finished: {len(ended)} of {len(part.facts.members)} runs ended in"
                f" {part.file.path}; go on with --resume --out {part.file.path.parent}"
            )
            raise UsageError(message)


def _check_cuts(parts: Sequence[Part]) -> None:
    """Refuse parts that do not have every search once."""
    owners: dict[str, Shard] = {}
    for part in parts:
        for name in part.facts.members:
            if name in owners:
                message = (
                    f"{name} is in shard {owners[name]} and in shard {part.shard}: they were cut differently;"
                    " measure all parts with the same --times-of"
                )
                raise UsageError(message)
            owners[name] = part.shard
    whole = planned_members(_without_shard(parts[0].file.run))
    if len(owners) != whole:
        message = (
            f"the parts have {len(owners)} runs, and the campaign {whole}: they were cut differently; measure all"
            " parts with the same --times-of"
        )
        raise UsageError(message)


def _without_shard(run: Run) -> Run:
    return msgspec.structs.replace(run, source={name: value for name, value in run.source.items() if name != "shard"})


def _run(parts: Sequence[Part]) -> Run:
    runs = [part.file.run for part in parts]
    whole = _without_shard(runs[0])
    shards = [
        {
            "part": part.shard.part,
            "run_id": part.file.run.run_id,
            "started": part.file.run.started,
            "members": part.facts.members,
            "host": part.file.run.host,
            "labels": part.file.run.labels,
        }
        for part in parts
    ]
    made = {**run_identity(), "started": min(run.started for run in runs), "host": _common([run.host for run in runs])}
    return msgspec.structs.replace(
        whole,
        **made,
        source={**whole.source, "shards": shards},
        labels=_common([run.labels for run in runs]),
        fingerprint=parts[0].facts.campaign,
        digest="",
    )


def _common(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give what is true of all."""
    return {name: value for name, value in facts[0].items() if all(other.get(name) == value for other in facts[1:])}


def _differences(parts: Sequence[Part]) -> list[Warning]:
    """Say what the machines of the parts differ in, and brimful itself: then so may results."""
    kinds = {name: {str(part.file.run.host.get(name)) for part in parts} for name in ("cpu_model", "cpus", "kernel")}
    kinds["brimful"] = {part.file.run.tool.get("version", "") for part in parts}
    texts = [
        f"{name.replace('_', ' ')} ({', '.join(sorted(values))})" for name, values in kinds.items() if len(values) > 1
    ]
    if not texts:
        return []
    text = f"the parts were measured with different {' and '.join(texts)}: differences between them may be due to that"
    return [Warning(code=PARTS_DIFFER, text=text)]
