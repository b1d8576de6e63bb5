# SPDX-License-Identifier: MIT
"""A backend that is reached through another interface than the engine's: a container on the node's own machine."""
import json
import signal

import pytest
from lab.host import Lab, wait_until
from world import ECHO, FAMILIES, World, services, vip

INSIDE = {4: "10.7.0.2", 6: "fd07::2"}


@pytest.fixture
def world(engine):
    with Lab() as lab:
        made = World(lab, engine)
        container = lab.host("container")
        lab.cable(container, "eth0", made.node, "veth0", 1500)
        made.node.ip("addr add 10.7.0.1/24 dev veth0", "addr add fd07::1/64 dev veth0 nodad")
        container.ip("addr add 10.7.0.2/24 dev eth0", "addr add fd07::2/64 dev eth0 nodad",
                     "route add default via 10.7.0.1", "route add default via fd07::1")
        yield made


def test_it_gets_no_traffic_the_others_do_and_status_says_why(world):
    config = services()
    for pool in config["pools"]:
        family = 6 if ":" in pool["backends"][0]["ip"] else 4
        pool["backends"].append(pool["backends"][0] | {"ip": INSIDE[family]})
    (world.lab.folder / "node/services.json").write_text(json.dumps(config))
    world.daemon.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: world.metrics()["fairlead_config_generation"] == 2, "the new services are in force")
    backends = json.loads(world.node.run("curl", "-sf", "http://127.0.0.1:9100/v1/backends").stdout)
    elsewhere = [backend for backend in backends if backend["name"].strip("[").startswith(("10.7.0.2", "fd07::2"))]
    assert elsewhere
    for backend in elsewhere:
        assert "veth0" in json.dumps(backend), backend
    for method in ("gre", "nat", "snat"):
        for family in FAMILIES:
            names = {name for name, _, _ in world.ask("echo", "udp", vip(method, family), ECHO, 20, 20)}
            assert names == {"b1", "b2"}
