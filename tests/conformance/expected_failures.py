# SPDX-License-Identifier: MIT
"""Cases of the kit that Fairlead does not pass yet, by name and with the reason: expected_failures.txt.

A listed case runs like any other and must fail; one that passes is an error, and so is a line that fits no
case (test_expected_failures.py), so the list can only shrink truthfully. Lines are

    PATTERN            # reason        a glob over the ids of cases (the word in test_case[...])
    agree PATTERN      # reason        over ids with a variant, of the agreement runs (test_agreement[...])
    xdp: PATTERN       # reason        only with ENGINE=xdp (or user:); also `xdp: agree PATTERN`
"""
import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("expected_failures.txt")
LINE = re.compile(r"(?:(?P<engine>user|xdp):\s+)?(?P<agree>agree\s+)?(?P<pattern>\S+)\s+#\s*(?P<reason>\S.*)")


@dataclass
class Expected:
    number: int
    engines: tuple
    test: str            # the test function whose cases it is about
    pattern: str
    reason: str

    def fits(self, test, case_id):
        return test == self.test and fnmatchcase(case_id, self.pattern)


def parse(text):
    """The lines that say something, and what is wrong with the others."""
    lines, faults = [], []
    for number, line in enumerate(text.splitlines(), 1):
        match = LINE.fullmatch(line.strip())
        if match:
            engines = (match["engine"],) if match["engine"] else ("user", "xdp")
            test = "test_agreement" if match["agree"] else "test_case"
            lines.append(Expected(number, engines, test, match["pattern"], match["reason"]))
        elif line.strip() and not line.startswith("#"):
            faults.append(f"{LIST.name}:{number}: expected `[ENGINE:] [agree] PATTERN  # reason`, not {line!r}")
    return lines, faults


def pytest_collection_modifyitems(items):
    engine = os.environ.get("ENGINE", "user")
    lines = [line for line in parse(LIST.read_text())[0] if engine in line.engines]
    for item in items:
        if hasattr(item, "callspec"):
            for line in lines:
                if line.fits(item.originalname, item.callspec.id):
                    item.add_marker(pytest.mark.xfail(strict=True, reason=line.reason))
                    break
