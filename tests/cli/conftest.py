# SPDX-License-Identifier: MIT
"""A folder with both files, and the program to run on them."""
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("FAIRLEAD") or ROOT / "build/release/fairlead")


def pytest_collection_modifyitems(items):
    if not PROGRAM.exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"needs {PROGRAM}: run `make build`"))


class Files:
    """node.toml, services.json, and `fairlead` in their folder."""

    def __init__(self, folder):
        self.folder = folder
        self.node, self.services = folder / "node.toml", folder / "services.json"
        self.write()
        self.write_services()

    def write(self, node="", forwarder="", more=""):
        self.node.write_text(f'[node]\nid = "n1"\naddress = "10.0.0.254"\n{node}\n[control_plane]\n'
                             f'services = "{self.services}"\n[forwarder]\ninterface = "eth0"\n'
                             f'gateway_mac = "02:00:00:00:00:01"\n{forwarder}\n{more}\n')

    def write_services(self, service=(), pool=(), path=None):
        """One VIP with one service and one pool, with these keys besides."""
        (path or self.services).write_text(json.dumps({
            "vips": [{"id": "v", "address": "198.51.100.10", "services": [
                {"protocol": "tcp", "port": 80, "backend_pool": "web"} | dict(service)]}],
            "pools": [{"id": "web", "table_size": 251, "backends": [{"ip": "10.0.0.1", "port": 80}]} | dict(pool)]}))

    def run(self, *argv, **more):
        return subprocess.run([PROGRAM, *map(str, argv)], timeout=30, check=False, text=True,
                              **({"capture_output": True, "cwd": self.folder} | more))

    def check(self, *argv):
        return self.run("check", "-c", "node.toml", *argv)


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)
