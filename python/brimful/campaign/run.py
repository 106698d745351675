"""Carrying a campaign out: member after member, each ended one in the record before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from brimful.campaign.guesses import first_guess
from brimful.campaign.kinds import RunRequest, check_run, make_run
from brimful.campaign.plan import Campaign, Planned
from brimful.campaign.steadiness import steadiness_warnings
from brimful.errors import BrimfulError, RecordError, UsageError
from brimful.measurers.base import Measurer
from brimful.records import Burst, End, Member, Run, RunFile, read_run
from brimful.records.stated import losses, recoveries
from brimful.run_index import RECORD_NAME
from brimful.runs import open_record, run_identity, saved_run
from brimful.throughput.manager import SearchRequest, check_search, run_search
from brimful.throughput.run_loop import Progress

OpenMember = Callable[[SearchRequest], Measurer]
"""Opens the measurer that a request names."""


class CampaignOutcome(msgspec.Struct, frozen=True):
    """A campaign that ended, and where its record is."""

    directory: Path
    members: list[Member]
    end: End


class _Interrupted(Exception):
    """A member was interrupted, and the campaign with it."""


def run_campaign(
    campaign: Campaign,
    open_member: OpenMember,
    *,
    out: Path | None = None,
    resume: bool = False,
    progress: Callable[[Run, Progress], None] = lambda run, progress: None,
    run_progress: Callable[..., None] = lambda *state: None,
    note: Callable[[str], None] = lambda text: None,
) -> CampaignOutcome:
    """Run a campaign, or go on with one that was interrupted.

    A member that fails is recorded as such, and the others go on; one that was interrupted or failed is tried again
    when the campaign is resumed.

    Parameters
    ----------
    campaign, open_member
        What to measure, and what opens the measurer of a member.
    out, resume
        Where the record is, and whether to go on with it.
    progress, run_progress, note
        Get where a search stands, where a run of another subject stands (as its own manager says it), and what to say
        once.

    Raises
    ------
    UsageError
        When one of its members cannot be carried out; nothing has been measured then.
    RecordError
        When a record cannot be written.
    """
    planned = campaign.members()
    saved = saved_run(out, campaign.fingerprint(), resume=resume, what="campaign", note=note)
    members = _succeeded(saved) if saved is not None else {}
    left = [each for each in planned if each.name not in members]
    if saved is not None and not left and saved.is_done():
        note(f"{saved.path}: this campaign is complete; its result is shown again")
        return CampaignOutcome(saved.path.parent, list(members.values()), saved.ends[-1])
    _check(campaign, left, open_member, note)
    with open_record(out, saved, [_begin(campaign)]) as (writer, file):
        directory, members = file.path.parent, _succeeded(file)
        left = [each for each in planned if each.name not in members]
        if saved is not None:
            note(f"{directory}: going on after {len(members)} of {len(planned)} {campaign.plural}")
        reason = "done"
        ended = list(members.values())
        try:
            for each in left:
                note(_where(campaign, each, f"{len(ended) + 1} of {len(planned)}"))
                show = partial(_show_all, progress, each, left[left.index(each) + 1 :], ended)
                turn = _Turn(campaign, each, directory, ended)
                member = turn.run(open_member, show if campaign.runs is None else progress, run_progress, note)
                writer.write(member)
                ended.append(member)
        except (KeyboardInterrupt, _Interrupted):
            reason = "interrupted"
        end = end_of(reason, ended)
        if reason == "done":
            for warning in steadiness_warnings(campaign.search.goals, ended):
                writer.write(warning)
        writer.write(end)
    return CampaignOutcome(directory, ended, end)


def _where(campaign: Campaign, planned: Planned, place: str) -> str:
    """Say which member begins."""
    if campaign.runs is not None:
        return f"run {place}: {planned.title}"
    return f"search {place}: {planned.title}, repeat {planned.repeat}"


def _show_all(
    progress: Callable[[Run, Progress], None],
    current: Planned,
    later: Sequence[Planned],
    ended: Sequence[Member],
    run: Run,
    state: Progress,
) -> None:
    """Report where a search stands, and how long the campaign may still take."""
    whole_s = None
    if state.remaining_s is not None:
        expected_s = state.elapsed_s + state.remaining_s
        whole_s = state.remaining_s + sum(_expected_s(each, current, expected_s, ended) for each in later)
    progress(run, msgspec.structs.replace(state, campaign_remaining_s=whole_s))


def _expected_s(search: Planned, current: Planned, current_s: float, ended: Sequence[Member]) -> float:
    """Give how long a search may take: as long as its repeats; before there is one, as long as others."""
    alike = [each.end.search_s for each in ended if each.cell == search.cell and not each.failed]
    if search.cell == current.cell:
        alike.append(current_s)
    known = alike or [*(each.end.search_s for each in ended if not each.failed), current_s]
    return sum(known) / len(known)


def _succeeded(saved: RunFile) -> dict[str, Member]:
    return {member.name: member for member in saved.members if not member.failed}


def times_of(file: RunFile) -> dict[tuple[str, str | None], float]:
    """Give how long a search of each measurer and size took on average.

    Raises
    ------
    UsageError
        When the record is of no campaign of which a search ended.
    """
    ended = [member for member in file.members if not member.failed]
    if not ended:
        message = f"{file.path}: no search of a campaign ended there; name a campaign that did"
        raise UsageError(message)
    cells = dict.fromkeys(member.cell for member in ended)
    times_s = {cell: [member.end.search_s for member in ended if member.cell == cell] for cell in cells}
    return {cell: sum(found) / len(found) for cell, found in times_s.items()}


def end_of(reason: str, ended: Sequence[Member]) -> End:
    """Give the last line of a campaign: the sums of its members."""
    return End(
        reason=reason,
        trials=sum(member.end.trials for member in ended),
        search_s=round(sum(member.end.search_s for member in ended), 9),
    )


def _check(campaign: Campaign, left: Sequence[Planned], open_member: OpenMember, note: Callable[[str], None]) -> None:
    """Open everything once: what cannot be measured is refused now and not after hours.

    What cannot be measured with for want of a program or a permission fails in its turn; where that is all there is,
    there is no campaign.
    """
    firsts = {each.cell: each for each in reversed(left)}
    cells = [each for each in left if firsts[each.cell] is each]
    failures: list[BrimfulError] = []
    for each in cells:
        try:
            measurer = open_member(each.request)
            try:
                _check_request(campaign.runs, each.request, measurer)
            finally:
                measurer.close()
        except UsageError as error:
            message = f"{each.title}: {error}"
            raise UsageError(message) from error
        except BrimfulError as error:
            note(f"{each.title}: {error}; its {campaign.plural} are going to fail")
            failures.append(error)
    if failures and len(failures) == len(cells):
        raise failures[0]


def _check_request(runs: RunRequest | None, request: SearchRequest, measurer: Measurer) -> None:
    if runs is None:
        check_search(request, measurer)
    else:
        check_run(runs, request, measurer)


def _begin(campaign: Campaign) -> Run:
    search = campaign.search
    return Run(
        **run_identity(),
        subject=campaign.subject,
        goals=search.goals,
        strategy=search.strategy,
        source={
            "measurers": campaign.measurers,
            "frame_sizes": [size for size in campaign.frame_sizes if size is not None],
            "repeats": campaign.repeats,
            "shared_guesses": campaign.share_guesses,
            **({} if campaign.shard is None else {"shard": msgspec.to_builtins(campaign.shard_facts())}),
        },
        preset=search.preset,
        budget_s=search.budget_s,
        early_termination=search.early_termination,
        warm_up_s=search.warm_up_s,
        on_invalid=search.on_invalid,
        on_error=search.on_error,
        labels=search.labels,
        fingerprint=campaign.fingerprint(),
    )


def with_results(member: Member, file: RunFile) -> Member:
    """Give a member that is no search with what its own record says of it."""
    return msgspec.structs.replace(
        member,
        run=file.run,
        burst=file.last(Burst),
        losses=losses(file),
        recoveries=recoveries(file),
        warnings=file.warnings,
    )


class _Turn(msgspec.Struct, frozen=True):
    """One member of a campaign, knowing those that ended before it."""

    campaign: Campaign
    planned: Planned
    directory: Path
    ended: list[Member]

    def run(
        self,
        open_member: OpenMember,
        progress: Callable[[Run, Progress], None],
        run_progress: Callable[..., None],
        note: Callable[[str], None],
    ) -> Member:
        """Measure, or go on where it was interrupted.

        Raises
        ------
        RecordError
            When its record cannot be written.
        """
        try:
            began_s = time.monotonic()
            measurer = open_member(self.planned.request)
            set_up_s = time.monotonic() - began_s
            try:
                if self.campaign.runs is not None:
                    return self._run(self.campaign.runs, measurer, progress, run_progress, note)
                return self._search(measurer, set_up_s, progress, note)
            finally:
                measurer.close()
        except RecordError:
            raise
        except BrimfulError as error:
            note(f"failed: {error}")
            return self._failed(str(error))

    def _search(
        self,
        measurer: Measurer,
        set_up_s: float,
        progress: Callable[[Run, Progress], None],
        note: Callable[[str], None],
    ) -> Member:
        outcome = run_search(
            self._request(),
            measurer,
            out=self._out,
            resume=(self._out / RECORD_NAME).exists(),
            ceiling=self._ceiling(),
            set_up_s=set_up_s,
            progress=progress,
            note=note,
        )
        if outcome.result.end.reason == "interrupted":
            raise _Interrupted
        return msgspec.structs.replace(
            self._member(outcome.result.end),
            run=outcome.run,
            goal_results=outcome.result.goal_results,
            warnings=outcome.warnings,
        )

    def _run(
        self,
        runs: RunRequest,
        measurer: Measurer,
        search_progress: Callable[[Run, Progress], None],
        progress: Callable[..., None],
        note: Callable[[str], None],
    ) -> Member:
        end, path = make_run(
            runs,
            self.planned.request,
            measurer,
            self._out,
            resume=(self._out / RECORD_NAME).exists(),
            search_progress=search_progress,
            progress=progress,
            note=note,
        )
        if end.reason == "interrupted":
            raise _Interrupted
        if path is None:
            return self._failed(end.text)
        return with_results(self._member(end), read_run(path))

    @property
    def _out(self) -> Path:
        return self.directory / self.planned.name

    def _failed(self, text: str) -> Member:
        return self._member(End(reason="measurement-failed", trials=0, search_s=0.0, text=text))

    def _request(self) -> SearchRequest:
        guess = first_guess(self.planned, self.ended) if self.campaign.share_guesses else None
        request = self.planned.request
        return request if guess is None else msgspec.structs.replace(request, hint=repr(guess))

    def _ceiling(self) -> float | None:
        """Give the tester's own ceiling, where an earlier repeat measured it: it is not the device's to change."""
        cell = self.planned.cell
        runs = [member.run for member in self.ended if member.cell == cell]
        return next((run.measurer.known_ceiling for run in runs if run and run.measurer.known_ceiling), None)

    def _member(self, end: End) -> Member:
        planned = self.planned
        return Member(
            name=planned.name,
            measurer=planned.measurer,
            repeat=planned.repeat,
            path=planned.name,
            end=end,
            frame_size=planned.frame_size,
        )
