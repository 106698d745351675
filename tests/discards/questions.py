"""All questions by name, as functions of samples, tests and mode, to ask each engine the same; and how to compare."""

import datetime
import math

from brimful.discards import analysis, report_2018, splits
from brimful.discards.modes import Mode

DAY = datetime.timedelta(days=1)


def all_questions(midnight, least, monitors):
    """Give them for a cohort before and after a midnight, of clients with at least so many tests."""
    before, after = (midnight - DAY,) * 2, (midnight,) * 2
    excluded = {"excluded_clients": monitors}

    def overlap(samples, tests, mode):
        return _of(mode).test_overlap(tests, samples)

    def split(text):
        chosen = splits.parse(text, has_windows=True)

        def ask(samples, tests, mode):
            rows = splits.keyed(chosen, samples, tests, windows=(before, after), excluded=monitors)
            return splits.answer(chosen, rows)

        return ask

    return {
        "split_of_tests": split("download_rate:figure=site,panel=overlap,colour=weekday"),
        "split_of_samples": split("discards:figure=month,panel=metro,colour=period"),
        "daily_uplink_rate": lambda samples, tests, mode: _of(mode).daily_uplink_rate(samples),
        "daily_loss_ratio": lambda samples, tests, mode: _of(mode).daily_loss_ratio(samples),
        "daily_other_counts": lambda samples, tests, mode: analysis.daily_other_counts(samples),
        "daily_download_rate": lambda samples, tests, mode: _of(mode).daily_download_rate(tests, **excluded),
        "daily_retransmission_ratio": lambda samples, tests, mode: _of(mode).daily_retransmission_ratio(
            tests, **excluded
        ),
        "clients_before_after": lambda samples, tests, mode: _of(mode).clients_before_after(
            tests, before, after, least, **excluded
        ),
        "test_overlap": overlap,
        "daily_test_counts": lambda *asked: analysis.daily_test_counts(overlap(*asked)),
        "dose_response": lambda *asked: analysis.dose_response(overlap(*asked)),
        "tests_of_few": lambda *asked: analysis.tests_of_few(overlap(*asked), 99),
        "upload_overlap": lambda samples, tests, mode: analysis.upload_overlap(tests, samples),
    }


def _of(mode):
    return report_2018 if mode is Mode.REPORT else analysis


KEYS = {
    "split_of_tests": ["day", "figure", "panel", "colour"],
    "split_of_samples": ["day", "figure", "panel", "colour"],
    "daily_uplink_rate": ["site", "day"],
    "daily_loss_ratio": ["site", "day"],
    "daily_other_counts": ["site", "day", "machine", "metric"],
    "daily_download_rate": ["site", "day"],
    "daily_retransmission_ratio": ["site", "day", "server_name", "retransmission_unit"],
    "clients_before_after": ["site", "period", "client", "machine"],
    "test_overlap": ["test_id"],
    "daily_test_counts": ["site", "day", "overlap"],
    "dose_response": ["site", "client"],
    "tests_of_few": ["site", "client", "hour", "log_rate"],
    "upload_overlap": ["test_id"],
}
"""What tells the rows of an answer apart; in one mode only, some of them."""


def assert_same(name, found, expected):
    """Fail unless two answers to a question have the same rows, in any order, with numbers alike to 1e-12."""
    one, other = (sorted(rows, key=lambda row: [str(row.get(key)) for key in KEYS[name]]) for rows in (found, expected))
    assert len(one) == len(other), f"{one} != {other}"
    for left, right in zip(one, other, strict=True):
        assert left.keys() == right.keys()
        different = {key: (left[key], right[key]) for key in left if not _alike(left[key], right[key])}
        assert not different, f"{different} in {left}"


def _alike(one, other):
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
    return one == other
