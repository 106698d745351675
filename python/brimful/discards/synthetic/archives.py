"""Archives as the uploader of the platform writes them."""

from __future__ import annotations

import datetime
import gzip
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

from brimful.discards.synthetic.config import Config
from brimful.discards.synthetic.streams import stream


@dataclass(frozen=True)
class Member:
    """A file in an archive."""

    name: str
    content: bytes
    modified: datetime.datetime


def write_archive(
    config: Config,
    directory: Path,
    site: str,
    machine: str,
    sent: datetime.datetime,
    members: list[Member],
    *,
    level: int,
) -> None:
    """Write files of a machine as one archive, about when they were sent.

    The name and the directory follow that time, as on the platform, and not the times of the data.
    """
    microseconds = stream(config.seed, "archive", f"{site} {machine} {sent.isoformat()}").integers(600_000_000)
    sent += datetime.timedelta(microseconds=int(microseconds))
    place = directory / "utilization" / "switch" / sent.strftime("%Y/%m/%d")
    place.mkdir(parents=True, exist_ok=True)
    stamp = sent.strftime("%Y%m%dT%H%M%S.%fZ")
    content = io.BytesIO()
    # gzip and tar would otherwise write the time of today.
    with (
        gzip.GzipFile(
            fileobj=content, mode="wb", compresslevel=level, mtime=int(sent.timestamp()), filename=""
        ) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for member in members:
            header = tarfile.TarInfo(member.name)
            header.size = len(member.content)
            header.mode = 0o666
            header.mtime = int(member.modified.timestamp())
            header.pax_headers = {
                "MLAB.datatype": "switch",
                "MLAB.experiment.name": "utilization",
                "MLAB.server.name": f"{machine}.{site}.measurement-lab.org",
            }
            archive.addfile(header, io.BytesIO(member.content))
    (place / f"{stamp}-switch-{machine}-{site}-utilization.tgz").write_bytes(content.getvalue())
