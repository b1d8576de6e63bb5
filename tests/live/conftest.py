# SPDX-License-Identifier: MIT
"""A world for each engine, shared by the tests of a file; skips, with the reason, what cannot run here."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
from lab.fleet import PROGRAM          # noqa: E402
from lab.host import Lab               # noqa: E402
from lab.ready import reason_to_skip   # noqa: E402
from world import LONG, World          # noqa: E402

collect_ignore = [] if LONG else ["test_many.py"]


def pytest_collection_modifyitems(items):
    reason = reason_to_skip(PROGRAM, ("ethtool", "curl"))
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(params=["xdp", "user"], scope="module")
def engine(request):
    return request.param


@pytest.fixture(scope="module")
def world(engine):
    with Lab() as lab:
        yield World(lab, engine)
