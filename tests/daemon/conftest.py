# SPDX-License-Identifier: MIT
"""Fixtures: a node with backends at the other end of its cable. Skips, with the reason, what cannot run here."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab"), str(Path(__file__).parent)]
from lab.host import Lab      # noqa: E402
from node import PROGRAM, Node   # noqa: E402

TOOLS = ("ip", "curl", "setpriv", "nsenter")


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
def node():
    """With the engine of the program's default."""
    with Lab() as lab:
        yield Node(lab)


@pytest.fixture(params=["xdp", "user"])
def each_engine(request):
    with Lab() as lab:
        yield Node(lab, engine=request.param)
