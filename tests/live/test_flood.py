# SPDX-License-Identifier: MIT
"""A SYN flood from many sources on a connection table that is far too small for it."""
import json
import signal
import sys

import pytest
from lab.host import Lab, wait_until
from server import digest_of
from world import CLIENT, DATA, ECHO, FAMILIES, HERE, World, services, vip

FLOODED = [vip(method, family) for method in ("gre", "snat") for family in FAMILIES]
HELD, SECONDS, SIZE = 100, 3, 1_000_000


@pytest.fixture
def world(engine):
    with Lab() as lab:
        made = World(lab, engine, forwarder="connection_table_size = 1024\n")
        # Answers to sources that do not exist.
        made.router.ip("route add blackhole 198.18.0.0/15", "route add blackhole 2001:db8:f::/48")
        yield made


def evicted(world):
    return world.metrics()['fairlead_connection_evictions_total{reason="handshake"}']


def drain_b2(world):
    """From now on only connections that are remembered go there."""
    config = services()
    for pool in config["pools"]:
        pool["backends"][1]["state"] = "draining"
    (world.lab.folder / "node/services.json").write_text(json.dumps(config))
    world.daemon.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: world.metrics()["fairlead_config_generation"] == 2, "the new services are in force")


def test_established_connections_outlive_a_flood_that_fills_the_table(world):
    clients = [world.client.start(f"hold-{number}", sys.executable, HERE / "client.py", "hold", address, ECHO,
                                  CLIENT[6 if ":" in address else 4], 10_000 + 1000 * number, HELD, "until-told")
               for number, address in enumerate(FLOODED)]
    for client in clients:
        wait_until(lambda: "open" in client.output(), f"{client.name}: all are open")
    before = evicted(world)
    flood = world.client.start("flood", sys.executable, HERE / "client.py", "flood", SECONDS, ECHO, *FLOODED)
    while flood.running:
        for address in FLOODED:
            assert world.ask("get", address, DATA, SIZE)["sha256"] == digest_of(SIZE)
    sent = int(flood.output())
    assert evicted(world) - before > sent / 3, "the table was full"
    drain_b2(world)
    for client in clients:
        client.popen.send_signal(signal.SIGUSR1)
    for client in clients:
        assert client.popen.wait(60) == 0, client.output()
        used = json.loads(client.output().splitlines()[-1])
        assert used["failed"] == {} and used["answered"] == 2 * HELD
        assert used["names"]["b2"] > HELD / 2
