# SPDX-License-Identifier: MIT
"""One node, two backends, every forwarding method at once, and a path in front of them that has a narrow place:

    [ client ] eth0 --- [ edge ] --- [ router ] br0 --- [ n1 ] 10.2.0.11   fairlead run
     10.1.0.2 ..        10.1.0.1      10.2.0.1      |-- [ b1 ] 10.2.0.21   fairlead backend setup, server.py
     fd01::2 ..         fd01::1       fd02::1       `-- [ b2 ] 10.2.0.22   (the same in fd02::)

Node and backends share a link (method l2 needs that). Answers of tunnels and l2 go from the VIP straight to the
router; what a backend says in its own name to a client goes to the node, as method nat without snat wants it.
"""
import json
import os
import sys
from pathlib import Path

from lab.fleet import NODE_CONFIG, PROGRAM
from lab.host import wait_until
from lab.ready import ReadySocket

HERE = Path(__file__).parent
METHODS = ("gre", "ipip", "gue", "l2", "nat", "snat")
TUNNELS, FAMILIES = METHODS[:3], (4, 6)
ECHO, DATA, LATE, CLOSED = 7, 9, 13, 99       # ports of server.py, and one that nobody listens on
VIP_NETS = {4: "198.51.100.{}", 6: "2001:db8:1::{}"}


def vip(method, family):
    return VIP_NETS[family].format(10 + METHODS.index(method))


VIPS = [vip(method, family) for method in METHODS for family in FAMILIES]
BACKENDS = {4: ("10.2.0.21", "10.2.0.22"), 6: ("fd02::21", "fd02::22")}
NODE = {4: "10.2.0.11", 6: "fd02::11"}
CLIENT = {4: "10.1.0.2", 6: "fd01::2"}


def services(outer=None, ports=(ECHO, DATA, LATE, CLOSED)):
    """A VIP of each method and family; the tunnels have backends of family `outer`, else of the VIP's, but GUE of
    IPv4: over IPv6 it goes the slow way (test_outer.py)."""
    vips, pools = [], []
    for method in METHODS:
        for family in FAMILIES:
            address, tunnel = vip(method, family), method in TUNNELS
            backends = BACKENDS[(outer or (4 if method == "gue" else family)) if tunnel else family]
            own = [{"protocol": protocol, "port": port, "backend_pool": f"{method}{family}-{port}"}
                   for port in ports for protocol in ("tcp", "udp")]
            vips.append({"id": f"{method}{family}", "address": address, "services": own})
            for port in ports:
                pool = {"id": f"{method}{family}-{port}", "method": "nat" if method == "snat" else method,
                        "table_size": 251, "health_check": {"type": "none"},
                        "backends": [{"ip": ip, "port": port} for ip in backends]}
                pools.append(pool | ({"snat": True} if method == "snat" else {}))
    return {"vips": vips, "pools": pools}


