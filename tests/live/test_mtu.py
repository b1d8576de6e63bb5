# SPDX-License-Identifier: MIT
"""Links of other sizes: path MTU discovery both ways, judged by Linux's own TCP, which stalls where it fails."""
import pytest
from lab.host import Lab
from server import digest_of
from world import DATA, FAMILIES, LONG, METHODS, TUNNELS, World, services, vip

SIZE = 100_000_000 if LONG else 2_000_000
# MTU of the links client - edge, edge - router, and of the node's and backends' link, which is network_mtu.
NARROW, LEAST, V4_ONLY = (1500, 1300, 1500), (1500, 1500, 1332), (1500, 1500, 1280)


def for_tunnels_of_v4():
    """CONTRACT section 7: IPv6 through a tunnel needs 1280 bytes inside, so a network of 1280 carries none."""
    config = services()
    config["vips"] = [one for one in config["vips"] if one["id"] not in [f"{method}6" for method in TUNNELS]]
    used = {service["backend_pool"] for one in config["vips"] for service in one["services"]}
    config["pools"] = [pool for pool in config["pools"] if pool["id"] in used]
    return config


@pytest.fixture(scope="module", params=[NARROW, LEAST], ids=["narrow-path", "network-1332"])
def world(engine, request):
    with Lab() as lab:
        yield World(lab, engine, request.param, config=services(outer=6 if request.param == LEAST else None))


@pytest.fixture(scope="module")
def smallest(engine):
    with Lab() as lab:
        yield World(lab, engine, V4_ONLY, config=for_tunnels_of_v4())


def what_transfers_cause(world, address):
    """The reasons that are counted more often when bytes went both ways and arrived whole."""
    for host in (world.client, *world.backends):      # nobody remembers what he was told about another VIP
        host.run("ip", "route", "flush", "cache")
        host.run("ip", "-6", "route", "flush", "cache")
    before = world.reasons()
    for word in ("get", "put"):
        assert world.ask(word, address, DATA, SIZE)["sha256"] == digest_of(SIZE)
    return {reason for reason, count in world.reasons().items() if count > before.get(reason, 0)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_transfers_both_ways_find_the_size_that_fits(world, method, family):
    told = what_transfers_cause(world, vip(method, family))
    if world.mtus == NARROW:      # the router told the VIP, and the backend heard it
        assert "icmp_error" in told
    elif method in TUNNELS:       # the node told the client
        assert ("fragmentation_needed" if family == 4 else "packet_too_big") in told


@pytest.mark.parametrize(("method", "family"), [*((method, 4) for method in METHODS),
                                                *((method, 6) for method in METHODS if method not in TUNNELS)])
def test_a_network_of_1280_bytes_carries_all_but_tunnels_of_ipv6(smallest, method, family):
    told = what_transfers_cause(smallest, vip(method, family))
    assert ("fragmentation_needed" in told) == (method in TUNNELS)


@pytest.fixture(scope="module")
def jumbo():
    # Only the program in the driver takes frames of this size: AF_XDP sockets have 3,794 bytes.
    with Lab() as lab:
        yield World(lab, "xdp", (8900, 8900, 9000))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_frames_of_nine_thousand_bytes_are_forwarded_in_the_driver(jumbo, method, family):
    for word in ("get", "put"):
        done = jumbo.ask(word, vip(method, family), DATA, SIZE)
        assert done["sha256"] == digest_of(SIZE) and done["pmtu"] == 8900
