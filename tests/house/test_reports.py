# SPDX-License-Identifier: MIT
"""The gate counts what really happened: pytest's own report, and ctest over programs that pass, fail and die."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import reports  # noqa: E402

EVERY_OUTCOME = '''
import pytest
def test_passes(): pass
def test_fails(): assert 1 == 2
def test_breaks(missing_fixture): pass
def test_skips(): pytest.skip("no such device")
@pytest.mark.xfail(strict=True, reason="comes later")
def test_fails_as_expected(): assert False
@pytest.mark.xfail(strict=True, reason="comes later")
def test_passes_unexpectedly(): pass
'''

GTEST = '''<testsuites>
<testcase classname="Table" name="Finds" status="run" result="completed"/>
<testcase classname="Table" name="Loses" status="run" result="completed">{failure}</testcase>
<testcase classname="Table" name="Waits" status="run" result="skipped">
<skipped message="a.cc:1&#x0A;no AVX2"/></testcase>
<testcase classname="Table" name="DISABLED_Old" status="notrun" result="suppressed"/>
</testsuites>'''


def ctest(tmp_path, programs):
    cases = "".join(f'<testcase name="{name}" status="{status}"><failure message="Failed"/></testcase>'
                    if status == "fail" else f'<testcase name="{name}" status="{status}"/>'
                    for name, status in programs)
    (tmp_path / "ctest.xml").write_text(f"<testsuite>{cases}</testsuite>")
    return reports.ctest(tmp_path / "ctest.xml", tmp_path)


def test_every_outcome_of_pytest_is_told_apart(tmp_path):
    (tmp_path / "test_all.py").write_text(EVERY_OUTCOME)
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={tmp_path}/r.xml",
                    "test_all.py"], cwd=tmp_path, capture_output=True)
    count = reports.pytest(tmp_path / "r.xml")
    assert count.passed == 1
    assert [name.split("::")[1] for name, _ in count.failures] == [
        "test_fails", "test_breaks", "test_passes_unexpectedly"]
    assert [why for _, why in count.skips] == ["no such device"]
    assert [why for _, why in count.expected] == ["comes later"]


def test_cases_of_a_googletest_program_are_counted_one_by_one(tmp_path):
    (tmp_path / "table_test.xml").write_text(GTEST.format(failure='<failure message="b.cc:2&#x0A;gone"/>'))
    count = ctest(tmp_path, [("table_test", "fail"), ("plain", "run")])
    assert (count.passed, len(count.failures)) == (2, 1)
    assert [why for _, why in count.skips] == ["no AVX2", "disabled"]


def test_a_program_that_dies_before_its_report_is_a_failure(tmp_path):
    count = ctest(tmp_path, [("table_test", "fail")])
    assert (count.passed, [name for name, _ in count.failures]) == (0, ["table_test"])


def test_a_program_that_fails_after_its_cases_passed_is_a_failure(tmp_path):
    (tmp_path / "table_test.xml").write_text(GTEST.format(failure=""))
    count = ctest(tmp_path, [("table_test", "fail")])
    assert (count.passed, [name for name, _ in count.failures]) == (2, ["table_test"])


def test_the_last_line_is_for_machines():
    count = reports.Count(passed=3, failures=[("a", "b")], skips=[("c", "d")], expected=[("e", "f"), ("g", "f")])
    text = reports.summary([("unit", count, 1.0)])
    assert text.splitlines()[-1] == "3 passed, 1 failed, 3 skipped"
    assert "      2  f" in text