class World:
    """`mtus`: of the links client-edge, edge-router, and of the bridge, which is also network_mtu unless that is
    given. `forwarder`: further lines for the [forwarder] of node.toml."""

    def __init__(self, lab, engine, mtus=(1500, 1500, 1500), network_mtu=None, forwarder="", config=None):
        self.lab, self.engine, self.mtus = lab, engine, mtus
        self.client, self.edge, self.router = (lab.host(name) for name in ("client", "edge", "router"))
        for host in (self.edge, self.router):
            host.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1, net__ipv4__icmp_ratelimit=0,
                        net__ipv6__icmp__ratelimit=0, net__ipv4__icmp_msgs_per_sec=100000)
        self.client.sysctl(net__ipv4__ip_local_port_range="2000 65535",
                           net__ipv4__ping_group_range="0 2147483647")
        self.path_to_clients()
        self.node = self.on_bridge("n1", 11, queues=2)
        # A program in XDP passes half-made checksums on, and one at the far end is what XDP_TX needs.
        self.router.run("ethtool", "-K", "n1", "tx", "off")
        self.router.ip(f"link set dev n1 xdpdrv obj {PROGRAM.parent / 'bpf/pass.bpf.o'} sec xdp.frags")
        self.backends = [self.backend(number) for number in (1, 2)]
        self.start_node(network_mtu or mtus[2], forwarder, config or services())

    def path_to_clients(self):
        self.lab.cable(self.client, "eth0", self.edge, "client", self.mtus[0])
        self.lab.cable(self.edge, "router", self.router, "edge", self.mtus[1])
        self.client.ip("addr add 10.1.0.2/16 dev eth0", "addr add fd01::2/64 dev eth0 nodad",
                       "route add default via 10.1.0.1", "route add default via fd01::1")
        self.edge.ip("addr add 10.1.0.1/16 dev client", "addr add fd01::1/64 dev client nodad",
                     "addr add 10.9.0.1/24 dev router", "addr add fd09::1/64 dev router nodad",
                     "route add default via 10.9.0.2", "route add default via fd09::2")
        self.router.ip("addr add 10.9.0.2/24 dev edge", "addr add fd09::2/64 dev edge nodad",
                       "route add 10.1.0.0/16 via 10.9.0.1", "route add fd01::/64 via fd09::1",
                       "link add br0 type bridge mcast_snooping 0", f"link set br0 mtu {self.mtus[2]} up",
                       "addr add 10.2.0.1/24 dev br0", "addr add fd02::1/64 dev br0 nodad",
                       f"route add {VIP_NETS[4].format(0)}/24 via {NODE[4]}",
                       f"route add {VIP_NETS[6].format(0)}/64 via {NODE[6]}")

    def on_bridge(self, name, number, queues=1):
        host = self.lab.host(name)
        self.lab.cable(host, "eth0", self.router, name, self.mtus[2], queues)
        self.router.ip(f"link set {name} master br0")
        host.ip(f"addr add 10.2.0.{number}/24 dev eth0", f"addr add fd02::{number}/64 dev eth0 nodad",
                "route add default via 10.2.0.1", "route add default via fd02::1")
        return host

    def backend(self, number):
        host = self.on_bridge(f"b{number}", 20 + number)
        host.ip(f"rule add from 10.2.0.{20 + number} lookup 7", f"route add 10.1.0.0/16 via {NODE[4]} table 7",
                f"route add fd01::/64 via {NODE[6]} table 7")
        host.run("ip", "-6", "rule", "add", "from", f"fd02::{20 + number}", "lookup", "7")
        host.sysctl(net__ipv4__icmp_ratelimit=0, net__ipv6__icmp__ratelimit=0)
        host.run(PROGRAM, "backend", "setup", "--interface", "eth0",
                 *(word for address in VIPS for word in ("--vip", address)))
        self.start_server(host, number)
        return host

    def start_server(self, host, number):
        own = (BACKENDS[4][number - 1], BACKENDS[6][number - 1])
        host.server = host.start("server", sys.executable, HERE / "server.py", host.name, ECHO, DATA, LATE,
                                 *own, *VIPS)
        wait_until(lambda: "ready" in host.server.output(), f"{host.name}: the server is ready")

    def start_node(self, network_mtu, forwarder, config):
        folder = self.lab.folder / "node"
        (folder / "state").mkdir(parents=True)
        (folder / "services.json").write_text(json.dumps(config))
        text = NODE_CONFIG.format(name="n1", number=0, folder=folder, engine=self.engine, interface="eth0",
                                  services=folder / "services.json", mtu=network_mtu)
        text = text.replace('"10.2.0.2"', f'"{NODE[4]}"').replace('"fd02:0::2"', f'"{NODE[6]}"')
        (folder / "node.toml").write_text(text + forwarder)
        ready = ReadySocket(folder / "notify")
        self.daemon = self.node.start("fairlead", PROGRAM, "run", "-c", folder / "node.toml",
                                      env=ready.environment())
        ready.expect("READY=1", self.daemon)
        wait_until(lambda: self.ask("echo", "udp", VIPS[0], ECHO), "the node forwards")

    def ask(self, *words, timeout=60):
        """What client.py prints, run with these words in the client."""
        done = self.client.run(sys.executable, HERE / "client.py", *words, timeout=timeout)
        return json.loads(done.stdout)

    def metrics(self):
        answer = self.node.run("curl", "-sf", "-m", "2", "http://127.0.0.1:9100/metrics").stdout
        lines = [line.rsplit(" ", 1) for line in answer.splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def reasons(self):
        """Packets by reason, so far."""
        return {name.split('reason="')[1].split('"')[0]: int(value) for name, value in self.metrics().items()
                if name.startswith("fairlead_packets_total{") and value}


LONG = bool(os.environ.get("LONG"))
