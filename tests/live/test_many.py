# SPDX-License-Identifier: MIT
"""As many connections at once through method nat as a node of some size has; in `make live-long` only."""
import json
import signal
import sys

import pytest
from lab.host import Lab, wait_until
from world import BACKENDS, ECHO, FAMILIES, HERE, World, services, vip

SECOND_ECHO = 8                   # of a second process on each backend: one may have 20,000 files open here
COUNT, CLIENTS = 50_000, 4
SOURCES = {4: "10.1.0.{}", 6: "fd01::{}"}


@pytest.fixture(scope="module")
def world(engine):
    config = services(ports=(ECHO,))
    for pool in config["pools"]:
        if pool["method"] == "nat":
            pool["backends"] += [backend | {"port": SECOND_ECHO} for backend in pool["backends"]]
    with Lab() as lab:
        made = World(lab, engine, config=config, forwarder="connection_table_size = 262144\n")
        for number, host in enumerate(made.backends):
            second = host.start("second", sys.executable, HERE / "server.py", f"{host.name}-second", SECOND_ECHO,
                                1009, 1013, BACKENDS[4][number])
            wait_until(lambda: "ready" in second.output(), f"{host.name}: the second server is ready")
        yield made


@pytest.mark.parametrize("method", ["nat", "snat"])
@pytest.mark.parametrize("family", FAMILIES)
def test_fifty_thousand_connections_are_all_answered_while_all_are_open(world, method, family):
    clients = []
    for number in range(CLIENTS):
        source = SOURCES[family].format(100 + number)
        world.client.ip(f"addr replace {source}/{16 if family == 4 else 64} dev eth0" + " nodad" * (family == 6))
        clients.append(world.client.start(
            f"hold-{method}{family}-{number}", sys.executable, HERE / "client.py", "hold", vip(method, family), ECHO,
            source, 10_000, COUNT // CLIENTS, "until-told"))
    for client in clients:
        wait_until(lambda: "open" in client.output(), f"{client.name}: all are open", 120)
    for client in clients:
        client.popen.send_signal(signal.SIGUSR1)
    for client in clients:
        assert client.popen.wait(120) == 0, client.output()
    answers = [json.loads(client.output().splitlines()[-1]) for client in clients]
    assert [answer["failed"] for answer in answers] == [{}] * CLIENTS
    assert sum(answer["answered"] for answer in answers) == 2 * COUNT
    assert sum(answer["peers"] for answer in answers) == COUNT
