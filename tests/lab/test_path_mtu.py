# SPDX-License-Identifier: MIT
"""A link behind the node that takes less than network_mtu says: the router there tells the node, whose tunnel
packets they are, and the node tells the client. Judged by the kernel's own TCP at both ends."""
import json
import re
import sys

import pytest

from lab.fleet import ECHO, PROGRAM, VIPS, Fleet
from lab.host import Lab, wait_until
from transfer import digest_of, transfer

NARROW = 1400   # of the router's link to the backend
SIZE = 3_000_000
OVERHEAD = {VIPS[0]: 24, VIPS[1]: 44}     # GRE over the family of the pool's backends, that of the VIP
ROUTER = {VIPS[0]: "10.2.1.1", VIPS[1]: "fd02:1::1"}
BACKEND = {VIPS[0]: "10.3.1.2", VIPS[1]: "fd03:1::2"}

@pytest.fixture(scope="module", params=["xdp", "user"])
def fleet(request):
    with Lab() as lab:
        fleet = Fleet(lab, engine=request.param, nodes=1, backends=1)
        fleet.router.ip(f"link set dev b1 mtu {NARROW}")
        yield fleet


def upload(fleet, vip):
    return transfer(fleet.client, vip, ECHO, SIZE, patience=5, timeout=30)


def known_to_node(fleet):
    """Path MTU of each backend by pool, as the node shows it."""
    answer = fleet.nodes[0].host.run("curl", "-sf", "http://127.0.0.1:9100/v1/backends").stdout
    return {backend["pool"]: (backend["path_mtu"], backend.get("path_mtu_told_by")) for backend in json.loads(answer)}


@pytest.mark.parametrize("vip", VIPS)
def test_an_upload_through_a_link_that_is_smaller_than_network_mtu_arrives_whole(fleet, vip):
    node, pool = fleet.nodes[0], "echo6" if ":" in vip else "echo"
    assert known_to_node(fleet)[pool] == (2000, None)
    done = upload(fleet, vip)
    assert done["digest"] == digest_of(SIZE)
    inner = NARROW - OVERHEAD[vip]
    assert done["mss"] > inner - 60, "the handshake allowed larger segments than fit"
    assert done["mtu"] == inner, "the client was told"
    route = fleet.client.run("ip", "route", "get", vip).stdout
    assert int(re.search(r"\bmtu (\d+)", route)[1]) == inner, route
    assert known_to_node(fleet)[pool] == (NARROW, ROUTER[vip])
    line = f"path MTU to {BACKEND[vip]} is {NARROW} (told by {ROUTER[vip]})"
    assert node.process.output().count(line) == 1
    shown = node.host.run(PROGRAM, "status", "-c", node.config).stdout
    assert f"path MTU {NARROW} (told by {ROUTER[vip]})" in shown


def test_metrics_show_the_path_mtu_and_how_messages_were_taken(fleet):
    metrics = fleet.nodes[0].metrics()
    assert metrics['fairlead_backend_path_mtu_bytes{pool="echo",backend="10.3.1.2:80"}'] == NARROW
    assert metrics['fairlead_path_mtu_messages_total{result="lowered"}'] == 2


@pytest.mark.parametrize("vip", VIPS)
def test_a_link_that_becomes_smaller_under_a_connection_does_not_stop_it(fleet, vip):
    smaller = NARROW - 40
    fleet.router.ip(f"link set dev b1 mtu {smaller}")
    try:
        done = upload(fleet, vip)
        assert done["digest"] == digest_of(SIZE)
        assert done["mtu"] == smaller - OVERHEAD[vip]
        wait_until(lambda: known_to_node(fleet)["echo6" if ":" in vip else "echo"] == (smaller, ROUTER[vip]),
                   "the node knows")
    finally:
        fleet.router.ip(f"link set dev b1 mtu {NARROW}")


# Runs in the client: IP packets of 1300 bytes, which may not be cut, until the kernel knows a smaller MTU; prints it.
PROBE = """
import socket, sys, time
udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
udp.setsockopt(41, 23, 2)                          # IPV6_MTU_DISCOVER: always
udp.connect((sys.argv[1], int(sys.argv[2])))
for _ in range(50):
    try:
        udp.send(bytes(1300 - 48))
    except OSError:
        break
    time.sleep(0.1)
print(udp.getsockopt(41, 24))                      # IPV6_MTU
"""


def test_ipv6_senders_are_told_no_less_than_1280_and_the_log_warns(fleet):
    fleet.client.run("ip", "-6", "route", "flush", "cache")
    fleet.router.ip("link set dev b1 mtu 1300")
    try:
        told = fleet.client.run(sys.executable, "-c", PROBE, VIPS[1], ECHO).stdout.strip()
    finally:
        fleet.router.ip(f"link set dev b1 mtu {NARROW}")
    assert told == "1280"
    assert known_to_node(fleet)["echo6"] == (1300, ROUTER[VIPS[1]])
    assert "IPv6 services of pool echo6 need 1324" in fleet.nodes[0].process.output() \
        or "IPv6 services of pool web6 need 1324" in fleet.nodes[0].process.output()
