# SPDX-License-Identifier: MIT
"""Fixtures: a node with backends at the other end of its cable. Skips, with the reason, what cannot run here."""
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab"), str(Path(__file__).parent)]
from lab.host import Lab             # noqa: E402
from lab.ready import reason_to_skip   # noqa: E402
from node import PROGRAM, Node   # noqa: E402

TOOLS = ("curl", "setpriv")


def pytest_collection_modifyitems(items):
    reason = reason_to_skip(PROGRAM, TOOLS)
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def node():
    """With the engine of the program's default."""
    with Lab() as lab:
        yield Node(lab)


@pytest.fixture(params=["xdp", "user"])
def each_engine(request):
    with Lab() as lab:
        yield Node(lab, engine=request.param)
