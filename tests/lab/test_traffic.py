# SPDX-License-Identifier: MIT
"""Real clients, real servers, both engines: what must hold for traffic to VIPs and to the node itself."""
import json
import os
import socket
import sys
import time

import pytest

from lab.fleet import ECHO, PROGRAM, VIPS
from lab.host import wait_until
from transfer import command, digest_of, transfer

BACKENDS = ("b1", "b2", "b3")

# Runs in the client: COUNT datagrams from each of 60 sockets to each VIP; prints who answered each socket.
UDP_CLIENT = """
import json, socket, sys
count, port, *vips = sys.argv[1:]
seen = []
for vip in vips:
    for source in range(20000, 20060):
        with socket.socket(socket.AF_INET6 if ":" in vip else socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.settimeout(3)
            udp.bind(("", source))
            names = set()
            for number in range(int(count)):
                data = b"%d from %d" % (number, source)
                udp.sendto(data, (vip, int(port)))
                answer, sender = udp.recvfrom(2048)
                name, _, rest = answer.partition(b" ")
                assert sender[:2] == (vip, int(port)) and rest == data, (sender, answer)
                names.add(name.decode())
            seen.append(sorted(names))
print(json.dumps(seen))
"""
SIZE = 4_000_000


def even(counts, names, part=0.10):
    """Whether the counts of `names` are within a part of their mean."""
    mean = sum(counts.values()) / len(names)
    return set(counts) <= set(names) and all(abs(counts.get(name, 0) - mean) <= part * mean for name in names)


def echo_server(host, *addresses):
    from lab import echo
    return host.start("own-service", sys.executable, echo.__file__, host.name, 22, *addresses)


def test_a_thousand_connections_to_each_vip_are_answered_and_spread_evenly(fleet):
    before = fleet.new_connections()
    answered, failed = fleet.burst(1000)
    assert failed == {}
    assert sum(answered.values()) == 2000
    assert even(answered, BACKENDS), answered
    through = {name: count - before[name] for name, count in fleet.new_connections().items()}
    assert even(through, ("n1", "n2"), 0.25), through


def test_the_same_flows_reach_the_same_backends_through_either_node(fleet):
    counts = []
    for node in fleet.nodes:
        fleet.route_to([node])
        counts.append(fleet.burst(300, 4_000))
    fleet.route_to(fleet.nodes)
    assert counts[0] == counts[1]
    assert counts[0][1] == {}


@pytest.mark.parametrize("vip", VIPS)
def test_a_long_transfer_arrives_whole(fleet, vip):
    assert transfer(fleet.client, vip, ECHO, SIZE, patience=20, timeout=60)["digest"] == digest_of(SIZE)


def test_udp_is_answered_from_the_vip_and_a_flow_stays_at_its_backend(fleet):
    done = fleet.client.run(sys.executable, "-c", UDP_CLIENT, 5, ECHO, *VIPS, timeout=60)
    flows = json.loads(done.stdout)
    assert len(flows) == 120
    assert all(len(names) == 1 for names in flows), flows
    assert {names[0] for names in flows} == set(BACKENDS)


def test_a_service_on_the_nodes_own_address_is_reached_like_on_any_host(fleet):
    node = fleet.nodes[0]
    own = ("10.2.1.2", "fd02:1::2")
    server = echo_server(node.host, *own)
    try:
        for address in own:
            local = command(address, 22, 1000, patience=20)
            wait_until(lambda: node.host.run(*local, check=False).returncode == 0, "the service answers on its host")
            done = transfer(fleet.client, address, 22, SIZE, patience=20, timeout=60)
            assert done["digest"] == digest_of(SIZE)
    finally:
        server.stop()


@pytest.mark.parametrize("address", ["10.2.1.2", "fd02:1::2"])
def test_the_nodes_own_address_answers_pings(fleet, address):
    assert " 3 received" in fleet.client.run("ping", "-c", "3", "-i", "0.1", "-W", "2", address).stdout


