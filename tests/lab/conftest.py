# SPDX-License-Identifier: MIT
"""Fixtures: a host of its own, and a whole fleet for each engine. Skips, with the reason, what cannot run here."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
from lab.fleet import PROGRAM, Fleet   # noqa: E402
from lab.host import Lab               # noqa: E402

TOOLS = ("ip", "ethtool", "nft", "nginx", "curl", "ping", "sysctl", "setpriv")


def reason_to_skip():
    if os.geteuid() != 0:
        return "needs root: network namespaces, XDP"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}: run packaging/install-dependencies.sh"
    if not PROGRAM.exists():
        return f"needs {PROGRAM}: run `make build`"
    namespace = subprocess.run(["unshare", "--net", "--mount", "--uts", "true"], capture_output=True, text=True)
    return f"no namespaces here: {namespace.stderr.strip()}" if namespace.returncode != 0 else None


def pytest_collection_modifyitems(items):
    reason = reason_to_skip()
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def lab():
    with Lab() as made:
        yield made


@pytest.fixture(scope="module", params=["xdp", "user"])
def fleet(request):
    with Lab() as lab:
        yield Fleet(lab, engine=request.param)
