# SPDX-License-Identifier: MIT
"""Paths of what the tests share, and one reason to skip them all."""
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests/conformance"), str(ROOT / "lab")]


def pytest_collection_modifyitems(items):
    from lab.ready import reason_to_skip
    from replays import PROGRAM
    reason = reason_to_skip(PROGRAM[0], ("curl",))
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))
