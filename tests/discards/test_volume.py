"""What is found when clients have more tests after a date than before, and nothing else changed."""

import numpy as np
import pytest
from brimful.discards import comparisons
from brimful.discards.modes import Mode
from brimful.records import Finding

CLIENTS = 200


@pytest.mark.parametrize("volume", [0.5, 1, 2])
def test_another_number_of_tests_is_no_change(volume):
    random = np.random.default_rng(1)
    levels = random.normal(17, 0.3, CLIENTS)
    rows = []
    for period, tests in (("before", 30), ("after", round(30 * volume))):
        for client, level in enumerate(levels):
            rates = random.lognormal(level, 0.35, tests)
            found = {"max_bps": rates.max(), "mean_bps": rates.mean(), "median_bps": np.median(rates)}
            rows.append({"site": "abc01", "period": period, "client": str(client), **found})
    records = comparisons.before_after(rows, mode=Mode.CORRECT, seed=1)
    compared = [line.data for line in records if isinstance(line, Finding) and "holm_p" in line.data]
    assert {data["quantity"] for data in compared} == {comparisons.PRIMARY}
    assert {data["tests"] for data in compared} == {1}
    assert min(data["holm_p"] for data in compared) > 0.01
