# SPDX-License-Identifier: MIT
"""Paths of what the tests share, and one reason to skip them all."""
import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests/conformance"), str(ROOT / "lab")]


def pytest_collection_modifyitems(items):
    from replays import PROGRAM
    reason = None
    if os.geteuid() != 0:
        reason = "needs root: the kernel's test run of BPF programs, network namespaces"
    elif shutil.which(PROGRAM[0]) is None:
        reason = f"needs {PROGRAM[0]}: run `make build`"
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))
