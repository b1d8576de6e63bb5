# SPDX-License-Identifier: MIT
"""A node and, at the other end of its cable, one host that holds the addresses of all backends:

    [ node ] eth0 10.0.0.254 --- 10.0.0.1 .. 10.0.0.9 eth0 [ far ]

The HTTP port of the daemon is a unix socket in the lab's folder, which the test sees too.
"""
import http.client
import json
import os
import re
import socket
import sys
from pathlib import Path

from lab.host import wait_until
from lab.ready import ReadySocket

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("FAIRLEAD") or ROOT / "build/release/fairlead")
VIP = "198.51.100.10"

SERVER = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(sys.argv[2]))
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer((sys.argv[1], 80), Answer).serve_forever()
"""


def pool(name="web", hosts=(1, 2), check=None, **more):
    check = {"type": "http", "interval": "200ms", "timeout": "1s"} if check is None else check
    return {"id": name, "table_size": 251, "health_check": check,
            "backends": [{"ip": f"10.0.0.{host}", "port": 80} for host in hosts], **more}


def services(*pools):
    return {"vips": [{"id": "v", "address": VIP,
                      "services": [{"protocol": "tcp", "port": 80 + number, "backend_pool": pool["id"]}
                                   for number, pool in enumerate(pools)]}],
            "pools": list(pools)}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Node:
    def __init__(self, lab, engine="xdp"):
        self.lab, self.folder, self.engine = lab, lab.folder, engine
        self.host, self.far = lab.host("node"), lab.host("far")
        lab.cable(self.host, "eth0", self.far, "eth0")
        self.host.ip("addr add 10.0.0.254/24 dev eth0")
        self.far.ip(*(f"addr add 10.0.0.{number}/24 dev eth0" for number in range(1, 10)),
                    f"route add {VIP}/32 via 10.0.0.254")
        self.config, self.services = self.folder / "node.toml", self.folder / "services.json"
        self.socket = self.folder / "http.sock"
        self.ready = ReadySocket(self.folder / "notify.sock")
        self.daemon = None
        self.write()
        self.configure(services(pool()))

    def write(self, http_at=None, forwarder="", interface="eth0"):
        self.config.write_text(
            f'[node]\nid = "n1"\naddress = "10.0.0.254"\nhttp = "{http_at or self.socket}"\n'
            f'state_dir = "{self.folder}"\n[control_plane]\nservices = "{self.services}"\n'
            f'[forwarder]\ninterface = "{interface}"\nengine = "{self.engine}"\n{forwarder}\n')

    def configure(self, value):
        self.services.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))

    def server(self, number, status=200):
        return self.far.start(f"server{number}", sys.executable, "-c", SERVER, f"10.0.0.{number}", str(status))

    def start(self):
        """Starts the daemon and waits until it says that it forwards."""
        self.daemon = self.host.start("fairlead", PROGRAM, "run", "-c", self.config, env=self.ready.environment())
        self.expect("READY=1")
        return self.daemon

    def expect(self, word):
        """Reads what the daemon tells systemd until `word` comes; what came with it."""
        return self.ready.expect(word, self.daemon)

    def run(self, *argv, **more):
        return self.host.run(PROGRAM, *argv, check=False, **more)

    def get(self, path, method="GET"):
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type"), answer.read().decode()
        finally:
            connection.close()

    def json(self, path):
        status, _, body = self.get(path)
        assert status == 200, body
        return json.loads(body)

    def metric(self, name, **labels):
        """The value of one series; None if it is not there."""
        inside = ",".join(f'{label}="{value}"' for label, value in labels.items())
        series = re.escape(f"{name}{{{inside}}}" if labels else name)
        found = re.search(rf"^{series} (\S+)$", self.get("/metrics")[2], flags=re.MULTILINE)
        return float(found[1]) if found else None

    def backends(self):
        """All backends by name."""
        return {backend["name"]: backend for backend in self.json("/v1/backends")}

    def wait_for_health(self, **wanted):
        """wait_for_health(b1="up", b2="down"): of 10.0.0.1:80 and 10.0.0.2:80."""
        def as_wanted():
            known = self.backends()
            return all(known[f"10.0.0.{name[1:]}:80"]["health"] == health for name, health in wanted.items()) and known
        return wait_until(as_wanted, f"health {wanted}", 20)