def test_a_port_without_a_service_is_not_answered(fleet):
    done = fleet.client.run("curl", "-s", "-m", "1", f"http://{VIPS[0]}:81/", check=False)
    assert done.returncode == 28, "timed out: neither refused nor answered"


def test_a_backend_that_stops_gets_no_new_connections_and_returns(fleet):
    b2 = fleet.backends[1]
    b2.stop()
    try:
        wait_until(lambda: fleet.burst(100, 5_000)[1] == {}, "requests are answered without b2", 15, 0.2)
        answered, failed = fleet.burst(500, 5_200)
        assert failed == {}
        assert even(answered, ("b1", "b3")), answered
    finally:
        b2.start()
    # The nodes check it each at its own time: the share is whole when the last of them has seen it.
    wait_until(lambda: even(fleet.burst(500, 6_200)[0], BACKENDS, 0.2), "b2 gets its share again", 15, 0.2)
    answered, failed = fleet.burst(500, 6_400)
    assert failed == {}
    assert even(answered, BACKENDS, 0.2), answered


def test_sigterm_ends_the_node_cleanly_and_it_starts_again(fleet):
    first, second = fleet.nodes
    fleet.route_to([second])
    assert first.stop() == 0
    assert fleet.burst(100, 8_000)[1] == {}
    assert fleet.client.run("ping", "-c", "1", "-W", "2", "10.2.1.2").returncode == 0
    first.start().wait_ready()
    fleet.route_to([first])
    answered, failed = fleet.burst(300, 8_200)
    fleet.route_to(fleet.nodes)
    assert failed == {}
    assert set(answered) == set(BACKENDS)


def test_a_node_that_was_killed_starts_again(fleet):
    first = fleet.nodes[0]
    fleet.route_to([fleet.nodes[1]])
    first.process.kill()
    first.start().wait_ready()
    fleet.route_to([first])
    answered, failed = fleet.burst(300, 9_000)
    fleet.route_to(fleet.nodes)
    assert failed == {}
    assert set(answered) == set(BACKENDS)


def test_established_connections_survive_the_power_off_of_their_node(fleet):
    client = fleet.client.start("keep", sys.executable, "-c", KEEP_CONNECTIONS, VIPS[0], ECHO)
    try:
        wait_until(lambda: "open" in client.output(), "connections are open")
        fleet.nodes[0].power_off()
        time.sleep(2)
        client.popen.send_signal(10)
        wait_until(lambda: not client.running, "connections were used again", 20)
        assert client.output().split() == ["open", "40", "alive"]
    finally:
        fleet.nodes[0].power_on()


# Opens 40 connections, waits for SIGUSR1, uses each again.
KEEP_CONNECTIONS = """
import signal, socket, sys
kept = [socket.create_connection((sys.argv[1], int(sys.argv[2])), 10) for _ in range(40)]
def use(number):
    for tcp in kept:
        tcp.sendall(b"still there")
    return sum(tcp.recv(100) == b"still there" for tcp in kept)
use(0)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("open", flush=True)
signal.sigtimedwait([signal.SIGUSR1], 30)
print(use(0), "alive", flush=True)
"""


def refusal_to_run(node, config, *enter):
    """Runs the daemon, which must end with status 1 and one line on stderr: that line."""
    node.stop()
    try:
        done = node.host.run(*enter, PROGRAM, "run", "-c", config, check=False)
    finally:
        node.start().wait_ready()
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 1, done
    assert len(lines) == 1, lines
    return lines[0]


def test_an_interface_that_does_not_exist_is_one_line_with_a_remedy(fleet):
    node = fleet.nodes[0]
    line = refusal_to_run(node, node.write_config(interface="eth7"))
    assert "eth7" in line and "does not exist" in line and "ip link" in line


def test_no_permission_is_one_line_with_a_remedy(fleet):
    os.chmod(fleet.lab.folder, 0o755)
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs")
    line = refusal_to_run(fleet.nodes[0], fleet.nodes[0].config, *nobody)
    assert "root" in line or "CAP_" in line, line
