# SPDX-License-Identifier: MIT
"""A fleet of Fairlead in a lab: a client, a router, nodes, backends.

                              eth0 [ n1 ]   10.2.1.2, fd02:1::2     fairlead run
                                   [ .. ]
    [ client ] eth0 --- [ router ] [ nN ]   10.2.N.2, fd02:N::2
     10.1.0.2            ECMP to   [ b1 ]   10.3.1.2, fd03:1::2     nginx on the VIPs, fairlead backend setup
     fd01::2             the nodes [ .. ]
                                   [ bM ]   10.3.M.2, fd03:M::2

The router's end of each link is .1 and carries the name of the host at the other end. The client's link has
an MTU of 1500, all others 2000: room for the tunnel. Requests go client - router - node - router - backend,
answers backend - router - client.
"""
import json
import os
import sys
from pathlib import Path

from .host import LabError, wait_until
from .ready import ReadySocket

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("FAIRLEAD") or ROOT / "build/release/fairlead")
VIPS = ("198.51.100.10", "2001:db8:1::10")
FABRIC_MTU = 2000
HTTP, ECHO = 80, 7

NODE_CONFIG = """\
[node]
id        = "{name}"
address   = "10.2.{number}.2"
address6  = "fd02:{number}::2"
http      = "127.0.0.1:9100"
state_dir = "{folder}/state"

[control_plane]
services = "{services}"

[forwarder]
interface   = "{interface}"
engine      = "{engine}"
network_mtu = {mtu}
hash_seed   = "0x5eed"
"""

NGINX_CONFIG = """\
daemon off; master_process off; pid {folder}/nginx-{name}.pid; error_log {folder}/nginx-{name}.err;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_timeout 0;
  client_body_temp_path {folder}/{name}-1; proxy_temp_path {folder}/{name}-2; fastcgi_temp_path {folder}/{name}-3;
  uwsgi_temp_path {folder}/{name}-4; scgi_temp_path {folder}/{name}-5;
  server {{ listen 80 backlog=4096; listen [::]:80 backlog=4096; location / {{ return 200 "{name}\\n"; }} }}
}}
"""


def addresses(part, number, host):
    """The IPv4 and IPv6 address of one end of a link, with prefix lengths."""
    return f"10.{part}.{number}.{host}/24", f"fd0{part}:{number}::{host}/64"


def url(vip):
    return f"http://[{vip}]/" if ":" in vip else f"http://{vip}/"


class Backend:
    def __init__(self, fleet, number):
        self.fleet, self.number, self.name = fleet, number, f"b{number}"
        self.host = fleet.leaf(self.name, 3, number)
        vips = [word for vip in VIPS for word in ("--vip", vip)]
        self.host.run(PROGRAM, "backend", "setup", "--interface", "eth0", *vips)
        self.config = fleet.lab.folder / f"nginx-{self.name}.conf"
        self.config.write_text(NGINX_CONFIG.format(folder=fleet.lab.folder, name=self.name))
        self.nginx = self.echo = None

    def start(self):
        self.nginx = self.host.start("nginx", "nginx", "-c", self.config)
        self.echo = self.host.start("echo", sys.executable, Path(__file__).with_name("echo.py"), self.name, ECHO, *VIPS)
        return self

    def stop(self):
        self.nginx.stop()
        self.echo.stop()

    def is_ready(self):
        self.nginx.expect_running()
        self.echo.expect_running()
        return self.host.run("curl", "-sf", "-m", "1", f"http://{VIPS[0]}/", check=False).returncode == 0


class Node:
    def __init__(self, fleet, number, engine):
        self.fleet, self.number, self.name, self.engine = fleet, number, f"n{number}", engine
        self.host = fleet.leaf(self.name, 2, number)
        self.folder = fleet.lab.folder / self.name
        (self.folder / "state").mkdir(parents=True)
        self.config = self.write_config()
        self.process = self.ready = None

    def write_config(self, interface="eth0"):
        config = self.folder / f"{interface}.toml"
        config.write_text(NODE_CONFIG.format(
            name=self.name, number=self.number, folder=self.folder, engine=self.engine, interface=interface,
            services=self.fleet.services, mtu=FABRIC_MTU))
        return config

    def start(self):
        """Starts the daemon, which says READY=1 to us as it would to systemd; wait_ready() waits for that."""
        self.ready = ReadySocket(self.folder / "notify")
        self.process = self.host.start("fairlead", PROGRAM, "run", "-c", self.config, env=self.ready.environment())
        return self

    def wait_ready(self):
        self.ready.expect("READY=1", self.process)
        return self

    def stop(self):
        """SIGTERM, as systemd does. Returns the exit status."""
        return self.process.stop()

    def power_off(self):
        """The machine is gone: the process ends without a word, and the router's link to it loses its carrier."""
        self.fleet.router.ip(f"link set {self.name} down")
        self.process.kill()

    def power_on(self):
        """Boots it; the router sends it traffic again once it forwards and has seen the backends that are up."""
        others = [node for node in self.fleet.nodes if node is not self and node.process.running]
        self.fleet.route_to(others)     # or the kernel would use the next hop again as soon as its link is up
        self.fleet.router.ip(f"link set {self.name} up")
        self.start().wait_ready()
        wait_until(lambda: all(self.up() == node.up() for node in others), f"{self.name}: same health as the others")
        self.fleet.route_to([node for node in self.fleet.nodes if node.process.running])

    def metrics(self):
        """What the node counts itself, {'fairlead_packets_total{verdict="forward",...}': 12.0}; {} if it is silent."""
        answer = self.host.run("curl", "-sf", "-m", "1", "http://127.0.0.1:9100/metrics", check=False)
        lines = [line.rsplit(" ", 1) for line in answer.stdout.splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, value in lines} if answer.returncode == 0 else {}

    def up(self):
        """Its view of the backends: name of the metric -> 1.0 or 0.0."""
        return {name: value for name, value in self.metrics().items() if name.startswith("fairlead_backend_up{")}

    def sees_all_backends(self):
        return set(self.up().values()) == {1.0}


