"""Places in which tests have a switch; where none can be made they say why they are skipped."""

import pytest
from brimful.lab.namespaces import permitted
from support import wire_lab


@pytest.fixture
def lab():
    with wire_lab() as lab:
        yield lab


@pytest.fixture
def bed():
    from hosts import open_bed

    reason = permitted()
    if reason is not None:
        pytest.skip(reason)
    with open_bed() as bed:
        yield bed
