"""Which searches, or runs of another subject, a campaign is made of, and in which order."""

from __future__ import annotations

import re

import msgspec

from brimful.campaign.kinds import RunRequest, subject_of
from brimful.campaign.shards import Shard, ShardFacts, cut
from brimful.errors import UsageError, did_you_mean
from brimful.measurers.catalogue import SIZE, is_disk, kind_of
from brimful.records.experiment import fingerprint
from brimful.throughput.manager import SearchRequest

SUBJECT = "campaign"
REPEAT = "{repeat}"
"""What a measurer's text may have in it: replaced by the number of the repeat."""
MAX_MEMBERS = 10_000
_LONGEST_NAME = 40


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One search of a campaign."""

    name: str
    measurer: str
    frame_size: str | None
    repeat: int
    request: SearchRequest

    @property
    def cell(self) -> tuple[str, str | None]:
        """What it shares with its repeats."""
        return self.measurer, self.frame_size

    @property
    def title(self) -> str:
        """What it and its repeats are, for people."""
        what = "IO" if is_disk(self.measurer) else "frame"
        size = "" if self.frame_size is None else f", {what} size {self.frame_size}"
        return f"{self.measurer}{size}"


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """Searches that differ in measurer, frame size and repeat, and in nothing else."""

    search: SearchRequest
    """What each of them asks; its measurer is replaced."""
    measurers: list[str]
    frame_sizes: list[str | None]
    """Null: as ``search`` says."""
    repeats: int
    share_guesses: bool = True
    """Whether a search begins where those before it ended."""
    runs: RunRequest | None = None
    """What each is asked that is no search; its search is replaced. Null: they are searches and nothing more."""
    shard: Shard | None = None
    """The part of it that is measured here; null: all."""
    expected_s: dict[tuple[str, str | None], float] = {}
    """How long a search of a measurer and size takes, where it is known; shards are cut by it."""

    @property
    def subject(self) -> str:
        """Of its record."""
        return SUBJECT if self.runs is None else subject_of(self.runs)

    @property
    def plural(self) -> str:
        """What its members are, for people."""
        return "searches" if self.runs is None else "runs"

    def members(self) -> list[Planned]:
        """Give the searches in their order: every measurer and size once, then all of them again.

        A machine that drifts then spreads its drift over all sizes instead of over one. A shard has those of its part.

        Raises
        ------
        UsageError
            When there are too many, or fewer than shards, one is there twice, or a measurer cannot know the frame size.
        """
        planned = self._all()
        if self.shard is None:
            return planned
        if self.shard.of > len(planned):
            message = (
                f"--shard {self.shard}: the campaign has {len(planned)} {self.plural}; have no more parts than that"
            )
            raise UsageError(message)
        # Repeats of one measurer and size stay on one test bed as far as that is possible.
        places = {cell: place for place, cell in enumerate(dict.fromkeys(each.cell for each in planned))}
        row = sorted(planned, key=lambda each: places[each.cell])
        parts = cut([self._expected_s(each) for each in row], self.shard.of)
        mine = {each.name for each, part in zip(row, parts, strict=True) if part == self.shard.part - 1}
        return [each for each in planned if each.name in mine]

    def shard_facts(self) -> ShardFacts:
        """Say which part of which campaign this is, for `brimful merge`."""
        whole = msgspec.structs.replace(self, shard=None)
        shard = self.shard or Shard(1, 1)
        return ShardFacts(shard.part, shard.of, [each.name for each in self.members()], whole.fingerprint())

    def _expected_s(self, planned: Planned) -> float:
        """Give how long a search takes; one that nothing is known of takes as long as the others do on average."""
        known = list(self.expected_s.values()) or [1.0]
        return self.expected_s.get(planned.cell, sum(known) / len(known))

    def _all(self) -> list[Planned]:
        self._check()
        cells = [(measurer, size) for measurer in self.measurers for size in self.frame_sizes]
        rounds = [(measurer, size, repeat) for repeat in range(1, self.repeats + 1) for measurer, size in cells]
        digits = max(3, len(str(len(rounds))))
        return [
            Planned(
                name=f"{number:0{digits}}-{_word(measurer)}" + (f"-{_word(size)}" if size else ""),
                measurer=measurer,
                frame_size=size,
                repeat=repeat,
                request=self._request(measurer, size, repeat),
            )
            for number, (measurer, size, repeat) in enumerate(rounds, start=1)
        ]

    def fingerprint(self) -> str:
        """Digest what makes two campaigns the same."""
        runs = {} if self.runs is None else {"runs": self.runs.fingerprint()}
        part = (
            {} if self.shard is None else {"shard": str(self.shard), "members": [each.name for each in self.members()]}
        )
        return fingerprint(
            subject=self.subject,
            search=self.search.fingerprint(),
            measurers=self.measurers,
            frame_sizes=self.frame_sizes,
            repeats=self.repeats,
            share_guesses=self.share_guesses,
            **runs,
            **part,
        )

    def _check(self) -> None:
        for what, given in (("measurer", self.measurers), ("frame size", [*map(str, self.frame_sizes)])):
            twice = next((entry for entry in given if given.count(entry) > 1), None)
            if twice is not None:
                again = "--repeat" if self.runs is None else "--tests"
                message = f"{what} {twice!r} is given twice; use {again} to measure it again"
                raise UsageError(message)
        number = len(self.measurers) * len(self.frame_sizes) * self.repeats
        if number > MAX_MEMBERS:
            message = f"the campaign has {number} searches; {MAX_MEMBERS} are the most"
            raise UsageError(message)
        for measurer in self.measurers:
            if self.frame_sizes != [None] and not kind_of(measurer).hears_size and SIZE not in measurer:
                message = f"measurer {measurer!r} would not be told the frame size; write {SIZE} where it belongs"
                raise UsageError(message)

    def _request(self, measurer: str, size: str | None, repeat: int) -> SearchRequest:
        text = measurer.replace(REPEAT, str(repeat))
        if is_disk(measurer) and REPEAT not in measurer:
            text = _with_seed(text, repeat)
        traffic = self.search.traffic
        if size is not None and is_disk(measurer) and SIZE not in measurer:
            text = f"{text},size={size}"
        elif size is not None:
            text = text.replace(SIZE, size)
            traffic = {**traffic, "arguments": [*traffic.get("arguments", []), f"--frame-size={size}"]}
        return msgspec.structs.replace(self.search, measurer=text, traffic=traffic)


def _with_seed(disk: str, repeat: int) -> str:
    """Give a repeat of a disk a seed of its own: a cache knows the places and the order of the one before.

    >>> _with_seed("disk:/dev/sda", 1), _with_seed("disk:/dev/sda", 2), _with_seed("disk:/dev/sda,seed=7,size=4k", 3)
    ('disk:/dev/sda', 'disk:/dev/sda,seed=2', 'disk:/dev/sda,seed=9,size=4k')
    """
    if repeat == 1:
        return disk
    given = re.search(r",seed=([0-9]{1,18})(?=,|$)", disk)
    if given is None:
        return f"{disk},seed={repeat}"
    return f"{disk[: given.start(1)]}{int(given[1]) + repeat - 1}{disk[given.end(1) :]}"


_IMIX = "imix"


def parse_sizes(text: str, *, names: bool = False) -> list[str | None]:
    """Read sizes of frames or of IOs; with ``names`` also any names, which a program of the user's knows.

    >>> parse_sizes("64, 1518,imix"), parse_sizes("4k,128k")
    (['64', '1518', 'imix'], ['4k', '128k'])

    Raises
    ------
    UsageError
        When one of them is no size.
    """
    sizes: list[str | None] = []
    for size in (part.strip() for part in text.split(",")):
        if not re.fullmatch(r"[1-9][0-9]{1,4}|[1-9][0-9]{0,3}[kKmM]|[A-Za-z][A-Za-z0-9_-]*", size):
            message = f"--sizes {text!r}: {size!r} is no frame size; write them like 64,512,1518,imix"
            raise UsageError(message)
        if size[0].isalpha() and size != _IMIX and not names:
            meant = did_you_mean(size, [_IMIX])
            message = f"--sizes {text!r}: {size!r} is no frame size{meant}; write them like 64,512,1518,imix"
            raise UsageError(message)
        sizes.append(size)
    return sizes


def _word(text: str) -> str:
    """Make a part of a directory's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text)[:_LONGEST_NAME].strip("-.")