class Fleet:
    def __init__(self, lab, engine="xdp", nodes=2, backends=3, start=True):
        if not PROGRAM.exists():
            raise LabError(f"{PROGRAM}: not built yet; run `make build`")
        self.lab, self.engine = lab, engine
        self.client, self.router = lab.host("client"), lab.host("router")
        self.router.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1,
                           net__ipv4__fib_multipath_hash_policy=1, net__ipv6__fib_multipath_hash_policy=1,
                           net__ipv6__conf__all__keep_addr_on_down=1)
        self.client.sysctl(net__ipv4__ip_local_port_range="20000 65535")  # burst() takes lower ones
        self.connect(self.client, "client", 1, 0, mtu=1500)
        self.services = self.write_services(backends)
        self.backends = [Backend(self, number) for number in range(1, backends + 1)]
        self.nodes = [Node(self, number, engine) for number in range(1, nodes + 1)]
        self.count_new_connections()
        if start:
            self.start()

    def start(self):
        for backend in self.backends:
            backend.start()
        for backend in self.backends:
            wait_until(backend.is_ready, f"{backend.name}: nginx answers on {VIPS[0]}")
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait_ready()
            wait_until(node.sees_all_backends, f"{node.name}: all backends are up", 20)
        self.route_to(self.nodes)
        for vip in VIPS:
            wait_until(lambda: self.client.run("curl", "-sf", "-m", "1", url(vip), check=False).returncode == 0,
                       f"{url(vip)} answers the client")

    def connect(self, host, name, part, number, mtu):
        """One link from the router to `host`, addresses at both ends, default routes towards the router."""
        self.lab.cable(host, "eth0", self.router, name, mtu)
        v4, v6 = addresses(part, number, 1)
        self.router.ip(f"addr add {v4} dev {name}", f"addr add {v6} dev {name} nodad")
        own4, own6 = addresses(part, number, 2)
        host.ip(f"addr add {own4} dev eth0", f"addr add {own6} dev eth0 nodad",
                f"route add default via {v4[:-3]}", f"route add default via {v6[:-3]}")

    def leaf(self, name, part, number):
        host = self.lab.host(name)
        self.connect(host, name, part, number, FABRIC_MTU)
        if part == 2:
            self.prepare_link_to_node(name)
        return host

    def prepare_link_to_node(self, name):
        # Whole checksums, because a program in XDP would pass half-made ones on; and the program that
        # XDP_TX towards a veth needs there.
        self.router.run("ethtool", "-K", name, "tx", "off")
        self.router.ip(f"link set dev {name} xdpdrv obj {PROGRAM.parent / 'bpf/pass.bpf.o'} sec xdp.frags")

    def route_to(self, nodes):
        """ECMP over these nodes. In production, the nodes' BGP sessions do this."""
        for vip, length, family in ((VIPS[0], 32, 4), (VIPS[1], 128, 6)):
            hops = [addresses(2, node.number, 2)[family == 6].split("/")[0] for node in nodes]
            self.router.ip(f"route replace {vip}/{length} " + " ".join(f"nexthop via {hop}" for hop in hops))

    def count_new_connections(self):
        rules = "\n".join(f'oifname "{node.name}" tcp flags & (syn | ack) == syn counter name {node.name}'
                          for node in self.nodes)
        counters = "\n".join(f"counter {node.name} {{ }}" for node in self.nodes)
        self.router.run("nft", "-f", "-", input=f"table inet lab {{\n{counters}\nchain forward {{\n"
                        f"type filter hook forward priority 0; policy accept;\n{rules}\n}}\n}}\n")

    def burst(self, count, first_port=2_000):
        """`count` HTTP requests to each VIP, a connection each: who answered how many, and what failed."""
        done = self.client.run(sys.executable, Path(__file__).with_name("burst.py"), count, first_port,
                               *(url(vip) for vip in VIPS), timeout=120)
        counts = json.loads(done.stdout)
        return counts["answered"], counts["failed"]

    def new_connections(self):
        """TCP connections that the router sent to each node so far, by name of the node."""
        counters = json.loads(self.router.run("nft", "-j", "list", "counters").stdout)["nftables"]
        return {entry["counter"]["name"]: entry["counter"]["packets"] for entry in counters if "counter" in entry}

    def write_services(self, backends):
        def pool(name, address, check):
            return {"id": name, "backends": [{"ip": address.format(number), "port": HTTP}
                                             for number in range(1, backends + 1)],
                    "health_check": {"type": check, "interval": "1s", "timeout": "500ms",
                                     "healthy_threshold": 2, "unhealthy_threshold": 2}}

        def vip(name, address, web, echo):
            return {"id": name, "address": address, "services": [
                {"protocol": "tcp", "port": HTTP, "backend_pool": web},
                {"protocol": "tcp", "port": ECHO, "backend_pool": echo},
                {"protocol": "udp", "port": ECHO, "backend_pool": echo}]}

        path = self.lab.folder / "services.json"
        path.write_text(json.dumps({
            "vips": [vip("v4", VIPS[0], "web", "echo"), vip("v6", VIPS[1], "web6", "echo6")],
            "pools": [pool("web", "10.3.{}.2", "http"), pool("web6", "fd03:{}::2", "http"),
                      pool("echo", "10.3.{}.2", "none"), pool("echo6", "fd03:{}::2", "none")]}, indent=1))
        return path
