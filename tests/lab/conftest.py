# SPDX-License-Identifier: MIT
"""Fixtures: a host of its own, and a whole fleet for each engine. Skips, with the reason, what cannot run here."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
from lab.fleet import PROGRAM, Fleet   # noqa: E402
from lab.host import Lab               # noqa: E402
from lab.ready import reason_to_skip   # noqa: E402

TOOLS = ("ethtool", "nft", "nginx", "curl", "ping", "setpriv")


def pytest_collection_modifyitems(items):
    reason = reason_to_skip(PROGRAM, TOOLS)
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def lab():
    with Lab() as made:
        yield made


@pytest.fixture(scope="module", params=["xdp", "user"])
def fleet(request):
    with Lab() as lab:
        yield Fleet(lab, engine=request.param)
