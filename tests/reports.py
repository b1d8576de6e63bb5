# SPDX-License-Identifier: MIT
"""Counts single tests in what pytest, ctest and GoogleTest report, and words the summary of the gate."""
import xml.etree.ElementTree as xml
from collections import Counter
from dataclasses import dataclass, field


class Unreadable(Exception):
    """A report that is missing or cut short."""


@dataclass
class Count:
    passed: int = 0
    failures: list = field(default_factory=list)      # (test, why), as are the next two
    skips: list = field(default_factory=list)
    expected: list = field(default_factory=list)      # expected to fail, and did

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips
        self.expected += other.expected

    def not_passed(self):
        return len(self.failures) + len(self.skips) + len(self.expected)


def cases_of(path):
    try:
        return list(xml.parse(path).getroot().iter("testcase"))
    except FileNotFoundError:
        raise Unreadable(f"{path.name} was not written") from None
    except xml.ParseError as fault:
        raise Unreadable(f"{path.name}: {fault}") from None


def first_line(node):
    lines = (node.get("message") or node.text or "").strip().splitlines()
    return lines[0] if lines else "no reason given"


def pytest(path):
    count = Count()
    for case in cases_of(path):
        name = f"{case.get('classname')}::{case.get('name')}"
        bad = [child for child in case if child.tag in ("failure", "error")]
        skipped = case.find("skipped")
        if bad:
            count.failures.append((name, first_line(bad[0])))
        elif skipped is not None:
            # pytest tells both in the same element; the type says which
            kind = count.expected if skipped.get("type") == "pytest.xfail" else count.skips
            kind.append((name, first_line(skipped)))
        else:
            count.passed += 1
    return count


def gtest(path):
    count = Count()
    for case in cases_of(path):
        name = f"{case.get('classname')}.{case.get('name')}"
        failure, skipped = case.find("failure"), case.find("skipped")
        if failure is not None:
            count.failures.append((name, first_line(failure)))
        elif skipped is not None:
            # the message is "file:line", then the reason
            reason = (skipped.get("message") or "").strip().splitlines()
            count.skips.append((name, " ".join(reason[1:]) or "no reason given"))
        elif case.get("status") == "notrun":
            count.skips.append((name, "disabled"))
        else:
            count.passed += 1
    return count


def ctest(path, reports):
    """ctest's own report tells which programs ran; each GoogleTest program left its cases in `reports`."""
    count = Count()
    for program in cases_of(path):
        name, status = program.get("name"), program.get("status")
        report = reports / f"{name}.xml"
        if status == "run":
            count.add(gtest(report) if report.exists() else Count(passed=1))
        elif status == "fail":
            failure = program.find("failure")
            why = "failed" if failure is None else first_line(failure)
            try:
                cases = gtest(report)
            except Unreadable:
                cases = Count(failures=[(name, f"{why} before it could report its cases")])
            if not cases.failures:       # every case passed: it fell over at its end (a leak, a race)
                cases.failures.append((name, f"{why} although its cases passed"))
            count.add(cases)
        else:
            count.skips.append((name, f"ctest says {status}"))
    return count


def summary(results):
    """The table, the reasons of all that did not pass, and the last line."""
    total = Count()
    lines = ["", f"{'stage':<20}{'passed':>8}{'failed':>8}{'skipped':>9}{'expected to fail':>18}{'seconds':>9}"]
    for name, count, seconds in results:
        total.add(count)
        lines.append(f"{name:<20}{count.passed:>8}{len(count.failures):>8}{len(count.skips):>9}"
                     f"{len(count.expected):>18}{seconds:>9.0f}")
    for title, entries in (("EXPECTED TO FAIL", total.expected), ("SKIPPED", total.skips)):
        if entries:
            lines += ["", f"{title}, by reason:"]
            lines += [f"  {number:>5}  {reason}" for reason, number in Counter(why for _, why in entries).most_common()]
    if total.failures:
        lines += ["", "FAILED:"]
        lines += [f"  {name}: {why}" for name, why in total.failures[:100]]
        if len(total.failures) > 100:
            lines.append(f"  ... and {len(total.failures) - 100} more")
    skipped = len(total.skips) + len(total.expected)
    return "\n".join([*lines, "", f"{total.passed} passed, {len(total.failures)} failed, {skipped} skipped"])
