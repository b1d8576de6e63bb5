# SPDX-License-Identifier: MIT
"""bench/run: does the table say what the programs reported, and does a program that fails fail it?"""
import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def entry(name, cpu, unit="us", **more):
    return {"run_name": name, "run_type": "iteration", "cpu_time": cpu, "real_time": 10 * cpu, "time_unit": unit} | more


def reporting(folder, entries, status=0, name="program"):
    """A program that reports these benchmarks."""
    (folder / f"{name}.data").write_text(json.dumps({"benchmarks": entries}))
    program = folder / name
    program.write_text(f'#!/bin/sh\ncat "{folder}/{name}.data"\nexit {status}\n')
    program.chmod(0o755)


def run(folder, *arguments):
    return subprocess.run([ROOT / "bench/run", "--programs", folder, *arguments], capture_output=True, text=True,
                          timeout=60, check=False)


def lines_of(folder):
    done = run(folder)
    assert done.returncode == 0, done.stderr
    return {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}


def test_the_median_counts_and_the_ratio_is_against_the_baseline(tmp_path):
    reporting(tmp_path, [entry("slow", t) for t in (30, 10, 20)] +
              [entry("fast", t, label="vs slow 64 bytes") for t in (5, 4, 90)])
    lines = lines_of(tmp_path)
    assert lines["slow"][:2] == ["20.0", "us"]
    assert lines["fast"][:2] == ["5.0", "us"]
    assert lines["fast"][3:] == ["x4.00", "of", "slow", "64", "bytes"]


def test_what_is_counted_in_items_is_shown_per_item(tmp_path):
    reporting(tmp_path, [entry("packets", 7, items_per_second=50e6)])
    assert lines_of(tmp_path)["packets"][:2] == ["20.0", "ns"]


def test_manual_time_is_not_processor_time_and_run_parameters_are_no_part_of_a_name(tmp_path):
    reporting(tmp_path, [entry("xdp/v4/iterations:9/manual_time", 3, unit="ns")])
    assert lines_of(tmp_path)["xdp/v4"][:2] == ["30.0", "ns"]


def test_aggregates_are_not_counted_twice(tmp_path):
    reporting(tmp_path, [entry("a", 1), entry("a", 500) | {"run_type": "aggregate"}])
    assert lines_of(tmp_path)["a"][:2] == ["1.0", "us"]


def test_a_benchmark_that_skipped_itself_says_why(tmp_path):
    reporting(tmp_path, [entry("a", 0, error_occurred=True, error_message="needs AVX2")])
    assert lines_of(tmp_path)["a"] == ["-", "-", "needs", "AVX2"]


def test_a_missing_baseline_is_said(tmp_path):
    reporting(tmp_path, [entry("a", 1, label="vs gone")])
    assert "(baseline gone was not run)" in " ".join(lines_of(tmp_path)["a"])


def test_a_program_that_fails_fails_the_run_but_not_the_table(tmp_path):
    reporting(tmp_path, [], status=1, name="broken")
    reporting(tmp_path, [entry("a", 1)], name="whole")
    done = run(tmp_path)
    assert done.returncode != 0 and "failed: broken" in done.stderr
    assert "1.0 us" in done.stdout


def test_no_programs_is_an_error_with_its_remedy(tmp_path):
    done = run(tmp_path)
    assert done.returncode != 0 and "make build" in done.stderr


def test_a_regex_that_nothing_matches_fails(tmp_path):
    reporting(tmp_path, [])
    done = run(tmp_path, "maglve")
    assert done.returncode != 0 and "no benchmark matches maglve" in done.stderr


def test_a_median_of_0_divides_nothing(tmp_path):
    reporting(tmp_path, [entry("slow", t) for t in (1, 2, 3)] +
              [entry("coarse", 0, label="vs slow") for _ in range(5)] + [entry("few", 0)])
    lines = lines_of(tmp_path)
    assert lines["coarse"][:3] == ["0.0", "ns", "0%"] and "too short to compare" in " ".join(lines["coarse"])
    assert lines["few"][:3] == ["0.0", "ns", "0%"]


def test_a_real_program_runs(tmp_path):
    real = ROOT / "build/release/bench/tables_bench"
    if not real.exists():
        pytest.skip("built without benchmarks")
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/tables_bench").symlink_to(real)
    figures = tmp_path / "figures.json"
    done = run(tmp_path / "programs", "maglev_build/equal/100/", "--quick", "--json", figures)
    assert done.returncode == 0, done.stderr
    names = [figure["name"] for figure in json.loads(figures.read_text())]
    assert names == [f"maglev_build/equal/100/{fill}" for fill in ("textbook", "paper", "lines")]
