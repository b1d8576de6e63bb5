# SPDX-License-Identifier: MIT
"""The same for tunnels whose outer addresses are IPv6. The checksum of GUE over IPv6 is the slow path's work."""
import pytest
from lab.host import Lab
from test_fragments import *    # noqa: F401,F403
from test_methods import *      # noqa: F401,F403
from world import FAMILIES, TUNNELS, World, services

pytestmark = [pytest.mark.parametrize("method", TUNNELS), pytest.mark.parametrize("family", FAMILIES)]


@pytest.fixture(scope="module")
def world(engine):
    with Lab() as lab:
        yield World(lab, engine, config=services(outer=6))
