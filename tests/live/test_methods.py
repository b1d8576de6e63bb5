# SPDX-License-Identifier: MIT
"""Every forwarding method, both families, both engines: Linux's own TCP, UDP and ICMP at both ends are the judges."""
import pytest
from lab.host import wait_until
from server import digest_of
from world import CLIENT, CLOSED, DATA, ECHO, FAMILIES, LATE, LONG, METHODS, NODE, vip

SIZE = 100_000_000 if LONG else 3_000_000
UNREACHABLE = {4: [3, 3], 6: [1, 4]}
EXPIRED = {4: [11, 0], 6: [3, 0]}
HOPS = {4: ("10.1.0.1", "10.9.0.2"), 6: ("fd01::1", "fd09::2")}

pytestmark = [pytest.mark.parametrize("method", METHODS), pytest.mark.parametrize("family", FAMILIES)]


def test_a_thousand_connections_at_once_are_all_answered_and_each_by_a_backend_of_its_own(world, method, family):
    done = world.ask("hold", vip(method, family), ECHO, CLIENT[family], 10_000, 1000)
    assert done["failed"] == {}
    assert done["answered"] == 2000 and done["peers"] == 1000
    assert set(done["names"]) == {"b1", "b2"}


@pytest.mark.parametrize("kind", ["udp", "tcp"])
def test_the_backend_sees_the_client_or_with_snat_the_node(world, method, family, kind):
    for _, peer, port in world.ask("echo", kind, vip(method, family), ECHO, 20, 5):
        assert peer == (NODE if method == "snat" else CLIENT)[family]
        assert method != "snat" or 1024 <= port < 32768


@pytest.mark.parametrize("word", ["get", "put"])
def test_a_transfer_arrives_whole(world, method, family, word):
    assert world.ask(word, vip(method, family), DATA, SIZE)["sha256"] == digest_of(SIZE)


def test_a_closed_udp_port_of_the_backend_is_unreachable_in_the_name_of_the_vip(world, method, family):
    address = vip(method, family)
    assert world.ask("probe", "udp", address, CLOSED, 64) == [address, *UNREACHABLE[family]]


def test_a_closed_tcp_port_of_the_backend_refuses_the_client(world, method, family):
    assert world.ask("probe", "tcp", vip(method, family), CLOSED, 64) == "refused"


def test_a_port_that_the_client_has_closed_is_unreachable_to_the_backend(world, method, family):
    port = world.ask("leave", vip(method, family), LATE)
    sees = (NODE if method == "snat" else CLIENT)[family]
    error = "error {} {}".format(*UNREACHABLE[family])

    def told():
        lines = [line for backend in world.backends for line in backend.server.output().splitlines()]
        return [line for line in lines if f" {sees} " in line and line.endswith(error) and
                (method == "snat" or f" {port}:" in line)]
    wait_until(told, f"a backend hears {error} from {sees}")


@pytest.mark.parametrize("kind", ["udp", "tcp", "icmp"])
def test_a_traceroute_sees_the_routers_and_then_the_vip(world, method, family, kind):
    address = vip(method, family)
    seen = [world.ask("probe", kind, address, ECHO, ttl) for ttl in (1, 2, 3)]
    assert seen == [[HOPS[family][0], *EXPIRED[family]], [HOPS[family][1], *EXPIRED[family]], "answer"]
