# SPDX-License-Identifier: MIT
"""The gate itself: a stage that fails, hangs, or reports nothing is never taken for a good one."""
import importlib.util
import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

GATE = Path(__file__).resolve().parents[1] / "run"


@pytest.fixture
def gate(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(GATE.parent))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader = SourceFileLoader("gate", str(GATE))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gate", loader))
    monkeypatch.setitem(sys.modules, "gate", module)
    loader.exec_module(module)
    monkeypatch.setattr(module, "REPORTS", tmp_path / "reports")
    return module


def stage(gate, command, count="status", minutes=1.0, **more):
    return gate.Stage("it", "a stage", ["bash", "-c", command], count, minutes, **more)


def test_a_command_is_one_test(gate):
    assert gate.run(stage(gate, "true"), set()).passed == 1
    count = gate.run(stage(gate, "exit 3"), set())
    assert (count.passed, count.failures) == (0, [("it", "exit status 3")])


def test_a_stage_is_ended_with_all_it_started_when_its_time_is_over(gate, tmp_path):
    start = time.monotonic()
    count = gate.run(stage(gate, f"(sleep 5; touch {tmp_path}/late) & sleep 100", minutes=0.01), set())
    assert time.monotonic() - start < 5
    assert (count.passed, len(count.failures)) == (0, 1) and "limit" in count.failures[0][1]
    time.sleep(max(0, start + 5.5 - time.monotonic()))
    assert not (tmp_path / "late").exists()


def test_tests_without_a_report_have_failed(gate):
    assert gate.run(stage(gate, "true", "pytest"), set()).failures
    assert gate.run(stage(gate, "true", "ctest"), set()).failures


def test_a_stage_that_runs_no_test_has_failed(gate, tmp_path):
    empty = f"echo '<testsuites/>' > {tmp_path}/reports/pytest.xml"
    assert "no test" in gate.run(stage(gate, empty, "pytest"), set()).failures[0][1]


def test_what_needs_a_failed_stage_is_not_run_and_not_passed(gate, tmp_path):
    count = gate.run(stage(gate, f"touch {tmp_path}/ran", needs="build"), {"build"})
    assert count.passed == 0 and "build failed" in count.failures[0][1]
    assert not (tmp_path / "ran").exists()


def test_stages_bring_those_they_need(gate):
    names = [one.name for one in gate.chosen(gate.STAGES, ["tsan", "conformance-user"])]
    assert names == ["build", "conformance-user", "tsan-build", "tsan"]
    with pytest.raises(SystemExit, match="no stage coffee"):
        gate.chosen(gate.STAGES, ["coffee"])
